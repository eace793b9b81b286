//! Kubernetes quantities, such as `1.5Gi`.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Declaration, guarded};
use crate::eval::{Evaluated, Failure};
use crate::value::{Object, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "quantity",
        "string_to_quantity",
        "(string) -> kubernetes.Quantity",
        quantity,
    ),
    guarded(
        "isQuantity",
        "is_quantity_string",
        "(string) -> bool",
        is_quantity,
    ),
    guarded(
        "sign",
        "quantity_sign",
        "(kubernetes.Quantity) -> int",
        sign,
    ),
    guarded(
        "isGreaterThan",
        "quantity_is_greater_than",
        "kubernetes.Quantity.(kubernetes.Quantity) -> bool",
        greater,
    ),
    guarded(
        "isLessThan",
        "quantity_is_less_than",
        "kubernetes.Quantity.(kubernetes.Quantity) -> bool",
        less,
    ),
    guarded(
        "compareTo",
        "quantity_compare_to",
        "kubernetes.Quantity.(kubernetes.Quantity) -> int",
        compare_to,
    ),
    guarded(
        "asApproximateFloat",
        "quantity_get_float",
        "kubernetes.Quantity.() -> double",
        approximate,
    ),
    guarded(
        "asInteger",
        "quantity_get_int",
        "kubernetes.Quantity.() -> int",
        integer,
    ),
    guarded(
        "isInteger",
        "quantity_is_integer",
        "kubernetes.Quantity.() -> bool",
        is_integer,
    ),
    guarded(
        "add",
        "quantity_add",
        "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
        add,
    ),
    guarded(
        "add",
        "quantity_add_int",
        "kubernetes.Quantity.(int) -> kubernetes.Quantity",
        add,
    ),
    guarded(
        "sub",
        "quantity_sub",
        "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
        subtract,
    ),
    guarded(
        "sub",
        "quantity_sub_int",
        "kubernetes.Quantity.(int) -> kubernetes.Quantity",
        subtract,
    ),
];

/// A resource quantity, such as `100m` or `1.5Gi`: a decimal number `digits * 10^scale`.
#[derive(Clone, Debug)]
pub struct Quantity {
    digits: i128,
    scale: i32,
    /// Whether the number is kept as 64 bits and a scale, as most are; only those can be read as integers.
    small: bool,
}

impl Quantity {
    fn of_int(value: i64) -> Self {
        Self {
            digits: i128::from(value),
            scale: 0,
            small: true,
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
            Base::Ten => Self {
                digits: magnitude,
                scale: exponent - places,
                small: written <= 18 && exponent - places >= NANO,
            },
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

    fn as_i64(&self) -> Option<i64> {
        if !self.small || self.scale < 0 {
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
    fn as_f64(&self) -> f64 {
        self.digits as f64 * 10_f64.powi(self.scale)
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

    fn plus(&self, other: &Self) -> Result<Self, Failure> {
        let too_large = || Failure::new("quantity is too large");
        if self.digits == 0 {
            return Ok(other.clone());
        }
        if other.digits == 0 {
            return Ok(self.clone());
        }
        let (left, right, scale) = self.aligned(other).ok_or_else(too_large)?;
        let digits = left.checked_add(right).ok_or_else(too_large)?;
        let fits = [left, right, digits]
            .iter()
            .all(|value| i64::try_from(*value).is_ok());
        Ok(Self {
            digits,
            scale,
            small: self.small && other.small && fits,
        })
    }

    fn negated(&self) -> Self {
        Self {
            digits: -self.digits,
            ..self.clone()
        }
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
    let small = places == 0 && precision >= 0;
    let largest = i128::from(i64::MAX);
    if !small && places == 0 && digits > largest {
        return Ok(Quantity {
            digits: largest,
            scale: 0,
            small: false,
        });
    }
    Ok(Quantity {
        digits,
        scale: -places,
        small,
    })
}

const NANO: i32 = -9;
const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMERIC: &str = "unable to parse numeric part of quantity";
const SUFFIX: &str = "unable to parse quantity's suffix";

fn made<'a>(quantity: Quantity) -> Value<'a> {
    Value::Object(Object::Quantity(Arc::new(quantity)))
}

fn only<'v>(values: &'v [Value<'_>]) -> Result<&'v Quantity, Failure> {
    match values {
        [Value::Object(Object::Quantity(quantity)), ..] => Ok(quantity),
        _ => Err(Failure::no_such_overload()),
    }
}

fn both(values: &[Value<'_>]) -> Result<(Quantity, Quantity), Failure> {
    let left = only(values)?.clone();
    let right = match values.get(1) {
        Some(Value::Object(Object::Quantity(quantity))) => (**quantity).clone(),
        Some(Value::Int(value)) => Quantity::of_int(*value),
        _ => return Err(Failure::no_such_overload()),
    };
    Ok((left, right))
}

fn quantity<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::String(text)] => Quantity::parse(text).map(made).map_err(Failure::new),
        _ => Err(Failure::no_such_overload()),
    }
}

fn is_quantity<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::String(text)] => Ok(Value::Bool(Quantity::parse(text).is_ok())),
        _ => Err(Failure::no_such_overload()),
    }
}

fn sign<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let digits = only(values)?.digits;
    Ok(Value::Int(i64::try_from(digits.signum()).unwrap_or(0)))
}

fn order(values: &[Value<'_>]) -> Result<Ordering, Failure> {
    both(values).map(|(left, right)| left.cmp(&right))
}

fn greater<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(order(values)?.is_gt()))
}

fn less<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(order(values)?.is_lt()))
}

fn compare_to<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Int(order(values)? as i64))
}

fn approximate<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Double(only(values)?.as_f64()))
}

fn integer<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let value = only(values)?.as_i64();
    value
        .map(Value::Int)
        .ok_or_else(|| Failure::new("cannot convert value to integer"))
}

fn is_integer<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(only(values)?.as_i64().is_some()))
}

fn add<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (left, right) = both(values)?;
    left.plus(&right).map(made)
}

fn subtract<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (left, right) = both(values)?;
    left.plus(&right.negated()).map(made)
}
