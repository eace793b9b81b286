//! Resource quantities (`500m`, `1Gi`): exact comparison, sums and the canonical text.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use serde_json::Value;

/// A quantity with a precision of one billionth, which is all that Kubernetes keeps.
///
/// ```
/// use kubewright_apimachinery::quantity::Quantity;
///
/// let sum = Quantity::parse("500m").unwrap().plus(Quantity::parse("1.5").unwrap());
/// assert_eq!(sum.to_string(), "2");
/// assert!(Quantity::parse("1Gi") > Quantity::parse("1G"));
/// assert_eq!(Quantity::parse("1gi"), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

const NANOS: i128 = 1_000_000_000;
// The largest binary value that Kubernetes keeps is 2^63 - 1 whole units.
const LIMIT: i128 = (i64::MAX as i128) * NANOS;

impl Quantity {
    /// Reads a quantity's text; `None` if it has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(digits);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let (format, scale) = Scale::parse(suffix)?;
        let nanos = scale.nanos(whole, fraction)?;
        let nanos = match format {
            Format::Binary => nanos.min(LIMIT),
            Format::Decimal | Format::Exponent => nanos,
        };
        Some(Self {
            nanos: if negative { -nanos } else { nanos },
            format,
        })
    }

    /// Reads a quantity of an object: a string, which may have spaces around it, or a number as clients may send it.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text.trim()),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// Whether the quantity is below zero.
    #[inline]
    pub fn is_negative(&self) -> bool {
        self.nanos < 0
    }

    /// Whether the quantity is zero.
    #[inline]
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// Whether the quantity is a whole number of units.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.nanos % NANOS == 0
    }

    /// Whether the quantity is a whole number of `size`s.
    pub fn is_multiple_of(&self, size: Self) -> bool {
        size.nanos != 0 && self.nanos % size.nanos == 0
    }

    /// The quantity rounded up (away from zero) to a multiple of one thousandth.
    #[must_use]
    pub fn rounded_up_to_milli(self) -> Self {
        let rest = self.nanos % 1_000_000;
        let nanos = match rest.cmp(&0) {
            Ordering::Equal => self.nanos,
            Ordering::Greater => self.nanos - rest + 1_000_000,
            Ordering::Less => self.nanos - rest - 1_000_000,
        };
        Self { nanos, ..self }
    }

    /// The quantity rounded up (away from zero) to a whole number of units.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        let rest = self.nanos % NANOS;
        let nanos = if rest == 0 {
            self.nanos
        } else {
            self.nanos - rest + NANOS * rest.signum()
        };
        Self { nanos, ..self }
    }

    /// The value in thousandths, rounded away from zero, as messages about autoscalers show it.
    pub fn millis(&self) -> i128 {
        self.rounded_up_to_milli().nanos / 1_000_000
    }

    /// The value in whole units, rounded away from zero. If 64 bits have no room for it, it is what Go makes of it: see
    /// [`Self::wrapped_millis`].
    pub fn wrapped(&self) -> i64 {
        let rest = self.nanos % NANOS;
        wrapped(self.nanos / NANOS + rest.signum())
    }

    /// The value in thousandths, rounded away from zero. If 64 bits have no room for it, it is what Go makes of it: zero for a
    /// number that is short but for the zeros at its end, and else its low 64 bits.
    pub fn wrapped_millis(&self) -> i64 {
        wrapped(self.millis())
    }

    /// The quantity with the opposite sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            nanos: -self.nanos,
            ..self
        }
    }

    /// The sum of two quantities, in the format of the first.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        // Adding to zero takes the other's format, as Go's `Add` does.
        let format = if self.nanos == 0 {
            other.format
        } else {
            self.format
        };
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            format,
        }
    }
}

/// A quantity and its text: Go keeps and shows a text that looks canonical, such as `+1` and `1.5k`.
///
/// ```
/// use kubewright_apimachinery::quantity::Spelled;
/// use serde_json::json;
///
/// let (plus, plain) = (json!("+1"), json!("1"));
/// let [plus, plain] = [&plus, &plain].map(|value| Spelled::from_value(value).unwrap());
/// assert_eq!(plus, plain);
/// assert_eq!(plus.to_string(), "+1");
/// assert_eq!(plus.plus(*plain).to_string(), "2");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Spelled<'a> {
    quantity: Quantity,
    text: Option<&'a str>,
}

impl<'a> Spelled<'a> {
    /// Reads a quantity of an object that has the form of its kind.
    pub fn from_value(value: &'a Value) -> Option<Self> {
        let quantity = Quantity::from_value(value)?;
        let text = value.as_str();
        Some(Self { quantity, text })
    }
}

impl Deref for Spelled<'_> {
    type Target = Quantity;

    fn deref(&self) -> &Quantity {
        &self.quantity
    }
}

impl fmt::Display for Spelled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text {
            Some(text) => f.write_str(text),
            None => self.quantity.fmt(f),
        }
    }
}

impl PartialEq for Spelled<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.quantity == other.quantity
    }
}

impl PartialOrd for Spelled<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.quantity.partial_cmp(&other.quantity)
    }
}

impl From<i64> for Quantity {
    fn from(units: i64) -> Self {
        Self {
            nanos: i128::from(units) * NANOS,
            format: Format::Decimal,
        }
    }
}

