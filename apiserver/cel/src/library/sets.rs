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

fn pair<'a>(values: &[Value<'a>], holds: fn(&List<'a>, &List<'a>) -> bool) -> Evaluated<'a> {
    match values {
        [Value::List(left), Value::List(right)]
            if left.len().saturating_mul(right.len()) > MAX_COMPARISONS =>
        {
            Err(Failure::CostLimit)
        }
        [Value::List(left), Value::List(right)] => Ok(Value::Bool(holds(left, right))),
        _ => Err(Failure::no_such_overload()),
    }
}

fn holds_all(set: &List<'_>, of: &List<'_>) -> bool {
    of.iter().all(|element| set.contains(&element))
}

fn contains<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    pair(values, |left, right| holds_all(left, right))
}

fn equivalent<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    pair(values, |left, right| {
        holds_all(left, right) && holds_all(right, left)
    })
}

fn intersects<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    pair(values, |left, right| {
        left.iter().any(|element| right.contains(&element))
    })
}
