//! NodeDeclaredFeatureValidator: a pod is resized only as its node has declared that it can.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use super::subject::{changes_pod_on_node, forbidden};
use crate::attributes::Attributes;
use crate::cluster::Cluster;

pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    if cluster.registry().version() < KubernetesVersion::V1_36 {
        return Ok(());
    }
    let is_concerned = matches!(attributes.subresource.as_str(), "" | "resize");
    let Some(name) = changes_pod_on_node(attributes).filter(|_| is_concerned) else {
        return Ok(());
    };
    let required = required(
        attributes.object.at("spec"),
        attributes.old_object.at("spec"),
    );
    if required.is_empty() {
        return Ok(());
    }
    let Some(node) = cluster.get("", "nodes", "", name) else {
        let why = format!("node {} not found", quoted(name));
        return Err(forbidden(attributes, &why));
    };
    let declared = node.at("status").list("declaredFeatures");
    let is_missing = |feature: &&str| !declared.iter().any(|known| known == feature);
    let missing: Vec<&str> = required.into_iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let why = format!(
        "pod update requires features {} which are not available on node {}",
        missing.join(", "),
        quoted(name)
    );
    Err(forbidden(attributes, &why))
}

/// The features that a change of a pod needs of its node.
fn required(new: &Value, old: &Value) -> Vec<&'static str> {
    let mut features = Vec::new();
    if new.at("resources") != old.at("resources") {
        features.push("InPlacePodLevelResourcesVerticalScaling");
    }
    let both = |list: &str| {
        let (new, old) = (new.list(list), old.list(list));
        new.iter().zip(old).collect::<Vec<_>>()
    };
    let is_resized = |(new, old): &(&Value, &Value)| {
        old.text("restartPolicy") != "Always" && new.at("resources") != old.at("resources")
    };
    if both("initContainers").iter().any(is_resized) {
        features.push("InPlacePodVerticalScalingInitContainers");
    }
    let size = |volume: &Value| Quantity::from_value(volume.at("emptyDir").at("sizeLimit"));
    let grows = |(new, old): &(&Value, &Value)| {
        let is_in_memory = new.at("emptyDir").text("medium") == "Memory";
        let sizes = [size(new), size(old)];
        is_in_memory
            && new.text("name") == old.text("name")
            && sizes.iter().all(Option::is_some)
            && sizes[0] != sizes[1]
    };
    let is_of_equal_length = new.list("volumes").len() == old.list("volumes").len();
    if is_of_equal_length && both("volumes").iter().any(grows) {
        features.push("InPlacePodVerticalScalingMemoryBackedVolumes");
    }
    features
}
