//! Lists as sets.

use super::declaration::{Declaration, Evaluated, guarded};
use crate::failure::Failure;
use crate::value::{List, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "sets.contains",
        "list_sets_contains_list",
        "(list(T), list(T)) -> bool",
        contains,
    ),
    guarded(
        "sets.equivalent",
        "list_sets_equivalent_list",
        "(list(T), list(T)) -> bool",
        equivalent,
    ),
    guarded(
        "sets.intersects",
        "list_sets_intersects_list",
        "(list(T), list(T)) -> bool",
        intersects,
    ),
];

/// More comparisons than any budget allows.
const MAX_COMPARISONS: usize = 20_000_000;

fn pair<'a>(
    values: &[Value<'a>],
    holds: fn(&List<'a>, &List<'a>) -> Result<bool, Failure>,
) -> Evaluated<'a> {
    match values {
        [Value::List(left), Value::List(right)]
            if left.len().saturating_mul(right.len()) > MAX_COMPARISONS =>
        {
            Err(Failure::CostLimit)
        }
        [Value::List(left), Value::List(right)] => holds(left, right).map(Value::Bool),
        _ => Err(Failure::no_such_overload()),
    }
}

fn holds_all(set: &List<'_>, of: &List<'_>) -> Result<bool, Failure> {
    for element in of.iter() {
        if !set.contains(&element)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    pair(values, |left, right| holds_all(left, right))
}

fn equivalent<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    pair(values, |left, right| {
        Ok(holds_all(left, right)? && holds_all(right, left)?)
    })
}

fn intersects<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    // An element that cannot be compared is none that both have.
    pair(values, |left, right| {
        let mut elements = left.iter();
        Ok(elements.any(|element| matches!(right.contains(&element), Ok(true))))
    })
}
