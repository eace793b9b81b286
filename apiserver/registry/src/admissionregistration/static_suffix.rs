//! Names with the suffix of configurations that an API server reads from files when it starts.

use kubewright_apimachinery::view::View;
use serde_json::Value;

pub(super) fn warnings(object: &Value) -> Vec<String> {
    const SUFFIX: &str = ".static.k8s.io";
    if !object.at("metadata").text("name").ends_with(SUFFIX) {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: names ending with \"{SUFFIX}\" are reserved for static manifest-based configurations and cannot be \
         managed via the API"
    )]
}
