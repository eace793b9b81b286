//! The operators: logic, arithmetic, order and membership.

use std::cmp::Ordering;

use super::declaration::{Declaration, Evaluated, open};
use crate::failure::Failure;
use crate::value::{List, Value, compare, join};

pub(super) const DECLARATIONS: &[Declaration] = &[
    open(
        "_&&_",
        "logical_and",
        "(bool, bool) -> bool",
        unreachable_operator,
    ),
    open(
        "_||_",
        "logical_or",
        "(bool, bool) -> bool",
        unreachable_operator,
    ),
    open(
        "_?_:_",
        "conditional",
        "(bool, A, A) -> A",
        unreachable_operator,
    ),
    open("_==_", "equals", "(A, A) -> bool", unreachable_operator),
    open("_!=_", "not_equals", "(A, A) -> bool", unreachable_operator),
    open("!_", "logical_not", "(bool) -> bool", not),
    open(
        "@not_strictly_false",
        "not_strictly_false",
        "(bool) -> bool",
        not_strictly_false,
    ),
    open("_+_", "add_bytes", "(bytes, bytes) -> bytes", add),
    open("_+_", "add_double", "(double, double) -> double", add),
    open(
        "_+_",
        "add_duration_duration",
        "(duration, duration) -> duration",
        add,
    ),
    open(
        "_+_",
        "add_duration_timestamp",
        "(duration, timestamp) -> timestamp",
        add,
    ),
    open(
        "_+_",
        "add_timestamp_duration",
        "(timestamp, duration) -> timestamp",
        add,
    ),
    open("_+_", "add_int64", "(int, int) -> int", add),
    open("_+_", "add_list", "(list(A), list(A)) -> list(A)", add),
    open("_+_", "add_string", "(string, string) -> string", add),
    open("_+_", "add_uint64", "(uint, uint) -> uint", add),
    open("_/_", "divide_double", "(double, double) -> double", divide),
    open("_/_", "divide_int64", "(int, int) -> int", divide),
    open("_/_", "divide_uint64", "(uint, uint) -> uint", divide),
    open("_%_", "modulo_int64", "(int, int) -> int", modulo),
    open("_%_", "modulo_uint64", "(uint, uint) -> uint", modulo),
    open(
        "_*_",
        "multiply_double",
        "(double, double) -> double",
        multiply,
    ),
    open("_*_", "multiply_int64", "(int, int) -> int", multiply),
    open("_*_", "multiply_uint64", "(uint, uint) -> uint", multiply),
    open("-_", "negate_double", "(double) -> double", negate),
    open("-_", "negate_int64", "(int) -> int", negate),
    open(
        "_-_",
        "subtract_double",
        "(double, double) -> double",
        subtract,
    ),
    open(
        "_-_",
        "subtract_duration_duration",
        "(duration, duration) -> duration",
        subtract,
    ),
    open("_-_", "subtract_int64", "(int, int) -> int", subtract),
    open(
        "_-_",
        "subtract_timestamp_duration",
        "(timestamp, duration) -> timestamp",
        subtract,
    ),
    open(
        "_-_",
        "subtract_timestamp_timestamp",
        "(timestamp, timestamp) -> duration",
        subtract,
    ),
    open("_-_", "subtract_uint64", "(uint, uint) -> uint", subtract),
    open("_<_", "less_bool", "(bool, bool) -> bool", less),
    open("_<_", "less_int64", "(int, int) -> bool", less),
    open("_<_", "less_int64_double", "(int, double) -> bool", less),
    open("_<_", "less_int64_uint64", "(int, uint) -> bool", less),
    open("_<_", "less_uint64", "(uint, uint) -> bool", less),
    open("_<_", "less_uint64_double", "(uint, double) -> bool", less),
    open("_<_", "less_uint64_int64", "(uint, int) -> bool", less),
    open("_<_", "less_double", "(double, double) -> bool", less),
    open("_<_", "less_double_int64", "(double, int) -> bool", less),
    open("_<_", "less_double_uint64", "(double, uint) -> bool", less),
    open("_<_", "less_string", "(string, string) -> bool", less),
    open("_<_", "less_bytes", "(bytes, bytes) -> bool", less),
    open(
        "_<_",
        "less_timestamp",
        "(timestamp, timestamp) -> bool",
        less,
    ),
    open("_<_", "less_duration", "(duration, duration) -> bool", less),
    open(
        "_<=_",
        "less_equals_bool",
        "(bool, bool) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_int64",
        "(int, int) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_int64_double",
        "(int, double) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_int64_uint64",
        "(int, uint) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_uint64",
        "(uint, uint) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_uint64_double",
        "(uint, double) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_uint64_int64",
        "(uint, int) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_double",
        "(double, double) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_double_int64",
        "(double, int) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_double_uint64",
        "(double, uint) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_string",
        "(string, string) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_bytes",
        "(bytes, bytes) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_timestamp",
        "(timestamp, timestamp) -> bool",
        less_equals,
    ),
    open(
        "_<=_",
        "less_equals_duration",
        "(duration, duration) -> bool",
        less_equals,
    ),
    open("_>_", "greater_bool", "(bool, bool) -> bool", greater),
    open("_>_", "greater_int64", "(int, int) -> bool", greater),
    open(
        "_>_",
        "greater_int64_double",
        "(int, double) -> bool",
        greater,
    ),
    open(
        "_>_",
        "greater_int64_uint64",
        "(int, uint) -> bool",
        greater,
    ),
    open("_>_", "greater_uint64", "(uint, uint) -> bool", greater),
    open(
        "_>_",
        "greater_uint64_double",
        "(uint, double) -> bool",
        greater,
    ),
    open(
        "_>_",
        "greater_uint64_int64",
        "(uint, int) -> bool",
        greater,
    ),
    open("_>_", "greater_double", "(double, double) -> bool", greater),
    open(
        "_>_",
        "greater_double_int64",
        "(double, int) -> bool",
        greater,
    ),
    open(
        "_>_",
        "greater_double_uint64",
        "(double, uint) -> bool",
        greater,
    ),
    open("_>_", "greater_string", "(string, string) -> bool", greater),
    open("_>_", "greater_bytes", "(bytes, bytes) -> bool", greater),
    open(
        "_>_",
        "greater_timestamp",
        "(timestamp, timestamp) -> bool",
        greater,
    ),
    open(
        "_>_",
        "greater_duration",
        "(duration, duration) -> bool",
        greater,
    ),
    open(
        "_>=_",
        "greater_equals_bool",
        "(bool, bool) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_int64",
        "(int, int) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_int64_double",
        "(int, double) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_int64_uint64",
        "(int, uint) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_uint64",
        "(uint, uint) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_uint64_double",
        "(uint, double) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_uint64_int64",
        "(uint, int) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_double",
        "(double, double) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_double_int64",
        "(double, int) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_double_uint64",
        "(double, uint) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_string",
        "(string, string) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_bytes",
        "(bytes, bytes) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_timestamp",
        "(timestamp, timestamp) -> bool",
        greater_equals,
    ),
    open(
        "_>=_",
        "greater_equals_duration",
        "(duration, duration) -> bool",
        greater_equals,
    ),
    open(
        "_[_]",
        "index_list",
        "(list(A), int) -> A",
        unreachable_operator,
    ),
    open(
        "_[_]",
        "index_map",
        "(map(A, B), A) -> B",
        unreachable_operator,
    ),
    open("@in", "in_list", "(A, list(A)) -> bool", contains_element),
    open("@in", "in_map", "(A, map(A, B)) -> bool", contains_element),
];

