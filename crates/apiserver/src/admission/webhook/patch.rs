//! What a webhook's patch does to the object (A.12).

use std::fmt::Display;

use serde_json::Value;

use super::answer::{Answer, read_json};
use super::call::Failure;
use super::forms::Forms;
use super::reinvocation::Reinvocation;
use super::select::Invocation;
use crate::admission::attributes::Attributes;
use crate::field::quoted;
use crate::kinds::view::{Edit as _, View as _};
use crate::kinds::{GroupVersionKind, conversion, defaults};
use crate::patch::json::Patch;
use crate::schema::{self, Changes};
use crate::status::Status;

/// A patch that was applied.
#[derive(Debug)]
pub(super) struct Patched {
    /// Whether the object counts as changed, so that earlier webhooks may be called again.
    pub(super) changed: bool,
    /// The object as it was, if it was asked for.
    pub(super) before: Option<Value>,
}

/// Reads the patch, also as the document that the audit log shows; `None` if it does nothing.
pub(super) fn read(answer: &Answer) -> Result<Option<(Patch, Value)>, Failure> {
    if answer.patch.is_empty() {
        return Ok(None);
    }
    let undecodable = |why: &dyn Display| {
        Failure::Call(format!(
            "received undecodable patch in webhook response: {why}"
        ))
    };
    let document = read_json(&answer.patch).map_err(|why| undecodable(&why))?;
    let patch = Patch::from_value(document.clone()).map_err(|error| undecodable(&error))?;
    if patch.is_empty() {
        return Ok(None);
    }
    match answer.patch_type.as_deref() {
        None | Some("JSONPatch") => Ok(Some((patch, document))),
        Some(other) => Err(Failure::Call(format!(
            "unsupported patch type {}",
            quoted(other)
        ))),
    }
}

/// Applies the patch to the object in the webhook's version, decodes and defaults the result and brings it back.
///
/// If it fails the request fails, whatever the policy: the object may then be half patched.
pub(super) fn apply(
    patch: &Patch,
    attributes: &mut Attributes,
    invocation: &Invocation,
    forms: &mut Forms,
    reinvocation: &mut Reinvocation,
    keep: bool,
) -> Result<Patched, Failure> {
    if attributes.object.is_null() {
        let name = quoted(&invocation.hook.name);
        return Err(internal(&format!(
            "admission webhook {name} attempted to modify the object, which is not supported for this operation"
        )));
    }
    let shown = keep.then(|| attributes.object.clone());
    let mut object = forms.take_object(attributes, invocation);
    // The real server's own object of a built-in kind has times that are finer than JSON shows, so that the first patch
    // of a request always counts as a change (measured: corrections, row 9).
    let counts = reinvocation.first_patch() && is_built_in(&attributes.kind);
    let before = (!counts).then(|| object.clone());
    patch
        .apply(&mut object)
        .map_err(|error| internal(&error.to_string()))?;
    let changes = if invocation.kind == attributes.kind {
        patch.changes()
    } else {
        Changes::Whole
    };
    decode(&invocation.kind, &mut object, &changes)?;
    let changed = before.as_ref() != Some(&object);
    finish(attributes, invocation, object)?;
    Ok(Patched {
        changed,
        before: shown,
    })
}

/// Decodes the patched document as its kind, without strictness: what the kind does not know is dropped. What the patch left
/// alone was decoded before.
fn decode(kind: &GroupVersionKind, object: &mut Value, changes: &Changes) -> Result<(), Failure> {
    keep_kind(kind, object)?;
    schema::conform_changes(kind, object, changes).map_err(|why| internal(&why))?;
    Ok(())
}

/// A patch may take apiVersion and kind away, but not make another kind of the object.
fn keep_kind(kind: &GroupVersionKind, object: &mut Value) -> Result<(), Failure> {
    object.fill_text("kind", &kind.kind);
    object.fill_text("apiVersion", &kind.api_version());
    let (api_version, word) = (object.text("apiVersion"), object.text("kind"));
    if api_version == kind.api_version() && word == kind.kind {
        return Ok(());
    }
    let version = |api_version: &str| {
        api_version
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let (from, to) = (version(api_version), version(&kind.version));
    Err(internal(&format!(
        "converting ({from}.{word}) to ({to}.{}): unknown conversion",
        kind.kind
    )))
}

fn finish(
    attributes: &mut Attributes,
    invocation: &Invocation,
    mut object: Value,
) -> Result<(), Failure> {
    if invocation.kind.kind == invocation.resource.kind {
        defaults::apply(&invocation.resource, &mut object);
    }
    if invocation.kind != attributes.kind {
        conversion::convert(&invocation.resource, &attributes.resource, &mut object)
            .map_err(Failure::Refused)?;
    }
    attributes.object = object;
    Ok(())
}

fn is_built_in(kind: &GroupVersionKind) -> bool {
    schema::types::root(kind).is_some()
}

fn internal(why: &str) -> Failure {
    Failure::Refused(Status::internal(why))
}
