//! Tables, each expectation from what kubectl users know.

use serde_json::json;

use super::*;
use crate::testing::resource;

fn row(group: &str, version: &str, kind: &str, object: &Value) -> Vec<String> {
    let now = "2026-01-02T00:00:00Z".parse().unwrap();
    let resource = resource(group, version, kind);
    let cells = resource.strategy.cells(object, now);
    assert_eq!(
        cells.len(),
        resource.strategy.columns((group, kind)).len(),
        "{kind}"
    );
    cells
        .into_iter()
        .map(|cell| match cell {
            Value::String(text) => text,
            other => other.to_string(),
        })
        .collect()
}

fn titles(group: &str, kind: &str) -> String {
    let resource = resource(group, "v1", kind);
    let titles: Vec<String> = resource
        .strategy
        .columns((group, kind))
        .iter()
        .map(|column| match column.priority {
            0 => column.name.to_owned(),
            _ => format!("({})", column.name),
        })
        .collect();
    titles.join("|")
}

#[test]
fn every_kind_has_a_cell_for_each_column() {
    let now = "2026-01-02T00:00:00Z".parse().unwrap();
    let object = json!({"metadata": {"name": "a"}});
    let registry = crate::testing::registry(crate::registry::Versions::All);
    let wrong = registry.all().filter(|resource| {
        let kind = (resource.group.as_str(), resource.kind.as_str());
        let cells = resource.strategy.cells(&object, now).len();
        cells != resource.strategy.columns(kind).len()
    });
    let wrong: Vec<&str> = wrong.map(|resource| resource.plural.as_str()).collect();
    // A row of addresses has an age without a column, as the real one; definitions get their cells elsewhere.
    assert_eq!(wrong, ["ipaddresses", "customresourcedefinitions"]);
}

#[test]
fn durations_have_two_or_three_figures() {
    for (seconds, text) in [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (5, "5s"),
        (119, "119s"),
        (120, "2m"),
        (182, "3m2s"),
        (599, "9m59s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (12_000, "3h20m"),
        (28_800, "8h"),
        (172_799, "47h"),
        (172_800, "2d"),
        (176_400, "2d1h"),
        (691_200, "8d"),
        (2 * 365 * 86_400, "2y"),
        (2 * 365 * 86_400 + 86_400, "2y1d"),
        (9 * 365 * 86_400, "9y"),
    ] {
        assert_eq!(duration(seconds), text, "{seconds}");
    }
}

#[test]
fn kinds_have_the_columns_of_the_spec() {
    for (group, kind, expected) in [
        (
            "",
            "Pod",
            "Name|Ready|Status|Restarts|Age|(IP)|(Node)|(Nominated Node)|(Readiness Gates)",
        ),
        (
            "apps",
            "Deployment",
            "Name|Ready|Up-to-date|Available|Age|(Containers)|(Images)|(Selector)",
        ),
        (
            "apps",
            "ReplicaSet",
            "Name|Desired|Current|Ready|Age|(Containers)|(Images)|(Selector)",
        ),
        (
            "apps",
            "StatefulSet",
            "Name|Ready|Age|(Containers)|(Images)",
        ),
        (
            "batch",
            "Job",
            "Name|Status|Completions|Duration|Age|(Containers)|(Images)|(Selector)",
        ),
        (
            "",
            "Service",
            "Name|Type|Cluster-IP|External-IP|Port(s)|Age|(Selector)",
        ),
        (
            "networking.k8s.io",
            "Ingress",
            "Name|Class|Hosts|Address|Ports|Age",
        ),
        (
            "",
            "Event",
            "Last Seen|Type|Reason|Object|(Subobject)|(Source)|Message|(First Seen)|(Count)|(Name)",
        ),
        ("", "ConfigMap", "Name|Data|Age"),
        ("", "Secret", "Name|Type|Data|Age"),
        ("rbac.authorization.k8s.io", "Role", "Name|Created At"),
        (
            "rbac.authorization.k8s.io",
            "RoleBinding",
            "Name|Role|Age|(Users)|(Groups)|(ServiceAccounts)",
        ),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration",
            "Name|Webhooks|Age",
        ),
    ] {
        assert_eq!(titles(group, kind), expected, "{kind}");
    }
}

