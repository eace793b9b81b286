//! PATCH: JSON patch, merge patch, strategic merge patch and server-side apply.

use http::{Response, StatusCode};
use kubewright_apiextensions::custom::empties;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::conform::{
    Conformed, conform_unstructured, convert_numbers, converter_words, first_fault_in_turn,
    settle_numbers,
};
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::{GoText, quoted};
use kubewright_apimachinery::json::{self, order, ordered};
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::patch::json::Patch as JsonPatch;
use kubewright_apimachinery::patch::merge;
use kubewright_apimachinery::patch::strategic::{self, Place, StrategicError};
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::unrecognized::{json_type, unconvertible_kind};
use kubewright_apimachinery::view::Edit as _;
use kubewright_apimachinery::{types, yaml};
use kubewright_fieldmanagement::{self as managed_fields, Applied};
use kubewright_registry::Verb;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::call::Call;
use super::decode::{self, Decoded};
use super::negotiate::{APPLY, content_type};
use super::query::{FieldValidation, WriteOptions};
use super::tracking;
use super::update::{check_name, check_namespace};
use super::{answer, create, write};
use crate::body::Body;

/// A patch, to be applied as often as it takes.
#[derive(Debug)]
pub(crate) struct Patch {
    /// What the body says, or why it says nothing: that counts only once it is known that there is an object.
    content: Result<Content>,
    /// What a strict decoder says of the body.
    problems: Vec<String>,
}

#[derive(Debug)]
enum Content {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Map<String, Value>),
    Apply(Value),
}

impl Content {
    /// What an error shows of a patch of `current`: a strategic merge patch, as the merge leaves it, or what came of another one.
    fn shown(&self, kind: &GroupVersionKind, current: &Value) -> String {
        match self {
            Self::Strategic(patch) => {
                let left = types::root(kind).map_or_else(
                    || patch.clone(),
                    |of| strategic::left_of(patch, current, &Place::Object(of)),
                );
                GoText(&left.into()).to_string()
            }
            Self::Json(patch) => {
                let mut object = current.clone();
                // One that cannot be applied is refused before, without what came of it.
                let _ = patch.apply(&mut object);
                object.to_string()
            }
            Self::Merge(patch) => {
                let mut object = current.clone();
                merge::apply(&mut object, patch.clone());
                object.to_string()
            }
            Self::Apply(applied) => applied.to_string(),
        }
    }
}

const UNREADABLE: &str = "error decoding patch: ";
const FROM_YAML: &str = "error converting YAML to JSON: ";

/// How often an apply is tried when others create or delete its object meanwhile.
const ATTEMPTS: usize = 5;

/// Patches the object that the path names; server-side apply creates one that is not there.
pub(crate) async fn patch(call: &Call) -> Result<Response<Body>> {
    if call.path.subresource.is_empty() && !call.resource.serves(Verb::Patch) {
        return Err(Status::method_not_allowed());
    }
    check_type(call)?;
    let options = options(call)?;
    let patch = Patch::read(call, &options);
    patch.check_readable(call)?;
    call.audit_patch();
    let kind = call.kind();
    // Some kinds may come to be through their status, too.
    let through_status =
        || call.path.subresource == "status" && call.resource.strategy.behavior().create_on_update;
    let creates = call.is_apply() && (call.path.subresource.is_empty() || through_status());
    let exists = || call.stored().is_ok();
    let mut attempt = 0;
    loop {
        attempt += 1;
        let existed = exists();
        let done = if creates && !existed {
            create_applied(call, &options, &patch).await
        } else {
            let written = write::write(call, &options, |current| {
                let mut decoded = patch.apply(call, &kind, &options, current)?;
                check_place(call, &mut decoded.object)?;
                call.resource.default(&mut decoded.object);
                Ok(decoded)
            });
            match written.await {
                Ok(shown) => answer::object(call, StatusCode::OK, &shown).await,
                Err(status) => Err(status),
            }
        };
        // Who applies does not care who was first: an object that came or went meanwhile is another try.
        let again = creates && done.is_err() && exists() != existed;
        if !again || attempt == ATTEMPTS {
            return done;
        }
    }
}

/// Whether what a patch made of an object is still the object that the path names.
pub(crate) fn check_place(call: &Call, object: &mut Value) -> Result<()> {
    if call.resource.namespaced {
        check_namespace(call, object)?;
    }
    check_name(call, object)
}

