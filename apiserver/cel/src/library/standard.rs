//! The standard functions: sizes, types, conversions, strings.

use std::sync::Arc;

use super::declaration::{Declaration, Evaluated, guarded, open};
use super::operators::refuse;
use crate::failure::Failure;
use crate::types::Type;
use crate::value::{Value, convert};

pub(super) const DECLARATIONS: &[Declaration] = &[
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
        Value::Invalid(_) => Type::Error,
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

fn on_strings<'a>(values: &[Value<'a>], holds: fn(&str, &str) -> bool) -> Evaluated<'a> {
    match values {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(holds(text, part))),
        _ => Err(Failure::no_such_overload()),
    }
}

fn contains<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    on_strings(values, |text, part| text.contains(part))
}

fn ends_with<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    on_strings(values, |text, part| text.ends_with(part))
}

fn starts_with<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    on_strings(values, |text, part| text.starts_with(part))
}
