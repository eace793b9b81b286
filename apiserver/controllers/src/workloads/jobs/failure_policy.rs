//! The pod failure policy of a Job: what the failure of a pod means.

use serde_json::Value;

use super::super::super::object::{Item, list, text};

/// What a rule does with a pod that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Ignore,
    Count,
    FailIndex,
    /// The message of the Job's condition.
    FailJob(String),
}

/// The action of the first rule that a failed pod matches.
pub(super) fn action(job: &Value, pod: &Item) -> Option<Action> {
    let rules = list(job, "/spec/podFailurePolicy/rules");
    if rules.is_empty() {
        return None;
    }
    let object = pod.object.value();
    rules.iter().enumerate().find_map(|(index, rule)| {
        let named = text(rule, "/action");
        let place = format!("{}/{}", pod.namespace(), pod.name());
        let message = if rule["onExitCodes"].is_object() {
            let container = container(&object, &rule["onExitCodes"])?;
            format!(
                "Container {} for pod {place} failed with exit code {} matching {named} rule at index {index}",
                text(container, "/name"),
                container["state"]["terminated"]["exitCode"],
            )
        } else {
            let condition = condition(&object, list(rule, "/onPodConditions"))?;
            let what = text(condition, "/type");
            format!("Pod {place} has condition {what} matching {named} rule at index {index}")
        };
        match named {
            "Ignore" => Some(Action::Ignore),
            "Count" => Some(Action::Count),
            "FailIndex" => Some(Action::FailIndex),
            "FailJob" => Some(Action::FailJob(message)),
            _ => None,
        }
    })
}

/// The first container whose exit code matches.
fn container<'a>(pod: &'a Value, rule: &Value) -> Option<&'a Value> {
    let values = list(rule, "/values");
    let statuses = ["/status/containerStatuses", "/status/initContainerStatuses"];
    statuses
        .into_iter()
        .flat_map(|at| list(pod, at))
        .find(|status| {
            let code = &status["state"]["terminated"]["exitCode"];
            let name = rule["containerName"].as_str();
            let named = name.is_none_or(|name| status["name"] == name);
            named
                && code.as_i64().is_some_and(|code| code != 0)
                && match text(rule, "/operator") {
                    "In" => values.contains(code),
                    "NotIn" => !values.contains(code),
                    _ => false,
                }
        })
}

/// The first condition of a pod that matches a pattern.
fn condition<'a>(pod: &'a Value, patterns: &[Value]) -> Option<&'a Value> {
    list(pod, "/status/conditions").iter().find(|condition| {
        patterns.iter().any(|pattern| {
            condition["type"] == pattern["type"] && condition["status"] == pattern["status"]
        })
    })
}
