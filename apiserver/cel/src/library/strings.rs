//! String functions, version 2 of the extension. Positions count code points.

use super::declaration::{Declaration, Evaluated, guarded};
use super::format_string;
use crate::failure::Failure;
use crate::quote::short_escape;
use crate::value::Value;

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "charAt",
        "string_char_at_int",
        "string.(int) -> string",
        char_at,
    ),
    guarded(
        "indexOf",
        "string_index_of_string",
        "string.(string) -> int",
        index_of,
    ),
    guarded(
        "indexOf",
        "string_index_of_string_int",
        "string.(string, int) -> int",
        index_of,
    ),
    guarded(
        "lastIndexOf",
        "string_last_index_of_string",
        "string.(string) -> int",
        last_index_of,
    ),
    guarded(
        "lastIndexOf",
        "string_last_index_of_string_int",
        "string.(string, int) -> int",
        last_index_of,
    ),
    guarded(
        "lowerAscii",
        "string_lower_ascii",
        "string.() -> string",
        lower,
    ),
    guarded(
        "upperAscii",
        "string_upper_ascii",
        "string.() -> string",
        upper,
    ),
    guarded(
        "replace",
        "string_replace_string_string",
        "string.(string, string) -> string",
        replace,
    ),
    guarded(
        "replace",
        "string_replace_string_string_int",
        "string.(string, string, int) -> string",
        replace,
    ),
    guarded(
        "split",
        "string_split_string",
        "string.(string) -> list(string)",
        split,
    ),
    guarded(
        "split",
        "string_split_string_int",
        "string.(string, int) -> list(string)",
        split,
    ),
    guarded(
        "substring",
        "string_substring_int",
        "string.(int) -> string",
        substring,
    ),
    guarded(
        "substring",
        "string_substring_int_int",
        "string.(int, int) -> string",
        substring,
    ),
    guarded("trim", "string_trim", "string.() -> string", trim),
    guarded(
        "format",
        "string_format",
        "string.(list(dyn)) -> string",
        format_string::format,
    ),
    guarded(
        "strings.quote",
        "strings_quote",
        "(string) -> string",
        quote,
    ),
    guarded("join", "list_join", "list(string).() -> string", join),
    guarded(
        "join",
        "list_join_string",
        "list(string).(string) -> string",
        join,
    ),
];

/// The largest text that a function makes. A longer one would break every budget anyway, once its size is counted.
const MAX_TEXT: usize = 32 << 20;

fn out_of_range<'a>(index: i64) -> Evaluated<'a> {
    Err(Failure::new(format!("index out of range: {index}")))
}

fn number(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn char_at<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::String(text), Value::Int(index)] = values else {
        return Err(Failure::no_such_overload());
    };
    let Ok(position) = usize::try_from(*index) else {
        return out_of_range(*index);
    };
    match text.chars().nth(position) {
        Some(character) => Ok(Value::text(character.to_string())),
        None if position == text.code_points() => Ok(Value::text("")),
        None => out_of_range(*index),
    }
}

fn index_of<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (text, part, from) = match values {
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text, part, *from),
        _ => return Err(Failure::no_such_overload()),
    };
    let Ok(start) = usize::try_from(from) else {
        return out_of_range(from);
    };
    // Nothing is found wherever it is looked for, and at the end at the latest.
    if part.is_empty() {
        return Ok(Value::Int(number(start.min(text.code_points()))));
    }
    let Some((offset, _)) = text.char_indices().nth(start) else {
        return Ok(Value::Int(-1));
    };
    let found = text[offset..].find(&**part);
    Ok(Value::Int(found.map_or(-1, |at| {
        number(start + text[offset..offset + at].chars().count())
    })))
}

