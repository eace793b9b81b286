//! Quantities: the text that Go's `resource.Quantity` writes for what it reads.
//!
//! Go keeps a text that looks canonical to it, and writes everything else anew: without fractions, with the largest
//! suffix of the same family, rounded away from zero to nano units.

/// What the regular expression of the error says.
const WRONG_FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_NUMBER: &str = "unable to parse numeric part of quantity";
const WRONG_SUFFIX: &str = "unable to parse quantity's suffix";

/// How many decimal digits Go takes on its fast path, which is the one that keeps texts.
const FAST_DIGITS: i64 = 18;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Decimal,
    Exponent,
    Binary,
}

/// A number: `value * 10^scale`.
#[derive(Clone, Copy)]
struct Amount {
    value: i128,
    scale: i32,
}

/// The canonical text; none if the text is canonical already.
///
/// Numbers beyond 38 digits are left as they are.
///
/// # Errors
///
/// The text of Go's error, when this is no quantity.
pub(super) fn canonical(text: &str) -> Result<Option<String>, &'static str> {
    let trimmed = text.trim();
    let changed = |new: String| Ok((new != text).then_some(new));
    if trimmed.is_empty() {
        return Err(WRONG_FORM);
    }
    if trimmed == "0" {
        return changed(trimmed.to_owned());
    }
    let parts = Parts::of(trimmed)?;
    let (exponent, family) = suffix(parts.suffix).ok_or(WRONG_SUFFIX)?;
    if let Some(amount) = fast(&parts, exponent, family)? {
        if parts.looks_canonical(amount.scale, exponent, family) {
            return changed(trimmed.to_owned());
        }
        let mut value = amount.value;
        if family == Family::Binary {
            value <<= exponent;
        }
        let amount = Amount { value, ..amount };
        return changed(parts.signed(amount).text(family));
    }
    match slow(&parts, exponent, family) {
        Some((amount, family)) => changed(parts.signed(amount).text(family)),
        None => changed(trimmed.to_owned()),
    }
}

/// A text, taken apart: `[sign] whole [. fraction] suffix`.
struct Parts<'a> {
    negative: bool,
    /// Without leading zeros, `0` for none.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, &'static str> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = unsigned.split_at(digits(unsigned));
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        let letters = rest
            .bytes()
            .take_while(|byte| b"eEinumkKMGTP".contains(byte))
            .count();
        let behind = rest[letters..]
            .strip_prefix(['-', '+'])
            .unwrap_or(&rest[letters..]);
        if digits(behind) != behind.len() {
            return Err(WRONG_FORM);
        }
        let significant = whole.trim_start_matches('0');
        Ok(Self {
            negative,
            whole: if significant.is_empty() {
                "0"
            } else {
                significant
            },
            fraction,
            suffix: rest,
        })
    }

    fn signed(&self, amount: Amount) -> Amount {
        let value = if self.negative {
            -amount.value
        } else {
            amount.value
        };
        Amount { value, ..amount }
    }

    /// Whether Go keeps the text because it takes it for canonical. It does not look at the decimal point.
    fn looks_canonical(&self, scale: i32, exponent: i32, family: Family) -> bool {
        if family == Family::Binary {
            let value = self.digits().fold(0_u64, |value, digit| {
                value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
            });
            return exponent % 10 == 0 && value & 7 != 0;
        }
        let zeros = self
            .digits()
            .rev()
            .take_while(|digit| *digit == b'0')
            .count();
        let first = self.digits().next().unwrap_or(b'0');
        scale % 3 == 0 && zeros < 3 && first != b'0'
    }

    fn digits(&self) -> impl DoubleEndedIterator<Item = u8> + '_ {
        self.whole.bytes().chain(self.fraction.bytes())
    }

    fn value(&self) -> Option<i128> {
        self.digits().try_fold(0_i128, |value, digit| {
            value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
        })
    }
}

