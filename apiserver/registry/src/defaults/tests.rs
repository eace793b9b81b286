//! Defaults, each expectation from Kubernetes' documented behaviour.

use kubewright_apimachinery::conform::conform;
use serde_json::{Value, json};

use crate::testing::{random_object, resource};
use proptest::prelude::*;

fn defaulted(group: &str, version: &str, kind: &str, mut object: Value) -> Value {
    resource(group, version, kind).default(&mut object);
    object
}

#[test]
fn a_minimal_pod_gets_every_default() {
    let pod = defaulted(
        "",
        "v1",
        "Pod",
        json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "c", "image": "nginx:1.14.2",
            "ports": [{ "containerPort": 80 }] }] } }),
    );
    assert_eq!(
        pod["spec"],
        json!({
            "containers": [{
                "name": "c",
                "image": "nginx:1.14.2",
                "imagePullPolicy": "IfNotPresent",
                "ports": [{ "containerPort": 80, "protocol": "TCP" }],
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": true,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        })
    );
}

#[test]
fn a_template_does_not_get_what_only_pods_get() {
    let deployment = defaulted(
        "apps",
        "v1",
        "Deployment",
        json!({ "spec": { "selector": {}, "template": { "spec": { "hostNetwork": true, "containers": [{
            "name": "c", "image": "a:1", "ports": [{ "containerPort": 80 }],
            "resources": { "limits": { "cpu": "1" } } }] } } } }),
    );
    let spec = &deployment["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(
        spec["strategy"],
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } })
    );
    assert_eq!(spec["revisionHistoryLimit"], 10);
    assert_eq!(spec["progressDeadlineSeconds"], 600);
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["enableServiceLinks"], Value::Null);
    assert_eq!(pod["containers"][0]["ports"][0]["hostPort"], Value::Null);
    assert_eq!(
        pod["containers"][0]["resources"],
        json!({ "limits": { "cpu": "1" } })
    );
    assert_eq!(pod["restartPolicy"], "Always");
}

#[test]
fn a_pod_requests_what_it_limits_and_opens_its_ports_on_the_host() {
    let pod = defaulted(
        "",
        "v1",
        "Pod",
        json!({ "spec": { "hostNetwork": true, "containers": [{ "name": "c", "image": "a",
            "ports": [{ "containerPort": 80 }],
            "resources": { "limits": { "cpu": "1", "memory": "1Gi" }, "requests": { "cpu": "500m" } } }] } }),
    );
    let container = &pod["spec"]["containers"][0];
    assert_eq!(
        container["resources"]["requests"],
        json!({ "cpu": "500m", "memory": "1Gi" })
    );
    assert_eq!(container["ports"][0]["hostPort"], 80);
    assert_eq!(container["imagePullPolicy"], "Always");
}

#[test]
fn probes_and_volumes_get_their_defaults() {
    let pod = defaulted(
        "",
        "v1",
        "Pod",
        json!({ "spec": {
            "containers": [{ "name": "c", "image": "a", "livenessProbe": { "httpGet": { "port": 80 } } }],
            "volumes": [
                { "name": "none" },
                { "name": "secret", "secret": { "secretName": "s" } },
                { "name": "host", "hostPath": { "path": "/a" } },
                { "name": "projected", "projected": { "sources": [
                    { "serviceAccountToken": { "path": "t" } },
                    { "downwardAPI": { "items": [{ "path": "n", "fieldRef": { "fieldPath": "metadata.name" } }] } },
                ] } },
            ],
        } }),
    );
    assert_eq!(
        pod["spec"]["containers"][0]["livenessProbe"],
        json!({
            "httpGet": { "port": 80, "path": "/", "scheme": "HTTP" },
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
        })
    );
    let volumes = &pod["spec"]["volumes"];
    assert_eq!(volumes[0], json!({ "name": "none", "emptyDir": {} }));
    assert_eq!(volumes[1]["secret"]["defaultMode"], 420);
    assert_eq!(volumes[2]["hostPath"]["type"], "");
    let sources = &volumes[3]["projected"]["sources"];
    assert_eq!(sources[0]["serviceAccountToken"]["expirationSeconds"], 3600);
    assert_eq!(
        sources[1]["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"],
        "v1"
    );
}

