//! Converts an object to the types of its kind, as a round trip through Go's decoder and encoder does.
//!
//! ```
//! use kubewright_apimachinery::conform::conform;
//! use kubewright_apimachinery::meta::GroupVersionKind;
//! use serde_json::json;
//!
//! let deployments = GroupVersionKind::from_api_version_and_kind("apps/v1", "Deployment");
//! let mut object = json!({"spec": {"replicas": 2, "paused": null, "replica": 3}});
//! assert_eq!(conform(&deployments, &mut object)?.unknown, ["spec.replica"]);
//! assert_eq!(object["spec"]["replicas"], 2);
//! assert!(object["spec"].get("paused").is_none());
//!
//! assert_eq!(
//!     conform(&deployments, &mut json!({"spec": {"replicas": "2"}})),
//!     Err("json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32".to_owned())
//! );
//! # Ok::<(), String>(())
//! ```
//!
//! One pass over the object replaces the real server's decoding into a struct and encoding of that struct: it removes unknown
//! fields, nulls and fields that `omitempty` omits, adds fields without `omitempty`, and writes quantities and times in
//! canonical form. Error messages are those of `sigs.k8s.io/json`.

mod changes;
mod converter;
mod empties;
mod numbers;
mod quantity;
mod scalar;
mod schema;
mod time;
mod walk;

pub use changes::{Changes, conform_changes, conform_type, conform_unstructured};
pub use converter::converter_words;
pub(crate) use empties::is_zero_time;
pub use empties::{
    Medium, UnseenBytes, part_with_bytes, unseen_bytes, write_empties, write_part_empties,
};
pub use numbers::{convert_numbers, settle_numbers};
pub use time::{ZERO_MICRO_TIME, ZERO_TIME, written_time};
pub use walk::Conformed;

use serde_json::Value;

use crate::meta::GroupVersionKind;
use crate::types;
use walk::{Fault, Reader, Walk};

/// Checks that Go reads a text as a time of RFC 3339.
///
/// # Errors
///
/// The text of Go's error, when this is no time.
pub fn check_time(text: &str) -> Result<(), String> {
    time::canonical(text, time::Precision::Seconds).map(drop)
}

/// Converts an object to the form that the real server holds in memory, written as JSON.
///
/// Leaves objects of unknown kinds unchanged.
///
/// # Errors
///
/// A value in the object has the wrong type or form. The message is that of Go's decoder:
/// `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`. The state of the object is
/// then unspecified.
pub fn conform(kind: &GroupVersionKind, value: &mut Value) -> Result<Conformed, String> {
    conform_changes(kind, value, &Changes::Whole)
}

/// Returns Go's error for an object that does not match its kind and whose JSON has the fields in the order of `paths`: the
/// error for the first value that aborts the decoder, or else for the first value of the wrong type.
pub fn first_fault(kind: &GroupVersionKind, value: &mut Value, paths: &[String]) -> Option<String> {
    let (root, Value::Object(object)) = (types::root(kind)?.inner(), value) else {
        return None;
    };
    let mut walk = Walk::new();
    walk.faults = Some(Vec::new());
    // What ends the walk is among the faults.
    drop(walk.fields(object, root, None, 0));
    let place = |fault: &Fault| {
        // Items of a list have no place of their own.
        let mut wanted = fault.path.as_str();
        while let Some(at) = wanted.rfind('[').filter(|_| wanted.ends_with(']')) {
            wanted = &wanted[..at];
        }
        let found = paths.iter().position(|path| path == wanted);
        found.unwrap_or(usize::MAX)
    };
    let faults = walk.faults.unwrap_or_default().into_iter();
    let first = faults.min_by_key(|fault| (!fault.ends, place(fault)))?;
    Some(first.why)
}

/// Returns the first error of Go's converter in an object, in the order of the fields of Go's structs.
pub fn first_fault_in_turn(kind: &GroupVersionKind, value: &mut Value) -> Option<String> {
    let (root, Value::Object(object)) = (types::root(kind)?.inner(), value) else {
        return None;
    };
    let mut walk = Walk::new();
    walk.reader = Reader::Converter;
    walk.faults = Some(Vec::new());
    // What ends the walk is among the faults.
    drop(walk.fields(object, root, None, 0));
    let faults = walk.faults.unwrap_or_default().into_iter();
    Some(faults.min_by(|a, b| a.turns.cmp(&b.turns))?.why)
}

#[cfg(test)]
pub(crate) mod tests;