/// Creates the object that a client applied and that does not exist.
async fn create_applied(
    call: &Call,
    options: &WriteOptions,
    patch: &Patch,
) -> Result<Response<Body>> {
    let nothing = managed_fields::empty(&call.kind());
    let mut made = patch.apply(call, &call.kind(), options, &nothing);
    while call.complete_versions().await? {
        made = patch.apply(call, &call.kind(), options, &nothing);
    }
    let mut decoded = made?;
    let uid = meta_text(&decoded.object, "uid");
    if !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(call.conflict(&call.path.name, &why));
    }
    check_name(call, &mut decoded.object)?;
    call.resource.default(&mut decoded.object);
    let shown = create::admit_and_store(call, options, decoded).await?;
    answer::object(call, StatusCode::CREATED, &shown).await
}

/// The router refuses what is no kind of patch.
pub(crate) fn check_type(call: &Call) -> Result<()> {
    if call.resource.strategy.is_unstructured() {
        return match content_type(&call.headers) {
            JSON | MERGE | APPLY => Ok(()),
            _ => Err(Status::unsupported_media_type(&[JSON, MERGE, APPLY])),
        };
    }
    match content_type(&call.headers) {
        JSON | MERGE | STRATEGIC | APPLY => Ok(()),
        _ => {
            let message = "415: Unsupported Media Type";
            let status = Status::new(415, "UnsupportedMediaType", message);
            Err(status.with_details(Map::new()))
        }
    }
}

/// Reads the options of a patch.
pub(crate) fn options(call: &Call) -> Result<WriteOptions> {
    let mut errors = Vec::new();
    if call.is_apply() {
        if call.query.text("fieldManager").is_empty() {
            let path = Path::new("fieldManager");
            errors.push(FieldError::required(&path, "is required for apply patch"));
        }
    } else if call.query.get("force").is_some() {
        let path = Path::new("force");
        let why = "may not be specified for non-apply patch";
        errors.push(FieldError::forbidden(&path, why));
    }
    WriteOptions::read_besides(&call.query, "PatchOptions", errors)
}

impl Patch {
    /// Reads the patch in the body.
    pub(crate) fn read(call: &Call, options: &WriteOptions) -> Self {
        let mut problems = Vec::new();
        let strict = options.field_validation != FieldValidation::Ignore;
        let content = match content_type(&call.headers) {
            JSON => read_json(call, strict, &mut problems),
            MERGE => read_merge(call, &mut problems),
            STRATEGIC => read_strategic(call, &mut problems),
            _ => read_apply(call, &mut problems),
        };
        if !strict {
            problems.clear();
        }
        Self { content, problems }
    }

    /// Refuses a body that could not stand in an audit event, before anything else is looked at.
    pub(crate) fn check_readable(&self, call: &Call) -> Result<()> {
        let Err(unreadable) = &self.content else {
            return Ok(());
        };
        let is_json = || serde_json::from_slice::<IgnoredAny>(&call.body).is_ok();
        if call.is_apply() {
            let from_yaml = format!("{UNREADABLE}{FROM_YAML}");
            match unreadable.message().strip_prefix(&from_yaml) {
                Some(why) if !call.body.trim_ascii_start().starts_with(b"{") => {
                    Err(Status::bad_request(format!("error encoding patch: {why}")))
                }
                _ => Ok(()),
            }
        } else if is_json() {
            Ok(())
        } else {
            Err(Status::bad_request("invalid JSON patch"))
        }
    }

    /// The patched object, which fits its kind again.
    ///
    /// # Errors
    /// 400 for what is no patch; 422 if it does not apply, or if what comes of it is no object of the kind; 500 where the
    /// real server has not thought of more.
    pub(crate) fn apply(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        options: &WriteOptions,
        current: &Value,
    ) -> Result<Decoded> {
        let mut object = current.clone();
        let mut problems = self.problems.clone();
        let content = self.content.as_ref().map_err(Clone::clone)?;
        let refused = |why: &str| {
            let shown = content.shown(kind, current);
            let error = FieldError::invalid(&Path::new("patch"), shown.as_str(), why);
            Status::invalid("", "", "", &[error])
        };
        let decoded = match content {
            Content::Apply(applied) => return self.applied(call, kind, options, current, applied),
            Content::Strategic(patch) => {
                merge_by_type(kind, &mut object, patch)?;
                // The result is of the kind, whatever it says of itself, but for what is no text.
                let own = unconvertible_kind(&object).map(|why| converter_words(&why, &object));
                decode::set_kind(kind, &mut object);
                convert_numbers(kind, &mut object);
                let decoded = own.map_or_else(|| conform_unstructured(kind, &mut object), Err);
                if decoded.is_err() {
                    return Err(refused(&strategic_fault(kind, current, patch)?));
                }
                if let Some(why) = decode::conversion_fault(call, kind, &object) {
                    return Err(Status::plain(why));
                }
                decoded
            }
            Content::Json(patch) => {
                patch.apply(&mut object).map_err(|_| does_not_apply())?;
                patched(call, kind, &mut object)
            }
            Content::Merge(patch) => {
                merge::apply(&mut object, patch.clone());
                patched(call, kind, &mut object)
            }
        };
        let Conformed { unknown, empties } = decoded.map_err(|why| refused(&why))?;
        let found = problems.len();
        match content {
            Content::Strategic(_) => problems.extend(said_by_converter(&unknown)),
            _ => problems.extend(decode::said_of(&unknown)),
        }
        if let Ok(Content::Json(patch)) = &self.content
            && (found > 0 || unknown.len() > 1)
        {
            // Go's decoder sees the patched object as it is written.
            let fields = patch.fields_of(&ordered::text(current), Some(&call.body));
            problems.extend(fields.duplicates);
            order::sort(&mut problems[found..], &fields.paths);
        }
        match options.field_validation {
            FieldValidation::Warn => problems.iter().for_each(|problem| call.notes.warn(problem)),
            FieldValidation::Strict if !problems.is_empty() => {
                let why = format!("strict decoding error: {}", problems.join(", "));
                return Err(refused(&why));
            }
            FieldValidation::Strict | FieldValidation::Ignore => {}
        }
        Ok(Decoded {
            object,
            empties,
            timed: false,
        })
    }

