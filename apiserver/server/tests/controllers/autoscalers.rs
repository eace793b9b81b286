//! HorizontalPodAutoscalers, with metrics from annotations.

use std::time::Duration;

use serde_json::{Value, json};

use super::{DEPLOYMENTS, PODS, all, condition, deployment, settled};
use crate::cluster::Cluster;

const AUTOSCALERS: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

/// A Deployment whose pods request 100 thousandths of a processor, and use so many.
async fn web(cluster: &Cluster, replicas: u32, cpu: &str) {
    let mut web = deployment("web", replicas);
    let template = &mut web["spec"]["template"];
    template["metadata"]["annotations"] = json!({"metrics.kubewright.dev/cpu": cpu});
    template["spec"]["containers"][0]["resources"] =
        json!({"requests": {"cpu": "100m", "memory": "64Mi"}});
    cluster.made(DEPLOYMENTS, &web).await;
}

fn cpu(percentage: u32) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percentage});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

fn external(metric: &str, average: &str) -> Value {
    let target = json!({"type": "AverageValue", "averageValue": average});
    json!({"type": "External", "external": {"metric": {"name": metric}, "target": target}})
}

/// An autoscaler of the Deployment, from one replica to ten.
fn autoscaler(metrics: &[Value]) -> Value {
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 10,
            "metrics": metrics,
        },
    })
}

/// Sets a metric of an object, or of all objects of a collection.
async fn measure(cluster: &Cluster, paths: &[String], metric: &str, value: &str) {
    let name = format!("metrics.kubewright.dev/{metric}");
    let patch = json!({"metadata": {"annotations": {name: value}}});
    for path in paths {
        cluster.patch("merge", path, &patch).await.expect(200);
    }
}

async fn measure_pods(cluster: &Cluster, metric: &str, value: &str) {
    let pods = cluster.names(PODS).await;
    let pods: Vec<String> = pods.iter().map(|pod| format!("{PODS}/{pod}")).collect();
    measure(cluster, &pods, metric, value).await;
}

async fn measure_namespace(cluster: &Cluster, metric: &str, value: &str) {
    let namespace = ["/api/v1/namespaces/default".to_owned()];
    measure(cluster, &namespace, metric, value).await;
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    settled().await;
}

async fn replicas(cluster: &Cluster) -> i64 {
    cluster.read(WEB).await["spec"]["replicas"]
        .as_i64()
        .unwrap()
}

async fn read(cluster: &Cluster) -> Value {
    cluster.read(&format!("{AUTOSCALERS}/web")).await
}

/// The status, the reason and the message of a condition.
fn told<'a>(autoscaler: &'a Value, what: &str) -> [&'a str; 3] {
    let condition = condition(autoscaler, what);
    ["status", "reason", "message"].map(|field| condition[field].as_str().unwrap_or_default())
}

