//! PodResizeValidator: a pod is not resized beyond what its node has.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View as _;
use kubewright_quota::pod_resources;
use serde_json::{Value, json};

use super::subject::{changes_pod_on_node, forbidden};
use crate::attributes::Attributes;
use crate::cluster::Cluster;

pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    let resizes = attributes.subresource == "resize";
    let Some(name) = changes_pod_on_node(attributes).filter(|_| resizes) else {
        return Ok(());
    };
    let Some(node) = cluster.get("", "nodes", "", name) else {
        let why = format!("node {} not found", quoted(name));
        return Err(forbidden(attributes, &why));
    };
    let labels = node.at("metadata").at("labels");
    let system = labels.text("kubernetes.io/os");
    if labels.has("kubernetes.io/os") && system != "linux" {
        let (name, system) = (quoted(name), quoted(system));
        let why = format!("pod resize is only supported on linux nodes, node {name} is {system}");
        return Err(caused(attributes, &why, "UnsupportedPlatform"));
    }
    match beyond(&attributes.object, node.at("status").at("allocatable")) {
        None => Ok(()),
        Some(why) => Err(caused(attributes, &why, "NodeCapacity")),
    }
}

fn beyond(pod: &Value, allocatable: &Value) -> Option<String> {
    let requests = pod_resources::specified_requests(pod);
    let mut beyond = Vec::new();
    for name in ["cpu", "memory"] {
        let zero = Quantity::from(0);
        let requested = requests.get(name).unwrap_or(zero);
        let has = Quantity::from_value(allocatable.at(name)).unwrap_or(zero);
        if requested <= has {
            continue;
        }
        let shown = |quantity: Quantity| match name {
            "cpu" => quantity.millis().to_string(),
            _ => quantity.wrapped().to_string(),
        };
        beyond.push(format!(
            "{name}, requested: {}, allocatable: {}",
            shown(requested),
            shown(has)
        ));
    }
    (!beyond.is_empty()).then(|| {
        let beyond = beyond.join("; ");
        format!("node didn't have enough allocatable resources: {beyond}")
    })
}

fn caused(attributes: &Attributes, why: &str, reason: &str) -> Status {
    let mut status = forbidden(attributes, why);
    let causes = json!([{ "reason": reason }]);
    status.details_mut().insert("causes".to_owned(), causes);
    status
}
