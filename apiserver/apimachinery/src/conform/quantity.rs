//! Canonical form of quantities: the string that Go's `resource.Quantity` writes for the string that it reads.
//!
//! Go keeps a string that looks canonical, and rewrites any other: without fractions, with the largest suffix of the same
//! family, rounded away from zero to nano units.

use std::fmt::{self, Write as _};

/// Go's error for a string that does not match the format.
const WRONG_FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_NUMBER: &str = "unable to parse numeric part of quantity";
const WRONG_SUFFIX: &str = "unable to parse quantity's suffix";

/// Beyond this exponent, and beyond this value, a string is kept unchanged; no measured quantity comes near them.
const MAX_EXPONENT: u32 = 1000;
const MAX_VALUE: i128 = 10_i128.pow(36);

/// The largest number of the binary family; Go caps larger ones at it.
const LARGEST: Amount = Amount {
    value: i64::MAX as i128,
    scale: 0,
};

/// Maximum number of decimal digits on Go's fast path, which keeps the string unchanged.
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

/// Returns the canonical form of a quantity; none if `text` is canonical already.
///
/// Leaves numbers beyond 36 digits and exponents beyond 1000 unchanged.
///
/// # Errors
///
/// `text` is not a quantity. The message is Go's.
pub(super) fn canonical(text: &str) -> Result<Option<String>, &'static str> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(WRONG_FORM);
    }
    let kept = (trimmed.len() != text.len()).then(|| trimmed.to_owned());
    if trimmed == "0" {
        return Ok(kept);
    }
    let parts = Parts::of(trimmed)?;
    let (exponent, family) = suffix(parts.suffix).ok_or(WRONG_SUFFIX)?;
    if exponent.unsigned_abs() > MAX_EXPONENT {
        return Ok(kept);
    }
    let (amount, family) = if let Some(amount) = fast(&parts, exponent, family)? {
        if parts.looks_canonical(amount.scale, exponent, family) {
            return Ok(kept);
        }
        let mut value = amount.value;
        if family == Family::Binary {
            value <<= exponent;
        }
        (Amount { value, ..amount }, family)
    } else if !parts.has_digits {
        return Err(WRONG_NUMBER);
    } else if let Some(amount) = slow(&parts, exponent, family) {
        amount
    } else {
        return Ok(kept);
    };
    let mut written = Written::default();
    parts.signed(amount).write(family, &mut written);
    Ok((written.text() != text).then(|| written.text().to_owned()))
}

/// A text of a number of at most 40 digits with a sign and a suffix, without an allocation.
struct Written {
    bytes: [u8; 64],
    length: usize,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            bytes: [0; 64],
            length: 0,
        }
    }
}

impl Written {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl fmt::Write for Written {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let place = self
            .bytes
            .get_mut(self.length..self.length + text.len())
            .ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

/// A text, taken apart: `[sign] whole [. fraction] suffix`.
struct Parts<'a> {
    negative: bool,
    /// Without leading zeros, `0` for none.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    /// Go takes a text without a digit for zero on its fast path, and for no number on the other.
    has_digits: bool,
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
            has_digits: !whole.is_empty() || !fraction.is_empty(),
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
        Family::Binary => match value.checked_mul(1 << exponent) {
            Some(product) => value = product,
            // At least 10^20, which is more than Go keeps.
            None if scale >= -18 => return Some((LARGEST, family)),
            None => return None,
        },
        _ => scale = scale.checked_add(exponent)?,
    }
    if scale < -9 {
        value = divided_up(value, scale.abs_diff(-9));
        scale = -9;
    }
    if value > MAX_VALUE {
        return (family == Family::Binary).then_some((LARGEST, family));
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
    fn write(self, family: Family, out: &mut Written) {
        // The text has at most 39 digits, a sign and an exponent of at most 11 characters: it always fits.
        let _ = self.write_parts(family, out);
    }

    fn write_parts(self, family: Family, out: &mut Written) -> fmt::Result {
        if self.value == 0 {
            return out.write_str("0");
        }
        if family == Family::Binary
            && let Some((value, suffix)) = self.binary()
        {
            return write!(out, "{value}{suffix}");
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
                0 => write!(out, "{value}"),
                _ => write!(out, "{value}e{scale}"),
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
        write!(out, "{value}{suffix}")
    }

    /// Number and suffix of the binary form; none for small numbers and fractions, which are written decimally.
    fn binary(self) -> Option<(i128, &'static str)> {
        let unit = 10_i128.checked_pow(self.scale.unsigned_abs())?;
        let mut value = if self.scale >= 0 {
            self.value.checked_mul(unit)?
        } else if self.value % unit == 0 {
            self.value / unit
        } else {
            return None;
        };
        if value.abs() < 1024 {
            return None;
        }
        let mut power = 0;
        while value % 1024 == 0 {
            value /= 1024;
            power += 1;
        }
        let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(power)?;
        Some((value, suffix))
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