fn unreachable_operator<'a>(_: &[Value<'a>]) -> Evaluated<'a> {
    Err(Failure::no_such_overload())
}

fn not<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Bool(value)] => Ok(Value::Bool(!value)),
        _ => Err(Failure::no_such_overload()),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of all functions")]
fn not_strictly_false<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(!matches!(values, [Value::Bool(false)])))
}

pub(super) fn refuse<'a>(
    operator: &str,
    values: &[Value<'a>],
    has_operation: bool,
) -> Evaluated<'a> {
    let receiver = matches!(
        values.first(),
        Some(Value::String(_) | Value::Timestamp(_) | Value::Duration(_))
    );
    if has_operation || receiver {
        return Err(Failure::no_such_overload());
    }
    Err(Failure::new(format!("no such overload: {operator}")))
}

fn overflow() -> Failure {
    Failure::new("integer overflow")
}

fn unsigned_overflow() -> Failure {
    Failure::new("unsigned integer overflow")
}

pub(super) fn add<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(match values {
        [Value::Int(left), Value::Int(right)] => {
            Value::Int(left.checked_add(*right).ok_or_else(overflow)?)
        }
        [Value::Uint(left), Value::Uint(right)] => {
            Value::Uint(left.checked_add(*right).ok_or_else(unsigned_overflow)?)
        }
        [Value::Double(left), Value::Double(right)] => Value::Double(left + right),
        [Value::String(left), Value::String(right)] => {
            let mut text = String::with_capacity(left.len() + right.len());
            text.push_str(left);
            text.push_str(right);
            Value::text(text)
        }
        [Value::Bytes(left), Value::Bytes(right)] => {
            Value::Bytes(left.iter().chain(right.iter()).copied().collect())
        }
        [Value::List(left), Value::List(right)] => joined(left, right)?,
        [Value::Duration(left), Value::Duration(right)] => {
            Value::Duration(left.checked_add(*right).ok_or_else(overflow)?)
        }
        [Value::Duration(duration), Value::Timestamp(time)]
        | [Value::Timestamp(time), Value::Duration(duration)] => {
            Value::Timestamp(time.plus(i128::from(*duration))?)
        }
        _ => {
            let has = matches!(
                values.first(),
                Some(
                    Value::Int(_)
                        | Value::Uint(_)
                        | Value::Double(_)
                        | Value::Bytes(_)
                        | Value::List(_)
                )
            );
            return refuse("_+_", values, has);
        }
    })
}

