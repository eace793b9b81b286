//! The conditions of a definition: approved by the community, and established.

use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_storage::Object;
use serde_json::{Value, json};

use super::validation::{Approval, approval, is_bundle, is_protected};
use super::write::Storage;

/// One condition that a controller wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition<'a> {
    pub(super) kind: &'a str,
    pub(super) status: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

impl Condition<'_> {
    /// Whether a definition has exactly this.
    pub(super) fn is_in(&self, definition: &Value) -> bool {
        find(definition, self.kind).is_some_and(|found| {
            found.text("status") == self.status
                && found.text("reason") == self.reason
                && found.text("message") == self.message
        })
    }

    /// Puts it into a definition; its time changes with its status.
    pub(super) fn set(&self, definition: &mut Value) {
        let Some(status) = definition.part("status") else {
            return;
        };
        let mut conditions = status.list("conditions").to_vec();
        let known = conditions
            .iter_mut()
            .find(|known| known.text("type") == self.kind);
        if let Some(known) = known {
            if known.text("status") != self.status {
                known.put("lastTransitionTime", now());
            }
            known.put("status", self.status);
            known.put("reason", self.reason);
            known.put("message", self.message);
        } else {
            conditions.push(json!({
                "type": self.kind,
                "status": self.status,
                "reason": self.reason,
                "message": self.message,
                "lastTransitionTime": now(),
            }));
        }
        status.put("conditions", conditions);
    }
}

fn find<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = definition.at("status").list("conditions").iter();
    conditions
        .into_iter()
        .find(|known| known.text("type") == kind)
}

/// Whether a condition holds.
pub(super) fn is_true(definition: &Value, kind: &str) -> bool {
    find(definition, kind).is_some_and(|found| found.text("status") == "True")
}

/// The condition of a kind that a definition has.
pub(super) fn current<'a>(definition: &'a Value, kind: &'a str) -> Option<Condition<'a>> {
    find(definition, kind).map(|found| Condition {
        kind,
        status: found.text("status"),
        reason: found.text("reason"),
        message: found.text("message"),
    })
}

/// Says who approved a definition in a group of the community.
pub(super) fn approve(storage: &Storage, stored: &Object, definition: &Value) -> bool {
    if !is_protected(definition.at("spec").text("group")) {
        return false;
    }
    let (state, message) = approval(definition);
    let (status, reason) = match state {
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Invalid => ("False", "InvalidAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    let wanted = Condition {
        kind: "KubernetesAPIApprovalPolicyConformant",
        status,
        reason,
        message: &message,
    };
    if wanted.is_in(definition) {
        return false;
    }
    let mut new = definition.clone();
    wanted.set(&mut new);
    storage.write_status(stored, definition, new)
}

/// Establishes a definition whose names are accepted.
pub(super) fn establish(storage: &Storage, stored: &Object, definition: &Value) -> bool {
    if !is_true(definition, "NamesAccepted") || is_true(definition, "Established") {
        return false;
    }
    let webhook = definition.at("spec").at("conversion").at("webhook");
    let bundle = webhook.at("clientConfig").text("caBundle");
    let wanted = if bundle.is_empty() || is_bundle(bundle) {
        Condition {
            kind: "Established",
            status: "True",
            reason: "InitialNamesAccepted",
            message: "the initial names have been accepted",
        }
    } else {
        Condition {
            kind: "Established",
            status: "False",
            reason: "InvalidCABundle",
            message: "The conversion webhook CABundle is invalid",
        }
    };
    if wanted.is_in(definition) {
        return false;
    }
    let mut new = definition.clone();
    wanted.set(&mut new);
    storage.write_status(stored, definition, new)
}