#[test]
fn a_fresh_pod_is_pending() {
    let pod = json!({ "metadata": { "name": "web", "creationTimestamp": "2026-01-01T23:59:55Z" },
        "spec": { "containers": [{ "name": "a" }, { "name": "b" }] }, "status": { "phase": "Pending" } });
    assert_eq!(
        row("", "v1", "Pod", &pod),
        [
            "web", "0/2", "Pending", "0", "5s", "<none>", "<none>", "<none>", "<none>"
        ]
    );
}

#[test]
fn the_status_of_a_pod_is_the_reason_of_its_containers() {
    let status = |status: Value| {
        let pod = json!({ "metadata": { "name": "a" },
            "spec": { "containers": [{ "name": "c" }], "initContainers": [{ "name": "i" }] }, "status": status });
        let row = row("", "v1", "Pod", &pod);
        [row[1].clone(), row[2].clone(), row[3].clone()]
    };
    let table = [
        (
            json!({ "phase": "Running", "containerStatuses": [{ "ready": true, "restartCount": 0, "state": { "running": {} } }] }),
            ["1/1", "Running", "0"],
        ),
        (
            json!({ "phase": "Running", "containerStatuses": [{ "restartCount": 3,
            "state": { "waiting": { "reason": "CrashLoopBackOff" } },
            "lastState": { "terminated": { "finishedAt": "2026-01-01T23:59:00Z" } } }] }),
            ["0/1", "CrashLoopBackOff", "3 (60s ago)"],
        ),
        (
            json!({ "phase": "Succeeded", "containerStatuses": [{ "state": { "terminated": { "exitCode": 0, "reason": "Completed" } } }] }),
            ["0/1", "Completed", "0"],
        ),
        (
            json!({ "phase": "Failed", "containerStatuses": [{ "state": { "terminated": { "exitCode": 3 } } }] }),
            ["0/1", "ExitCode:3", "0"],
        ),
        (
            json!({ "phase": "Failed", "containerStatuses": [{ "state": { "terminated": { "exitCode": 137, "signal": 9 } } }] }),
            ["0/1", "Signal:9", "0"],
        ),
        (
            json!({ "phase": "Pending", "initContainerStatuses": [{ "name": "i", "state": { "running": {} } }] }),
            ["0/1", "Init:0/1", "0"],
        ),
        (
            json!({ "phase": "Pending", "initContainerStatuses": [{ "name": "i", "restartCount": 2,
            "state": { "waiting": { "reason": "CrashLoopBackOff" } } }] }),
            ["0/1", "Init:CrashLoopBackOff", "2"],
        ),
        (
            json!({ "phase": "Failed", "reason": "Evicted" }),
            ["0/1", "Evicted", "0"],
        ),
    ];
    for (object, expected) in table {
        assert_eq!(status(object.clone()), expected, "{object}");
    }
    let going = json!({ "metadata": { "name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z" }, "status": { "phase": "Running" } });
    assert_eq!(row("", "v1", "Pod", &going)[2], "Terminating");
}

