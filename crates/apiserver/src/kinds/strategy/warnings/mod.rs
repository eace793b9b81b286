//! Warnings that the API server itself sends for what is allowed and yet hardly meant.

mod addresses;
mod overlaps;
mod pod;
mod ports;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use serde_json::Value;
use x509_parser::pem::Pem;

use crate::kinds::Resource;
use pod::{DEPRECATED_VOLUMES, deprecated_label, node_term, template};

/// The warnings that the API server itself sends for a written object; `old` is null for a new one.
pub fn warnings(resource: &Resource, new: &Value, old: &Value) -> Vec<String> {
    if resource.custom.is_some() {
        return crate::custom::warnings(new, old);
    }
    if resource.group == "apiextensions.k8s.io" {
        return super::definitions::warnings(new, old);
    }
    let mut out = Vec::new();
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    let fresh = old.is_null();
    // Templates are looked at again only when the spec has changed.
    let changed =
        fresh || new.at("metadata").at("generation") != old.at("metadata").at("generation");
    let spec = Path::new("spec");
    match (group, kind) {
        ("", "Pod") if fresh => {
            name(new, "used in the Pod's hostname", &mut out);
            template(&Path::root(), new, false, &mut out);
        }
        ("", "PodTemplate") => template(&Path::new("template"), new.at("template"), true, &mut out),
        ("", "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job") => {
            if fresh && !matches!(kind, "DaemonSet" | "StatefulSet") {
                name(new, "used in Pod names and hostnames", &mut out);
            }
            if changed {
                let path = spec.child("template");
                // The real server mixes up the two templates of a replication controller.
                let is_old = kind == "ReplicationController" && !fresh;
                let about = if is_old { old } else { new };
                template(&path, about.at("spec").at("template"), true, &mut out);
            }
            if kind == "StatefulSet" {
                stateful_set(&spec, new.at("spec"), fresh, &mut out);
            }
        }
        ("batch", "CronJob") => {
            if fresh {
                name(new, "used in Pod names and hostnames", &mut out);
            }
            if changed {
                let job = new.at("spec").at("jobTemplate").at("spec");
                let path = spec.child("jobTemplate.spec.template");
                template(&path, job.at("template"), true, &mut out);
            }
        }
        ("", "Service") => service(new, &mut out),
        ("", "Node") => {
            if !new.at("spec").text("externalID").is_empty() {
                let old = "this field is deprecated, and is unused by Kubernetes";
                out.push(format!("spec.externalID: {old}"));
            }
            let ranges = spec.child("podCIDRs");
            let list = new.at("spec").list("podCIDRs");
            addresses::each(&ranges, list, addresses::cidr, &mut out);
        }
        ("", "Endpoints") => addresses::endpoints(new, &mut out),
        ("discovery.k8s.io", "EndpointSlice") => addresses::endpoint_slice(new, fresh, &mut out),
        ("networking.k8s.io", "NetworkPolicy") => addresses::policy(new.at("spec"), &mut out),
        ("", "PersistentVolume") => volume(new, &mut out),
        ("node.k8s.io", "RuntimeClass") => {
            for (key, _) in new.at("scheduling").entries("nodeSelector") {
                if let Some(message) = deprecated_label(key) {
                    out.push(format!("scheduling.nodeSelector: {message}"));
                }
            }
        }
        ("storage.k8s.io", "StorageClass") => topologies(new, &mut out),
        ("storage.k8s.io", "CSIStorageCapacity") => {
            let topology = new.at("nodeTopology");
            node_term(&Path::new("nodeTopology"), topology, &mut out);
            for (key, _) in topology.entries("matchLabels") {
                if let Some(message) = deprecated_label(key) {
                    out.push(format!("nodeTopology.matchLabels.{key}: {message}"));
                }
            }
        }
        ("networking.k8s.io", "Ingress")
            if fresh
                && new.at("metadata").at("annotations").has(INGRESS_CLASS)
                && !new.at("spec").has("ingressClassName") =>
        {
            out.push(format!(
                "annotation {} is deprecated, please use 'spec.ingressClassName' instead",
                quoted(INGRESS_CLASS)
            ));
        }
        ("", "PersistentVolumeClaim") => {
            if new.at("metadata").at("annotations").has(BETA_CLASS) {
                let path = Path::new("metadata.annotations");
                let at = path.key(BETA_CLASS);
                out.push(format!(
                    "{at}: deprecated since v1.8; use \"storageClassName\" attribute instead"
                ));
            }
            claim(&spec, new.at("spec"), &mut out);
        }
        ("", "Secret") if new.text("type") == "kubernetes.io/tls" => {
            out.extend(key_pair(new.at("data")));
        }
        ("resource.k8s.io", "ResourceSlice") => {
            let driver = new.at("spec").text("driver");
            if driver != driver.to_lowercase() {
                out.push(format!(
                    "spec.driver: driver names should be lowercase; {} contains uppercase characters",
                    quoted(driver)
                ));
            }
        }
        ("storage.k8s.io", "CSIDriver") => {
            let spec = new.at("spec");
            let asked = spec.list("tokenRequests");
            let tokens = !asked.is_empty() && asked != old.at("spec").list("tokenRequests");
            if tokens && !spec.has("serviceAccountTokenInSecrets") {
                out.push(TOKENS.to_owned());
            }
        }
        _ => {}
    }
    out
}

