//! Holds numbers to the bounds of their schema, with Go's conversions between whole numbers and floats.

use std::cmp::Ordering;

use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::go_text::format_double;
use serde_json::{Number, Value};

use super::outcome::{Outcome, Sort, written};
use super::schema::{Bound, Limits};

/// The first whole number that 64 bits do not hold.
const BEYOND_INT64: f64 = 9_223_372_036_854_775_808.0;

/// A number as Go holds it.
#[derive(Clone, Copy, Debug)]
pub(super) enum GoNumber {
    Int(i64),
    Float(f64),
}

impl From<&Number> for GoNumber {
    fn from(number: &Number) -> Self {
        match number.as_i64() {
            Some(whole) => Self::Int(whole),
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }
}

impl GoNumber {
    #[expect(clippy::cast_precision_loss, reason = "as Go converts")]
    fn as_f64(self) -> f64 {
        match self {
            Self::Int(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    /// The number, if Go reads a 64-bit integer from its decimal text.
    fn whole(self) -> Option<i64> {
        match self {
            Self::Int(whole) => Some(whole),
            Self::Float(float) => {
                let fits = float.fract() == 0.0 && float.abs() < BEYOND_INT64;
                fits.then(|| truncated(float))
            }
        }
    }

    /// What Go prints for it.
    fn shown(self) -> String {
        match self {
            Self::Int(whole) => whole.to_string(),
            Self::Float(float) => format_double(float),
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Int(whole) => whole.into(),
            Self::Float(float) => Number::from_f64(float).map_or(Value::Null, Value::Number),
        }
    }

    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(this), Self::Int(other)) => Some(this.cmp(&other)),
            _ => self.as_f64().partial_cmp(&other.as_f64()),
        }
    }

    fn is_positive(self) -> bool {
        match self {
            Self::Int(whole) => whole > 0,
            Self::Float(float) => float > 0.0,
        }
    }

    fn is_multiple_of(self, factor: Self) -> bool {
        if let (Self::Int(this), Self::Int(factor)) = (self, factor) {
            return this % factor == 0;
        }
        let (this, factor) = (self.as_f64(), factor.as_f64());
        is_json_integer(if factor < 1.0 {
            1.0 / factor * this
        } else {
            this / factor
        })
    }
}

/// The one type of a schema that has one, with its format if that is a format of the type.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberType<'s> {
    name: &'s str,
    format: &'s str,
}

impl<'s> NumberType<'s> {
    pub(super) fn new(types: &[&'s str], format: &'s str) -> Self {
        let (name, format) = match (types, format) {
            ([name @ "integer"], "int32" | "int64") | ([name @ "number"], "float" | "double") => {
                (*name, format)
            }
            ([name @ ("integer" | "number")], _) => (*name, ""),
            _ => ("", ""),
        };
        Self { name, format }
    }

    fn holds(self, number: GoNumber) -> bool {
        match (self.name, self.format) {
            ("integer", "int32") => number
                .whole()
                .is_some_and(|whole| i32::try_from(whole).is_ok()),
            ("integer", _) => number.whole().is_some(),
            // What counts is the text that Go writes of the number, which may be a little less.
            ("number", "float") => {
                let single = number.as_f64().to_string().parse::<f32>();
                single.is_ok_and(f32::is_finite)
            }
            _ => true,
        }
    }
}

/// Checks a number against its type and bounds.
pub(super) fn check(
    number: &Number,
    limits: &Limits,
    of: NumberType<'_>,
    path: &Path<'_>,
    outcome: &mut Outcome,
) {
    let number = GoNumber::from(number);
    let mut check = Check {
        number,
        of,
        path,
        outcome,
    };
    check.holds("Checked", number);
    if let Some(factor) = limits.multiple_of {
        check.multiple(factor);
    }
    if let Some(Bound { at, exclusive }) = limits.minimum {
        let (number, least) = check.comparable("Minimum boundary", at);
        let order = number.compare(least);
        match exclusive {
            false if order == Some(Ordering::Less) => {
                check.breaks(number, "greater than or equal to", least);
            }
            true if matches!(order, Some(Ordering::Less | Ordering::Equal)) => {
                check.breaks(number, "greater than", least);
            }
            _ => {}
        }
    }
    if let Some(Bound { at, exclusive }) = limits.maximum {
        let (number, most) = check.comparable("Maximum boundary", at);
        let order = number.compare(most);
        match exclusive {
            false if order == Some(Ordering::Greater) => {
                check.breaks(number, "less than or equal to", most);
            }
            true if matches!(order, Some(Ordering::Greater | Ordering::Equal)) => {
                check.breaks(number, "less than", most);
            }
            _ => {}
        }
    }
    outcome.count();
}

struct Check<'c> {
    number: GoNumber,
    of: NumberType<'c>,
    path: &'c Path<'c>,
    outcome: &'c mut Outcome,
}

