//! Quantities, such as `1.5Gi`, with the arithmetic that expressions have for them.

use std::cmp::Ordering;

use crate::failure::Failure;

/// A resource quantity, such as `100m` or `1.5Gi`: a decimal number `digits * 10^scale`.
#[derive(Clone, Debug)]
pub struct Quantity {
    pub(crate) digits: i128,
    scale: i32,
    form: Form,
    /// Whether it is a sum or a difference: nothing can be compared with one by `==`, as the API server has it.
    pub(crate) calculated: bool,
}

/// How the API server keeps the number, which decides how it is rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// As 64 bits and the scale, as most are; only those can be read as integers.
    Small,
    /// As digits without an end, so many of them behind the point.
    Decimal(i32),
}

impl Quantity {
    pub(crate) fn of_int(value: i64) -> Self {
        Self {
            digits: i128::from(value),
            scale: 0,
            form: Form::Small,
            calculated: false,
        }
    }

    /// The same quantity as the result of a calculation.
    fn calculated(self) -> Self {
        Self {
            calculated: true,
            ..self
        }
    }

    /// Reads a quantity by the rules of `resource.ParseQuantity`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (negative, rest) = match text.as_bytes().first() {
            None => return Err(FORMAT),
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
        };
        let whole_length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = rest.split_at(whole_length);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            None => ("", rest),
            Some(rest) => {
                let length = rest.bytes().take_while(u8::is_ascii_digit).count();
                rest.split_at(length)
            }
        };
        check_suffix(suffix)?;
        let (base, exponent) = suffix_power(suffix).ok_or(SUFFIX)?;
        let whole = whole.trim_start_matches('0');
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        let magnitude: i128 = if digits.is_empty() {
            0
        } else {
            digits.parse().map_err(|_| NUMERIC)?
        };
        let places = i32::try_from(fraction.len()).map_err(|_| NUMERIC)?;
        let written = whole.len().max(1) + fraction.len();
        let mut made = match base {
            Base::Ten => {
                let scale = exponent - places;
                let is_small = written <= 18 && scale >= NANO;
                Self {
                    digits: magnitude,
                    scale,
                    form: Form::new(is_small, magnitude, scale),
                    calculated: false,
                }
            }
            Base::Two => binary(magnitude, exponent, places, written)?,
        };
        made.round_up_to_nano();
        if negative {
            made.digits = -made.digits;
        }
        Ok(made)
    }

    /// The smallest amounts are billionths; what is smaller is rounded away from zero.
    fn round_up_to_nano(&mut self) {
        while self.scale < NANO {
            let rest = self.digits % 10;
            self.digits /= 10;
            if rest != 0 {
                self.digits += 1;
            }
            self.scale += 1;
        }
    }

    pub(crate) fn as_i64(&self) -> Option<i64> {
        if self.form != Form::Small || self.scale < 0 {
            return None;
        }
        let power = 10_i128.checked_pow(u32::try_from(self.scale).ok()?)?;
        self.digits
            .checked_mul(power)
            .and_then(|value| i64::try_from(value).ok())
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "the name of the function says approximate"
    )]
    pub(crate) fn as_f64(&self) -> f64 {
        match self.form {
            Form::Small => self.digits as f64 * power_of_ten(self.scale),
            Form::Decimal(places) => {
                nearest(self.digits, self.scale + places) * power_of_ten(-places)
            }
        }
    }

    /// How many of the digits are behind the point, where they have no end.
    fn places(&self) -> i32 {
        match self.form {
            Form::Small => -self.scale,
            Form::Decimal(places) => places,
        }
    }

    /// Both numbers at the smaller scale, where they fit.
    fn aligned(&self, other: &Self) -> Option<(i128, i128, i32)> {
        let scale = self.scale.min(other.scale);
        let at = |one: &Self| {
            let power = u32::try_from(one.scale - scale).ok()?;
            one.digits.checked_mul(10_i128.checked_pow(power)?)
        };
        Some((at(self)?, at(other)?, scale))
    }

    pub(crate) fn cmp(&self, other: &Self) -> Ordering {
        match self.aligned(other) {
            Some((left, right, _)) => left.cmp(&right),
            // Too far apart to be aligned, so the double nearest to each decides.
            None => self.as_f64().total_cmp(&other.as_f64()),
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Result<Self, Failure> {
        let too_large = || Failure::new("quantity is too large");
        let are_small = [self, other].iter().all(|one| one.form == Form::Small);
        let places = Form::Decimal(self.places().max(other.places()));
        for (zero, sum) in [(self, other), (other, self)] {
            if zero.digits == 0 {
                let form = if are_small { sum.form } else { places };
                let sum = sum.clone();
                return Ok(Self { form, ..sum }.calculated());
            }
        }
        let (left, right, scale) = self.aligned(other).ok_or_else(too_large)?;
        let digits = left.checked_add(right).ok_or_else(too_large)?;
        let fit = [left, right, digits]
            .iter()
            .all(|value| i64::try_from(*value).is_ok());
        let form = if are_small && fit {
            Form::Small
        } else {
            places
        };
        Ok(Self {
            digits,
            scale,
            form,
            calculated: true,
        })
    }

    pub(crate) fn negated(&self) -> Self {
        Self {
            digits: -self.digits,
            ..self.clone()
        }
    }
}

impl Form {
    /// The form of what was read as `digits * 10^scale`: billionths, but of nothing, which is not rounded.
    fn new(is_small: bool, digits: i128, scale: i32) -> Self {
        match (is_small, digits) {
            (true, _) => Self::Small,
            (false, 0) => Self::Decimal(-scale),
            (false, _) => Self::Decimal(-NANO),
        }
    }
}

/// The double nearest to `digits * 10^exponent`.
fn nearest(digits: i128, exponent: i32) -> f64 {
    format!("{digits}e{exponent}").parse().unwrap_or(f64::NAN)
}

/// The power that Go multiplies with: beyond its table, it is not the double that is nearest.
fn power_of_ten(exponent: i32) -> f64 {
    let (large, small) = (exponent / 32 * 32, exponent % 32);
    if exponent < 0 {
        nearest(1, large) / nearest(1, -small)
    } else {
        nearest(1, large) * nearest(1, small)
    }
}

enum Base {
    Two,
    Ten,
}

fn check_suffix(suffix: &str) -> Result<(), &'static str> {
    let letters = suffix
        .bytes()
        .take_while(|byte| b"eEinumkKMGTP".contains(byte))
        .count();
    let rest = &suffix[letters..];
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(())
    } else {
        Err(FORMAT)
    }
}