/// The most items of a sum of lists: to look through more would break every budget.
const MAX_JOINED: usize = 2_000_000;

fn joined<'a>(left: &List<'a>, right: &List<'a>) -> Evaluated<'a> {
    if right.is_empty() {
        return Ok(Value::List(left.clone()));
    }
    if left.len().saturating_add(right.len()) > MAX_JOINED {
        return Err(Failure::CostLimit);
    }
    Ok(Value::List(join(left, right)?))
}

fn subtract<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(match values {
        [Value::Int(left), Value::Int(right)] => {
            Value::Int(left.checked_sub(*right).ok_or_else(overflow)?)
        }
        [Value::Uint(left), Value::Uint(right)] => {
            Value::Uint(left.checked_sub(*right).ok_or_else(unsigned_overflow)?)
        }
        [Value::Double(left), Value::Double(right)] => Value::Double(left - right),
        [Value::Duration(left), Value::Duration(right)] => {
            Value::Duration(left.checked_sub(*right).ok_or_else(overflow)?)
        }
        [Value::Timestamp(time), Value::Duration(duration)] => {
            Value::Timestamp(time.plus(-i128::from(*duration))?)
        }
        [Value::Timestamp(left), Value::Timestamp(right)] => Value::Duration(left.minus(*right)?),
        _ => return refuse("_-_", values, is_number(values)),
    })
}

fn multiply<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(match values {
        [Value::Int(left), Value::Int(right)] => {
            Value::Int(left.checked_mul(*right).ok_or_else(overflow)?)
        }
        [Value::Uint(left), Value::Uint(right)] => {
            Value::Uint(left.checked_mul(*right).ok_or_else(unsigned_overflow)?)
        }
        [Value::Double(left), Value::Double(right)] => Value::Double(left * right),
        _ => return refuse("_*_", values, is_number(values)),
    })
}

fn divide<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(match values {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(Failure::new("division by zero"));
        }
        [Value::Int(left), Value::Int(right)] => {
            Value::Int(left.checked_div(*right).ok_or_else(overflow)?)
        }
        [Value::Uint(left), Value::Uint(right)] => Value::Uint(left / right),
        [Value::Double(left), Value::Double(right)] => Value::Double(left / right),
        _ => return refuse("_/_", values, is_number(values)),
    })
}

fn modulo<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(match values {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(Failure::new("modulus by zero"));
        }
        [Value::Int(left), Value::Int(right)] => {
            Value::Int(left.checked_rem(*right).ok_or_else(overflow)?)
        }
        [Value::Uint(left), Value::Uint(right)] => Value::Uint(left % right),
        _ => {
            let has = matches!(values.first(), Some(Value::Int(_) | Value::Uint(_)));
            return refuse("_%_", values, has);
        }
    })
}

fn negate<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(match values {
        [Value::Int(value)] => Value::Int(value.checked_neg().ok_or_else(overflow)?),
        [Value::Double(value)] => Value::Double(-value),
        [Value::Duration(value)] => Value::Duration(value.checked_neg().ok_or_else(overflow)?),
        _ => return refuse("-_", values, false),
    })
}

fn is_number(values: &[Value<'_>]) -> bool {
    matches!(
        values.first(),
        Some(Value::Int(_) | Value::Uint(_) | Value::Double(_))
    )
}

fn ordered<'a>(operator: &str, values: &[Value<'a>], holds: fn(Ordering) -> bool) -> Evaluated<'a> {
    let [left, right] = values else {
        return Err(Failure::no_such_overload());
    };
    let has_order = matches!(
        left,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Timestamp(_)
            | Value::Duration(_)
    );
    if !has_order {
        return refuse(operator, values, false);
    }
    compare(left, right).map(|order| Value::Bool(holds(order)))
}

fn less<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    ordered("_<_", values, Ordering::is_lt)
}

fn less_equals<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    ordered("_<=_", values, Ordering::is_le)
}

fn greater<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    ordered("_>_", values, Ordering::is_gt)
}

fn greater_equals<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    ordered("_>=_", values, Ordering::is_ge)
}

fn contains_element<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [element, Value::List(list)] => list.contains(element).map(Value::Bool),
        [key, Value::Map(map)] => {
            map.check_key(key)?;
            let found = map.entry(key);
            match found.as_ref().and_then(Value::fault) {
                Some(reason) => Err(Failure::new(reason.to_owned())),
                None => Ok(Value::Bool(found.is_some())),
            }
        }
        _ => Err(Failure::no_such_overload()),
    }
}
