//! Semantic versions, as `github.com/blang/semver` reads and orders them.

use std::cmp::Ordering;
use std::sync::Arc;

use super::declaration::{Declaration, Evaluated, guarded};
use crate::failure::Failure;
use crate::value::{Object, Semver, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "semver",
        "string_to_semver",
        "(string) -> kubernetes.Semver",
        semver,
    ),
    guarded(
        "semver",
        "string_bool_to_semver",
        "(string, bool) -> kubernetes.Semver",
        semver,
    ),
    guarded(
        "isSemver",
        "is_semver_string",
        "(string) -> bool",
        is_semver,
    ),
    guarded(
        "isSemver",
        "is_semver_string_bool",
        "(string, bool) -> bool",
        is_semver,
    ),
    guarded(
        "isGreaterThan",
        "semver_is_greater_than",
        "kubernetes.Semver.(kubernetes.Semver) -> bool",
        greater,
    ),
    guarded(
        "isLessThan",
        "semver_is_less_than",
        "kubernetes.Semver.(kubernetes.Semver) -> bool",
        less,
    ),
    guarded(
        "compareTo",
        "semver_compare_to",
        "kubernetes.Semver.(kubernetes.Semver) -> int",
        compare_to,
    ),
    guarded(
        "major",
        "semver_major",
        "kubernetes.Semver.() -> int",
        |values| part(values, 0),
    ),
    guarded(
        "minor",
        "semver_minor",
        "kubernetes.Semver.() -> int",
        |values| part(values, 1),
    ),
    guarded(
        "patch",
        "semver_patch",
        "kubernetes.Semver.() -> int",
        |values| part(values, 2),
    ),
];

fn parsed(values: &[Value<'_>]) -> Result<Result<Semver, String>, Failure> {
    match values {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => {
            Ok(Semver::parse(text))
        }
        [Value::String(text), Value::Bool(true)] => Ok(Semver::parse_normalized(text)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn semver<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let version = parsed(values)?.map_err(Failure::new)?;
    Ok(Value::Object(Object::Semver(Arc::new(version))))
}

fn is_semver<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(parsed(values)?.is_ok()))
}

fn order(values: &[Value<'_>]) -> Result<Ordering, Failure> {
    match values {
        [
            Value::Object(Object::Semver(left)),
            Value::Object(Object::Semver(right)),
        ] => Ok(left.cmp(right)),
        _ => Err(Failure::no_such_overload()),
    }
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

fn part<'a>(values: &[Value<'a>], index: usize) -> Evaluated<'a> {
    match values {
        [Value::Object(Object::Semver(version))] => {
            // Go converts by keeping the bits.
            Ok(Value::Int(version.numbers[index].cast_signed()))
        }
        _ => Err(Failure::no_such_overload()),
    }
}