fn suffix_power(suffix: &str) -> Option<(Base, i32)> {
    Some(match suffix {
        "n" => (Base::Ten, -9),
        "u" => (Base::Ten, -6),
        "m" => (Base::Ten, -3),
        "" => (Base::Ten, 0),
        "k" => (Base::Ten, 3),
        "M" => (Base::Ten, 6),
        "G" => (Base::Ten, 9),
        "T" => (Base::Ten, 12),
        "P" => (Base::Ten, 15),
        "E" => (Base::Ten, 18),
        "Ki" => (Base::Two, 10),
        "Mi" => (Base::Two, 20),
        "Gi" => (Base::Two, 30),
        "Ti" => (Base::Two, 40),
        "Pi" => (Base::Two, 50),
        "Ei" => (Base::Two, 60),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (Base::Ten, exponent.clamp(-1_000, 1_000))
        }
    })
}

/// A binary quantity. Large ones are kept in another form, which is capped at the largest 64-bit number.
fn binary(
    magnitude: i128,
    exponent: i32,
    places: i32,
    written: usize,
) -> Result<Quantity, &'static str> {
    let power = 1_i128 << exponent;
    let digits = magnitude.checked_mul(power).ok_or(NUMERIC)?;
    // How many decimal digits are left beside those written and those of the power of two.
    let precision = 15 - i32::try_from(written).unwrap_or(i32::MAX) - exponent * 3 / 10 - 1;
    let is_small = places == 0 && precision >= 0;
    let unit = u32::try_from(places)
        .ok()
        .and_then(|places| 10_i128.checked_pow(places));
    let largest = unit.and_then(|unit| unit.checked_mul(i128::from(i64::MAX)));
    if !is_small && largest.is_some_and(|largest| digits > largest) {
        return Ok(Quantity {
            calculated: false,
            digits: i128::from(i64::MAX),
            scale: 0,
            form: Form::Decimal(0),
        });
    }
    Ok(Quantity {
        calculated: false,
        digits,
        scale: -places,
        form: Form::new(is_small, digits, -places),
    })
}

const NANO: i32 = -9;
const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMERIC: &str = "unable to parse numeric part of quantity";
const SUFFIX: &str = "unable to parse quantity's suffix";
