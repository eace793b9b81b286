//! The kind of an object that a patch changed: it has to stay what it was.

use kubewright_apimachinery::conform::conform;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::types;
use kubewright_apimachinery::unrecognized::{not_an_object, unreadable_kind};
use kubewright_apimachinery::view::{Edit as _, View as _};
use serde_json::Value;

/// The call site that the real server's decoder of objects names itself after.
const SCHEME: &str = "pkg/api/legacyscheme/scheme.go:30";

/// A patch may take apiVersion and kind away, but not make another kind of the object.
///
/// # Errors
/// It is another kind: what the decoder of the real server says.
pub(crate) fn keep_kind(kind: &GroupVersionKind, object: &mut Value) -> Result<()> {
    if !object.is_object() {
        return Err(Status::internal(&not_an_object(object)));
    }
    if let Some(why) = unreadable_kind(object) {
        let why = format!("couldn't get version/kind; json parse error: {why}");
        return Err(Status::internal(&why));
    }
    name_kind(kind, object);
    let (api_version, word) = (object.text("apiVersion"), object.text("kind"));
    if api_version == kind.api_version() && word == kind.kind {
        return Ok(());
    }
    let (group, plain) = api_version.split_once('/').unwrap_or(("", api_version));
    let named = GroupVersionKind {
        group: group.to_owned(),
        version: plain.to_owned(),
        kind: word.to_owned(),
    };
    if !is_built_in(kind) {
        // Custom objects are of no type: what is left of their kind is validated, but not converted.
        if api_version == kind.api_version() {
            return Ok(());
        }
        let (group, wanted) = (&named.group, quoted(&kind.api_version()));
        return Err(Status::plain(format!(
            "{group}/{plain}, Kind={word} is unstructured and is not suitable for converting to {wanted}"
        )));
    }
    if !is_built_in(&named) {
        let (word, api_version) = (quoted(word), quoted(api_version));
        return Err(Status::internal(&format!(
            "no kind {word} is registered for version {api_version} in scheme \"{SCHEME}\""
        )));
    }
    // The real server reads the object as what it says that it is, and finds this out when it brings it back into its own form,
    // which it names by the group.
    conform(&named, &mut object.clone()).map_err(|why| Status::internal(&why))?;
    let group = kind
        .group
        .split('.')
        .next()
        .filter(|group| !group.is_empty());
    Err(Status::plain(format!(
        "converting ({plain}.{word}) to ({}.{}): unknown conversion",
        group.unwrap_or("core"),
        kind.kind
    )))
}

/// Gives an object the kind and version that it has lost.
pub(crate) fn name_kind(kind: &GroupVersionKind, object: &mut Value) {
    if object.is_object() {
        object.fill_text("kind", &kind.kind);
        object.fill_text("apiVersion", &kind.api_version());
    }
}

pub(crate) fn is_built_in(kind: &GroupVersionKind) -> bool {
    types::root(kind).is_some()
}
