//! PodTopologyLabels: a pod has the zone and the region of its node in its labels.

use kubewright_apimachinery::view::{Edit as _, View as _};
use serde_json::Value;

use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

const LABELS: [&str; 2] = [
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// Labels a new pod that is on a node, and a binding, whose labels the pod gets.
pub(super) fn admit(cluster: &dyn Cluster, attributes: &mut Attributes) {
    let resource = &attributes.resource;
    let is_pod = resource.group.is_empty() && resource.plural == "pods";
    if !is_pod || attributes.operation != Operation::Create {
        return;
    }
    let object = &attributes.object;
    let node = match attributes.subresource.as_str() {
        "" => object.at("spec").text("nodeName"),
        "binding" if object.at("target").text("kind") == "Node" => object.at("target").text("name"),
        _ => return,
    };
    if node.is_empty() {
        return;
    }
    let Some(node) = cluster.get("", "nodes", "", node) else {
        return;
    };
    let labels = node.at("metadata").at("labels");
    let found = LABELS.iter().filter(|label| labels.has(label));
    for label in found {
        let metadata = attributes.object.part("metadata");
        if let Some(own) = metadata.and_then(|metadata| metadata.part("labels")) {
            own.put(label, Value::from(labels.text(label)));
        }
    }
}
