//! From a request body to an object of the endpoint's kind, in the decoder's words where it is none.

use std::fmt::Write as _;

use serde_json::Value;

use super::call::Call;
use super::negotiate::Input;
use super::query::{FieldValidation, WriteOptions};
use crate::field::quoted;
use crate::kinds::GroupVersionKind;
use crate::schema::json::{self, Parsed};
use crate::schema::{self, yaml};
use crate::status::{Result, Status};

/// Decodes the body of a create or an update into the kind of the request's resource or sub-resource.
///
/// # Errors
/// 400 for what is no such object, 415 for a content type that is not read.
pub(crate) fn body(call: &Call, kind: &GroupVersionKind, options: &WriteOptions) -> Result<Value> {
    let parsed = match Input::of(&call.headers)? {
        Input::Json => parse_json(&call.body, &kind.kind)?,
        Input::Yaml => parse_yaml(&call.body, &kind.kind)?,
        Input::Protobuf => Parsed {
            value: protobuf(&call.body, kind)?,
            duplicates: Vec::new(),
        },
    };
    let Parsed {
        value: mut object,
        duplicates: mut problems,
    } = parsed;
    identify(&mut object, kind, &call.body)?;
    let failure = |why: String| {
        Status::bad_request(format!(
            "{} in version {} cannot be handled as a {}: {why}",
            kind.kind,
            quoted(&kind.version),
            kind.kind
        ))
    };
    problems.extend(conform(kind, &mut object).map_err(failure)?);
    match options.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => problems.iter().for_each(|problem| call.notes.warn(problem)),
        FieldValidation::Strict if problems.is_empty() => {}
        FieldValidation::Strict => {
            return Err(failure(format!(
                "strict decoding error: {}",
                problems.join(", ")
            )));
        }
    }
    Ok(object)
}

/// Makes an object fit the types of its kind; answers a sentence for each field that the kind does not have.
///
/// # Errors
/// The decoder's words for a value of the wrong type.
pub(crate) fn conform(
    kind: &GroupVersionKind,
    object: &mut Value,
) -> std::result::Result<Vec<String>, String> {
    let unknown = schema::conform(kind, object)?;
    Ok(unknown
        .iter()
        .map(|path| format!("unknown field {}", quoted(path)))
        .collect())
}

/// Checks kind and apiVersion of a decoded body, and fills them in where the body has none.
fn identify(object: &mut Value, kind: &GroupVersionKind, body: &[u8]) -> Result<()> {
    let Value::Object(members) = object else {
        return Err(unrecognized(&kind.kind, &not_an_object(object), body));
    };
    let text = |name: &str| {
        members
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let expected = group_version(kind);
    let (said_version, said_kind) = (text("apiVersion"), text("kind"));
    let same_version = said_version.is_empty() || said_version == expected;
    let same_kind = said_kind.is_empty() || said_kind == kind.kind;
    if same_version && same_kind {
        members.insert("apiVersion".to_owned(), expected.into());
        members.insert("kind".to_owned(), kind.kind.as_str().into());
        return Ok(());
    }
    Err(other_kind(said_version, said_kind, kind))
}

fn other_kind(said_version: &str, said_kind: &str, kind: &GroupVersionKind) -> Status {
    let expected = group_version(kind);
    let said_version = if said_version.is_empty() {
        &expected
    } else {
        said_version
    };
    let said_kind = if said_kind.is_empty() {
        &kind.kind
    } else {
        said_kind
    };
    let (group, version) = said_version.rsplit_once('/').unwrap_or(("", said_version));
    let said = GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: said_kind.to_owned(),
    };
    let registry = crate::kinds::Registry::with_all_versions();
    let why = if registry.by_kind(&said).is_none() {
        format!(
            "no kind {} is registered for version {} in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
            quoted(said_kind),
            quoted(said_version)
        )
    } else if said_kind == kind.kind && group == kind.group {
        return Status::bad_request(format!(
            "the API version in the data ({said_version}) does not match the expected API version ({expected})"
        ));
    } else {
        format!(
            "converting ({version}.{said_kind}) to ({}.{}): unknown conversion",
            package(&kind.group),
            kind.kind
        )
    };
    Status::bad_request(format!(
        "{said_kind} in version {} cannot be handled as a {}: {why}",
        quoted(version),
        kind.kind
    ))
}

fn parse_json(body: &[u8], kind: &str) -> Result<Parsed> {
    json::parse(body).map_err(|error| {
        let why = format!("couldn't get version/kind; json parse error: {error}");
        unrecognized(kind, &why, body)
    })
}

fn parse_yaml(body: &[u8], kind: &str) -> Result<Parsed> {
    yaml::parse(body).map_err(|error| {
        let why = format!("couldn't get version/kind; json parse error: {error}");
        unrecognized(kind, &why, body)
    })
}

/// Decodes a protobuf body, of the expected kind if it does not say which it is.
pub(crate) fn protobuf(body: &[u8], expected: &GroupVersionKind) -> Result<Value> {
    use crate::protobuf::{DecodeError, decode_as};
    decode_as(body, expected).map_err(|error| match error {
        DecodeError::UnknownKind(said) => other_kind(&group_version(&said), &said.kind, expected),
        error => unrecognized(&expected.kind, &error.to_string(), body),
    })
}

/// 400 for a body that is no object of any kind; shows how it begins.
fn unrecognized(kind: &str, why: &str, body: &[u8]) -> Status {
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
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({start}{more})"
    ))
}

fn not_an_object(value: &Value) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) | Value::Object(_) => "array",
    };
    format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value \
         of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
         \"json:\\\"kind,omitempty\\\"\" }}"
    )
}

fn group_version(kind: &GroupVersionKind) -> String {
    if kind.group.is_empty() {
        kind.version.clone()
    } else {
        format!("{}/{}", kind.group, kind.version)
    }
}

/// The Go package of a group's internal types.
fn package(group: &str) -> &str {
    match group {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or(group),
    }
}