#[test]
fn workloads_show_ready_of_desired() {
    let deployment = json!({ "metadata": { "name": "web", "creationTimestamp": "2025-12-30T00:00:00Z" },
        "spec": { "replicas": 3, "selector": { "matchLabels": { "app": "web" } },
            "template": { "spec": { "containers": [{ "name": "a", "image": "x:1" }, { "name": "b", "image": "y:2" }] } } },
        "status": { "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1 } });
    assert_eq!(
        row("apps", "v1", "Deployment", &deployment),
        ["web", "1/3", "2", "1", "3d", "a,b", "x:1,y:2", "app=web"]
    );
    let job = json!({ "metadata": { "name": "j", "creationTimestamp": "2026-01-01T23:50:00Z" },
        "spec": { "completions": 2, "selector": {}, "template": { "spec": { "containers": [] } } },
        "status": { "succeeded": 1, "startTime": "2026-01-01T23:59:00Z" } });
    assert_eq!(
        row("batch", "v1", "Job", &job),
        ["j", "Running", "1/2", "60s", "10m", "", "", "<none>"]
    );
    let cron = json!({ "metadata": { "name": "c", "creationTimestamp": "2026-01-01T23:50:00Z" },
        "spec": { "schedule": "* * * * *", "suspend": false, "jobTemplate": { "spec": { "template": { "spec": {} } } } } });
    assert_eq!(
        row("batch", "v1", "CronJob", &cron)[..7],
        ["c", "* * * * *", "<none>", "False", "0", "<none>", "10m"]
    );
}

#[test]
fn both_versions_of_an_autoscaler_show_the_same() {
    let old = json!({ "metadata": { "name": "h" }, "spec": { "minReplicas": 1, "maxReplicas": 5,
        "targetCPUUtilizationPercentage": 50, "scaleTargetRef": { "kind": "Deployment", "name": "web" } },
        "status": { "currentReplicas": 2, "currentCPUUtilizationPercentage": 10 } });
    let expected = [
        "h",
        "Deployment/web",
        "cpu: 10%/50%",
        "1",
        "5",
        "2",
        "<unknown>",
    ];
    assert_eq!(
        row("autoscaling", "v1", "HorizontalPodAutoscaler", &old),
        expected
    );
    let new = json!({ "metadata": { "name": "h" }, "spec": { "minReplicas": 1, "maxReplicas": 5,
        "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": { "averageUtilization": 50 } } }],
        "scaleTargetRef": { "kind": "Deployment", "name": "web" } }, "status": { "currentReplicas": 2 } });
    let row = row("autoscaling", "v2", "HorizontalPodAutoscaler", &new);
    assert_eq!(row[2], "cpu: <unknown>/50%");
}

#[test]
fn services_show_addresses_and_ports() {
    let service = |kind: &str, spec: Value| {
        let mut object = json!({ "metadata": { "name": "s" }, "spec": spec });
        object["spec"]["type"] = kind.into();
        row("", "v1", "Service", &object)[1..5].join(" ")
    };
    let ports = json!([{ "port": 80, "nodePort": 30080, "protocol": "TCP" }, { "port": 53, "protocol": "UDP" }]);
    assert_eq!(
        service(
            "NodePort",
            json!({ "clusterIPs": ["10.0.0.7"], "ports": ports })
        ),
        "NodePort 10.0.0.7 <none> 80:30080/TCP,53/UDP"
    );
    assert_eq!(
        service("ClusterIP", json!({ "clusterIPs": ["None"] })),
        "ClusterIP None <none> <none>"
    );
    assert_eq!(
        service("LoadBalancer", json!({ "clusterIPs": ["10.0.0.8"] })),
        "LoadBalancer 10.0.0.8 <pending> <none>"
    );
    assert_eq!(
        service("ExternalName", json!({ "externalName": "example.com" })),
        "ExternalName <none> example.com <none>"
    );
}