    /// What server-side apply makes of the current object, with its new owners.
    fn applied(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        options: &WriteOptions,
        current: &Value,
        applied: &Value,
    ) -> Result<Decoded> {
        let outcome = tracking::for_managers(call, kind, |tracked| {
            managed_fields::apply(tracked, current, applied, options.manager(), options.force)
        });
        let Applied { mut object, timed } =
            outcome.map_err(managed_fields::ApplyError::into_status)?;
        let conformed = conform_applied(call, kind, &mut object).map_err(|why| {
            let (namespace, name) = (meta_text(applied, "namespace"), meta_text(applied, "name"));
            let (why, kind) = (converter_words(&why, applied), managed_fields::shown(kind));
            Status::plain(format!(
                "failed to convert new object ({namespace}/{name}; {kind}) to proper version: unable to convert unstructured \
                 object to {kind}: {why}"
            ))
        })?;
        if let [problem, ..] = &self.problems[..] {
            match options.field_validation {
                FieldValidation::Warn => {
                    // The faults stand a line each behind the first one.
                    for fault in problem.lines().skip(1) {
                        call.notes.warn(fault.trim_start());
                    }
                }
                FieldValidation::Strict => {
                    let why = format!("error strict decoding patch: {problem}");
                    return Err(Status::bad_request(why));
                }
                FieldValidation::Ignore => {}
            }
        }
        Ok(Decoded {
            object,
            empties: conformed.empties,
            timed,
        })
    }
}

/// What Go's converter from unstructured objects has to say of the fields that the kind does not have.
fn said_by_converter(unknown: &[String]) -> Vec<String> {
    let mut said: Vec<String> = unknown
        .iter()
        .map(|path| format!("unknown field \"{path}\""))
        .collect();
    said.sort();
    said
}

/// Makes what was applied an object of its kind.
fn conform_applied(
    call: &Call,
    kind: &GroupVersionKind,
    object: &mut Value,
) -> std::result::Result<Conformed, String> {
    if let Some(custom) = decode::of_its_own_kind(call, kind) {
        // What is null stays, for validation to refuse it: only decoders take nulls out. They also take out empty lists and
        // maps, which are stored here.
        let empty = empties(object);
        settle_numbers(object);
        custom.settle_applied(object)?;
        if let Some(metadata) = object.existing("metadata") {
            for (name, value) in empty {
                metadata.put(name, value);
            }
        }
        return Ok(Conformed::default());
    }
    convert_numbers(kind, object);
    conform_unstructured(kind, object)
}

fn read_apply(call: &Call, problems: &mut Vec<String>) -> Result<Content> {
    let decoding = |why: String| Status::bad_request(format!("{UNREADABLE}{why}"));
    let from_yaml = |why: &str| format!("{FROM_YAML}{why}");
    let mut parsed =
        yaml::parse(&call.body).map_err(|error| decoding(from_yaml(&error.to_string())))?;
    problems.extend(parsed.duplicates.iter().map(|why| from_yaml(why)));
    settle_numbers(&mut parsed.value);
    match parsed.value {
        Value::Object(_) => Ok(Content::Apply(parsed.value)),
        Value::Null => Ok(Content::Apply(Value::Object(Map::new()))),
        other => {
            let found = json_type(&other);
            Err(decoding(format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type \
                 map[string]interface {{}}"
            )))
        }
    }
}

