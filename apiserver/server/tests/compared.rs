//! Answers that were compared with those of a kube-apiserver v1.36.3, request by request.

use serde_json::{Value, json};

use crate::cluster::{Cluster, map};

const PODS: &str = "/api/v1/namespaces/default/pods";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const SCALERS: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const MAP: &str = "/api/v1/namespaces/default/configmaps/x";

fn named(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn pods_may_be_of_the_systems_priority_classes() {
    let cluster = Cluster::start();
    for (class, priority) in [
        ("system-cluster-critical", 2_000_000_000),
        ("system-node-critical", 2_000_001_000),
    ] {
        let spec = json!({"containers": [{"name": "c", "image": "i"}], "priorityClassName": class});
        let pod = cluster.post(PODS, &named(class, &spec)).await.expect(201);
        assert_eq!(pod["spec"]["priority"], priority);
    }
}

#[tokio::test]
async fn a_job_has_the_labels_of_its_template() {
    let cluster = Cluster::start();
    let pod = json!({"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"});
    let spec = json!({"template": {"spec": pod}});
    let job = cluster.post(JOBS, &named("x", &spec)).await.expect(201);
    let uid = &job["metadata"]["uid"];
    let labels = json!({
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": uid,
        "job-name": "x",
    });
    assert_eq!(job["metadata"]["labels"], labels);
    assert_eq!(job["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(job["spec"]["manualSelector"], false);
}

#[tokio::test]
async fn what_a_gate_keeps_off_is_dropped() {
    let cluster = Cluster::start();
    let spec = json!({
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    });
    let mut gated = spec.clone();
    gated["template"]["spec"]["schedulingGroup"] = json!({"podGroupName": "g"});
    let set = cluster.post(SETS, &named("x", &gated)).await.expect(201);
    assert!(set["spec"]["template"]["spec"]["schedulingGroup"].is_null());
}

#[tokio::test]
async fn a_health_check_has_a_port_where_no_other_port_is_given_out() {
    let cluster = Cluster::start();
    let spec = json!({
        "type": "LoadBalancer",
        "ports": [{"port": 80}],
        "externalTrafficPolicy": "Local",
        "allocateLoadBalancerNodePorts": false,
    });
    let service = cluster.post(SERVICES, &named("x", &spec)).await.expect(201);
    assert!(service["spec"]["healthCheckNodePort"].as_i64().unwrap() >= 30_000);
    assert!(service["spec"]["ports"][0].get("nodePort").is_none());
}

#[tokio::test]
async fn a_services_name_may_begin_with_a_digit() {
    let cluster = Cluster::start();
    let spec = json!({"ports": [{"port": 80}]});
    cluster
        .post(SERVICES, &named("1x", &spec))
        .await
        .expect(201);
}

#[tokio::test]
async fn what_is_deprecated_is_warned_about() {
    let cluster = Cluster::start();
    let external = json!({"ports": [{"port": 80}], "externalIPs": ["192.0.2.1"]});
    let close = json!({"ports": [{"port": 80}], "trafficDistribution": "PreferClose"});
    let recycled = json!({
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Recycle",
        "nfs": {"server": "s", "path": "/p"},
    });
    let ingress = json!({"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}});
    let mut annotated = named("d", &ingress);
    annotated["metadata"]["annotations"] = json!({"kubernetes.io/ingress.class": "x"});
    for (path, object, warning) in [
        (
            SERVICES,
            named("a", &external),
            r#"299 - "spec.externalIPs is deprecated and may no longer be implemented in some clusters""#,
        ),
        (
            SERVICES,
            named("b", &close),
            r#"299 - "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"""#,
        ),
        (
            "/api/v1/persistentvolumes",
            named("c", &recycled),
            r#"299 - "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.""#,
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            annotated,
            r#"299 - "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead""#,
        ),
    ] {
        let answer = cluster.post(path, &object).await;
        assert_eq!(answer.header("warning"), warning);
        answer.expect(201);
    }
}

#[tokio::test]
async fn the_target_of_an_autoscaler_is_of_a_group() {
    let cluster = Cluster::start();
    for (kind, version, refusal) in [
        ("ReplicationController", "v1", None),
        ("Deployment", "apps/v1", None),
        (
            "Deployment",
            "",
            Some("Invalid value: \"\": apiVersion must specify API group"),
        ),
        (
            "Deployment",
            "a/b/c",
            Some("Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c"),
        ),
    ] {
        let target = json!({"kind": kind, "name": "n", "apiVersion": version});
        let scaler = named("x", &json!({"maxReplicas": 1, "scaleTargetRef": target}));
        let answer = cluster
            .post(&format!("{SCALERS}?dryRun=All"), &scaler)
            .await;
        match refusal {
            None => {
                answer.expect(201);
            }
            Some(why) => assert_eq!(
                answer.refused(422, "Invalid"),
                format!(
                    "HorizontalPodAutoscaler.autoscaling \"x\" is invalid: spec.scaleTargetRef.apiVersion: {why}"
                ),
            ),
        }
    }
}

#[tokio::test]
async fn a_written_object_bears_the_name_of_its_path() {
    let cluster = Cluster::start();
    let path = "/api/v1/namespaces/default/configmaps";
    cluster.post(path, &map("x")).await.expect(201);
    let nameless =
        "the name of the object (x based on URL) was undeterminable: name must be provided";
    let message = cluster
        .put(MAP, &json!({"metadata": {}}))
        .await
        .refused(400, "BadRequest");
    assert_eq!(message, nameless);
    for (metadata, why) in [
        (json!({"name": null}), nameless),
        (
            json!({"name": "z"}),
            "the name of the object (z) does not match the name on the URL (x)",
        ),
        (
            json!({"namespace": "z"}),
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ] {
        let patch = json!({"metadata": metadata});
        let message = cluster
            .patch("merge", MAP, &patch)
            .await
            .refused(400, "BadRequest");
        assert_eq!(message, why);
    }
}
