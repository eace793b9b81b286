//! Conversion between the served versions of the same stored object.
//!
//! Most versions of a kind differ by their `apiVersion` alone. Autoscalers and events have a shape per version.

use kubewright_apimachinery::status::{self, Status};
use kubewright_apimachinery::view::Edit;
use serde_json::Value;

use super::Resource;

/// Turns an object of `from` into one of `to`: another version of the same objects.
///
/// # Errors
///
/// Answers a Status when there is no conversion between the two.
pub fn convert(from: &Resource, to: &Resource, object: &mut Value) -> status::Result<()> {
    let same_version = from.version == to.version;
    if from.kind != to.kind {
        return Err(none(from, to));
    }
    if from.group == to.group && same_version {
        return Ok(());
    }
    if from.strategy.converts_by_webhook() {
        return Err(none(from, to));
    }
    let [versions, wanted] = [from, to].map(|resource| (&*resource.group, &*resource.version));
    if !from.strategy.convert(object, versions, wanted) {
        return Err(none(from, to));
    }
    if object.get("apiVersion").is_some() {
        object.put("apiVersion", to.api_version());
    }
    Ok(())
}

/// The error of the scheme of a real API server.
fn none(from: &Resource, to: &Resource) -> Status {
    let named = |of: &Resource| format!("({}.{})", of.version, of.kind);
    let why = format!(
        "converting {} to {}: unknown conversion",
        named(from),
        named(to)
    );
    Status::internal(&why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::resource;

    fn converted(from: (&str, &str), to: (&str, &str), kind: &str, mut object: Value) -> Value {
        let from = resource(from.0, from.1, kind);
        let to = resource(to.0, to.1, kind);
        convert(&from, &to, &mut object).unwrap();
        object
    }

    #[test]
    fn twins_differ_by_their_version_alone() {
        let object =
            json!({ "apiVersion": "coordination.k8s.io/v1", "spec": { "holderIdentity": "a" } });
        let group = "coordination.k8s.io";
        let beta = converted((group, "v1"), (group, "v1beta1"), "Lease", object.clone());
        assert_eq!(beta["apiVersion"], "coordination.k8s.io/v1beta1");
        assert_eq!(beta["spec"], object["spec"]);
    }

    #[test]
    fn the_old_autoscaler_keeps_what_it_cannot_say_in_annotations() {
        let new = json!({
            "apiVersion": "autoscaling/v2",
            "metadata": { "name": "a" },
            "spec": {
                "maxReplicas": 3,
                "metrics": [
                    { "type": "Resource", "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 50 } } },
                    { "type": "Pods", "pods": { "metric": { "name": "hits" }, "target": { "type": "AverageValue", "averageValue": "10" } } },
                ],
                "behavior": { "scaleDown": { "selectPolicy": "Max" } },
            },
            "status": { "desiredReplicas": 1, "currentReplicas": 1, "currentMetrics": null,
                "conditions": [{ "type": "AbleToScale", "status": "True" }] },
        });
        let old = converted(
            ("autoscaling", "v2"),
            ("autoscaling", "v1"),
            "HorizontalPodAutoscaler",
            new.clone(),
        );
        assert_eq!(
            old["spec"],
            json!({ "maxReplicas": 3, "targetCPUUtilizationPercentage": 50 })
        );
        assert_eq!(
            old["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"],
            r#"[{"type":"Pods","pods":{"metricName":"hits","targetAverageValue":"10"}}]"#
        );
        assert_eq!(old["status"]["conditions"], Value::Null);
        let back = converted(
            ("autoscaling", "v1"),
            ("autoscaling", "v2"),
            "HorizontalPodAutoscaler",
            old,
        );
        // The CPU target comes after what the annotation holds.
        let mut swapped = new;
        swapped["spec"]["metrics"].as_array_mut().unwrap().reverse();
        assert_eq!(back, swapped);
    }

    #[test]
    fn an_old_autoscaler_without_a_target_means_eighty_per_cent() {
        let new = converted(
            ("autoscaling", "v1"),
            ("autoscaling", "v2"),
            "HorizontalPodAutoscaler",
            json!({ "spec": { "maxReplicas": 3 } }),
        );
        assert_eq!(
            new["spec"]["metrics"],
            json!([{ "type": "Resource", "resource": { "name": "cpu",
                "target": { "type": "Utilization", "averageUtilization": 80 } } }])
        );
    }

    #[test]
    fn events_have_other_names_in_their_own_group() {
        let old = json!({
            "apiVersion": "v1", "message": "hello", "count": 2, "involvedObject": { "kind": "Pod" },
            "firstTimestamp": "2026-01-01T00:00:00Z", "source": { "component": "me" },
            "reportingComponent": "me", "reportingInstance": "", "reason": "Because",
        });
        let new = converted(("", "v1"), ("events.k8s.io", "v1"), "Event", old.clone());
        assert_eq!(
            new,
            json!({
                "apiVersion": "events.k8s.io/v1", "note": "hello", "deprecatedCount": 2, "regarding": { "kind": "Pod" },
                "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z", "deprecatedSource": { "component": "me" },
                "reportingController": "me", "reason": "Because",
            })
        );
        assert_eq!(
            converted(("events.k8s.io", "v1"), ("", "v1"), "Event", new),
            old
        );
    }

    #[test]
    fn what_cannot_be_converted_says_so() {
        let from = resource("autoscaling", "v1", "HorizontalPodAutoscaler");
        let to = resource("autoscaling", "v2beta9", "HorizontalPodAutoscaler");
        let refused = convert(&from, &to, &mut json!({})).unwrap_err();
        assert_eq!(
            refused.message(),
            "Internal error occurred: converting (v1.HorizontalPodAutoscaler) to (v2beta9.HorizontalPodAutoscaler): unknown conversion"
        );
    }
}
