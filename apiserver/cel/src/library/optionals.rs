//! Values that may be missing.

use super::declaration::{Declaration, Evaluated, guarded, open};
use crate::failure::Failure;
use crate::value::{List, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    open("optional.of", "optional_of", "(V) -> optional(V)", of),
    open(
        "optional.ofNonZeroValue",
        "optional_ofNonZeroValue",
        "(V) -> optional(V)",
        of_non_zero,
    ),
    open("optional.none", "optional_none", "() -> optional(V)", none),
    guarded("value", "optional_value", "optional(V).() -> V", value),
    guarded(
        "hasValue",
        "optional_hasValue",
        "optional(V).() -> bool",
        has_value,
    ),
    open(
        "or",
        "optional_or_optional",
        "optional(V).(optional(V)) -> optional(V)",
        planned,
    ),
    open(
        "orValue",
        "optional_orValue_value",
        "optional(V).(V) -> V",
        planned,
    ),
    open(
        "_?._",
        "select_optional_field",
        "(dyn, string) -> optional(V)",
        planned,
    ),
    open(
        "_[?_]",
        "list_optindex_optional_int",
        "(list(V), int) -> optional(V)",
        planned,
    ),
    open(
        "_[?_]",
        "optional_list_optindex_optional_int",
        "(optional(list(V)), int) -> optional(V)",
        planned,
    ),
    open(
        "_[?_]",
        "map_optindex_optional_value",
        "(map(K, V), K) -> optional(V)",
        planned,
    ),
    open(
        "_[?_]",
        "optional_map_optindex_optional_value",
        "(optional(map(K, V)), K) -> optional(V)",
        planned,
    ),
    open(
        "_[_]",
        "optional_list_index_int",
        "(optional(list(V)), int) -> optional(V)",
        planned,
    ),
    open(
        "_[_]",
        "optional_map_index_value",
        "(optional(map(K, V)), K) -> optional(V)",
        planned,
    ),
    guarded("last", "list_last", "list(V).() -> optional(V)", last),
    guarded("first", "list_first", "list(V).() -> optional(V)", first),
    guarded(
        "optional.unwrap",
        "optional_unwrap",
        "(list(optional(V))) -> list(V)",
        unwrap,
    ),
    guarded(
        "unwrapOpt",
        "optional_unwrapOpt",
        "list(optional(V)).() -> list(V)",
        unwrap,
    ),
];

/// Functions that the planner makes nodes of their own of.
fn planned<'a>(_: &[Value<'a>]) -> Evaluated<'a> {
    Err(Failure::no_such_overload())
}

fn of<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    values
        .first()
        .cloned()
        .map(Value::some)
        .ok_or_else(Failure::no_such_overload)
}

fn of_non_zero<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [value] if value.is_zero() => Ok(Value::Optional(None)),
        _ => of(values),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of all functions")]
fn none<'a>(_: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Optional(None))
}

fn value<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Optional(Some(value))] => Ok((**value).clone()),
        [Value::Optional(None)] => Err(Failure::new("optional.none() dereference")),
        _ => Err(Failure::no_such_overload()),
    }
}

fn has_value<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Optional(inner)] => Ok(Value::Bool(inner.is_some())),
        _ => Err(Failure::no_such_overload()),
    }
}

fn list<'v, 'a>(values: &'v [Value<'a>]) -> Result<&'v List<'a>, Failure> {
    match values {
        [Value::List(list)] => Ok(list),
        _ => Err(Failure::no_such_overload()),
    }
}

fn first<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(list(values)?
        .get(0)
        .map_or(Value::Optional(None), Value::some))
}

fn last<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let list = list(values)?;
    let last = list.len().checked_sub(1).and_then(|index| list.get(index));
    Ok(last.map_or(Value::Optional(None), Value::some))
}

fn unwrap<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let mut present = Vec::new();
    for element in list(values)?.iter() {
        match element {
            Value::Optional(Some(inner)) => present.push((*inner).clone()),
            Value::Optional(None) => {}
            other => return Err(Failure::new(format!("value {other} is not optional"))),
        }
    }
    Ok(Value::list(present))
}
