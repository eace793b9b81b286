//! Regular expressions: `matches`, `find` and `findAll`, in the syntax of RE2.

use regex::{Regex, RegexBuilder};

use super::declaration::{Declaration, Evaluated, guarded, open};
use crate::failure::Failure;
use crate::value::Value;

mod class;
mod syntax;

pub(super) const DECLARATIONS: &[Declaration] = &[
    open("matches", "matches", "(string, string) -> bool", matches),
    open(
        "matches",
        "matches_string",
        "string.(string) -> bool",
        matches,
    ),
    guarded(
        "find",
        "string_find_string",
        "string.(string) -> string",
        find,
    ),
    guarded(
        "findAll",
        "string_find_all_string",
        "string.(string) -> list(string)",
        find_all,
    ),
    guarded(
        "findAll",
        "string_find_all_string_int",
        "string.(string, int) -> list(string)",
        find_all,
    ),
];

/// The largest compiled pattern, in bytes. Go counts a class of characters once, which takes thousands here.
const MAX_COMPILED: usize = 64 << 20;

/// What a pattern is used for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use {
    Matches,
    Find,
    FindAll,
}

impl Use {
    /// The use that a function makes of its second argument.
    pub(crate) fn of(function: &str) -> Option<Self> {
        Some(match function {
            "matches" => Self::Matches,
            "find" => Self::Find,
            "findAll" => Self::FindAll,
            _ => return None,
        })
    }
}

/// Compiles a pattern written for RE2.
pub(crate) fn compile(pattern: &str) -> Result<Regex, Failure> {
    let translated = syntax::translate(pattern)?;
    RegexBuilder::new(&translated)
        .size_limit(MAX_COMPILED)
        .build()
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            Failure::new(format!("error parsing regexp: {reason}: `{pattern}`"))
        })
}

/// Applies a pattern that was compiled with the expression.
pub(crate) fn run_compiled<'a>(use_: Use, pattern: &Regex, values: &[Value<'a>]) -> Evaluated<'a> {
    let Some(Value::String(text)) = values.first() else {
        return Err(Failure::no_such_overload());
    };
    Ok(match use_ {
        Use::Matches => Value::Bool(pattern.is_match(text)),
        Use::Find => Value::text(pattern.find(text).map_or("", |found| found.as_str())),
        Use::FindAll => {
            let limit = match values.get(2) {
                None => usize::MAX,
                Some(Value::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
                Some(_) => return Err(Failure::no_such_overload()),
            };
            Value::list(
                pattern
                    .find_iter(text)
                    .take(limit)
                    .map(|found| Value::text(found.as_str()))
                    .collect(),
            )
        }
    })
}

fn run<'a>(use_: Use, values: &[Value<'a>]) -> Evaluated<'a> {
    let Some(Value::String(pattern)) = values.get(1) else {
        return Err(Failure::no_such_overload());
    };
    let compiled = compile(pattern).map_err(|failure| match use_ {
        Use::Matches => failure,
        Use::Find | Use::FindAll => Failure::new(format!("Illegal regex: {failure}")),
    })?;
    run_compiled(use_, &compiled, values)
}

fn matches<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::String(_), _] => run(Use::Matches, values),
        _ => Err(Failure::new("no such overload: matches")),
    }
}

fn find<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    run(Use::Find, values)
}

fn find_all<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    run(Use::FindAll, values)
}