fn read_json(call: &Call, strict: bool, problems: &mut Vec<String>) -> Result<Content> {
    let decoding = |why: String| {
        let prefix = if strict { UNREADABLE } else { "" };
        Status::bad_request(format!("{prefix}{why}"))
    };
    let parsed = json::parse(&call.body).map_err(|error| decoding(error.to_string()))?;
    if strict {
        problems.extend(check_operations(&parsed.value).map_err(decoding)?);
        problems.extend(parsed.duplicates);
        for problem in problems {
            problem.insert_str(0, "json patch ");
        }
    }
    let patch = JsonPatch::from_value(parsed.value).map_err(|error| decoding(error.to_string()))?;
    check_length(&patch)?;
    Ok(Content::Json(patch))
}

/// The strict look at a JSON patch, which knows what an operation looks like.
fn check_operations(patch: &Value) -> std::result::Result<Vec<String>, String> {
    let cannot = |value: &Value, what: &str| {
        let found = json_type(value);
        Err(format!("json: cannot unmarshal {found} into Go {what}"))
    };
    let mut unknown = Vec::new();
    let operations = match patch {
        Value::Null => return Ok(unknown),
        Value::Array(operations) => operations,
        other => return cannot(other, "value of type []handlers.jsonPatchOp"),
    };
    for (at, operation) in operations.iter().enumerate() {
        let members = match operation {
            Value::Null => continue,
            Value::Object(members) => members,
            other => return cannot(other, "value of type handlers.jsonPatchOp"),
        };
        for (name, value) in members {
            match (name.as_str(), value) {
                ("value", _) | ("op" | "path" | "from", Value::String(_) | Value::Null) => {}
                ("op" | "path" | "from", other) => {
                    return cannot(
                        other,
                        &format!("struct field jsonPatchOp.{name} of type string"),
                    );
                }
                _ => unknown.push(format!(
                    "unknown field {}",
                    quoted(&format!("[{at}].{name}"))
                )),
            }
        }
    }
    Ok(unknown)
}

fn read_merge(call: &Call, problems: &mut Vec<String>) -> Result<Content> {
    let decoding = |why: String| Status::bad_request(format!("error decoding patch: {why}"));
    let parsed = json::parse(&call.body).map_err(|error| decoding(error.to_string()))?;
    *problems = parsed.duplicates;
    match parsed.value {
        Value::Object(_) => Ok(Content::Merge(parsed.value)),
        Value::Null => Err(Status::bad_request("Invalid JSON Patch")),
        other => Err(decoding(not_a_map(&other))),
    }
}

fn read_strategic(call: &Call, problems: &mut Vec<String>) -> Result<Content> {
    let bad = |why: String| Status::bad_request(why);
    let mut parsed = json::parse(&call.body).map_err(|error| bad(error.to_string()))?;
    *problems = parsed.duplicates;
    settle_numbers(&mut parsed.value);
    match parsed.value {
        Value::Object(patch) => Ok(Content::Strategic(patch)),
        Value::Null => Ok(Content::Strategic(Map::new())),
        other => Err(bad(not_a_map(&other))),
    }
}

/// What the converter says of a patched object of which the decoder has found that it is none of its kind: it goes through
/// the fields in another order.
fn strategic_fault(
    kind: &GroupVersionKind,
    current: &Value,
    patch: &Map<String, Value>,
) -> Result<String> {
    let mut object = current.clone();
    merge_by_type(kind, &mut object, patch)?;
    let own = unconvertible_kind(&object).map(|why| converter_words(&why, &object));
    if let Some(why) = own {
        return Ok(why);
    }
    decode::set_kind(kind, &mut object);
    convert_numbers(kind, &mut object);
    let why = first_fault_in_turn(kind, &mut object.clone());
    Ok(converter_words(&why.unwrap_or_default(), &object))
}

fn merge_by_type(
    kind: &GroupVersionKind,
    object: &mut Value,
    patch: &Map<String, Value>,
) -> Result<()> {
    let (Value::Object(members), Some(of)) = (object, types::root(kind)) else {
        return Err(does_not_apply());
    };
    strategic::apply(members, patch.clone(), &Place::Object(of)).map_err(|error| match error {
        StrategicError::Format(why) => Status::bad_request(why),
        StrategicError::Failed(why) => Status::plain(why),
    })
}

/// What a patch made of an object, decoded by the rules of its kind.
fn patched(
    call: &Call,
    kind: &GroupVersionKind,
    object: &mut Value,
) -> std::result::Result<Conformed, String> {
    let Some(custom) = decode::of_its_own_kind(call, kind) else {
        return decode::patched(call, kind, object);
    };
    settle_numbers(object);
    let unknown = custom.coerce(object)?;
    Ok(Conformed {
        unknown,
        ..Conformed::default()
    })
}

fn check_length(patch: &JsonPatch) -> Result<()> {
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

fn not_a_map(value: &Value) -> String {
    let found = json_type(value);
    format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
}

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
