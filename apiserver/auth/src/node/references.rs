//! What stored objects use, as edges of the graph.

use kubewright_apimachinery::view::View as _;
use kubewright_registry::pod_secrets::{self, CONTAINERS, WITH_SECRET};
use serde_json::Value;

use super::vertex::{Edge, Kind, Vertex};

/// What a pod uses, once it is bound to a node.
pub(super) fn of_pod(pod: &Vertex, object: &Value) -> Vec<Edge> {
    let (metadata, spec, status) = (
        object.at("metadata"),
        object.at("spec"),
        object.at("status"),
    );
    let node = spec.text("nodeName");
    if node.is_empty() {
        return Vec::new();
    }
    let mut edges = vec![(pod.clone(), Vertex::new(Kind::Node, "", node))];
    // A node makes mirror pods itself, and is not to give itself rights by them.
    if metadata.at("annotations").has(MIRROR) {
        return edges;
    }
    let namespace = metadata.text("namespace");
    let mut uses = |kind: Kind, name: &str| {
        if !name.is_empty() {
            edges.push((Vertex::new(kind, namespace, name), pod.clone()));
        }
    };
    uses(Kind::ServiceAccount, spec.text("serviceAccountName"));
    for secret in pod_secrets::names(spec) {
        uses(Kind::Secret, secret);
    }
    for container in CONTAINERS.iter().flat_map(|list| spec.list(list)) {
        for source in container.list("envFrom") {
            uses(Kind::ConfigMap, source.at("configMapRef").text("name"));
        }
        for variable in container.list("env") {
            let source = variable.at("valueFrom");
            uses(Kind::ConfigMap, source.at("configMapKeyRef").text("name"));
        }
    }
    for volume in spec.list("volumes") {
        uses(Kind::ConfigMap, volume.at("configMap").text("name"));
        for source in volume.at("projected").list("sources") {
            uses(Kind::ConfigMap, source.at("configMap").text("name"));
        }
        if volume.has("ephemeral") {
            let claim = format!("{}-{}", metadata.text("name"), volume.text("name"));
            uses(Kind::Claim, &claim);
        }
        let claim = volume.at("persistentVolumeClaim");
        uses(Kind::Claim, claim.text("claimName"));
    }
    for claim in spec.list("resourceClaims") {
        let made = status.list("resourceClaimStatuses").iter();
        let mut made = made.filter(|made| made.text("name") == claim.text("name"));
        let made = made
            .next()
            .map_or("", |made| made.text("resourceClaimName"));
        let named = claim.text("resourceClaimName");
        uses(
            Kind::ResourceClaim,
            if named.is_empty() { made } else { named },
        );
    }
    let extended = status.at("extendedResourceClaimStatus");
    uses(Kind::ResourceClaim, extended.text("resourceClaimName"));
    edges
}

/// The claim that a volume is bound to, and the secrets that a kubelet mounts it with.
pub(super) fn of_volume(volume: &Vertex, object: &Value) -> Vec<Edge> {
    let spec = object.at("spec");
    let claim = spec.at("claimRef");
    if claim.is_null() {
        return Vec::new();
    }
    let namespace = claim.text("namespace");
    let claim = Vertex::new(Kind::Claim, namespace, claim.text("name"));
    let mut edges = vec![(volume.clone(), claim)];
    let mut uses = |namespace: &str, name: &str| {
        if !name.is_empty() {
            let secret = Vertex::new(Kind::Secret, namespace, name);
            edges.push((secret, volume.clone()));
        }
    };
    // What was stored before a volume could say it has the secrets of its claim's namespace.
    let or_of_claim = |said| if str::is_empty(said) { namespace } else { said };
    let azure = spec.at("azureFile");
    uses(
        or_of_claim(azure.text("secretNamespace")),
        azure.text("secretName"),
    );
    for source in WITH_SECRET {
        let secret = spec.at(source).at("secretRef");
        let said = secret.text("namespace");
        let namespace = match source {
            "cinder" | "storageos" => said,
            _ => or_of_claim(said),
        };
        uses(namespace, secret.text("name"));
    }
    for step in [
        "nodePublishSecretRef",
        "nodeStageSecretRef",
        "nodeExpandSecretRef",
    ] {
        let secret = spec.at("csi").at(step);
        uses(secret.text("namespace"), secret.text("name"));
    }
    edges
}

/// The node that an attachment, a slice or a request for a certificate is for.
pub(super) fn of_node_name(vertex: &Vertex, object: &Value) -> Vec<Edge> {
    match object.at("spec").text("nodeName") {
        "" => Vec::new(),
        node => vec![(vertex.clone(), Vertex::new(Kind::Node, "", node))],
    }
}

const MIRROR: &str = "kubernetes.io/config.mirror";
