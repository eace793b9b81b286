//! Field paths and field errors, worded as the API server words them.

use std::fmt::{self, Write as _};

use serde_json::Value;

/// The path to a field, as it stands in an error: `spec.containers[0].name`, `metadata.annotations[key]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// A path that starts at the named field.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The path of the object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// The field `name` below this one.
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self::new(name)
        } else {
            Self(format!("{}.{name}", self.0))
        }
    }

    /// The element at `index` of this list.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// The value at `key` of this map.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    field: String,
    reason: Reason,
    body: String,
}

/// The machine-readable kind of a field error: `causes[].reason` of a Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The field refers to something that does not exist.
    NotFound,
    /// The field must be set.
    Required,
    /// The value stands elsewhere already and must be unique.
    Duplicate,
    /// The value is malformed.
    Invalid,
    /// The value is not one of a fixed set.
    NotSupported,
    /// The field may not be set, or not be changed.
    Forbidden,
    /// The text is too long.
    TooLong,
    /// The list has too many items.
    TooMany,
    /// The value has the wrong type.
    TypeInvalid,
    /// The server could not check the value.
    Internal,
}

impl Reason {
    /// The word in `causes[].reason`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }
}

impl FieldError {
    /// `Not found: <value>`.
    pub fn not_found(path: &Path, value: impl Into<Value>) -> Self {
        Self::new(
            path,
            Reason::NotFound,
            format!("Not found: {}", rendered(&value.into())),
        )
    }

    /// `Required value`, with what would be accepted where there is something to say.
    pub fn required(path: &Path, detail: &str) -> Self {
        Self::new(
            path,
            Reason::Required,
            with_detail("Required value", detail),
        )
    }

    /// `Duplicate value: <value>`.
    pub fn duplicate(path: &Path, value: impl Into<Value>) -> Self {
        Self::new(
            path,
            Reason::Duplicate,
            format!("Duplicate value: {}", rendered(&value.into())),
        )
    }

    /// `Invalid value: <value>: <detail>`.
    pub fn invalid(path: &Path, value: impl Into<Value>, detail: &str) -> Self {
        let body = format!("Invalid value: {}", rendered(&value.into()));
        Self::new(path, Reason::Invalid, with_detail(&body, detail))
    }

    /// `Invalid value: <value>: <detail>`, for a value of the wrong type.
    pub fn type_invalid(path: &Path, value: impl Into<Value>, detail: &str) -> Self {
        Self {
            reason: Reason::TypeInvalid,
            ..Self::invalid(path, value, detail)
        }
    }

    /// `Unsupported value: <value>: supported values: "a", "b"`, in the order given.
    pub fn not_supported(path: &Path, value: impl Into<Value>, supported: &[&str]) -> Self {
        let mut body = format!("Unsupported value: {}", rendered(&value.into()));
        if !supported.is_empty() {
            let quoted: Vec<String> = supported.iter().map(|word| quoted(word)).collect();
            body.push_str(": supported values: ");
            body.push_str(&quoted.join(", "));
        }
        Self::new(path, Reason::NotSupported, body)
    }

    /// `Forbidden: <detail>`.
    pub fn forbidden(path: &Path, detail: &str) -> Self {
        Self::new(path, Reason::Forbidden, with_detail("Forbidden", detail))
    }

    /// `Too long: may not be more than <limit> bytes`.
    pub fn too_long(path: &Path, limit: usize) -> Self {
        let body = format!("Too long: may not be more than {limit} bytes");
        Self::new(path, Reason::TooLong, body)
    }

    /// `Too many: <actual>: must have at most <limit> items`.
    pub fn too_many(path: &Path, actual: usize, limit: usize) -> Self {
        let items = if limit == 1 { "item" } else { "items" };
        let body = format!("Too many: {actual}: must have at most {limit} {items}");
        Self::new(path, Reason::TooMany, body)
    }

    /// `Internal error: <detail>`.
    pub fn internal(path: &Path, detail: &str) -> Self {
        Self::new(path, Reason::Internal, format!("Internal error: {detail}"))
    }

    /// The field's path, as printed.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The machine-readable kind.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The text behind the path.
    pub fn body(&self) -> &str {
        &self.body
    }

    fn new(path: &Path, reason: Reason, body: String) -> Self {
        Self {
            field: path.to_string(),
            reason,
            body,
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body)
    }
}

/// Quotes a text as Go's `%q` does: the API server's way to show strings in messages.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value as error texts show it: strings quoted, everything else as JSON (since Kubernetes 1.34).
fn rendered(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn with_detail(body: &str, detail: &str) -> String {
    if detail.is_empty() {
        body.to_owned()
    } else {
        format!("{body}: {detail}")
    }
}