impl PartialEq for Quantity {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = self.format == Format::Binary && self.nanos.abs() >= 1024 * NANOS;
        if binary {
            let mut units = self.nanos / NANOS + i128::from(self.nanos % NANOS > 0);
            let mut power = 0;
            while units % 1024 == 0 && power < 6 {
                units /= 1024;
                power += 1;
            }
            return write!(
                f,
                "{units}{}",
                ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]
            );
        }
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let mut mantissa = self.nanos;
        let mut group = 0;
        while mantissa % 1000 == 0 && group < 9 {
            mantissa /= 1000;
            group += 1;
        }
        if self.format == Format::Exponent {
            return match group.cmp(&3) {
                Ordering::Equal => write!(f, "{mantissa}"),
                Ordering::Greater => write!(f, "{mantissa}e{}", (group - 3) * 3),
                Ordering::Less => write!(f, "{mantissa}e-{}", (3 - group) * 3),
            };
        }
        write!(
            f,
            "{mantissa}{}",
            ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"][group]
        )
    }
}

#[derive(Clone, Copy)]
enum Scale {
    Ten(i32),
    Two(u32),
}

impl Scale {
    fn parse(suffix: &str) -> Option<(Format, Self)> {
        let decimal = |power| Some((Format::Decimal, Self::Ten(power)));
        let binary = |power| Some((Format::Binary, Self::Two(power)));
        match suffix {
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E'])?;
                let power: i32 = exponent.parse().ok()?;
                Some((Format::Exponent, Self::Ten(power.clamp(-1000, 1000))))
            }
        }
    }

    /// The number in nanos, rounded up, saturating far above what is kept.
    fn nanos(self, whole: &str, fraction: &str) -> Option<i128> {
        let mut mantissa: i128 = 0;
        let mut places = 0_i32;
        let mut inexact = false;
        let digits = whole.bytes().map(|b| (b, false));
        for (digit, fractional) in digits.chain(fraction.bytes().map(|b| (b, true))) {
            let digit = i128::from(digit.checked_sub(b'0')?);
            if mantissa > 1_000_000_000_000_000_000_000_000 {
                inexact |= digit != 0;
                places -= i32::from(!fractional);
            } else {
                mantissa = mantissa * 10 + digit;
                places += i32::from(fractional);
            }
        }
        let (factor, power) = match self {
            Self::Ten(power) => (1, power - places + 9),
            Self::Two(bits) => (1_i128 << bits, 9 - places),
        };
        let mut value = mantissa.saturating_mul(factor).min(i128::MAX / 2);
        if power >= 0 {
            for _ in 0..power {
                value = value.saturating_mul(10);
                if value == 0 || value == i128::MAX {
                    break;
                }
            }
        } else {
            for _ in power..0 {
                inexact |= value % 10 != 0;
                value /= 10;
                if value == 0 {
                    break;
                }
            }
        }
        Some(value.saturating_add(i128::from(inexact)))
    }
}

/// Go's 64 bits of a number that may need more.
fn wrapped(value: i128) -> i64 {
    // Go has up to 18 digits and an exponent in a form of its own.
    const MOST_DIGITS: i128 = 1_000_000_000_000_000_000;
    i64::try_from(value).unwrap_or_else(|_| {
        let mut digits = value;
        while digits % 10 == 0 {
            digits /= 10;
        }
        if digits.abs() < MOST_DIGITS {
            return 0;
        }
        let low = u64::try_from(value.rem_euclid(1 << 64)).unwrap_or_default();
        i64::from_ne_bytes(low.to_ne_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_print_in_their_canonical_form() {
        // Kubernetes' documentation of Quantity: 1.5 becomes 1500m, 1.5Gi becomes 1536Mi, the exponent is a multiple of 3.
        for (text, canonical) in [
            ("1.5", "1500m"),
            ("1.5Gi", "1536Mi"),
            ("0.1", "100m"),
            ("1000m", "1"),
            ("1024Mi", "1Gi"),
            ("1000k", "1M"),
            ("12e6", "12e6"),
            ("1e3", "1e3"),
            ("0", "0"),
            ("512", "512"),
            ("-1Ki", "-1Ki"),
            ("0.5Ki", "512"),
            ("1Ei", "1Ei"),
        ] {
            assert_eq!(
                Quantity::parse(text).unwrap().to_string(),
                canonical,
                "{text}"
            );
        }
    }

    #[test]
    fn quantities_compare_by_value_whatever_their_suffix() {
        let quantity = |text| Quantity::parse(text).unwrap();
        assert_eq!(quantity("1Gi"), quantity("1073741824"));
        assert_eq!(quantity("1000m"), quantity("1"));
        assert!(quantity("1G") < quantity("1Gi"));
        assert!(quantity("100m") < quantity("0.2"));
        assert!(quantity("-1") < quantity("0"));
        assert!(quantity("99999999999999999999999999999999999999999999E") > quantity("1E"));
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "m", "1x", "1.2.3", "--1", "1 Gi", "e3", "1gi"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn sums_keep_the_format_of_the_first_that_is_not_zero() {
        let quantity = |text| Quantity::parse(text).unwrap();
        assert_eq!(quantity("100m").plus(quantity("900m")).to_string(), "1");
        assert_eq!(
            quantity("0")
                .plus(quantity("1Gi"))
                .plus(quantity("1Gi"))
                .to_string(),
            "2Gi"
        );
        assert_eq!(quantity("100u").rounded_up_to_milli().to_string(), "1m");
        assert_eq!(quantity("1500m").rounded_up().to_string(), "2");
        assert_eq!(quantity("-1500m").rounded_up().to_string(), "-2");
        assert_eq!(Quantity::from(3), quantity("3000m"));
    }

    /// Go 1.25, `resource.MustParse(text).Value()`.
    #[test]
    fn what_has_no_room_in_64_bits_is_nothing_or_its_low_bits() {
        for (text, units) in [
            ("1500m", 2),
            ("9E", 9_000_000_000_000_000_000),
            ("10E", 0),
            ("-100E", 0),
            ("12345678901234567890", -6_101_065_172_474_983_726),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().wrapped(), units, "{text}");
        }
    }
}