/// What Go says of a certificate and a key that have no PEM block of their kind.
fn key_pair(data: &Value) -> Option<String> {
    let has = |key: &str, marks: fn(&str) -> bool| {
        let text = STANDARD.decode(data.text(key)).unwrap_or_default();
        Pem::iter_from_buffer(&text)
            .filter_map(Result::ok)
            .any(|block| marks(&block.label))
    };
    let missing = if !has("tls.crt", |label| label == "CERTIFICATE") {
        "certificate"
    } else if !has("tls.key", |label| {
        label == "PRIVATE KEY" || label.ends_with(" PRIVATE KEY")
    }) {
        "key"
    } else {
        return None;
    };
    Some(format!(
        "tls: failed to find any PEM data in {missing} input"
    ))
}

const OLD_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const TOKENS: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";
const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";
const RECYCLE: &str = "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";

fn name(object: &Value, used: &str, out: &mut Vec<String>) {
    let problems = names::dns1123_label(object.at("metadata").text("name"));
    if !problems.is_empty() {
        out.push(format!(
            "metadata.name: this is {used}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            problems.join(" ")
        ));
    }
}

fn service(object: &Value, out: &mut Vec<String>) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let external = !spec.list("externalIPs").is_empty();
    let kind = spec.text("type");
    if object.at("metadata").at("annotations").has(OLD_HINTS) {
        out.push(format!(
            "annotation {OLD_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    if !matches!(spec.text("clusterIP"), "" | "None") {
        let list = spec.list("clusterIPs");
        addresses::each(&path.child("clusterIPs"), list, addresses::ip, out);
    }
    let headless = spec.text("clusterIP") == "None" && kind == "ClusterIP";
    if headless {
        let mut ignored = |field: &str| {
            out.push(format!("spec.{field} is ignored for headless services"));
        };
        if !spec.text("loadBalancerIP").is_empty() {
            ignored("loadBalancerIP");
        }
        if external {
            ignored("externalIPs");
        }
        if spec.text("sessionAffinity") != "None" {
            ignored("SessionAffinity");
        }
    }
    let list = spec.list("externalIPs");
    addresses::each(&path.child("externalIPs"), list, addresses::ip, out);
    if external && !headless && kind != "ExternalName" {
        let detail = "is deprecated and may no longer be implemented in some clusters";
        out.push(format!("spec.externalIPs {detail}"));
    }
    addresses::ip(
        &path.child("loadBalancerIP"),
        spec.text("loadBalancerIP"),
        out,
    );
    let ranges = spec.list("loadBalancerSourceRanges");
    addresses::each(
        &path.child("loadBalancerSourceRanges"),
        ranges,
        addresses::cidr,
        out,
    );
    if kind == "ExternalName" && external {
        out.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if kind != "ExternalName" && !spec.text("externalName").is_empty() {
        let detail = "is ignored when spec.type is not \"ExternalName\"";
        out.push(format!("spec.externalName {detail}"));
    }
    if spec.text("trafficDistribution") == "PreferClose" {
        let path = Path::new("spec.trafficDistribution");
        out.push(format!(
            "{path}: \"PreferClose\" is deprecated; use \"PreferSameZone\""
        ));
    }
}

fn stateful_set(path: &Path<'_>, spec: &Value, fresh: bool, out: &mut Vec<String>) {
    let templates = path.child("volumeClaimTemplates");
    for (index, template) in spec.list("volumeClaimTemplates").iter().enumerate() {
        let at = templates.index(index);
        if fresh {
            claim(&at, template.at("spec"), out);
        } else {
            claim(&at.child("Spec"), template.at("spec"), out);
        }
    }
    if spec
        .int("revisionHistoryLimit")
        .is_some_and(|limit| limit < 0)
    {
        out.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .to_owned(),
        );
    }
}

fn volume(object: &Value, out: &mut Vec<String>) {
    let spec = object.at("spec");
    if object.at("metadata").at("annotations").has(BETA_CLASS) {
        let annotations = Path::new("metadata.annotations");
        let at = annotations.key(BETA_CLASS);
        out.push(format!(
            "{at}: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
    if spec.text("persistentVolumeReclaimPolicy") == "Recycle" {
        out.push(RECYCLE.to_owned());
    }
    let terms = Path::new("spec.nodeAffinity.required.nodeSelectorTerms");
    let required = spec.at("nodeAffinity").at("required");
    for (index, term) in required.list("nodeSelectorTerms").iter().enumerate() {
        node_term(&terms.index(index), term, out);
    }
    for source in [
        "cephfs",
        "photonPersistentDisk",
        "scaleIO",
        "storageos",
        "glusterfs",
        "rbd",
    ] {
        let known = DEPRECATED_VOLUMES.iter().find(|(kind, _)| *kind == source);
        if let Some((_, message)) = known.filter(|_| spec.has(source)) {
            let shown = if source == "storageos" {
                "storageOS"
            } else {
                source
            };
            out.push(format!("spec.{shown}: {message}"));
        }
    }
}

fn topologies(class: &Value, out: &mut Vec<String>) {
    let terms = Path::new("allowedTopologies");
    for (index, term) in class.list("allowedTopologies").iter().enumerate() {
        let term_path = terms.index(index);
        let expressions = term_path.child("matchLabelExpressions");
        for (index, expression) in term.list("matchLabelExpressions").iter().enumerate() {
            if let Some(message) = deprecated_label(expression.text("key")) {
                let at = expressions.index(index);
                out.push(format!("{}: {message}", at.child("key")));
            }
        }
    }
}

fn claim(path: &Path<'_>, spec: &Value, out: &mut Vec<String>) {
    let resources = path.child("resources");
    for list in ["limits", "requests"] {
        fractions(
            &resources.child(list),
            spec.at("resources").at(list),
            &["storage"],
            out,
        );
    }
}

fn fractions(path: &Path<'_>, list: &Value, resources: &[&str], out: &mut Vec<String>) {
    for name in resources {
        let quantity = Quantity::from_value(list.at(name));
        if let Some(quantity) = quantity.filter(|quantity| !quantity.is_whole()) {
            out.push(format!(
                "{}: fractional byte value \"{quantity}\" is invalid, must be an integer",
                path.key(name)
            ));
        }
    }
}
