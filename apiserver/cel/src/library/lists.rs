//! Functions on lists: Kubernetes' own and the third version of the extension.

use std::cmp::Ordering;

use super::declaration::{Declaration, Evaluated, guarded, open};
use crate::failure::Failure;
use crate::value::{List, Value, compare, equal};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "isSorted",
        "list_int_is_sorted_bool",
        "list(int).() -> bool",
        is_sorted,
    ),
    guarded(
        "isSorted",
        "list_uint_is_sorted_bool",
        "list(uint).() -> bool",
        is_sorted,
    ),
    guarded(
        "isSorted",
        "list_double_is_sorted_bool",
        "list(double).() -> bool",
        is_sorted,
    ),
    guarded(
        "isSorted",
        "list_bool_is_sorted_bool",
        "list(bool).() -> bool",
        is_sorted,
    ),
    guarded(
        "isSorted",
        "list_duration_is_sorted_bool",
        "list(duration).() -> bool",
        is_sorted,
    ),
    guarded(
        "isSorted",
        "list_timestamp_is_sorted_bool",
        "list(timestamp).() -> bool",
        is_sorted,
    ),
    guarded(
        "isSorted",
        "list_string_is_sorted_bool",
        "list(string).() -> bool",
        is_sorted,
    ),
    guarded(
        "isSorted",
        "list_bytes_is_sorted_bool",
        "list(bytes).() -> bool",
        is_sorted,
    ),
    guarded("sum", "list_int_sum_int", "list(int).() -> int", |values| {
        sum(values, Value::Int(0))
    }),
    guarded(
        "sum",
        "list_uint_sum_uint",
        "list(uint).() -> uint",
        |values| sum(values, Value::Uint(0)),
    ),
    guarded(
        "sum",
        "list_double_sum_double",
        "list(double).() -> double",
        |values| sum(values, Value::Double(0.0)),
    ),
    guarded(
        "sum",
        "list_duration_sum_duration",
        "list(duration).() -> duration",
        |values| sum(values, Value::Duration(0)),
    ),
    guarded("max", "list_int_max_int", "list(int).() -> int", max),
    guarded("max", "list_uint_max_uint", "list(uint).() -> uint", max),
    guarded(
        "max",
        "list_double_max_double",
        "list(double).() -> double",
        max,
    ),
    guarded("max", "list_bool_max_bool", "list(bool).() -> bool", max),
    guarded(
        "max",
        "list_duration_max_duration",
        "list(duration).() -> duration",
        max,
    ),
    guarded(
        "max",
        "list_timestamp_max_timestamp",
        "list(timestamp).() -> timestamp",
        max,
    ),
    guarded(
        "max",
        "list_string_max_string",
        "list(string).() -> string",
        max,
    ),
    guarded(
        "max",
        "list_bytes_max_bytes",
        "list(bytes).() -> bytes",
        max,
    ),
    guarded("min", "list_int_min_int", "list(int).() -> int", min),
    guarded("min", "list_uint_min_uint", "list(uint).() -> uint", min),
    guarded(
        "min",
        "list_double_min_double",
        "list(double).() -> double",
        min,
    ),
    guarded("min", "list_bool_min_bool", "list(bool).() -> bool", min),
    guarded(
        "min",
        "list_duration_min_duration",
        "list(duration).() -> duration",
        min,
    ),
    guarded(
        "min",
        "list_timestamp_min_timestamp",
        "list(timestamp).() -> timestamp",
        min,
    ),
    guarded(
        "min",
        "list_string_min_string",
        "list(string).() -> string",
        min,
    ),
    guarded(
        "min",
        "list_bytes_min_bytes",
        "list(bytes).() -> bytes",
        min,
    ),
    guarded(
        "indexOf",
        "list_a_index_of_int",
        "list(A).(A) -> int",
        index_of,
    ),
    guarded(
        "lastIndexOf",
        "list_a_last_index_of_int",
        "list(A).(A) -> int",
        last_index_of,
    ),
];

/// Version 1 of Kubernetes' own functions.
pub(super) const INCLUDES: &[Declaration] = &[guarded(
    "includes",
    "list_includes_dyn_dyn",
    "dyn.(dyn) -> bool",
    includes,
)];