#[test]
fn services_get_the_defaults_of_their_type() {
    let service = |kind: &str| {
        defaulted(
            "",
            "v1",
            "Service",
            json!({ "spec": { "type": kind, "ports": [{ "port": 80 }] } }),
        )["spec"]
            .clone()
    };
    assert_eq!(
        service(""),
        json!({ "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80 }] })
    );
    assert_eq!(service("NodePort")["externalTrafficPolicy"], "Cluster");
    let balanced = service("LoadBalancer");
    assert_eq!(balanced["allocateLoadBalancerNodePorts"], true);
    let external = service("ExternalName");
    assert_eq!(external["internalTrafficPolicy"], Value::Null);
    assert_eq!(external["externalTrafficPolicy"], Value::Null);
}

#[test]
fn the_string_data_of_a_secret_becomes_data() {
    let secret = defaulted(
        "",
        "v1",
        "Secret",
        json!({ "data": { "a": "MQ==", "b": "Mg==" }, "stringData": { "b": "hello" } }),
    );
    assert_eq!(secret["type"], "Opaque");
    assert_eq!(secret["data"], json!({ "a": "MQ==", "b": "aGVsbG8=" }));
    assert_eq!(secret["stringData"], Value::Null);
}

#[test]
fn a_job_runs_once_and_takes_the_labels_of_its_template() {
    let job = defaulted(
        "batch",
        "v1",
        "Job",
        json!({ "spec": { "template": { "metadata": { "labels": { "a": "b" } }, "spec": {} } } }),
    );
    assert_eq!(job["metadata"]["labels"], json!({ "a": "b" }));
    for (field, value) in [
        ("completions", json!(1)),
        ("parallelism", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
    ] {
        assert_eq!(job["spec"][field], value, "{field}");
    }
}

#[test]
fn webhooks_get_the_defaults_of_version_one() {
    let configuration = defaulted(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        json!({ "webhooks": [{ "name": "a.b.c", "clientConfig": { "service": { "name": "s", "namespace": "n" } },
            "rules": [{ "operations": ["CREATE"] }], "sideEffects": "None", "admissionReviewVersions": ["v1"] }] }),
    );
    assert_eq!(
        configuration["webhooks"][0],
        json!({
            "name": "a.b.c",
            "admissionReviewVersions": ["v1"],
            "clientConfig": { "service": { "name": "s", "namespace": "n", "port": 443 } },
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "reinvocationPolicy": "Never",
            "rules": [{ "operations": ["CREATE"], "scope": "*" }],
            "sideEffects": "None",
            "timeoutSeconds": 10,
        })
    );
}

#[test]
fn a_namespace_is_active_and_labelled_with_its_name() {
    let namespace = defaulted(
        "",
        "v1",
        "Namespace",
        json!({ "metadata": { "name": "blue" } }),
    );
    assert_eq!(
        namespace["metadata"]["labels"],
        json!({ "kubernetes.io/metadata.name": "blue" })
    );
    assert_eq!(namespace["status"]["phase"], "Active");
}

#[test]
fn the_smaller_kinds_get_theirs() {
    for (group, version, kind, object, path, expected) in [
        (
            "",
            "v1",
            "PersistentVolumeClaim",
            json!({}),
            "/spec/volumeMode",
            json!("Filesystem"),
        ),
        (
            "",
            "v1",
            "PersistentVolumeClaim",
            json!({}),
            "/status/phase",
            json!("Pending"),
        ),
        (
            "",
            "v1",
            "PersistentVolume",
            json!({}),
            "/spec/persistentVolumeReclaimPolicy",
            json!("Retain"),
        ),
        (
            "apps",
            "v1",
            "StatefulSet",
            json!({}),
            "/spec/podManagementPolicy",
            json!("OrderedReady"),
        ),
        (
            "apps",
            "v1",
            "StatefulSet",
            json!({}),
            "/spec/updateStrategy/rollingUpdate/partition",
            json!(0),
        ),
        (
            "apps",
            "v1",
            "DaemonSet",
            json!({}),
            "/spec/updateStrategy/rollingUpdate/maxUnavailable",
            json!(1),
        ),
        (
            "batch",
            "v1",
            "CronJob",
            json!({}),
            "/spec/concurrencyPolicy",
            json!("Allow"),
        ),
        (
            "batch",
            "v1",
            "CronJob",
            json!({}),
            "/spec/successfulJobsHistoryLimit",
            json!(3),
        ),
        (
            "storage.k8s.io",
            "v1",
            "StorageClass",
            json!({}),
            "/volumeBindingMode",
            json!("Immediate"),
        ),
        (
            "scheduling.k8s.io",
            "v1",
            "PriorityClass",
            json!({}),
            "/preemptionPolicy",
            json!("PreemptLowerPriority"),
        ),
        (
            "networking.k8s.io",
            "v1",
            "NetworkPolicy",
            json!({ "spec": { "egress": [{}] } }),
            "/spec/policyTypes/1",
            json!("Egress"),
        ),
        (
            "rbac.authorization.k8s.io",
            "v1",
            "RoleBinding",
            json!({ "subjects": [{ "kind": "User" }] }),
            "/subjects/0/apiGroup",
            json!("rbac.authorization.k8s.io"),
        ),
        (
            "autoscaling",
            "v2",
            "HorizontalPodAutoscaler",
            json!({}),
            "/spec/metrics/0/resource/target/averageUtilization",
            json!(80),
        ),
        (
            "discovery.k8s.io",
            "v1",
            "EndpointSlice",
            json!({ "ports": [{ "port": 1 }] }),
            "/ports/0/protocol",
            json!("TCP"),
        ),
        (
            "",
            "v1",
            "LimitRange",
            json!({ "spec": { "limits": [{ "type": "Container", "max": { "cpu": "2" } }] } }),
            "/spec/limits/0/defaultRequest/cpu",
            json!("2"),
        ),
    ] {
        let object = defaulted(group, version, kind, object);
        assert_eq!(object.pointer(path), Some(&expected), "{kind} {path}");
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_i64..3).prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "a",
            "Container",
            "None",
            "ClientIP",
            "LoadBalancer",
            "RollingUpdate",
            "1Gi"
        ])
        .prop_map(Value::from),
    ];
    let names = prop::sample::select(vec![
        "metadata",
        "labels",
        "name",
        "spec",
        "status",
        "template",
        "containers",
        "initContainers",
        "volumes",
        "ports",
        "resources",
        "limits",
        "requests",
        "cpu",
        "type",
        "strategy",
        "updateStrategy",
        "rollingUpdate",
        "jobTemplate",
        "webhooks",
        "rules",
        "clientConfig",
        "service",
        "livenessProbe",
        "httpGet",
        "sessionAffinity",
        "data",
        "stringData",
        "hostNetwork",
        "containerPort",
        "serviceAccount",
        "serviceAccountName",
        "max",
        "behavior",
        "podCIDR",
        "podCIDRs",
        "capacity",
        "projected",
        "sources",
        "image",
        "restartPolicy",
        "port",
        "targetPort",
    ]);
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

const KINDS: &[(&str, &str, &str)] = &[
    ("", "v1", "Pod"),
    ("", "v1", "Service"),
    ("", "v1", "Secret"),
    ("", "v1", "Node"),
    ("", "v1", "Namespace"),
    ("", "v1", "LimitRange"),
    ("", "v1", "ReplicationController"),
    ("apps", "v1", "Deployment"),
    ("apps", "v1", "StatefulSet"),
    ("apps", "v1", "DaemonSet"),
    ("batch", "v1", "Job"),
    ("batch", "v1", "CronJob"),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"),
    ("autoscaling", "v2", "HorizontalPodAutoscaler"),
    ("networking.k8s.io", "v1", "NetworkPolicy"),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
    ),
];

proptest! {
    #[test]
    fn defaulting_twice_changes_nothing_more(object in any_value(), kind in 0..KINDS.len()) {
        let (group, version, kind) = KINDS[kind];
        let once = defaulted(group, version, kind, object);
        let twice = defaulted(group, version, kind, once.clone());
        prop_assert_eq!(once, twice);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_defaults_add_conforms(seed: u64) {
        let (resource, mut object) = random_object(seed);
        let kind = resource.group_version_kind();
        conform(&kind, &mut object).unwrap();
        resource.default(&mut object);
        let defaulted = object.clone();
        prop_assert_eq!(conform(&kind, &mut object).map(|conformed| conformed.unknown), Ok(Vec::new()));
        prop_assert_eq!(object, defaulted);
    }
}