impl Check<'_> {
    /// Whether the type holds a number; complains where it does not.
    fn holds(&mut self, what: &str, number: GoNumber) -> bool {
        let holds = self.of.holds(number);
        if !holds {
            let NumberType { name, format } = self.of;
            let form = match format {
                "" => "(default format)".to_owned(),
                format => format!("with format {format}"),
            };
            let path = written(self.path);
            let text = format!("{what} value must be of type {name} {form} in {path}");
            self.outcome.add(self.path, text, Sort::Combined);
        }
        holds
    }

    /// The number and a bound, both whole if the number is and the type holds the bound, and else both floats.
    fn comparable(&mut self, what: &str, bound: f64) -> (GoNumber, GoNumber) {
        let holds = self.holds(what, GoNumber::Float(bound));
        match self.number {
            whole @ GoNumber::Int(_) if holds => (whole, GoNumber::Int(truncated(bound))),
            number => (GoNumber::Float(number.as_f64()), GoNumber::Float(bound)),
        }
    }

    fn multiple(&mut self, factor: f64) {
        let (number, factor) = self.comparable("MultipleOf", factor);
        if !factor.is_positive() {
            let (path, shown) = (written(self.path), factor.shown());
            let text = format!("factor MultipleOf declared for {path} must be positive: {shown}");
            let value = factor.value();
            self.outcome.add(self.path, text, Sort::Invalid { value });
        } else if !number.is_multiple_of(factor) {
            self.breaks(number, "a multiple of", factor);
        }
    }

    fn breaks(&mut self, number: GoNumber, rule: &str, bound: GoNumber) {
        let (path, shown) = (written(self.path), bound.shown());
        let text = format!("{path} in body should be {rule} {shown}");
        let value = number.value();
        self.outcome.add(self.path, text, Sort::Invalid { value });
    }
}

/// Whether Go's JSON schemas take a float for a whole number: they allow for what calculating loses.
pub(super) fn is_json_integer(float: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if float.is_nan() || float.abs() > LARGEST {
        return false;
    }
    let whole = float.round();
    (float - whole).abs() < 1e-9 * whole.abs() || float.fract() == 0.0
}

/// Converts as Go does on most machines: what 64 bits do not hold becomes the least number.
pub(super) fn truncated(float: f64) -> i64 {
    if float.abs() < BEYOND_INT64 {
        #[expect(clippy::cast_possible_truncation, reason = "within the range")]
        let whole = float as i64;
        return whole;
    }
    i64::MIN
}

#[cfg(test)]
mod tests {
    use proptest::num::f64::ANY;
    use proptest::{prop_assert_eq, proptest};

    use super::GoNumber;

    proptest! {
        /// Two crates that know nothing of each other print floating point numbers.
        #[test]
        fn numbers_are_printed_as_expressions_print_them(value in ANY) {
            let of_expressions = kubewright_cel::Value::Double(value).to_string();
            prop_assert_eq!(GoNumber::Float(value).shown(), of_expressions);
        }
    }
}