/// The messages of events with a reason.
async fn events(cluster: &Cluster, reason: &str) -> Vec<String> {
    let events = cluster.read("/api/v1/namespaces/default/events").await;
    let events = events["items"].as_array().unwrap().iter();
    events
        .filter(|event| event["reason"] == reason)
        .map(|event| event["message"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_deployment_has_the_replicas_that_its_cpu_asks_for() {
    let cluster = all();
    web(&cluster, 2, "100m").await;
    cluster.made(AUTOSCALERS, &autoscaler(&[cpu(50)])).await;
    assert_eq!(replicas(&cluster).await, 4);
    let scaled = read(&cluster).await;
    let status = &scaled["status"];
    assert_eq!(
        (&status["currentReplicas"], &status["desiredReplicas"]),
        (&json!(2), &json!(4))
    );
    assert_eq!(status["observedGeneration"], 1);
    assert!(status["lastScaleTime"].is_string());
    let current = json!({"averageUtilization": 100, "averageValue": "100m"});
    assert_eq!(
        status["currentMetrics"],
        json!([{"type": "Resource", "resource": {"name": "cpu", "current": current}}])
    );
    assert_eq!(
        told(&scaled, "AbleToScale"),
        [
            "True",
            "SucceededRescale",
            "the HPA controller was able to update the target scale to 4",
        ]
    );
    assert_eq!(
        told(&scaled, "ScalingActive"),
        [
            "True",
            "ValidMetricFound",
            "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)",
        ]
    );
    assert_eq!(
        told(&scaled, "ScalingLimited"),
        [
            "False",
            "DesiredWithinRange",
            "the desired count is within the acceptable range",
        ]
    );
    assert_eq!(
        events(&cluster, "SuccessfulRescale").await,
        ["New size: 4; reason: cpu resource utilization (percentage of request) above target"]
    );
    measure_pods(&cluster, "cpu", "52m").await;
    after(15).await;
    let steady = read(&cluster).await;
    assert_eq!(replicas(&cluster).await, 4);
    assert_eq!(
        told(&steady, "AbleToScale")[1..],
        ["ReadyForNewScale", "recommended size matches current size"]
    );
    assert_eq!(steady["status"]["lastScaleTime"], status["lastScaleTime"]);
}

#[tokio::test(start_paused = true)]
async fn fewer_replicas_wait_for_five_minutes() {
    let cluster = all();
    web(&cluster, 4, "10m").await;
    cluster.made(AUTOSCALERS, &autoscaler(&[cpu(50)])).await;
    assert_eq!(replicas(&cluster).await, 4);
    after(280).await;
    let waiting = read(&cluster).await;
    assert_eq!(replicas(&cluster).await, 4);
    assert_eq!(
        told(&waiting, "AbleToScale"),
        [
            "True",
            "ScaleDownStabilized",
            "recent recommendations were higher than current one, applying the highest recent recommendation",
        ]
    );
    after(60).await;
    assert_eq!(replicas(&cluster).await, 1);
    assert_eq!(
        events(&cluster, "SuccessfulRescale").await,
        ["New size: 1; reason: All metrics below target"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_behavior_says_how_fast() {
    let cluster = all();
    web(&cluster, 1, "1000m").await;
    let mut slow = autoscaler(&[cpu(50)]);
    slow["spec"]["behavior"] = json!({
        "scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]},
        "scaleDown": {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Percent", "value": 50, "periodSeconds": 30}],
        },
    });
    cluster.made(AUTOSCALERS, &slow).await;
    assert_eq!(replicas(&cluster).await, 2);
    after(16).await;
    let limited = read(&cluster).await;
    assert_eq!(replicas(&cluster).await, 2);
    assert_eq!(
        told(&limited, "ScalingLimited"),
        [
            "True",
            "ScaleUpLimit",
            "the desired replica count is increasing faster than the maximum scale rate",
        ]
    );
    after(45).await;
    assert_eq!(replicas(&cluster).await, 3);
    measure_pods(&cluster, "cpu", "1m").await;
    after(15).await;
    assert_eq!(replicas(&cluster).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_tolerance_of_a_behavior_replaces_a_tenth() {
    for (tolerance, expected) in [(None, 2), (Some("0.04"), 3)] {
        let cluster = all();
        web(&cluster, 2, "53m").await;
        let mut exact = autoscaler(&[cpu(50)]);
        if let Some(tolerance) = tolerance {
            exact["spec"]["behavior"] = json!({"scaleUp": {"tolerance": tolerance}});
        }
        cluster.made(AUTOSCALERS, &exact).await;
        assert_eq!(replicas(&cluster).await, expected, "{tolerance:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn replicas_come_into_the_range_without_metrics() {
    for (least, most, expected, reason) in [
        (
            5,
            10,
            5,
            "Current number of replicas below Spec.MinReplicas",
        ),
        (1, 2, 2, "Current number of replicas above Spec.MaxReplicas"),
    ] {
        let cluster = all();
        cluster.made(DEPLOYMENTS, &deployment("web", 3)).await;
        let mut ranged = autoscaler(&[cpu(50)]);
        ranged["spec"]["minReplicas"] = least.into();
        ranged["spec"]["maxReplicas"] = most.into();
        cluster.made(AUTOSCALERS, &ranged).await;
        assert_eq!(replicas(&cluster).await, expected);
        let message = format!("New size: {expected}; reason: {reason}");
        assert_eq!(events(&cluster, "SuccessfulRescale").await, [message]);
    }
}

#[tokio::test(start_paused = true)]
async fn pods_without_metrics_and_targets_that_are_missing_are_reported() {
    let cluster = all();
    cluster.made(AUTOSCALERS, &autoscaler(&[cpu(50)])).await;
    let why = "deployments.apps \"web\" not found";
    let message = format!("the HPA controller was unable to get the target's current scale: {why}");
    let lost = read(&cluster).await;
    assert_eq!(
        told(&lost, "AbleToScale"),
        ["False", "FailedGetScale", &message]
    );
    assert_eq!(events(&cluster, "FailedGetScale").await, [why]);
    cluster.made(DEPLOYMENTS, &deployment("web", 3)).await;
    after(15).await;
    let blind = read(&cluster).await;
    assert_eq!(told(&blind, "AbleToScale")[1], "SucceededGetScale");
    let why = "failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API";
    let message = format!("the HPA was unable to compute the replica count: {why}");
    assert_eq!(
        told(&blind, "ScalingActive"),
        ["False", "FailedGetResourceMetric", &message]
    );
    assert_eq!(events(&cluster, "FailedGetResourceMetric").await, [why]);
    assert_eq!(
        events(&cluster, "FailedComputeMetricsReplicas").await,
        [format!(
            "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: {why}"
        )]
    );
    assert_eq!(replicas(&cluster).await, 3);
}

#[tokio::test(start_paused = true)]
async fn the_largest_proposal_of_several_metrics_counts() {
    let cluster = all();
    web(&cluster, 2, "100m").await;
    let services = "/api/v1/namespaces/default/services";
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    cluster.made(services, &service).await;
    measure(&cluster, &[format!("{services}/web")], "requests", "300").await;
    measure_pods(&cluster, "connections", "15").await;
    measure_pods(&cluster, "memory", "64Mi").await;
    measure_namespace(&cluster, "queue-length", "30").await;
    let metrics = [
        cpu(50),
        json!({"type": "ContainerResource", "containerResource": {
            "name": "memory", "container": "main", "target": {"type": "AverageValue", "averageValue": "32Mi"},
        }}),
        json!({"type": "Pods", "pods": {
            "metric": {"name": "connections"}, "target": {"type": "AverageValue", "averageValue": "5"},
        }}),
        json!({"type": "Object", "object": {
            "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
            "metric": {"name": "requests"}, "target": {"type": "Value", "value": "100"},
        }}),
        external("queue-length", "4"),
    ];
    cluster.made(AUTOSCALERS, &autoscaler(&metrics)).await;
    // Two pods at twice their CPU, at twice their memory, at three times their connections, and at three times the requests; the
    // queue is for eight, which is more than twice of two and than four.
    assert_eq!(replicas(&cluster).await, 4);
    let scaled = read(&cluster).await;
    assert_eq!(told(&scaled, "ScalingLimited")[1], "ScaleUpLimit");
    assert_eq!(
        told(&scaled, "ScalingActive")[2],
        "the HPA was able to successfully calculate a replica count from external metric queue-length(<nil>)"
    );
    let described = json!({"apiVersion": "v1", "kind": "Service", "name": "web"});
    assert_eq!(
        scaled["status"]["currentMetrics"],
        json!([
            {"type": "Resource", "resource": {
                "name": "cpu", "current": {"averageUtilization": 100, "averageValue": "100m"},
            }},
            {"type": "ContainerResource", "containerResource": {
                "name": "memory", "container": "main", "current": {"averageValue": "64Mi"},
            }},
            {"type": "Pods", "pods": {
                "metric": {"name": "connections"}, "current": {"averageValue": "15"},
            }},
            {"type": "Object", "object": {
                "describedObject": described, "metric": {"name": "requests"}, "current": {"value": "300"},
            }},
            {"type": "External", "external": {
                "metric": {"name": "queue-length"}, "current": {"averageValue": "15"},
            }},
        ])
    );
    after(15).await;
    assert_eq!(replicas(&cluster).await, 8);
}

#[tokio::test(start_paused = true)]
async fn a_metric_that_fails_keeps_replicas_up_and_lets_them_grow() {
    let cluster = all();
    web(&cluster, 3, "10m").await;
    let metrics = [cpu(50), external("queue-length", "1")];
    cluster.made(AUTOSCALERS, &autoscaler(&metrics)).await;
    after(600).await;
    assert_eq!(replicas(&cluster).await, 3);
    let kept = read(&cluster).await;
    assert_eq!(
        told(&kept, "ScalingActive")[1..],
        [
            "FailedGetExternalMetric",
            "the HPA was unable to compute the replica count: \
             unable to get external metric default/queue-length/<nil>: no metrics returned from external metrics API",
        ]
    );
    assert_eq!(kept["status"]["currentMetrics"][1], json!({"type": ""}));
    measure_pods(&cluster, "cpu", "100m").await;
    after(15).await;
    assert_eq!(replicas(&cluster).await, 6);
}

#[tokio::test(start_paused = true)]
async fn the_series_of_an_external_metric_are_added_up() {
    let cluster = all();
    web(&cluster, 1, "10m").await;
    let series = "7{queue=mail,zone=a} 4{queue=mail,zone=b} 50{queue=web}";
    measure_namespace(&cluster, "queue-length", series).await;
    let mut metric = external("queue-length", "4");
    let selector = json!({"matchLabels": {"queue": "mail"}});
    metric["external"]["metric"]["selector"] = selector.clone();
    cluster.made(AUTOSCALERS, &autoscaler(&[metric])).await;
    assert_eq!(replicas(&cluster).await, 3);
    let scaled = read(&cluster).await;
    let metric = json!({"name": "queue-length", "selector": selector});
    assert_eq!(
        scaled["status"]["currentMetrics"][0]["external"],
        json!({"metric": metric, "current": {"averageValue": "11"}})
    );
    assert_eq!(
        events(&cluster, "SuccessfulRescale").await,
        [
            "New size: 3; reason: external metric queue-length(&LabelSelector{MatchLabels:map[string]string{queue: mail,},\
             MatchExpressions:[]LabelSelectorRequirement{},}) above target"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_target_goes_to_zero_and_comes_back_by_its_queue() {
    let cluster = all();
    web(&cluster, 2, "10m").await;
    measure_namespace(&cluster, "queue-length", "0").await;
    let mut to_zero = autoscaler(&[external("queue-length", "5")]);
    to_zero["spec"]["minReplicas"] = 0.into();
    to_zero["spec"]["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    cluster.made(AUTOSCALERS, &to_zero).await;
    assert_eq!(replicas(&cluster).await, 0);
    assert_eq!(
        told(&read(&cluster).await, "ScaledToZero"),
        [
            "True",
            "ScaledToZero",
            "the HPA controller scaled the workload to zero",
        ]
    );
    measure_namespace(&cluster, "queue-length", "12").await;
    after(15).await;
    assert_eq!(replicas(&cluster).await, 3);
    assert_eq!(told(&read(&cluster).await, "ScaledToZero")[0], "False");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_another_client_scales_to_zero_is_left_alone() {
    let cluster = all();
    web(&cluster, 0, "100m").await;
    cluster.made(AUTOSCALERS, &autoscaler(&[cpu(50)])).await;
    assert_eq!(replicas(&cluster).await, 0);
    assert_eq!(
        told(&read(&cluster).await, "ScalingActive"),
        [
            "False",
            "ScalingDisabled",
            "scaling is disabled since the replica count of the target is zero",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn pods_of_two_autoscalers_are_scaled_by_neither() {
    let cluster = all();
    web(&cluster, 2, "100m").await;
    cluster.made(AUTOSCALERS, &autoscaler(&[cpu(100)])).await;
    let mut other = autoscaler(&[cpu(20)]);
    other["metadata"]["name"] = "other".into();
    cluster.made(AUTOSCALERS, &other).await;
    after(15).await;
    assert_eq!(replicas(&cluster).await, 2);
    assert_eq!(
        told(&read(&cluster).await, "ScalingActive"),
        [
            "False",
            "AmbiguousSelector",
            "pods by selector app=web are controlled by more than one HPA (e.g. [{other default} {web default}])",
        ]
    );
    cluster
        .delete(&format!("{AUTOSCALERS}/other"))
        .await
        .expect(200);
    after(15).await;
    assert_eq!(told(&read(&cluster).await, "ScalingActive")[0], "True");
}

#[tokio::test(start_paused = true)]
async fn a_custom_resource_with_a_scale_is_scaled_by_an_autoscaler_of_version_1() {
    let cluster = all();
    let number = json!({"type": "integer"});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"beds": number}},
        "status": {"type": "object", "properties": {"beds": number, "selector": {"type": "string"}}},
    }});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gardens.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "gardens", "singular": "garden", "kind": "Garden", "listKind": "GardenList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.beds", "statusReplicasPath": ".status.beds",
                    "labelSelectorPath": ".status.selector",
                }},
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.made(definitions, &definition).await;
    web(&cluster, 2, "80m").await;
    let gardens = "/apis/example.com/v1/namespaces/default/gardens";
    let garden = json!({
        "apiVersion": "example.com/v1", "kind": "Garden", "metadata": {"name": "a"}, "spec": {"beds": 2},
    });
    cluster.made(gardens, &garden).await;
    let autoscalers = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    let autoscaler = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "example.com/v1", "kind": "Garden", "name": "a"},
            "maxReplicas": 10, "targetCPUUtilizationPercentage": 40,
        },
    });
    cluster.made(autoscalers, &autoscaler).await;
    // The garden does not say which pods are its own.
    assert_eq!(
        told(&read(&cluster).await, "ScalingActive"),
        [
            "False",
            "InvalidSelector",
            "the HPA target's scale is missing a selector",
        ]
    );
    let status = json!({"status": {"beds": 2, "selector": "app=web"}});
    let path = format!("{gardens}/a");
    cluster
        .patch("merge", &format!("{path}/status"), &status)
        .await
        .expect(200);
    after(15).await;
    assert_eq!(cluster.read(&path).await["spec"]["beds"], 4);
    let scaled = cluster.read(&format!("{autoscalers}/web")).await;
    assert_eq!(scaled["status"]["currentCPUUtilizationPercentage"], 80);
}
