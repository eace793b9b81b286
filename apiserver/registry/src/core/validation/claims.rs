//! The status of persistent volume claims.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{self, Errors, qualified_name};

/// Checks the status of a claim.
pub(crate) fn status(status: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    let capacity = path.child("capacity");
    for (name, amount) in status.entries("capacity") {
        check::valid_quantity(amount, &capacity.key(name), errors);
    }
    let states = path.child("allocatedResourceStatuses");
    for (name, state) in status.entries("allocatedResourceStatuses") {
        storage_name(name, &states, errors);
        if !state
            .as_str()
            .is_some_and(|state| RESIZING.contains(&state))
        {
            // The real server names the resource, not the state.
            errors.push(FieldError::not_supported(&states, name, &RESIZING));
        }
    }
    let allocated = path.child("allocatedResources");
    for (name, amount) in status.entries("allocatedResources") {
        let before = errors.len();
        storage_name(name, &allocated, errors);
        let at = allocated.key(name);
        if errors.len() == before && !check::valid_quantity(amount, &at, errors) {
            check::quantity("storage", amount, &at, errors);
        }
    }
}

/// How far the resizing of a volume has come.
const RESIZING: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// A resource that a claim can be given: storage, of those that Kubernetes knows.
fn storage_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let before = errors.len();
    qualified_name(path, name, errors);
    if errors.len() == before && check::is_native(name) && name != "storage" {
        errors.push(FieldError::not_supported(path, name, &["storage"]));
    }
}
