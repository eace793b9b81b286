//! The types of an answer's members, held against it in the order in which it is written, as Go's decoder does.

use serde_json::{Map, Value};

/// What a member has to be. The names are those of Go, since errors show them.
enum Shape {
    Text(&'static str),
    Flag,
    Int32,
    Int64,
    Texts,
    TextByText,
    Struct(&'static Struct),
    Structs(&'static Struct),
    /// A list of anything.
    Raws,
}

struct Struct {
    name: &'static str,
    members: &'static [(&'static str, Shape)],
}

static RESPONSE: Struct = Struct {
    name: "AdmissionResponse",
    members: &[
        ("uid", Shape::Text("types.UID")),
        ("allowed", Shape::Flag),
        ("status", Shape::Struct(&STATUS)),
        ("patch", Shape::Text("[]uint8")),
        ("patchType", Shape::Text("v1.PatchType")),
        ("auditAnnotations", Shape::TextByText),
        ("warnings", Shape::Texts),
    ],
};

static CONVERSION_RESPONSE: Struct = Struct {
    name: "ConversionResponse",
    members: &[
        ("uid", Shape::Text("types.UID")),
        ("convertedObjects", Shape::Raws),
        ("result", Shape::Struct(&STATUS)),
    ],
};

static STATUS: Struct = Struct {
    name: "Status",
    members: &[
        ("kind", Shape::Text("string")),
        ("apiVersion", Shape::Text("string")),
        ("metadata", Shape::Struct(&METADATA)),
        ("status", Shape::Text("string")),
        ("message", Shape::Text("string")),
        ("reason", Shape::Text("v1.StatusReason")),
        ("details", Shape::Struct(&DETAILS)),
        ("code", Shape::Int32),
    ],
};

static METADATA: Struct = Struct {
    name: "ListMeta",
    members: &[
        ("selfLink", Shape::Text("string")),
        ("resourceVersion", Shape::Text("string")),
        ("continue", Shape::Text("string")),
        ("remainingItemCount", Shape::Int64),
    ],
};

static DETAILS: Struct = Struct {
    name: "StatusDetails",
    members: &[
        ("name", Shape::Text("string")),
        ("group", Shape::Text("string")),
        ("kind", Shape::Text("string")),
        ("uid", Shape::Text("types.UID")),
        ("causes", Shape::Structs(&CAUSE)),
        ("retryAfterSeconds", Shape::Int32),
    ],
};

static CAUSE: Struct = Struct {
    name: "StatusCause",
    members: &[
        ("reason", Shape::Text("v1.CauseType")),
        ("message", Shape::Text("string")),
        ("field", Shape::Text("string")),
    ],
};

/// Checks the `response` of an AdmissionReview and drops from it what nobody knows, and what is null.
///
/// The error is Go's text for the first member that is wrong.
pub(super) fn keep_known(response: &mut Map<String, Value>) -> Result<(), String> {
    RESPONSE.keep_known(response, "response")
}

/// The same for the `response` of a ConversionReview.
pub(crate) fn keep_known_of_conversion(response: &mut Map<String, Value>) -> Result<(), String> {
    CONVERSION_RESPONSE.keep_known(response, "response")
}

impl Struct {
    fn keep_known(&self, object: &mut Map<String, Value>, path: &str) -> Result<(), String> {
        for (name, value) in object.iter_mut() {
            if let Some((_, shape)) = self.member(name) {
                shape.check(value, self.name, &format!("{path}.{name}"))?;
            }
        }
        object.retain(|name, value| !value.is_null() && self.member(name).is_some());
        Ok(())
    }

    fn member(&self, name: &str) -> Option<&(&'static str, Shape)> {
        self.members.iter().find(|(known, _)| *known == name)
    }
}

impl Shape {
    fn check(&self, value: &mut Value, within: &str, path: &str) -> Result<(), String> {
        let wrong = |value: &Value, wanted: &str| Err(mismatch(value, within, path, wanted));
        match (self, value) {
            (_, Value::Null) | (Self::Text(_), Value::String(_)) | (Self::Flag, Value::Bool(_)) => {
                Ok(())
            }
            (Self::Raws, Value::Array(_)) => Ok(()),
            (Self::Int64, Value::Number(number)) if number.is_i64() => Ok(()),
            (Self::Int32, Value::Number(number))
                if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) =>
            {
                Ok(())
            }
            (Self::Texts, Value::Array(items)) => {
                let mut items = items.iter();
                match items.find(|item| !item.is_string() && !item.is_null()) {
                    Some(item) => wrong(item, "string"),
                    None => Ok(()),
                }
            }
            (Self::TextByText, Value::Object(items)) => {
                let mut items = items.values();
                match items.find(|item| !item.is_string() && !item.is_null()) {
                    Some(item) => wrong(item, "string"),
                    None => Ok(()),
                }
            }
            (Self::Struct(inner), Value::Object(members)) => inner.keep_known(members, path),
            (Self::Structs(inner), Value::Array(items)) => {
                items.iter_mut().try_for_each(|item| match item {
                    Value::Object(members) => inner.keep_known(members, path),
                    Value::Null => Ok(()),
                    other => wrong(other, &format!("v1.{}", inner.name)),
                })
            }
            (_, value) => wrong(value, &self.go_type()),
        }
    }

    fn go_type(&self) -> String {
        match self {
            Self::Text(name) => (*name).to_owned(),
            Self::Flag => "bool".to_owned(),
            Self::Int32 => "int32".to_owned(),
            Self::Int64 => "int64".to_owned(),
            Self::Texts => "[]string".to_owned(),
            Self::TextByText => "map[string]string".to_owned(),
            Self::Struct(inner) => format!("v1.{}", inner.name),
            Self::Raws => "[]runtime.RawExtension".to_owned(),
            Self::Structs(inner) => format!("[]v1.{}", inner.name),
        }
    }
}

/// `json: cannot unmarshal <what> into Go struct field <struct>.<path> of type <type>`.
pub(super) fn mismatch(value: &Value, within: &str, path: &str, wanted: &str) -> String {
    let word = go_word(value);
    format!("json: cannot unmarshal {word} into Go struct field {within}.{path} of type {wanted}")
}

/// What Go's decoder calls a JSON value.
pub(crate) fn go_word(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) if number.is_f64() => format!("number {number}"),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    }
}