fn last_index_of<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (text, part, from) = match values {
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text, part, Some(*from)),
        _ => return Err(Failure::no_such_overload()),
    };
    let length = text.code_points();
    let Some(start) = from.map_or(Some(length), |from| usize::try_from(from).ok()) else {
        return out_of_range(from.unwrap_or(-1));
    };
    if part.is_empty() {
        return Ok(Value::Int(number(start.min(length))));
    }
    if from.is_some() && start >= length {
        return Ok(Value::Int(-1));
    }
    // The part may begin at `start` at the latest, so it may end behind it.
    let end = start.saturating_add(part.code_points());
    let limit = text
        .char_indices()
        .nth(end)
        .map_or(text.len(), |(offset, _)| offset);
    let found = text[..limit].rfind(&**part);
    Ok(Value::Int(
        found.map_or(-1, |at| number(text[..at].chars().count())),
    ))
}

fn lower<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    on_text(values, str::to_ascii_lowercase)
}

fn upper<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    on_text(values, str::to_ascii_uppercase)
}

fn trim<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    on_text(values, |text| text.trim().to_owned())
}

fn on_text<'a>(values: &[Value<'a>], change: fn(&str) -> String) -> Evaluated<'a> {
    match values {
        [Value::String(text)] => Ok(Value::text(change(text))),
        _ => Err(Failure::no_such_overload()),
    }
}

/// A count of which every negative number means all.
fn limit(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn replace<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (text, old, new, count) = match values {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [
            Value::String(text),
            Value::String(old),
            Value::String(new),
            Value::Int(count),
        ] => (text, old, new, *count),
        _ => return Err(Failure::no_such_overload()),
    };
    let places = if old.is_empty() {
        text.code_points() + 1
    } else {
        text.len() / old.len()
    };
    let places = places.min(limit(count));
    if places.saturating_mul(new.len()).saturating_add(text.len()) > MAX_TEXT {
        return Err(Failure::CostLimit);
    }
    Ok(Value::text(text.replacen(&**old, new, limit(count))))
}

fn split<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (text, separator, count) = match values {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [
            Value::String(text),
            Value::String(separator),
            Value::Int(count),
        ] => (text, separator, *count),
        _ => return Err(Failure::no_such_overload()),
    };
    let count = limit(count);
    if count == 0 {
        return Ok(Value::list(Vec::new()));
    }
    let parts: Vec<Value<'a>> = if separator.is_empty() {
        let mut parts = Vec::new();
        let mut rest: &str = text;
        while let Some(character) = rest.chars().next() {
            if parts.len() + 1 == count {
                parts.push(Value::text(rest));
                break;
            }
            let (one, after) = rest.split_at(character.len_utf8());
            parts.push(Value::text(one));
            rest = after;
        }
        parts
    } else {
        text.splitn(count, &**separator).map(Value::text).collect()
    };
    Ok(Value::list(parts))
}

fn substring<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (text, start, end) = match values {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(Failure::no_such_overload()),
    };
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(Failure::new(format!(
            "invalid substring range. start: {start}, end: {end}"
        )));
    }
    let length = text.code_points();
    let within = |index: i64| usize::try_from(index).ok().filter(|index| *index <= length);
    let Some(from) = within(start) else {
        return out_of_range(start);
    };
    let to = match end {
        None => length,
        Some(end) => match within(end) {
            Some(to) => to,
            None => return out_of_range(end),
        },
    };
    Ok(Value::text(
        text.chars().skip(from).take(to - from).collect::<String>(),
    ))
}

fn quote<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::String(text)] = values else {
        return Err(Failure::no_such_overload());
    };
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match short_escape(character) {
            Some(short) => quoted.push_str(short),
            None => quoted.push(character),
        }
    }
    quoted.push('"');
    Ok(Value::text(quoted))
}

fn join<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (list, separator) = match values {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return Err(Failure::no_such_overload()),
    };
    let mut joined = String::new();
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        match element.as_str() {
            Some(text) => joined.push_str(text),
            None => return Err(Failure::new(format!("join: invalid input: {element}"))),
        }
        if joined.len() > MAX_TEXT {
            return Err(Failure::CostLimit);
        }
    }
    Ok(Value::text(joined))
}
