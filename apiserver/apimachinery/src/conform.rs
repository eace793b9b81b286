//! Holds an object to the types of its kind, as Go's decoder and encoder do between them.
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
//! One walk does what the real server's decoding into a struct and encoding of that struct do: fields that the struct does not
//! have go, nulls and what `omitempty` leaves out go, fields without `omitempty` come, and quantities and times get their
//! canonical form. Errors have the texts of `sigs.k8s.io/json`.

mod base64;
mod changes;
mod empties;
mod integers;
mod quantity;
mod scalar;
mod schema;
mod time;
mod walk;

pub use changes::{Changes, conform_changes, conform_type};
pub use empties::{Medium, write_empties};
pub use integers::cut_integers;
pub use walk::Conformed;

use serde_json::Value;

use crate::meta::GroupVersionKind;
use crate::types;
use walk::{Fault, Walk};

/// Makes an object what the real server has of it in memory, written as JSON.
///
/// A kind that is not in the table is left as it is.
///
/// # Errors
///
/// The text of Go's decoder, when something in the object has the wrong type or form:
/// `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`. The object is then in no
/// particular state.
pub fn conform(kind: &GroupVersionKind, value: &mut Value) -> Result<Conformed, String> {
    conform_changes(kind, value, &Changes::Whole)
}

/// What Go says of an object that does not fit its kind, when its text names the fields in the order of `paths`: the first
/// value that ends the decoder, or else the first one of a wrong type.
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

/// What is wrong first with an object for those who go through it in the order of Go's structs.
pub fn first_fault_in_turn(kind: &GroupVersionKind, value: &mut Value) -> Option<String> {
    let (root, Value::Object(object)) = (types::root(kind)?.inner(), value) else {
        return None;
    };
    let mut walk = Walk::new();
    walk.faults = Some(Vec::new());
    // What ends the walk is among the faults.
    drop(walk.fields(object, root, None, 0));
    let faults = walk.faults.unwrap_or_default().into_iter();
    Some(faults.min_by(|a, b| a.turns.cmp(&b.turns))?.why)
}

#[cfg(test)]
pub(crate) mod tests;
