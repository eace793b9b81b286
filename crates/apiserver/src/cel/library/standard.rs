//! The standard functions: operators, sizes, conversions, texts.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::eval::{Evaluated, Failure};
use super::super::types::Type;
use super::super::value::{List, Value, compare, convert};
use super::{Declaration, guarded, open};

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
    open("size", "size_bytes", "(bytes) -> int", size),
    open("size", "bytes_size", "bytes.() -> int", size),
    open("size", "size_list", "(list(A)) -> int", size),
    open("size", "list_size", "list(A).() -> int", size),
    open("size", "size_map", "(map(A, B)) -> int", size),
    open("size", "map_size", "map(A, B).() -> int", size),
    open("size", "size_string", "(string) -> int", size),
    open("size", "string_size", "string.() -> int", size),
    open("type", "type", "(A) -> type(A)", type_of),
    guarded("bool", "bool_to_bool", "(bool) -> bool", to_bool),
    guarded("bool", "string_to_bool", "(string) -> bool", to_bool),
    guarded("bytes", "bytes_to_bytes", "(bytes) -> bytes", to_bytes),
    guarded("bytes", "string_to_bytes", "(string) -> bytes", to_bytes),
    guarded(
        "double",
        "double_to_double",
        "(double) -> double",
        to_double,
    ),
    guarded("double", "int64_to_double", "(int) -> double", to_double),
    guarded(
        "double",
        "string_to_double",
        "(string) -> double",
        to_double,
    ),
    guarded("double", "uint64_to_double", "(uint) -> double", to_double),
    guarded(
        "duration",
        "duration_to_duration",
        "(duration) -> duration",
        to_duration,
    ),
    guarded(
        "duration",
        "string_to_duration",
        "(string) -> duration",
        to_duration,
    ),
    open("dyn", "to_dyn", "(A) -> dyn", same),
    guarded("int", "int64_to_int64", "(int) -> int", to_int),
    guarded("int", "double_to_int64", "(double) -> int", to_int),
    guarded("int", "duration_to_int64", "(duration) -> int", to_int),
    guarded("int", "string_to_int64", "(string) -> int", to_int),
    guarded("int", "timestamp_to_int64", "(timestamp) -> int", to_int),
    guarded("int", "uint64_to_int64", "(uint) -> int", to_int),
    guarded(
        "string",
        "string_to_string",
        "(string) -> string",
        to_string,
    ),
    guarded("string", "bool_to_string", "(bool) -> string", to_string),
    guarded("string", "bytes_to_string", "(bytes) -> string", to_string),
    guarded(
        "string",
        "double_to_string",
        "(double) -> string",
        to_string,
    ),
    guarded(
        "string",
        "duration_to_string",
        "(duration) -> string",
        to_string,
    ),
    guarded("string", "int64_to_string", "(int) -> string", to_string),
    guarded(
        "string",
        "timestamp_to_string",
        "(timestamp) -> string",
        to_string,
    ),
    guarded("string", "uint64_to_string", "(uint) -> string", to_string),
    guarded("string", "ip_to_string", "(net.IP) -> string", to_string),
    guarded(
        "string",
        "cidr_to_string",
        "(net.CIDR) -> string",
        to_string,
    ),
    guarded(
        "timestamp",
        "timestamp_to_timestamp",
        "(timestamp) -> timestamp",
        to_timestamp,
    ),
    guarded(
        "timestamp",
        "int64_to_timestamp",
        "(int) -> timestamp",
        to_timestamp,
    ),
    guarded(
        "timestamp",
        "string_to_timestamp",
        "(string) -> timestamp",
        to_timestamp,
    ),
    guarded("uint", "uint64_to_uint64", "(uint) -> uint", to_uint),
    guarded("uint", "double_to_uint64", "(double) -> uint", to_uint),
    guarded("uint", "int64_to_uint64", "(int) -> uint", to_uint),
    guarded("uint", "string_to_uint64", "(string) -> uint", to_uint),
    open(
        "contains",
        "contains_string",
        "string.(string) -> bool",
        contains,
    ),
    open(
        "endsWith",
        "ends_with_string",
        "string.(string) -> bool",
        ends_with,
    ),
    open(
        "startsWith",
        "starts_with_string",
        "string.(string) -> bool",
        starts_with,
    ),
];

/// Operators that the planner makes nodes of their own of.
fn unreachable_operator<'a>(_: &[Value<'a>]) -> Evaluated<'a> {
    Err(Failure::no_such_overload())
}

fn not<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Bool(value)] => Ok(Value::Bool(!value)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn not_strictly_false<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(!matches!(values, [Value::Bool(false)])))
}

/// The error of an operator on values that have no such operation. Texts and times say less than other types.
fn refuse<'a>(operator: &str, values: &[Value<'a>], has_operation: bool) -> Evaluated<'a> {
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
        [Value::List(left), Value::List(right)] => join(left, right),
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

fn join<'a>(left: &List<'a>, right: &List<'a>) -> Value<'a> {
    if left.len() == 0 {
        return Value::List(right.clone());
    }
    if right.len() == 0 {
        return Value::List(left.clone());
    }
    Value::List(List::Values(Arc::new(
        left.iter().chain(right.iter()).collect(),
    )))
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
        [element, Value::List(list)] => Ok(Value::Bool(list.contains(element))),
        [key, Value::Map(map)] => Ok(Value::Bool(map.find(key).is_some())),
        _ => Err(Failure::no_such_overload()),
    }
}

fn size<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Object(_)] => Err(Failure::new("no such overload: size")),
        [value] => match value.size() {
            Some(size) => Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX))),
            None => refuse("size", values, false),
        },
        _ => Err(Failure::no_such_overload()),
    }
}

fn type_of<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [value] = values else {
        return Err(Failure::no_such_overload());
    };
    Ok(Value::Type(Arc::new(match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        Value::Timestamp(_) => Type::Timestamp,
        Value::Duration(_) => Type::Duration,
        Value::List(_) => Type::list(Type::Dyn),
        Value::Map(_) => Type::map(Type::Dyn, Type::Dyn),
        Value::Optional(_) => Type::optional(Type::Dyn),
        Value::Type(_) => Type::Type(None),
        Value::Object(_) | Value::Record(_) => Type::object(value.type_name()),
    })))
}

fn same<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    values
        .first()
        .cloned()
        .ok_or_else(Failure::no_such_overload)
}

fn converted<'a>(values: &[Value<'a>], to: &Type) -> Evaluated<'a> {
    match values {
        [value] => convert(value, to),
        _ => Err(Failure::no_such_overload()),
    }
}

fn to_bool<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    converted(values, &Type::Bool)
}

fn to_bytes<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    converted(values, &Type::Bytes)
}

fn to_double<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    converted(values, &Type::Double)
}

fn to_duration<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    converted(values, &Type::Duration)
}

fn to_int<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    converted(values, &Type::Int)
}

fn to_string<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    converted(values, &Type::String)
}

fn to_timestamp<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    converted(values, &Type::Timestamp)
}

fn to_uint<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    converted(values, &Type::Uint)
}

fn on_texts<'a>(values: &[Value<'a>], holds: fn(&str, &str) -> bool) -> Evaluated<'a> {
    match values {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(holds(text, part))),
        _ => Err(Failure::no_such_overload()),
    }
}

fn contains<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    on_texts(values, |text, part| text.contains(part))
}

fn ends_with<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    on_texts(values, |text, part| text.ends_with(part))
}

fn starts_with<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    on_texts(values, |text, part| text.starts_with(part))
}
