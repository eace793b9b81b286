//! Warnings that the API server itself sends for what is allowed and yet hardly meant.

pub(crate) mod addresses;
pub(crate) mod fractions;
pub(crate) mod overlaps;
pub(crate) mod pod;
pub(crate) mod ports;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;
use x509_parser::pem::Pem;

use fractions::claim;
use pod::{DEPRECATED_VOLUMES, node_term};

/// Warns of the pods of a workload, whose template is looked at again only when the spec has changed.
pub(crate) fn workload(
    path: &str,
    new: &Value,
    old: &Value,
    template: &Value,
    out: &mut Vec<String>,
) {
    let generation = |object: &Value| object.at("metadata").at("generation").clone();
    if old.is_null() || generation(new) != generation(old) {
        pod::template(&Path::new(path), template, true, out);
    }
}

/// What Go says of a certificate and a key that have no PEM block of their kind.
pub(crate) fn key_pair(data: &Value) -> Option<String> {
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

pub(crate) const OLD_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
pub(crate) const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
pub(crate) const RECYCLE: &str = "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";

pub(crate) fn name(object: &Value, used: &str, out: &mut Vec<String>) {
    let problems = names::dns1123_label(object.at("metadata").text("name"));
    if !problems.is_empty() {
        out.push(format!(
            "metadata.name: this is {used}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            problems.join(" ")
        ));
    }
}

pub(crate) fn service(object: &Value, out: &mut Vec<String>) {
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

pub(crate) fn stateful_set(path: &Path<'_>, spec: &Value, fresh: bool, out: &mut Vec<String>) {
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

const BETA_MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";

pub(crate) fn volume(object: &Value, out: &mut Vec<String>) {
    let spec = object.at("spec");
    for (annotation, since, instead) in [
        (BETA_CLASS, "v1.8", "storageClassName"),
        (BETA_MOUNT_OPTIONS, "v1.31", "mountOptions"),
    ] {
        if object.at("metadata").at("annotations").has(annotation) {
            let annotations = Path::new("metadata.annotations");
            let at = annotations.key(annotation);
            out.push(format!(
                "{at}: deprecated since {since}; use \"{instead}\" attribute instead"
            ));
        }
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
