//! The objects that a real server makes at its start: the first namespaces the priority classes of the system and the Service `kubernetes`.

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
