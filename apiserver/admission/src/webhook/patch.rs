//! What a webhook's patch does to the object (A.12).

use std::fmt::Display;

use kubewright_apiextensions::custom::convert;
use kubewright_apimachinery::conform::{Changes, Conformed, Medium, conform_changes};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::patch::json::Patch;
use kubewright_apimachinery::status::Status;
use kubewright_apimachinery::unrecognized::not_an_object;
use kubewright_apimachinery::view::View as _;
use kubewright_webhook_client::{Reach, read_json};
use serde_json::Value;

use super::answer::Answer;
use super::call::{Failure, UNAVAILABLE};
use super::denial;
use super::select::Invocation;
use crate::attributes::Attributes;
use crate::forms::Forms;
use crate::kinds::{is_built_in, keep_kind, name_kind};
use crate::reinvocation::Reinvocation;

/// Where the owners of an object's fields stand.
const MANAGED_FIELDS: [&str; 2] = ["metadata", "managedFields"];

/// A patch that was applied.
#[derive(Debug)]
pub(super) struct Patched {
    /// Whether the object counts as changed, so that earlier webhooks may be called again.
    pub(super) changed: bool,
    /// The object as it was, if it was asked for.
    pub(super) before: Option<Value>,
}

/// Reads the patch; `None` if it does nothing.
pub(super) fn read(answer: &Answer) -> Result<Option<Patch>, Failure> {
    if answer.patch.is_empty() {
        return Ok(None);
    }
    let undecodable = |why: &dyn Display| {
        let why = format!("received undecodable patch in webhook response: {why}");
        Failure::call(UNAVAILABLE, why)
    };
    let document = read_json(&answer.patch).map_err(|why| undecodable(&why))?;
    let patch = Patch::from_value(document).map_err(|error| undecodable(&error))?;
    if patch.is_empty() {
        return Ok(None);
    }
    match answer.patch_type.as_deref() {
        None | Some("JSONPatch") => Ok(Some(patch)),
        Some(other) => {
            let why = format!("unsupported patch type {}", quoted(other));
            Err(Failure::call(
                denial::denied("", answer.result.as_ref()).code(),
                why,
            ))
        }
    }
}

/// Applies the patch to the object in the webhook's version, decodes and defaults the result and brings it back.
///
/// If it fails the request fails, whatever the policy: the object may then be half patched.
pub(super) async fn apply(
    patch: &Patch,
    attributes: &mut Attributes,
    invocation: &Invocation,
    forms: &mut Forms,
    reinvocation: &mut Reinvocation,
    reach: Reach<'_>,
    keep: bool,
) -> Result<Patched, Failure> {
    if attributes.object.is_null() {
        let name = quoted(&invocation.hook.name);
        return Err(internal(&format!(
            "admission webhook {name} attempted to modify the object, which is not supported for this operation"
        )));
    }
    let changes = if invocation.matched.kind == attributes.kind {
        patch.changes()
    } else {
        Changes::Whole
    };
    if attributes.new_managed_fields.is_some() && patch.looks_at().reach(&MANAGED_FIELDS) {
        attributes.include_managed_fields();
    }
    // The patch is of the JSON that the webhook saw.
    let had_empties = attributes.empties;
    attributes.write_empties(Medium::Json);
    let shown = keep.then(|| attributes.object.clone());
    let mut object = forms.take_object(attributes, &invocation.matched);
    // The times of a request are finer than JSON shows in the real server's own object of a built-in kind, so that its first
    // patch counts as a change (measured: corrections, row 9).
    let counts = reinvocation.first_patch() && attributes.timed && is_built_in(&attributes.kind);
    let before = (!counts).then(|| object.clone());
    if attributes.unpatched_managed_fields.is_none() && changes.reach(&MANAGED_FIELDS) {
        attributes.unpatched_managed_fields =
            Some(object.at("metadata").at("managedFields").clone());
    }
    patch
        .apply(&mut object)
        .map_err(|error| internal(&error.to_string()))?;
    let empties = decode(&invocation.matched.kind, &mut object, &changes)?;
    let changed = before.as_ref() != Some(&object);
    finish(attributes, invocation, reach, object).await?;
    attributes.empties = empties || had_empties;
    Ok(Patched {
        changed,
        before: shown,
    })
}

/// Decodes the patched document as its kind, without strictness: what the kind does not know is dropped. What the patch left
/// alone was decoded before. Answers whether the object has empty lists or maps now.
fn decode(kind: &GroupVersionKind, object: &mut Value, changes: &Changes) -> Result<bool, Failure> {
    if !object.is_object() {
        return Err(internal(&not_an_object(object)));
    }
    let named = |object: &Value, field: &str| !object.text(field).is_empty();
    let (has_version, has_kind) = (named(object, "apiVersion"), named(object, "kind"));
    keep_kind(kind, object).map_err(Failure::Refused)?;
    let conformed = conform_changes(kind, object, changes);
    let Conformed { empties, .. } = conformed.map_err(|why| internal(&why))?;
    // The next webhook sees what the patch took away; it comes back when all have been called.
    if let Value::Object(members) = object {
        members.retain(|name, _| match name.as_str() {
            "apiVersion" => has_version,
            "kind" => has_kind,
            _ => true,
        });
    }
    Ok(empties)
}

async fn finish(
    attributes: &mut Attributes,
    invocation: &Invocation,
    reach: Reach<'_>,
    mut object: Value,
) -> Result<(), Failure> {
    if invocation.matched.kind.kind == invocation.matched.resource.kind {
        invocation.matched.resource.default(&mut object);
    }
    if invocation.matched.kind != attributes.kind {
        name_kind(&invocation.matched.kind, &mut object);
        let (from, to) = (&invocation.matched.resource, &attributes.resource);
        let converted = Box::pin(convert::between(reach, from, to, object)).await;
        object = converted.map_err(Failure::Refused)?;
    }
    attributes.object = object;
    attributes.patched = true;
    Ok(())
}

fn internal(why: &str) -> Failure {
    Failure::Refused(Status::internal(why))
}