#[test]
fn the_smaller_kinds_show_what_users_know() {
    let at = "2026-01-01T23:59:00Z";
    let table: [(&str, &str, Value, &[&str]); 12] = [
        (
            "",
            "ConfigMap",
            json!({ "metadata": { "name": "c", "creationTimestamp": at }, "data": { "a": "" }, "binaryData": { "b": "" } }),
            &["c", "2", "60s"],
        ),
        (
            "",
            "Secret",
            json!({ "metadata": { "name": "s", "creationTimestamp": at }, "type": "Opaque", "data": { "a": "" } }),
            &["s", "Opaque", "1", "60s"],
        ),
        (
            "",
            "Namespace",
            json!({ "metadata": { "name": "n", "creationTimestamp": at }, "status": { "phase": "Active" } }),
            &["n", "Active", "60s"],
        ),
        (
            "",
            "PersistentVolumeClaim",
            json!({ "metadata": { "name": "p", "creationTimestamp": at },
            "spec": { "volumeName": "v", "storageClassName": "fast", "volumeMode": "Filesystem" },
            "status": { "phase": "Bound", "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteMany", "ReadWriteOnce"] } }),
            &[
                "p",
                "Bound",
                "v",
                "1Gi",
                "RWO,RWX",
                "fast",
                "<unset>",
                "60s",
                "Filesystem",
            ],
        ),
        (
            "",
            "PersistentVolumeClaim",
            json!({ "metadata": { "name": "p", "creationTimestamp": at }, "status": { "phase": "Pending" } }),
            &["p", "Pending", "", "", "", "", "<unset>", "60s", "<unset>"],
        ),
        (
            "storage.k8s.io",
            "StorageClass",
            json!({ "metadata": { "name": "fast", "creationTimestamp": at,
            "annotations": { "storageclass.kubernetes.io/is-default-class": "true" } }, "provisioner": "x", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate" }),
            &["fast (default)", "x", "Delete", "Immediate", "false", "60s"],
        ),
        (
            "rbac.authorization.k8s.io",
            "RoleBinding",
            json!({ "metadata": { "name": "r", "creationTimestamp": at }, "roleRef": { "kind": "Role", "name": "x" },
            "subjects": [{ "kind": "User", "name": "u" }, { "kind": "ServiceAccount", "name": "sa", "namespace": "n" }] }),
            &["r", "Role/x", "60s", "u", "", "n/sa"],
        ),
        (
            "rbac.authorization.k8s.io",
            "ClusterRole",
            json!({ "metadata": { "name": "r", "creationTimestamp": at } }),
            &["r", at],
        ),
        (
            "",
            "Node",
            json!({ "metadata": { "name": "n", "creationTimestamp": at, "labels": { "node-role.kubernetes.io/control-plane": "" } },
            "spec": { "unschedulable": true }, "status": { "conditions": [{ "type": "Ready", "status": "True" }], "nodeInfo": { "kubeletVersion": "v1.36.3" } } }),
            &[
                "n",
                "Ready,SchedulingDisabled",
                "control-plane",
                "60s",
                "v1.36.3",
                "<none>",
                "<none>",
                "<unknown>",
                "<unknown>",
                "<unknown>",
            ],
        ),
        (
            "",
            "Event",
            json!({ "metadata": { "name": "e" }, "firstTimestamp": "2026-01-01T23:58:00Z", "lastTimestamp": at, "type": "Normal", "reason": "Started",
            "involvedObject": { "kind": "Pod", "name": "p" }, "message": " hi\n", "count": 4, "source": { "component": "kubelet", "host": "n" } }),
            &[
                "60s",
                "Normal",
                "Started",
                "pod/p",
                "",
                "kubelet, n",
                "hi",
                "2m",
                "4",
                "e",
            ],
        ),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration",
            json!({ "metadata": { "name": "w", "creationTimestamp": at }, "webhooks": [{}] }),
            &["w", "1", "60s"],
        ),
        (
            "networking.k8s.io",
            "Ingress",
            json!({ "metadata": { "name": "i", "creationTimestamp": at }, "spec": { "tls": [{}], "rules": [{ "host": "a" }, { "host": "b" }] } }),
            &["i", "<none>", "a,b", "", "80, 443", "60s"],
        ),
    ];
    for (group, kind, object, expected) in table {
        assert_eq!(row(group, "v1", kind, &object), expected, "{kind}");
    }
}
