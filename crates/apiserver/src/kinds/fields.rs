//! The values that field selectors compare, per kind (spec C.6.1).

use std::borrow::Cow;

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Resource;

/// The value of a selectable field: `None` where the kind has no such field selector, an empty text where the object
/// does not set it.
pub fn value<'a>(resource: &Resource, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
    if let Some(custom) = &resource.custom {
        return custom
            .selects_by(resource, field)
            .then(|| crate::custom::fields::value(object, field));
    }
    let metadata = object.at("metadata");
    match field {
        "metadata.name" => return Some(metadata.text("name").into()),
        "metadata.namespace" if has_namespace(resource) => {
            return Some(metadata.text("namespace").into());
        }
        _ if !extra(resource).contains(&field) => return None,
        _ => {}
    }
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    if kind == "Event" {
        return Some(event(group, object, field).into());
    }
    Some(match (kind, field) {
        ("Pod", "status.podIP") => first_address(object, false).into(),
        ("Pod", "status.podIPs") => first_address(object, true).into(),
        ("Pod", "spec.host") => object.at("spec").text("nodeName").into(),
        ("Job", "status.successful") => number(object.at("status").at("succeeded")),
        ("CertificateSigningRequest" | "Secret" | "ResourceSlice", _) => plain(object, field),
        _ => match at(object, field) {
            // Go's booleans and counters have a value even where they are not written.
            Value::Null if is_flag(field) => "false".into(),
            Value::Null if field.ends_with("replicas") => "0".into(),
            other => shown(other),
        },
    })
}

/// Whether a field can be selected, and the error's wording if not.
///
/// # Errors
///
/// The text of the API server's 400.
pub fn check(resource: &Resource, field: &str) -> Result<(), String> {
    if let Some(custom) = &resource.custom {
        return if custom.selects_by(resource, field) {
            Ok(())
        } else {
            Err(format!("field label not supported: {field}"))
        };
    }
    let generic =
        field == "metadata.name" || (field == "metadata.namespace" && has_namespace(resource));
    if generic || extra(resource).contains(&field) {
        return Ok(());
    }
    if extra(resource).is_empty() {
        return Err(format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ));
    }
    if resource.group == "resource.k8s.io" {
        let (version, kind) = (resource.api_version(), &resource.kind);
        return Err(format!(
            "field label not supported for {version}, Kind={kind}: {field}"
        ));
    }
    Err(format!("field label not supported: {field}"))
}

/// Whether objects are selected by namespace: every kind is that has no selectors of its own, even where no object
/// has a namespace.
fn has_namespace(resource: &Resource) -> bool {
    resource.namespaced || extra(resource).is_empty()
}

/// The fields of a kind beside name and namespace.
fn extra(resource: &Resource) -> &'static [&'static str] {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Pod") => &[
            "spec.nodeName",
            "spec.host",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "Node") => &["spec.unschedulable"],
        ("", "Namespace") => &["status.phase"],
        ("", "Secret") => &["type"],
        ("", "Service") => &["spec.clusterIP", "spec.type"],
        ("", "ReplicationController") => &["status.replicas"],
        ("batch", "Job") => &["status.successful"],
        ("certificates.k8s.io", "CertificateSigningRequest" | "ClusterTrustBundle") => {
            &["spec.signerName"]
        }
        ("resource.k8s.io", "ResourceSlice") => &["spec.nodeName", "spec.driver"],
        ("", "Event") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "Event") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "source",
            "type",
        ],
        _ => &[],
    }
}

/// Events are compared in the form of their own group; `source` is the component, or who reports.
fn event<'a>(group: &str, object: &'a Value, field: &str) -> &'a str {
    let (source, reporter) = if group.is_empty() {
        ("source", "reportingComponent")
    } else {
        ("deprecatedSource", "reportingController")
    };
    let component = object.at(source).text("component");
    match field {
        "source" if component.is_empty() => object.text(reporter),
        "source" => component,
        _ => at(object, field).as_str().unwrap_or_default(),
    }
}

fn first_address(object: &Value, all: bool) -> String {
    let addresses = object.at("status").list("podIPs");
    let texts: Vec<&str> = addresses
        .iter()
        .map(|address| address.text("ip"))
        .take(if all { usize::MAX } else { 1 })
        .collect();
    texts.join(",")
}

fn at<'a>(object: &'a Value, field: &str) -> &'a Value {
    field.split('.').fold(object, |value, part| value.at(part))
}

fn plain<'a>(object: &'a Value, field: &str) -> Cow<'a, str> {
    shown(at(object, field))
}

fn is_flag(field: &str) -> bool {
    matches!(field, "spec.unschedulable" | "spec.hostNetwork")
}

fn number(value: &Value) -> Cow<'_, str> {
    value.as_i64().unwrap_or(0).to_string().into()
}

fn shown(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Null => "".into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::testing::resource;

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
                value(&resource, object, field).as_deref(),
                expected,
                "{kind} {field}"
            );
            assert_eq!(
                check(&resource, field).is_ok(),
                expected.is_some(),
                "{kind} {field}"
            );
        }
    }

    #[test]
    fn unknown_fields_are_refused_in_the_api_servers_words() {
        assert_eq!(
            check(&resource("", "v1", "ConfigMap"), "data.a").unwrap_err(),
            "\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
        assert_eq!(
            check(&resource("", "v1", "Pod"), "spec.x").unwrap_err(),
            "field label not supported: spec.x"
        );
    }
}
