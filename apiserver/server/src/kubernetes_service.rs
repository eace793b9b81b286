//! The Endpoints and the EndpointSlice of the Service `kubernetes`: where this server can be reached.
//!
//! A server that listens writes them itself, and removes them when it stops listening. Of several addresses the first
//! counts, as long as it is open.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kubewright_apimachinery::time::now;
use kubewright_fieldmanagement::created_by_server;
use kubewright_storage::{Draft, Store};
use serde_json::{Map, Value, json};
use uuid::Uuid;

const PATH: &str = "default/kubernetes";
const TABLES: [&str; 2] = ["endpoints", "endpointslices.discovery.k8s.io"];

/// Writes where the server listens, unless another address of it is written down already.
pub(crate) fn publish(store: &Store, address: SocketAddr) {
    for (table, object) in TABLES.into_iter().zip(objects(address)) {
        // A lost race means that another listener has written its own address.
        let _ = store.create(table, PATH, Draft::new(&object));
    }
}

/// Removes what [`publish`] wrote for this address.
pub(crate) fn withdraw(store: &Store, address: SocketAddr) {
    for (table, expected) in TABLES.into_iter().zip(objects(address)) {
        let Some(object) = store.get(table, PATH) else {
            continue;
        };
        let stored = object.value();
        let is_ours = ["subsets", "endpoints", "ports"]
            .iter()
            .all(|field| stored.get(field) == expected.get(field));
        if is_ours {
            // A lost race means that a client has changed it: it is the client's from then on.
            let _ = store.delete(table, PATH, object.revision, Draft::new(&stored));
        }
    }
}

fn objects(address: SocketAddr) -> [Value; 2] {
    let ip = reachable(address.ip());
    let ports = json!([{"name": "https", "port": address.port(), "protocol": "TCP"}]);
    let family = if ip.is_ipv4() { "IPv4" } else { "IPv6" };
    let metadata = |api_version: &str, label: &str, value: &str, fields: &[&str]| {
        let own = fields.iter().map(|field| ((*field).to_owned(), json!({})));
        let mut own: Map<String, Value> = own.collect();
        let labels = json!({"f:labels": {".": {}, format!("f:{label}"): {}}});
        own.insert("f:metadata".to_owned(), labels);
        json!({
            "name": "kubernetes",
            "namespace": "default",
            "uid": Uuid::new_v4().to_string(),
            "creationTimestamp": now(),
            "labels": {label: value},
            "managedFields": created_by_server(api_version, &own.into()),
        })
    };
    let mut of_slice = metadata(
        "discovery.k8s.io/v1",
        "kubernetes.io/service-name",
        "kubernetes",
        &["f:addressType", "f:endpoints", "f:ports"],
    );
    of_slice["generation"] = 1.into();
    [
        json!({
            "kind": "Endpoints",
            "apiVersion": "v1",
            "metadata": metadata(
                "v1",
                "endpointslice.kubernetes.io/skip-mirror",
                "true",
                &["f:subsets"],
            ),
            "subsets": [{"addresses": [{"ip": ip.to_string()}], "ports": ports}],
        }),
        json!({
            "kind": "EndpointSlice",
            "apiVersion": "discovery.k8s.io/v1",
            "metadata": of_slice,
            "addressType": family,
            "endpoints": [{"addresses": [ip.to_string()], "conditions": {"ready": true}}],
            "ports": ports,
        }),
    ]
}

/// A server that listens on every address is reached on the loopback interface for certain.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}