/// Version 3 of cel-go's extension.
pub(super) const EXTENSION: &[Declaration] = &[
    guarded(
        "slice",
        "list_slice",
        "list(T).(int, int) -> list(T)",
        slice,
    ),
    open(
        "flatten",
        "list_flatten",
        "list(list(T)).() -> list(T)",
        flatten,
    ),
    open(
        "flatten",
        "list_flatten_int",
        "list(dyn).(int) -> list(dyn)",
        flatten,
    ),
    open("sort", "list_int_sort", "list(int).() -> list(int)", sort),
    open(
        "sort",
        "list_uint_sort",
        "list(uint).() -> list(uint)",
        sort,
    ),
    open(
        "sort",
        "list_double_sort",
        "list(double).() -> list(double)",
        sort,
    ),
    open(
        "sort",
        "list_bool_sort",
        "list(bool).() -> list(bool)",
        sort,
    ),
    open(
        "sort",
        "list_google.protobuf.Duration_sort",
        "list(duration).() -> list(duration)",
        sort,
    ),
    open(
        "sort",
        "list_google.protobuf.Timestamp_sort",
        "list(timestamp).() -> list(timestamp)",
        sort,
    ),
    open(
        "sort",
        "list_string_sort",
        "list(string).() -> list(string)",
        sort,
    ),
    open(
        "sort",
        "list_bytes_sort",
        "list(bytes).() -> list(bytes)",
        sort,
    ),
    open(
        "@sortByAssociatedKeys",
        "list_int_sortByAssociatedKeys",
        "list(T).(list(int)) -> list(T)",
        sort_by_keys,
    ),
    open(
        "@sortByAssociatedKeys",
        "list_uint_sortByAssociatedKeys",
        "list(T).(list(uint)) -> list(T)",
        sort_by_keys,
    ),
    open(
        "@sortByAssociatedKeys",
        "list_double_sortByAssociatedKeys",
        "list(T).(list(double)) -> list(T)",
        sort_by_keys,
    ),
    open(
        "@sortByAssociatedKeys",
        "list_bool_sortByAssociatedKeys",
        "list(T).(list(bool)) -> list(T)",
        sort_by_keys,
    ),
    open(
        "@sortByAssociatedKeys",
        "list_google.protobuf.Duration_sortByAssociatedKeys",
        "list(T).(list(duration)) -> list(T)",
        sort_by_keys,
    ),
    open(
        "@sortByAssociatedKeys",
        "list_google.protobuf.Timestamp_sortByAssociatedKeys",
        "list(T).(list(timestamp)) -> list(T)",
        sort_by_keys,
    ),
    open(
        "@sortByAssociatedKeys",
        "list_string_sortByAssociatedKeys",
        "list(T).(list(string)) -> list(T)",
        sort_by_keys,
    ),
    open(
        "@sortByAssociatedKeys",
        "list_bytes_sortByAssociatedKeys",
        "list(T).(list(bytes)) -> list(T)",
        sort_by_keys,
    ),
    guarded("lists.range", "lists_range", "(int) -> list(int)", range),
    guarded("reverse", "list_reverse", "list(T).() -> list(T)", reverse),
    guarded(
        "distinct",
        "list_distinct",
        "list(T).() -> list(T)",
        distinct,
    ),
];

/// The longest range.
const MAX_RANGE: i64 = 1_000_000;
/// More elements than any budget allows to compare with each other.
const MAX_COMPARED: usize = 5_000;

fn list<'v, 'a>(values: &'v [Value<'a>]) -> Result<&'v List<'a>, Failure> {
    match values.first() {
        Some(Value::List(list)) => Ok(list),
        _ => Err(Failure::no_such_overload()),
    }
}

fn is_sorted<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let mut before: Option<Value<'a>> = None;
    for element in list(values)?.iter() {
        if let Some(before) = &before
            && compare(before, &element)?.is_gt()
        {
            return Ok(Value::Bool(false));
        }
        before = Some(element);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(values: &[Value<'a>], zero: Value<'a>) -> Evaluated<'a> {
    list(values)?
        .iter()
        .try_fold(zero, |sum, element| super::operators::add(&[sum, element]))
}

fn max<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    extreme("max", values, Ordering::Less)
}

fn min<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    extreme("min", values, Ordering::Greater)
}

fn extreme<'a>(name: &str, values: &[Value<'a>], give_way: Ordering) -> Evaluated<'a> {
    let mut best: Option<Value<'a>> = None;
    for element in list(values)?.iter() {
        let better = match &best {
            None => true,
            Some(best) => matches!(compare(best, &element), Ok(order) if order == give_way),
        };
        if better {
            best = Some(element);
        }
    }
    best.ok_or_else(|| Failure::new(format!("{name} called on empty list")))
}

fn position<'a>(values: &[Value<'a>], last: bool) -> Evaluated<'a> {
    let [Value::List(list), wanted] = values else {
        return Err(Failure::no_such_overload());
    };
    let is_it = |index: &usize| {
        list.get(*index)
            .is_some_and(|element| matches!(equal(&element, wanted), Ok(true)))
    };
    let found = if last {
        (0..list.len()).rev().find(is_it)
    } else {
        (0..list.len()).find(is_it)
    };
    Ok(Value::Int(
        found
            .and_then(|index| i64::try_from(index).ok())
            .unwrap_or(-1),
    ))
}

