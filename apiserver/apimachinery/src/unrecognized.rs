//! The decoder's words for bodies that are no objects.

use std::fmt::Write as _;

use serde_json::Value;

/// Returns how a body begins, as messages show it.
///
/// ```
/// use kubewright_apimachinery::unrecognized::beginning;
///
/// assert_eq!(beginning(b""), "<empty>");
/// assert_eq!(beginning(b"[1]"), "5b315d");
/// ```
pub fn beginning(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let cut = &body[..body.len().min(SHOWN)];
    let more = if body.len() > SHOWN { " ..." } else { "" };
    let start = match body {
        [] => "<empty>".to_owned(),
        [b'{', ..] => String::from_utf8_lossy(cut).into_owned(),
        _ => cut.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    };
    start + more
}

/// Says why a scalar or a list is no object of any kind.
pub fn not_an_object(value: &Value) -> String {
    let found = json_type(value);
    format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value \
         of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
         \"json:\\\"kind,omitempty\\\"\" }}"
    )
}

/// Says why the version or the kind of an object is no text.
pub fn unreadable_kind(object: &Value) -> Option<String> {
    unreadable(object, ["apiVersion", "kind"])
}

/// Says the same of an object that is converted field by field, in the order of Go's `TypeMeta`.
pub fn unconvertible_kind(object: &Value) -> Option<String> {
    unreadable(object, ["kind", "apiVersion"])
}

fn unreadable(object: &Value, names: [&str; 2]) -> Option<String> {
    names.into_iter().find_map(|name| {
        let is_wrong = |value: &&Value| !value.is_string() && !value.is_null();
        let found = json_type(object.get(name).filter(is_wrong)?);
        Some(format!(
            "json: cannot unmarshal {found} into Go struct field .{name} of type string"
        ))
    })
}

/// Names a value's type in the decoder's words.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
