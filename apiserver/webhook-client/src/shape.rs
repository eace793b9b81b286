//! Checks the types of a review's members as Go's decoder does: reports the first wrong member in the document.

use std::fmt;

use kubewright_apimachinery::go_base64;
use kubewright_apimachinery::json::order;
use serde_json::{Map, Value};

/// The expected type of a member. Names are those of Go, because errors show them; `@` is the package of the review's version.
#[derive(Debug)]
enum Shape {
    String(&'static str),
    /// A string of base64.
    Bytes,
    Flag,
    Int32,
    Int64,
    Strings,
    StringMap,
    StringListMap,
    Struct(&'static Struct),
    Structs(&'static Struct),
    /// Anything.
    Raw,
    /// A list of anything.
    Raws,
}

/// The shape of a struct of Go.
pub struct Struct {
    name: &'static str,
    package: &'static str,
    members: &'static [(&'static str, Shape)],
}

/// A review of admission.
pub static ADMISSION: Struct = Struct {
    name: "AdmissionReview",
    package: "@",
    members: &[
        ("kind", Shape::String("string")),
        ("apiVersion", Shape::String("string")),
        ("request", Shape::Struct(&REQUEST)),
        ("response", Shape::Struct(&RESPONSE)),
    ],
};

static REQUEST: Struct = Struct {
    name: "AdmissionRequest",
    package: "@",
    members: &[
        ("uid", Shape::String("types.UID")),
        ("kind", Shape::Struct(&KIND)),
        ("resource", Shape::Struct(&RESOURCE)),
        ("subResource", Shape::String("string")),
        ("requestKind", Shape::Struct(&KIND)),
        ("requestResource", Shape::Struct(&RESOURCE)),
        ("requestSubResource", Shape::String("string")),
        ("name", Shape::String("string")),
        ("namespace", Shape::String("string")),
        ("operation", Shape::String("@Operation")),
        ("userInfo", Shape::Struct(&USER)),
        ("object", Shape::Raw),
        ("oldObject", Shape::Raw),
        ("dryRun", Shape::Flag),
        ("options", Shape::Raw),
    ],
};

static KIND: Struct = Struct {
    name: "GroupVersionKind",
    package: "v1.",
    members: &[
        ("group", Shape::String("string")),
        ("version", Shape::String("string")),
        ("kind", Shape::String("string")),
    ],
};

static RESOURCE: Struct = Struct {
    name: "GroupVersionResource",
    package: "v1.",
    members: &[
        ("group", Shape::String("string")),
        ("version", Shape::String("string")),
        ("resource", Shape::String("string")),
    ],
};

static USER: Struct = Struct {
    name: "UserInfo",
    package: "v1.",
    members: &[
        ("username", Shape::String("string")),
        ("uid", Shape::String("string")),
        ("groups", Shape::Strings),
        ("extra", Shape::StringListMap),
    ],
};

static RESPONSE: Struct = Struct {
    name: "AdmissionResponse",
    package: "@",
    members: &[
        ("uid", Shape::String("types.UID")),
        ("allowed", Shape::Flag),
        ("status", Shape::Struct(&STATUS)),
        ("patch", Shape::Bytes),
        ("patchType", Shape::String("@PatchType")),
        ("auditAnnotations", Shape::StringMap),
        ("warnings", Shape::Strings),
    ],
};

/// A review of a conversion.
pub static CONVERSION: Struct = Struct {
    name: "ConversionReview",
    package: "@",
    members: &[
        ("kind", Shape::String("string")),
        ("apiVersion", Shape::String("string")),
        ("request", Shape::Struct(&CONVERSION_REQUEST)),
        ("response", Shape::Struct(&CONVERSION_RESPONSE)),
    ],
};

static CONVERSION_REQUEST: Struct = Struct {
    name: "ConversionRequest",
    package: "@",
    members: &[
        ("uid", Shape::String("types.UID")),
        ("desiredAPIVersion", Shape::String("string")),
        ("objects", Shape::Raws),
    ],
};

static CONVERSION_RESPONSE: Struct = Struct {
    name: "ConversionResponse",
    package: "@",
    members: &[
        ("uid", Shape::String("types.UID")),
        ("convertedObjects", Shape::Raws),
        ("result", Shape::Struct(&STATUS)),
    ],
};

static STATUS: Struct = Struct {
    name: "Status",
    package: "v1.",
    members: &[
        ("kind", Shape::String("string")),
        ("apiVersion", Shape::String("string")),
        ("metadata", Shape::Struct(&METADATA)),
        ("status", Shape::String("string")),
        ("message", Shape::String("string")),
        ("reason", Shape::String("v1.StatusReason")),
        ("details", Shape::Struct(&DETAILS)),
        ("code", Shape::Int32),
    ],
};

static METADATA: Struct = Struct {
    name: "ListMeta",
    package: "v1.",
    members: &[
        ("selfLink", Shape::String("string")),
        ("resourceVersion", Shape::String("string")),
        ("continue", Shape::String("string")),
        ("remainingItemCount", Shape::Int64),
    ],
};

static DETAILS: Struct = Struct {
    name: "StatusDetails",
    package: "v1.",
    members: &[
        ("name", Shape::String("string")),
        ("group", Shape::String("string")),
        ("kind", Shape::String("string")),
        ("uid", Shape::String("types.UID")),
        ("causes", Shape::Structs(&CAUSE)),
        ("retryAfterSeconds", Shape::Int32),
    ],
};

static CAUSE: Struct = Struct {
    name: "StatusCause",
    package: "v1.",
    members: &[
        ("reason", Shape::String("v1.CauseType")),
        ("message", Shape::String("string")),
        ("field", Shape::String("string")),
    ],
};

/// Checks a review and drops from it unknown members, and what is null.
///
/// The error is Go's text for the first member of the body that is wrong.
pub(crate) fn keep_known(
    of: &Struct,
    review: &mut Map<String, Value>,
    version: &str,
    body: &[u8],
) -> Result<(), String> {
    let mut check = Check {
        version,
        faults: Vec::new(),
    };
    check.members(of, review, "");
    if check.faults.len() > 1 {
        let paths = order::paths(body);
        let begins = |path: &str, fault: &str| {
            let rest = path.strip_prefix(fault);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
        };
        check.faults.sort_by_key(|(fault, _)| {
            let found = paths.iter().position(|path| begins(path, fault));
            found.unwrap_or(usize::MAX)
        });
    }
    match check.faults.into_iter().next() {
        Some((_, why)) => Err(why),
        None => Ok(()),
    }
}

struct Check<'a> {
    version: &'a str,
    /// The path and the message of each mismatch.
    faults: Vec<(String, String)>,
}

