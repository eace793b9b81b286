//! Who processes run as: not as root.

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::{containers, setters};

pub(super) fn non_root(pod: &Pod<'_>) -> Option<Violation> {
    const FIELD: &str = "runAsNonRoot";
    let of_pod = pod.context().at(FIELD);
    let of = |container: &Value| container.at("securityContext").at(FIELD).as_bool();
    let root = pod.names_of(|container| of(container) == Some(false));
    let unset = pod.names_of(|container| of(container).is_none() && of_pod != true);
    let detail = if let Some(setters) = setters(of_pod == false, &root) {
        format!("{setters} must not set securityContext.runAsNonRoot=false")
    } else if !unset.is_empty() {
        format!(
            "pod or {} must set securityContext.runAsNonRoot=true",
            containers(&unset)
        )
    } else {
        return None;
    };
    Some(violation("runAsNonRoot != true", detail))
}

pub(super) fn non_root_outside_user_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_in_user_namespace() {
        None
    } else {
        non_root(pod)
    }
}

pub(super) fn user(pod: &Pod<'_>) -> Option<Violation> {
    let is_root = |context: &Value| context.int("runAsUser") == Some(0);
    let names = pod.names_of(|container| is_root(container.at("securityContext")));
    let setters = setters(is_root(pod.context()), &names)?;
    let detail = format!("{setters} must not set runAsUser=0");
    Some(violation("runAsUser=0", detail))
}

pub(super) fn user_outside_user_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_in_user_namespace() {
        None
    } else {
        user(pod)
    }
}
