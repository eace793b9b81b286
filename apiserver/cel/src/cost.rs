//! What each call costs: the counting of cel-go and of `pkg/cel/library/cost.go`, by function and overload.
//!
//! Names, selections and literals are counted where they are evaluated. A call with arguments that failed is counted
//! like one with arguments of size one.

use crate::failure::Failure;
use crate::named_format::NamedFormat;
use crate::value::{Object, Value};

/// The cost of a call with these arguments and this result; no result where the call failed.
pub(crate) type Cost = fn(&[Value<'_>], Option<&Value<'_>>) -> u64;

/// Whether cel-go counts the cost of a call with the list itself, and panics where that is none. It counts nothing of a
/// call whose overload the value alone decides.
fn counts_list(function: &str, has_one_overload: bool) -> bool {
    match function {
        "distinct" => true,
        "sort" => has_one_overload,
        _ => false,
    }
}

/// The cost of a call whose only argument is an error.
pub(crate) fn of_failed_list(function: &str, has_one_overload: bool) -> Result<(), Failure> {
    if counts_list(function, has_one_overload) {
        return Err(no_list());
    }
    Ok(())
}

/// The cost of a call that failed, and whose only argument has a value, but no list.
pub(crate) fn of_no_list(
    function: &str,
    has_one_overload: bool,
    values: &[Value<'_>],
) -> Result<(), Failure> {
    match values {
        [Value::List(_)] => Ok(()),
        [other] if counts_list(function, has_one_overload) => Err(other.taken_for_list()),
        _ => Ok(()),
    }
}

/// The same of the second argument.
pub(crate) fn of_failed_key(function: &str, has_one_overload: bool) -> Result<(), Failure> {
    match function {
        "@sortByAssociatedKeys" if has_one_overload => Err(no_list()),
        "flatten" => Err(Failure::Panic(
            "interface conversion: ref.Val is *types.Err, not types.Int".into(),
        )),
        _ => Ok(()),
    }
}

fn no_list() -> Failure {
    Failure::no_list("*types.Err", "Add")
}

/// A name or a selection.
pub(crate) const SELECT: u64 = 1;
/// A list that is not a constant.
pub(crate) const LIST: u64 = 10;
/// A map that is not a constant.
pub(crate) const MAP: u64 = 30;
/// An object made by naming its type.
pub(crate) const RECORD: u64 = 40;

/// How to count the calls of a function; the overload is empty where several may be meant.
pub(crate) fn of(function: &str, overload: &str) -> Cost {
    by_extension(overload)
        .or_else(|| by_kubernetes(function, overload))
        .unwrap_or_else(|| by_overload(overload))
}

fn by_extension(overload: &str) -> Option<Cost> {
    Some(match overload {
        "list_slice" | "lists_range" | "list_reverse" => |_, result| 11 + result.map_or(1, size),
        "list_flatten" => |arguments, _| 11 + size(&arguments[0]),
        "list_flatten_int" => |arguments, _| {
            let depth = match arguments[1] {
                Value::Int(depth) => u64::try_from(depth).unwrap_or(1),
                _ => 1,
            };
            size(&arguments[0]).saturating_mul(depth).saturating_add(11)
        },
        "list_distinct" => |arguments, _| self_compare(&arguments[0]),
        _ if overload.ends_with("_sortByAssociatedKeys") => {
            |arguments, _| self_compare(&arguments[1])
        }
        _ if overload.starts_with("list_") && overload.ends_with("_sort") => {
            |arguments, _| self_compare(&arguments[0])
        }
        "list_sets_contains_list" | "list_sets_intersects_list" => {
            |arguments, _| 1 + size(&arguments[0]) * size(&arguments[1])
        }
        "list_sets_equivalent_list" => {
            |arguments, _| 1 + 2 * size(&arguments[0]) * size(&arguments[1])
        }
        _ => return None,
    })
}

fn by_kubernetes(function: &str, overload: &str) -> Option<Cost> {
    Some(match function {
        "check" => |_, _| 350_000,
        "fieldSelector" | "labelSelector" => |arguments, _| {
            let length = size(&arguments[1]);
            10 + tenth(length) + length.div_ceil(2) * (LIST + RECORD)
        },
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
            |arguments, _| traversal(&arguments[0])
        }
        "url"
        | "lowerAscii"
        | "upperAscii"
        | "substring"
        | "trim"
        | "jsonpatch.escapeKey"
        | "cidr"
        | "isIP"
        | "isCIDR"
        | "quantity"
        | "isQuantity"
        | "semver"
        | "isSemver" => |arguments, _| tenth(size(&arguments[0])),
        "ip" if overload == "cidr_ip" => |_, _| 1,
        "ip" => |arguments, _| tenth(size(&arguments[0])),
        "ip.isCanonical" | "replace" | "split" => |arguments, _| fifth(size(&arguments[0])),
        "join" => |_, result| fifth(result.map_or(1, size)),
        "find" | "findAll" => |arguments, _| regex(size(&arguments[0]), size(&arguments[1])),
        "containsIP" if overload == "cidr_contains_ip_string" => {
            |arguments, _| tenth(2 * size(&arguments[0])) + tenth(size(&arguments[1]))
        }
        "containsIP" => |arguments, _| tenth(2 * size(&arguments[0])),
        "containsCIDR" if overload == "cidr_contains_cidr_string" => {
            |arguments, _| contains_network(size(&arguments[0])) + tenth(size(&arguments[1]))
        }
        "containsCIDR" => |arguments, _| contains_network(size(&arguments[0])),
        "validate" => |arguments, _| match &arguments[0] {
            Value::Object(Object::Format(format)) => validation(format, size(&arguments[1])),
            _ => 1,
        },
        _ => return None,
    })
}

fn by_overload(overload: &str) -> Cost {
    match overload {
        "starts_with_string" | "ends_with_string" => |arguments, _| tenth(size(&arguments[1])),
        "string_to_bytes" | "bytes_to_string" | "strings_quote" | "string_format" => {
            |arguments, _| tenth(size(&arguments[0]))
        }
        "in_list" => |arguments, _| size(&arguments[1]),
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes" => {
            |arguments, _| tenth(size(&arguments[0]).min(size(&arguments[1])))
        }
        "add_string" | "add_bytes" => {
            |arguments, _| tenth(size(&arguments[0]) + size(&arguments[1]))
        }
        "matches_string" => |arguments, _| regex(size(&arguments[0]), size(&arguments[1])),
        "contains_string" => |arguments, _| tenth(size(&arguments[0])) * tenth(size(&arguments[1])),
        _ => |_, _| 1,
    }
}

