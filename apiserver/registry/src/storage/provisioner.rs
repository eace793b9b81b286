//! The provisioner of the volumes of a class, and its parameters.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{Errors, Required, problems};

/// Who provides volumes of a class; upper case is taken, too. `required` says whether the name is there.
pub(super) fn provisioner(object: &Value, field: &str, required: Required, errors: &mut Errors) {
    let root = Path::root();
    if required(object, &root, field, errors) {
        let name = object.text(field).to_lowercase();
        let found = names::qualified_name(&name);
        problems(&root.child(field), &name, found, errors);
    }
}

/// What a class tells its provisioner.
pub(super) fn parameters(object: &Value, errors: &mut Errors) {
    let path = Path::new("parameters");
    let mut size = 0;
    for (key, value) in object.entries("parameters") {
        if key.is_empty() {
            let detail = "field can not be empty.";
            errors.push(FieldError::invalid(&path, key, detail));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if object.entries("parameters").count() > 512 {
        errors.push(FieldError::too_long(&path, 512));
    }
    if size > 256 * 1024 {
        errors.push(FieldError::too_long(&path, 256 * 1024));
    }
}
