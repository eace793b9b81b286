//! Who may have an administrator's access to devices: claims in namespaces that say so.

use kubewright_apimachinery::accessor::metadata;
use kubewright_apimachinery::field::{FieldError, Path};
use serde_json::Value;

use super::call::Call;

const LABEL: &str = "resource.kubernetes.io/admin-access";

/// Refuses a new claim, or a template of claims, that asks for what its namespace does not give.
pub(crate) fn admin_access(call: &Call, object: &Value) -> Vec<FieldError> {
    let spec = match call.resource.kind.as_str() {
        "ResourceClaim" => &object["spec"],
        "ResourceClaimTemplate" => &object["spec"]["spec"],
        _ => return Vec::new(),
    };
    let requests = Path::new("spec.devices.requests");
    let exactly = |request: &Value| request["exactly"]["adminAccess"] == true;
    refused(call, &spec["devices"]["requests"], &requests, exactly)
}

/// Refuses an allocation that gives what the namespace does not, unless it has it already.
pub(crate) fn admin_access_granted(call: &Call, new: &Value, old: &Value) -> Vec<FieldError> {
    if call.resource.kind != "ResourceClaim" || call.path.subresource != "status" {
        return Vec::new();
    }
    let granted = |result: &Value| result["adminAccess"] == true;
    let results = |claim: &Value| claim["status"]["allocation"]["devices"]["results"].clone();
    if results(old)
        .as_array()
        .is_some_and(|all| all.iter().any(granted))
    {
        return Vec::new();
    }
    let path = Path::new("status.allocation.devices.results");
    refused(call, &results(new), &path, granted)
}

fn refused(
    call: &Call,
    items: &Value,
    path: &Path<'_>,
    asks: impl Fn(&Value) -> bool,
) -> Vec<FieldError> {
    let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(index) = items.iter().position(asks) else {
        return Vec::new();
    };
    let namespace = call.shared.store.get("namespaces", &call.path.namespace);
    let allowed = namespace.is_some_and(|namespace| {
        let namespace = namespace.value();
        let labels = metadata(&namespace).get("labels");
        labels
            .and_then(|labels| labels.get(LABEL))
            .is_some_and(|value| value == "true")
    });
    if allowed {
        return Vec::new();
    }
    let detail = format!(
        "admin access to devices requires the `{LABEL}: true` label on the containing namespace"
    );
    let at = path.index(index);
    vec![FieldError::forbidden(&at.child("adminAccess"), &detail)]
}
