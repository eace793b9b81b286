//! One EndpointSlice as the controllers make it: its labels, its owner, and what makes two of its endpoints the same.

use serde_json::{Map, Value, json};

use super::super::object::{Item, controlled_by, list, map, text};
use super::addresses::is_headless;
use super::ports::PortKey;

/// The table of EndpointSlices.
pub(super) const TABLE: &str = "endpointslices.discovery.k8s.io";

/// The label with the name of the Service.
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The label with the name of the controller.
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// The most endpoints in a slice.
pub(super) const MOST: usize = 100;

const HEADLESS: &str = "service.kubernetes.io/headless";

/// The name of the Service of a slice that a controller manages.
pub(super) fn service_of<'a>(slice: &'a Item, controller: &str) -> Option<&'a str> {
    let labels = slice.object.labels();
    let managed = labels.get(MANAGED_BY)? == controller;
    labels.get(SERVICE_NAME).filter(|_| managed)
}

/// The ports of a slice; slices of other ports are kept apart.
pub(super) fn port_keys(ports: &[Value]) -> Vec<PortKey> {
    let mut keys: Vec<PortKey> = ports.iter().map(PortKey::of).collect();
    keys.sort();
    keys
}

/// What makes two endpoints the same: addresses, host name and the name of the target.
pub(super) fn identity(endpoint: &Value) -> [String; 4] {
    let mut addresses: Vec<&str> = list(endpoint, "/addresses")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    addresses.sort_unstable();
    let of = |pointer| text(endpoint, pointer).to_owned();
    [
        addresses.join(","),
        of("/hostname"),
        of("/targetRef/namespace"),
        of("/targetRef/name"),
    ]
}

/// Whether endpoints of one identity show the same, but for the hints.
pub(super) fn are_equal(one: &Value, other: &Value) -> bool {
    let of_target = [
        "kind",
        "namespace",
        "name",
        "uid",
        "apiVersion",
        "fieldPath",
    ];
    ["nodeName", "zone", "conditions"]
        .iter()
        .all(|field| one.get(field) == other.get(field))
        && of_target
            .iter()
            .all(|field| one["targetRef"].get(field) == other["targetRef"].get(field))
}

/// A new slice without endpoints, whose controller is the owner.
pub(super) fn empty(
    owner: &Value,
    labels: &Map<String, Value>,
    family: &str,
    ports: &[Value],
) -> Value {
    let name = text(owner, "/metadata/name");
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": prefix(name),
            "namespace": owner["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [controlled_by(owner)],
        },
        "addressType": family,
        "endpoints": [],
        "ports": ports,
    })
}

/// The labels of a slice of a Service: those of the Service, and the controllers' own.
pub(super) fn labels_of_service(service: &Value, controller: &str) -> Map<String, Value> {
    let mut labels = own_labels(map(service, "/metadata/labels"));
    if is_headless(service) {
        labels.insert(HEADLESS.to_owned(), "".into());
    }
    labels.insert(SERVICE_NAME.to_owned(), service["metadata"]["name"].clone());
    labels.insert(MANAGED_BY.to_owned(), controller.into());
    labels
}

/// The labels without those that controllers set.
pub(super) fn own_labels(mut labels: Map<String, Value>) -> Map<String, Value> {
    labels.retain(|key, _| ![HEADLESS, SERVICE_NAME, MANAGED_BY].contains(&key.as_str()));
    labels
}

/// Whether a slice is owned by this very Service, and not by an earlier one of its name.
pub(super) fn is_owned_by(slice: &Value, service: &Item) -> bool {
    list(slice, "/metadata/ownerReferences")
        .iter()
        .any(|owner| {
            owner["uid"] == service.meta.uid
                && owner["kind"] == "Service"
                && owner["apiVersion"] == "v1"
        })
}

/// The prefix of a slice's name; a dash follows the name of the Service if there is room for it.
fn prefix(service: &str) -> String {
    const LONGEST_NAME: usize = 253;
    let dash = if service.len() < LONGEST_NAME {
        "-"
    } else {
        ""
    };
    format!("{service}{dash}")
}