impl Check<'_> {
    fn members(&mut self, of: &Struct, object: &mut Map<String, Value>, path: &str) {
        for (name, value) in object.iter_mut() {
            if let Some((_, shape)) = of.member(name) {
                let dot = if path.is_empty() { "" } else { "." };
                self.member(shape, value, of.name, &format!("{path}{dot}{name}"));
            }
        }
        object.retain(|name, value| !value.is_null() && of.member(name).is_some());
    }

    fn member(&mut self, shape: &Shape, value: &mut Value, within: &str, path: &str) {
        let is_string = |item: &&Value| item.is_string() || item.is_null();
        match (shape, value) {
            (Shape::Raw, _)
            | (_, Value::Null)
            | (Shape::String(_), Value::String(_))
            | (Shape::Flag, Value::Bool(_))
            | (Shape::Raws, Value::Array(_)) => {}
            (Shape::Bytes, Value::String(text)) => {
                if let Err(why) = go_base64::decode(text) {
                    self.faults.push((path.to_owned(), why));
                }
            }
            (Shape::Int64, Value::Number(number)) if number.is_i64() => {}
            (Shape::Int32, Value::Number(number))
                if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => {}
            (Shape::Strings, Value::Array(items)) => {
                if let Some(item) = items.iter().find(|item| !is_string(item)) {
                    self.wrong(item, within, path, "string");
                }
            }
            (Shape::StringMap, Value::Object(items)) => {
                if let Some(item) = items.values().find(|item| !is_string(item)) {
                    self.wrong(item, within, path, "string");
                }
            }
            (Shape::StringListMap, Value::Object(items)) => {
                for item in items.values() {
                    match item {
                        Value::Null => {}
                        Value::Array(items) => {
                            if let Some(item) = items.iter().find(|item| !is_string(item)) {
                                self.wrong(item, within, path, "string");
                            }
                        }
                        other => self.wrong(other, within, path, "v1.ExtraValue"),
                    }
                }
            }
            (Shape::Struct(inner), Value::Object(members)) => self.members(inner, members, path),
            (Shape::Structs(inner), Value::Array(items)) => {
                for item in items {
                    match item {
                        Value::Object(members) => self.members(inner, members, path),
                        Value::Null => {}
                        other => self.wrong(other, within, path, &self.named(inner)),
                    }
                }
            }
            (_, value) => self.wrong(value, within, path, &self.go_type(shape)),
        }
    }

    fn wrong(&mut self, value: &Value, within: &str, path: &str, wanted: &str) {
        let why = mismatch(value, within, path, wanted);
        self.faults.push((path.to_owned(), why));
    }

    fn named(&self, of: &Struct) -> String {
        let package = of.package.replace('@', &format!("{}.", self.version));
        format!("{package}{}", of.name)
    }

    fn go_type(&self, shape: &Shape) -> String {
        match shape {
            Shape::String(name) => name.replace('@', &format!("{}.", self.version)),
            Shape::Bytes => "[]uint8".to_owned(),
            Shape::Flag => "bool".to_owned(),
            Shape::Int32 => "int32".to_owned(),
            Shape::Int64 => "int64".to_owned(),
            Shape::Strings => "[]string".to_owned(),
            Shape::StringMap => "map[string]string".to_owned(),
            Shape::StringListMap => "map[string]v1.ExtraValue".to_owned(),
            Shape::Struct(inner) => self.named(inner),
            Shape::Raw => "runtime.RawExtension".to_owned(),
            Shape::Raws => "[]runtime.RawExtension".to_owned(),
            Shape::Structs(inner) => format!("[]{}", self.named(inner)),
        }
    }
}

impl fmt::Debug for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Struct").field(&self.name).finish()
    }
}

impl Struct {
    fn member(&self, name: &str) -> Option<&(&'static str, Shape)> {
        self.members.iter().find(|(known, _)| *known == name)
    }
}

/// `json: cannot unmarshal <what> into Go struct field <struct>.<path> of type <type>`.
fn mismatch(value: &Value, within: &str, path: &str, wanted: &str) -> String {
    let word = go_word(value);
    format!("json: cannot unmarshal {word} into Go struct field {within}.{path} of type {wanted}")
}

/// What Go's decoder calls a JSON value.
pub fn go_word(value: &Value) -> String {
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
