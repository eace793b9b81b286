//! The objects that a real server makes at its start, as far as clients look at them: the first namespaces, the
//! priority classes of the system, the roles that users are given, the range of the services' addresses and the Service
//! `kubernetes`.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::kinds::strategy::services::Pool;
use crate::rest::now;
use crate::store::{Draft, Store};

/// Writes the first objects into an empty store.
pub(crate) fn fill(store: &Store, addresses: &mut Pool) {
    let time = now();
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        write(store, "namespaces", name, &namespace(name, &time));
    }
    for (name, value, description) in PRIORITY_CLASSES {
        let class = priority_class(name, value, description, &time);
        write(store, "priorityclasses.scheduling.k8s.io", name, &class);
    }
    for (name, aggregates, rules) in [
        ("cluster-admin", None, all_rights()),
        ("admin", None, Value::Null),
        ("edit", Some("admin"), Value::Null),
        ("view", Some("edit"), Value::Null),
    ] {
        let role = cluster_role(name, aggregates, &rules, &time);
        write(store, "clusterroles.rbac.authorization.k8s.io", name, &role);
    }
    let binding = admins(&time);
    let table = "clusterrolebindings.rbac.authorization.k8s.io";
    write(store, table, "cluster-admin", &binding);
    let range = service_range(&time);
    write(
        store,
        "servicecidrs.networking.k8s.io",
        "kubernetes",
        &range,
    );
    let service = service(&time);
    addresses.adopt(&service);
    write(store, "services", "default/kubernetes", &service);
}

fn write(store: &Store, table: &str, path: &str, object: &Value) {
    store
        .create(table, path, Draft::new(object))
        .expect("a new store holds no object of this name");
}

fn namespace(name: &str, time: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "uid": Uuid::new_v4().to_string(),
            "creationTimestamp": time,
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    })
}

/// The classes that admission lets system pods use.
const PRIORITY_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

fn priority_class(name: &str, value: i64, description: &str, time: &str) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {
            "name": name,
            "uid": Uuid::new_v4().to_string(),
            "creationTimestamp": time,
            "generation": 1,
        },
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    })
}

fn all_rights() -> Value {
    json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ])
}

/// A role that users are given. Those without rules of their own get them from a controller.
fn cluster_role(name: &str, aggregates_to: Option<&str>, rules: &Value, time: &str) -> Value {
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": bootstrapped(name, time),
        "rules": rules,
    });
    if role["rules"].is_null() {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{name}");
        role["aggregationRule"] =
            json!({"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]});
    }
    if let Some(other) = aggregates_to {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{other}");
        role["metadata"]["labels"][label] = "true".into();
    }
    role
}

fn admins(time: &str) -> Value {
    const GROUP: &str = "rbac.authorization.k8s.io";
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": bootstrapped("cluster-admin", time),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": "system:masters"}],
    })
}

fn bootstrapped(name: &str, time: &str) -> Value {
    json!({
        "name": name,
        "uid": Uuid::new_v4().to_string(),
        "creationTimestamp": time,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    })
}

fn service_range(time: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {
            "name": "kubernetes",
            "uid": Uuid::new_v4().to_string(),
            "creationTimestamp": time,
        },
        "spec": {"cidrs": ["10.0.0.0/24"]},
        "status": {"conditions": [{
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": time,
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }]},
    })
}

fn service(time: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "uid": Uuid::new_v4().to_string(),
            "creationTimestamp": time,
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    })
}