/// Exponent and family of a suffix; the exponent is of 2 for the binary family, else of 10.
fn suffix(text: &str) -> Option<(i32, Family)> {
    Some(match text {
        "n" => (-9, Family::Decimal),
        "u" => (-6, Family::Decimal),
        "m" => (-3, Family::Decimal),
        "" => (0, Family::Decimal),
        "k" => (3, Family::Decimal),
        "M" => (6, Family::Decimal),
        "G" => (9, Family::Decimal),
        "T" => (12, Family::Decimal),
        "P" => (15, Family::Decimal),
        "E" => (18, Family::Decimal),
        "Ki" => (10, Family::Binary),
        "Mi" => (20, Family::Binary),
        "Gi" => (30, Family::Binary),
        "Ti" => (40, Family::Binary),
        "Pi" => (50, Family::Binary),
        "Ei" => (60, Family::Binary),
        _ => {
            let exponent = text.strip_prefix(['e', 'E'])?;
            (exponent.parse().ok()?, Family::Exponent)
        }
    })
}

/// Go's way for numbers that fit an `int64`; none for those that do not. The binary exponent is not yet in the value.
fn fast(parts: &Parts<'_>, exponent: i32, family: Family) -> Result<Option<Amount>, &'static str> {
    let whole = i64::try_from(parts.whole.len()).unwrap_or(i64::MAX);
    let fraction = i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX);
    let (precision, scale) = match family {
        Family::Binary if fraction > 0 => return Ok(None),
        Family::Binary => (15 - whole - i64::from(exponent) * 3 / 10 - 1, 0),
        _ => (
            FAST_DIGITS.saturating_sub(whole.saturating_add(fraction)),
            i64::from(exponent),
        ),
    };
    let scale = scale - fraction;
    if precision < 0 || scale < -9 {
        return Ok(None);
    }
    let value = parts.value().ok_or(WRONG_NUMBER)?;
    let scale = i32::try_from(scale).map_err(|_| WRONG_NUMBER)?;
    let shift = if family == Family::Binary {
        exponent
    } else {
        0
    };
    let fits = i64::try_from(value << shift).is_ok();
    Ok(fits.then_some(Amount { value, scale }))
}

/// Go's way for everything else; none for what is too large even here.
fn slow(parts: &Parts<'_>, exponent: i32, family: Family) -> Option<(Amount, Family)> {
    let mut value = parts.value()?;
    let mut scale = -i32::try_from(parts.fraction.len()).ok()?;
    match family {
        Family::Binary => value = value.checked_mul(1 << exponent)?,
        _ => scale = scale.checked_add(exponent)?,
    }
    if scale < -9 {
        value = divided_up(value, scale.abs_diff(-9));
        scale = -9;
    }
    let mut amount = Amount { value, scale };
    let mut family = family;
    if family == Family::Binary {
        let max = i128::from(i64::MAX);
        let whole = value / 10_i128.pow(scale.unsigned_abs());
        if whole >= max {
            amount = Amount {
                value: max,
                scale: 0,
            };
        }
        if whole == 0 && value > 0 {
            family = Family::Decimal;
        }
    }
    Some((amount, family))
}

impl Amount {
    fn text(self, family: Family) -> String {
        if self.value == 0 {
            return "0".to_owned();
        }
        if family == Family::Binary
            && let Some(text) = self.binary()
        {
            return text;
        }
        let Self {
            mut value,
            mut scale,
        } = self;
        while value % 10 == 0 {
            value /= 10;
            scale += 1;
        }
        while scale % 3 != 0 {
            value *= 10;
            scale -= 1;
        }
        if family == Family::Exponent {
            return match scale {
                0 => value.to_string(),
                _ => format!("{value}e{scale}"),
            };
        }
        // Go has no suffix beyond these and then writes none at all.
        let suffix = match scale {
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            18 => "E",
            _ => "",
        };
        format!("{value}{suffix}")
    }

    /// The binary form; none for small numbers and fractions, which are written decimally.
    fn binary(self) -> Option<String> {
        let unit = 10_i128.checked_pow(self.scale.unsigned_abs())?;
        let value = if self.scale >= 0 {
            self.value.checked_mul(unit)?
        } else if self.value % unit == 0 {
            self.value / unit
        } else {
            return None;
        };
        if value.abs() < 1024 {
            return None;
        }
        let mut value = value;
        let mut power = 0;
        while value % 1024 == 0 {
            value /= 1024;
            power += 1;
        }
        let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(power)?;
        Some(format!("{value}{suffix}"))
    }
}

/// `value / 10^places`, rounded away from zero.
fn divided_up(mut value: i128, places: u32) -> i128 {
    let mut rest = false;
    for _ in 0..places {
        rest |= value % 10 != 0;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    value + i128::from(rest)
}

#[cfg(test)]
mod tests;
