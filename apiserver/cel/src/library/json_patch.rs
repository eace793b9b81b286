//! The function that only mutating policies have.

use super::declaration::{Declaration, Evaluated, guarded};
use crate::failure::Failure;
use crate::value::Value;

pub(super) const DECLARATIONS: &[Declaration] = &[guarded(
    "jsonpatch.escapeKey",
    "string_jsonpatch_escapeKey_string",
    "(string) -> string",
    escape_key,
)];

fn escape_key<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::String(key)] => Ok(Value::text(key.replace('~', "~0").replace('/', "~1"))),
        _ => Err(Failure::no_such_overload()),
    }
}