fn index_of<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    position(values, false)
}

fn last_index_of<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    position(values, true)
}

fn includes<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [target, wanted] = values else {
        return Err(Failure::no_such_overload());
    };
    let is_it = |value: &Value<'a>| matches!(equal(value, wanted), Ok(true));
    Ok(Value::Bool(match target {
        Value::List(list) => list.iter().any(|element| is_it(&element)),
        other => is_it(other),
    }))
}

fn slice<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = values else {
        return Err(Failure::no_such_overload());
    };
    let refuse = |reason: String| Failure::new(format!("cannot slice({start}, {end}), {reason}"));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return Err(refuse("negative indexes not supported".to_owned()));
    };
    if from > to {
        return Err(refuse(
            "start index must be less than or equal to end index".to_owned(),
        ));
    }
    if to > list.len() {
        return Err(refuse(format!("list is length {}", list.len())));
    }
    Ok(Value::list(
        (from..to).filter_map(|index| list.get(index)).collect(),
    ))
}

fn flatten<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let depth = match values {
        [Value::List(_)] => 1,
        [Value::List(_), Value::Int(depth)] if *depth < 0 => {
            return Err(Failure::new("level must be non-negative"));
        }
        [Value::List(_), Value::Int(depth)] => *depth,
        [other] => {
            return Err(Failure::new(format!(
                "no such overload: {}.flatten()",
                other.type_name()
            )));
        }
        [other, depth] => {
            let (of, by) = (other.type_name(), depth.type_name());
            return Err(Failure::new(format!(
                "no such overload: {of}.flatten({by})"
            )));
        }
        _ => return Err(Failure::no_such_overload()),
    };
    let mut flat = Vec::new();
    flatten_into(&mut flat, list(values)?, depth)?;
    Ok(Value::list(flat))
}

fn flatten_into<'a>(flat: &mut Vec<Value<'a>>, list: &List<'a>, depth: i64) -> Result<(), Failure> {
    for element in list.iter() {
        match element {
            Value::List(inner) if depth > 0 => flatten_into(flat, &inner, depth - 1)?,
            other => flat.push(other),
        }
    }
    Ok(())
}

fn sort<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::List(list)] => sorted(list, list),
        // These have methods of their own, and say that this is none of them.
        [Value::String(_) | Value::Timestamp(_) | Value::Duration(_)] => {
            Err(Failure::no_such_overload())
        }
        _ => Err(Failure::new("no such overload: sort")),
    }
}

fn sort_by_keys<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::List(list), Value::List(keys)] => sorted(list, keys),
        _ => Err(Failure::no_such_overload()),
    }
}

fn sorted<'a>(list: &List<'a>, keys: &List<'a>) -> Evaluated<'a> {
    let (length, other) = (list.len(), keys.len());
    if length != other {
        return Err(Failure::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {length} \
             and {other} elements respectively"
        )));
    }
    let mut pairs: Vec<(Value<'a>, Value<'a>)> = keys.iter().zip(list.iter()).collect();
    let Some((first, _)) = pairs.first() else {
        return Ok(Value::List(list.clone()));
    };
    if matches!(compare(first, first), Err(Failure::Error(reason)) if reason == "no such overload")
    {
        return Err(Failure::new("list elements must be comparable"));
    }
    if pairs
        .iter()
        .any(|(key, _)| key.type_name() != first.type_name())
    {
        return Err(Failure::new("list elements must have the same type"));
    }
    pairs.sort_by(|(left, _), (right, _)| compare(left, right).unwrap_or(Ordering::Equal));
    Ok(Value::list(
        pairs.into_iter().map(|(_, element)| element).collect(),
    ))
}

fn range<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Int(end)] if *end < 0 => Err(Failure::new(format!(
            "lists.range: size must be non-negative, got {end}"
        ))),
        [Value::Int(end)] if *end > MAX_RANGE => Err(Failure::new(format!(
            "lists.range: size {end} exceeds maximum allowed ({MAX_RANGE})"
        ))),
        [Value::Int(end)] => Ok(Value::list((0..*end).map(Value::Int).collect())),
        _ => Err(Failure::no_such_overload()),
    }
}

fn reverse<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let mut elements: Vec<Value<'a>> = list(values)?.iter().collect();
    elements.reverse();
    Ok(Value::list(elements))
}

fn distinct<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let list = list(values)?;
    if list.len() > MAX_COMPARED {
        return Err(Failure::CostLimit);
    }
    let mut seen: Vec<Value<'a>> = Vec::new();
    for element in list.iter() {
        if !seen
            .iter()
            .any(|known| matches!(equal(&element, known), Ok(true)))
        {
            seen.push(element);
        }
    }
    Ok(Value::list(seen))
}
