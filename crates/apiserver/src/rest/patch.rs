//! PATCH: JSON patch, merge patch and strategic merge patch.

use http::{Response, StatusCode};
use serde_json::{Map, Value};

use super::answer;
use super::body::Body;
use super::call::Call;
use super::decode;
use super::negotiate::{cbor, content_type};
use super::query::{FieldValidation, WriteOptions};
use super::update::check_name;
use super::write;
use crate::field::{FieldError, Path};
use crate::kinds::{GroupVersionKind, Verb, defaults};
use crate::patch::{json, merge, strategic};
use crate::schema;
use crate::schema::types::{self, TypeRef};
use crate::status::{Result, Status};

/// A patch that is ready to be applied, as often as it takes.
#[derive(Debug)]
pub(crate) enum Patch {
    Json(json::Patch),
    Merge(Value),
    Strategic(Map<String, Value>),
}

/// Patches the object that the path names.
pub(crate) async fn patch(call: &Call) -> Result<Response<Body>> {
    if call.path.subresource.is_empty() && !call.resource.allows(Verb::Patch) {
        return Err(Status::method_not_allowed());
    }
    let options = options(call)?;
    let patch = Patch::read(call, &options)?;
    let kind = call.kind();
    let shown = write::write(call, &options, |current| {
        let mut object = current.clone();
        patch.apply(&kind, &mut object)?;
        let mut object = settle(call, &kind, &options, object)?;
        check_name(call, &mut object)?;
        defaults::apply(&call.resource, &mut object);
        Ok(object)
    })
    .await?;
    answer::object(call, StatusCode::OK, &shown)
}

/// Reads the options of a patch.
pub(crate) fn options(call: &Call) -> Result<WriteOptions> {
    let options = WriteOptions::read(&call.query, "PatchOptions")?;
    let applies = content_type(&call.headers).starts_with("application/apply-patch");
    if call.query.get("force").is_some() && !applies {
        let path = Path::new("force");
        let error = FieldError::forbidden(&path, "may not be specified for non-apply patch");
        return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", &[error]));
    }
    Ok(options)
}

/// Makes a patched object fit its kind again.
pub(crate) fn settle(
    call: &Call,
    kind: &GroupVersionKind,
    options: &WriteOptions,
    mut object: Value,
) -> Result<Value> {
    let refused = |value: Value, why: &str| {
        let error = FieldError::invalid(&Path::new("patch"), value, why);
        Status::invalid("", "", "", &[error])
    };
    let shown = object.to_string();
    let unknown = match decode::conform(kind, &mut object) {
        Ok(unknown) => unknown,
        Err(why) => return Err(refused(shown.into(), &why)),
    };
    match options.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => unknown.iter().for_each(|problem| call.notes.warn(problem)),
        FieldValidation::Strict if unknown.is_empty() => {}
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", unknown.join(", "));
            return Err(refused(shown.into(), &why));
        }
    }
    Ok(object)
}

impl Patch {
    /// Reads the patch in the body.
    ///
    /// # Errors
    /// 400 for what is no patch, 415 for a type that is none, 501 for server-side apply.
    pub(crate) fn read(call: &Call, options: &WriteOptions) -> Result<Self> {
        let decoding = |why: String| Status::bad_request(format!("error decoding patch: {why}"));
        let parsed = || schema::json::parse(&call.body).map_err(|error| error.to_string());
        let (patch, duplicates) = match content_type(&call.headers) {
            "application/json-patch+json" => {
                let parsed = parsed().map_err(decoding)?;
                let patch = json::Patch::from_value(parsed.value)
                    .map_err(|error| decoding(error.to_string()))?;
                check_length(&patch)?;
                (Self::Json(patch), parsed.duplicates)
            }
            "application/merge-patch+json" => {
                let parsed = parsed().map_err(decoding)?;
                if !parsed.value.is_object() {
                    return Err(decoding(cannot_unmarshal(&parsed.value)));
                }
                (Self::Merge(parsed.value), parsed.duplicates)
            }
            "application/strategic-merge-patch+json" => {
                let parsed = parsed().map_err(Status::bad_request)?;
                match parsed.value {
                    Value::Object(patch) => (Self::Strategic(patch), parsed.duplicates),
                    other => return Err(Status::bad_request(cannot_unmarshal(&other))),
                }
            }
            "application/apply-patch+yaml" => {
                return Err(Status::not_implemented(
                    "this server does not do server-side apply yet; use client-side apply, or a \
                     merge or strategic merge patch",
                ));
            }
            "application/apply-patch+cbor" => return Err(cbor()),
            _ => {
                let message = "415: Unsupported Media Type";
                let status = Status::new(415, "UnsupportedMediaType", message);
                return Err(status.with_details(Map::new()));
            }
        };
        match options.field_validation {
            FieldValidation::Strict if !duplicates.is_empty() => {
                let why = duplicates.join(", ");
                Err(Status::bad_request(format!(
                    "error strict decoding patch: {why}"
                )))
            }
            FieldValidation::Warn => {
                for problem in &duplicates {
                    call.notes.warn(problem);
                }
                Ok(patch)
            }
            FieldValidation::Ignore | FieldValidation::Strict => Ok(patch),
        }
    }

    /// Applies the patch to an object of this kind.
    ///
    /// # Errors
    /// 422 if it does not apply: the reason is not shown, as the real server does not show it.
    pub(crate) fn apply(&self, kind: &GroupVersionKind, object: &mut Value) -> Result<()> {
        match self {
            Self::Json(patch) => patch.apply(object).map_err(|_| does_not_apply()),
            Self::Merge(patch) => {
                merge::apply(object, patch.clone());
                Ok(())
            }
            Self::Strategic(patch) => merge_by_type(kind, object, patch),
        }
    }
}

fn merge_by_type(
    kind: &GroupVersionKind,
    object: &mut Value,
    patch: &Map<String, Value>,
) -> Result<()> {
    let schema = types::root(kind).map(MergeRules);
    let Value::Object(members) = object else {
        return Err(does_not_apply());
    };
    strategic::apply(members, patch.clone(), schema.as_ref()).map_err(|_| does_not_apply())
}

/// The merge rules of a built-in type.
#[derive(Debug)]
struct MergeRules(TypeRef);

impl strategic::Schema for MergeRules {
    fn field(&self, name: &str) -> Option<strategic::Field<Self>> {
        let field = self.0.field(name)?;
        let merge = field.merge();
        let strategy = if merge.merge {
            strategic::Strategy::Merge
        } else {
            strategic::Strategy::Default
        };
        Some(strategic::Field {
            strategy,
            merge_key: merge.key.unwrap_or_default().to_owned(),
            below: field.slot().object().map(MergeRules),
        })
    }
}

fn check_length(patch: &json::Patch) -> Result<()> {
    const MOST: usize = 10_000;
    if patch.len() <= MOST {
        return Ok(());
    }
    let got = patch.len();
    Err(Status::too_large(&format!(
        "The allowed maximum operations in a JSON patch is {MOST}, got {got}"
    )))
}

fn does_not_apply() -> Status {
    let message = "the server rejected our request due to an error in our request";
    Status::new(422, "Invalid", message).with_details(Map::new())
}

fn cannot_unmarshal(value: &Value) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) | Value::Object(_) => "array",
    };
    format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
}
