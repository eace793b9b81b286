//! How deep objects may be nested, and the stack that reading and writing deep ones takes.

use serde_json::Value;

/// The deepest nesting of a body, and of anything that a patch makes of an object.
///
/// A real server takes 10,000 levels. What walks through an object here recurses, on the stack of a test thread.
pub(crate) const DEEPEST: usize = 127;

/// The deepest nesting of a text that this server wrote: `managedFields` repeat the nesting of the object one by one, and
/// lists and reviews wrap it.
pub(crate) const DEEPEST_OWN: usize = DEEPEST + 32;

/// Whether a value that stands within `above` lists and objects reaches too deep.
pub(crate) fn is_too_deep(value: &Value, above: usize) -> bool {
    let below = |value| is_too_deep(value, above + 1);
    match value {
        Value::Array(items) => above >= DEEPEST || items.iter().any(below),
        Value::Object(members) => above >= DEEPEST || members.values().any(below),
        _ => false,
    }
}

/// Calls `act` with the stack that the YAML library takes for the deepest objects.
pub(crate) fn with_room<T>(act: impl FnOnce() -> T) -> T {
    const ROOM: usize = 8 << 20;
    stacker::maybe_grow(ROOM, 2 * ROOM, act)
}
