//! The values that field selectors compare.

use std::borrow::Cow;

use kubewright_apimachinery::view::View;
use serde_json::Value;

/// Checks whether objects of a kind with selectable fields of its own can be selected by a field.
pub(crate) fn check(own: &[&str], namespaced: bool, field: &str) -> Result<(), String> {
    let is_generic = field == "metadata.name" || (namespaced && field == "metadata.namespace");
    if is_generic || own.contains(&field) {
        return Ok(());
    }
    Err(format!("field label not supported: {field}"))
}

/// Returns the value of a field that all kinds have.
pub(crate) fn generic<'a>(
    object: &'a Value,
    namespaced: bool,
    field: &str,
) -> Option<Cow<'a, str>> {
    let metadata = object.at("metadata");
    match field {
        "metadata.name" => Some(metadata.text("name").into()),
        "metadata.namespace" if namespaced => Some(metadata.text("namespace").into()),
        _ => None,
    }
}

/// Returns the value at a path of names.
pub(crate) fn at<'a>(object: &'a Value, field: &str) -> &'a Value {
    field.split('.').fold(object, |value, part| value.at(part))
}

/// Returns a value as it is compared: an empty string where it is not set.
pub(crate) fn shown(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Null => "".into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::resource;

    #[test]
    fn kinds_have_the_fields_of_the_api_server() {
        let pod = json!({ "metadata": { "name": "a", "namespace": "b" }, "spec": { "nodeName": "n" },
            "status": { "phase": "Running", "podIPs": [{ "ip": "10.0.0.1" }] } });
        let event = json!({ "involvedObject": { "kind": "Pod" }, "reportingComponent": "me", "source": {} });
        for (group, kind, object, field, expected) in [
            ("", "Pod", &pod, "metadata.name", Some("a")),
            ("", "Pod", &pod, "metadata.namespace", Some("b")),
            ("", "Pod", &pod, "spec.nodeName", Some("n")),
            ("", "Pod", &pod, "status.phase", Some("Running")),
            ("", "Pod", &pod, "status.podIP", Some("10.0.0.1")),
            ("", "Pod", &pod, "spec.hostNetwork", Some("false")),
            ("", "Pod", &pod, "spec.schedulerName", Some("")),
            ("", "Pod", &pod, "spec.containers", None),
            ("", "Node", &json!({}), "spec.unschedulable", Some("false")),
            ("", "Node", &json!({}), "metadata.namespace", None),
            (
                "",
                "Secret",
                &json!({ "type": "Opaque" }),
                "type",
                Some("Opaque"),
            ),
            ("", "ConfigMap", &json!({}), "type", None),
            (
                "batch",
                "Job",
                &json!({ "status": { "succeeded": 2 } }),
                "status.successful",
                Some("2"),
            ),
            (
                "",
                "ReplicationController",
                &json!({}),
                "status.replicas",
                Some("0"),
            ),
            ("apps", "ReplicaSet", &json!({}), "status.replicas", None),
            ("", "Event", &event, "involvedObject.kind", Some("Pod")),
            ("", "Event", &event, "source", Some("me")),
        ] {
            let resource = resource(group, "v1", kind);
            assert_eq!(
                resource.strategy.field_value(object, field).as_deref(),
                expected,
                "{kind} {field}"
            );
            assert_eq!(
                resource.strategy.check_field(field).is_ok(),
                expected.is_some(),
                "{kind} {field}"
            );
        }
    }

    #[test]
    fn unknown_fields_are_refused_in_the_api_servers_words() {
        assert_eq!(
            resource("", "v1", "ConfigMap")
                .strategy
                .check_field("data.a")
                .unwrap_err(),
            "\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
        assert_eq!(
            resource("", "v1", "Pod")
                .strategy
                .check_field("spec.x")
                .unwrap_err(),
            "field label not supported: spec.x"
        );
    }
}
