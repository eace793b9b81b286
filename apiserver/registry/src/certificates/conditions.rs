//! When the conditions of a request for a certificate came.

use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

/// Conditions of a request for a certificate are timed when they come.
pub(super) fn condition_times(new: &mut Value, old: &Value) {
    let time = now();
    let before = old.at("status").list("conditions");
    let Some(status) = new.existing("status") else {
        return;
    };
    for condition in status.each("conditions") {
        condition.fill("lastUpdateTime", time.clone());
        let same = |other: &&Value| {
            let field = |name: &str| other.text(name) == condition.text(name);
            field("type") && field("status") && other.has("lastTransitionTime")
        };
        let since = before.iter().find(same);
        let since = since.map_or_else(
            || time.clone().into(),
            |c| c.at("lastTransitionTime").clone(),
        );
        condition.fill("lastTransitionTime", since);
    }
}
