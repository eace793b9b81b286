//! What the real server's own types make of an object when it is decoded: its audit log shows it, admission does not.

use std::num::IntErrorKind;

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::TEMPLATE_GENERATION;
use crate::kinds::Resource;

/// Why the server's own types cannot hold an object of a kind, however well it is formed.
pub(crate) fn conversion_fault(kind: &GroupVersionKind, object: &Value) -> Option<String> {
    if (kind.group.as_str(), kind.kind.as_str()) != ("apps", "DaemonSet") {
        return None;
    }
    let annotations = object.at("metadata").at("annotations");
    let number = annotations.at(TEMPLATE_GENERATION).as_str()?;
    let why = match number.parse::<i64>().err()?.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    Some(format!(
        "strconv.ParseInt: parsing {}: {why}",
        quoted(number)
    ))
}

/// Gives the object of a request what it has in the audit log.
pub(crate) fn as_decoded(resource: &Resource, object: &mut Value) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("apps", "DaemonSet") => {
            let metadata = object.part("metadata");
            if let Some(annotations) = metadata.and_then(|metadata| metadata.part("annotations")) {
                annotations.fill(TEMPLATE_GENERATION, "0");
            }
        }
        ("apps", "Deployment") => {
            let strategy = object
                .existing("spec")
                .and_then(|spec| spec.existing("strategy"));
            if let Some(rolling) = strategy.and_then(|strategy| strategy.existing("rollingUpdate"))
            {
                rolling.fill("maxSurge", 0);
                rolling.fill("maxUnavailable", 0);
            }
        }
        _ => {}
    }
}
