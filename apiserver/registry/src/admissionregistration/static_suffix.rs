//! Names with the suffix of configurations that an API server reads from files when it starts.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use kubewright_validation::check::Errors;
use serde_json::Value;

/// Why such a name is refused.
pub(crate) const DETAIL: &str = "names ending with \".static.k8s.io\" are reserved for static manifest-based configurations and cannot be \
                      managed via the API";

/// Refuses such a name for a new object.
pub(super) fn check(object: &Value, errors: &mut Errors) {
    let name = object.at("metadata").text("name");
    if has_suffix(object) {
        errors.push(FieldError::invalid(
            &Path::new("metadata.name"),
            name,
            DETAIL,
        ));
    }
}

/// Warns of such a name, which an object of an older release may have.
pub(super) fn warnings(object: &Value) -> Vec<String> {
    let warning = || format!("metadata.name: {DETAIL}");
    has_suffix(object).then(warning).into_iter().collect()
}

fn has_suffix(object: &Value) -> bool {
    object
        .at("metadata")
        .text("name")
        .ends_with(".static.k8s.io")
}
