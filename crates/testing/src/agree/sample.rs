//! Valid objects of kinds whose schemas say too little to make any.

use serde_json::{Value, json};

/// The object of a kind that others are made from.
pub(super) fn of(kind: &str) -> Value {
    let labels = json!({"app": "a"});
    let selector = json!({"matchLabels": labels});
    let pod = json!({"containers": [{"name": "a", "image": "a"}]});
    let template = json!({"metadata": {"labels": labels}, "spec": pod});
    let mut once = template.clone();
    once["spec"]["restartPolicy"] = json!("Never");
    match kind {
        "Pod" => json!({"spec": pod}),
        "PodTemplate" => json!({"template": template}),
        "Deployment" | "ReplicaSet" | "DaemonSet" => {
            json!({"spec": {"selector": selector, "template": template}})
        }
        "StatefulSet" => {
            json!({"spec": {"selector": selector, "template": template, "serviceName": "a"}})
        }
        "ReplicationController" => json!({"spec": {"selector": labels, "template": template}}),
        "Job" => json!({"spec": {"template": once}}),
        "CronJob" => {
            json!({"spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": once}}}})
        }
        "Service" => json!({"spec": {"selector": labels, "ports": [{"name": "a", "port": 80}]}}),
        "Ingress" => {
            json!({"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}})
        }
        "NetworkPolicy" => json!({"spec": {"podSelector": selector}}),
        "PersistentVolumeClaim" => json!({
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }),
        "PodDisruptionBudget" => json!({"spec": {"minAvailable": 1, "selector": selector}}),
        "HorizontalPodAutoscaler" => json!({"spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        }}),
        "RoleBinding" | "ClusterRoleBinding" => json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "a"}],
        }),
        _ => json!({}),
    }
}
