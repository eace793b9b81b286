//! DefaultIngressClass: an ingress that names no class gets the default one.

use kubewright_apimachinery::view::{Edit as _, View as _};

use super::subject::{creates, default_class};
use crate::attributes::Attributes;
use crate::cluster::Cluster;

const GROUP: &str = "networking.k8s.io";

pub(super) fn admit(cluster: &dyn Cluster, attributes: &mut Attributes) {
    if !creates(attributes, GROUP, "ingresses") {
        return;
    }
    let object = &mut attributes.object;
    let annotated = object
        .at("metadata")
        .at("annotations")
        .has("kubernetes.io/ingress.class");
    if annotated || object.at("spec").has("ingressClassName") {
        return;
    }
    let marks = ["ingressclass.kubernetes.io/is-default-class"];
    if let Some(class) = default_class(cluster, GROUP, "ingressclasses", &marks)
        && let Some(spec) = object.part("spec")
    {
        spec.put("ingressClassName", class.at("metadata").text("name"));
    }
}