/// The cost of `==`: the smaller operand is looked through; Kubernetes' own types cost one.
pub(crate) fn equality(left: &Value<'_>, right: &Value<'_>, negated: bool) -> u64 {
    if matches!(left, Value::Object(_)) && !negated {
        return 1;
    }
    tenth(unwrapped_size(left).min(unwrapped_size(right)))
}

/// The size of a string, a list or a map; one for all other values.
fn size(value: &Value<'_>) -> u64 {
    value
        .size()
        .map_or(1, |size| u64::try_from(size).unwrap_or(u64::MAX))
}

fn unwrapped_size(value: &Value<'_>) -> u64 {
    match value {
        Value::Optional(Some(inner)) => unwrapped_size(inner),
        other => size(other),
    }
}

/// Looking through a text once costs a tenth of its length, rounded up. Go computes this with floating point numbers; the
/// results are the same.
fn tenth(length: u64) -> u64 {
    length.div_ceil(10)
}

fn fifth(length: u64) -> u64 {
    length.div_ceil(5)
}

fn regex(text: u64, pattern: u64) -> u64 {
    tenth(text + 1) * pattern.div_ceil(4)
}

fn validation(format: &NamedFormat, text: u64) -> u64 {
    regex(text, format.max_regex_size)
}

fn contains_network(octets: u64) -> u64 {
    tenth(2 * octets) + tenth(octets) + 1
}

/// Comparing each element of a list with each other one.
fn self_compare(list: &Value<'_>) -> u64 {
    let length = size(list);
    let textual = match list {
        Value::List(list) => matches!(list.get(0), Some(Value::String(_) | Value::Bytes(_))),
        _ => false,
    };
    let pairs = length.saturating_mul(length);
    let compared = pairs.saturating_mul(2);
    let looked_through = if textual { pairs / 10 } else { 0 };
    compared.saturating_add(looked_through).saturating_add(11)
}

fn traversal(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 / 10,
        Value::Bytes(bytes) => bytes.len() as u64 / 10,
        Value::List(list) => list.iter().map(|element| traversal(&element)).sum(),
        Value::Map(map) => map
            .entries()
            .iter()
            .map(|(key, value)| traversal(key) + traversal(value))
            .sum(),
        _ => 1,
    }
}
