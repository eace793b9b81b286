//! Warnings that the API server itself sends for what is allowed and yet hardly meant.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use x509_parser::pem::Pem;

use super::overlaps::overlaps;
use crate::field::{Path, quoted};
use crate::kinds::quantity::Quantity;
use crate::kinds::view::View;
use crate::kinds::{Resource, names};

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
                template(&path, new.at("spec").at("template"), true, &mut out);
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
        ("", "PersistentVolume")
            if new.at("spec").text("persistentVolumeReclaimPolicy") == "Recycle" =>
        {
            out.push(RECYCLE.to_owned());
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
            let tokens = !spec.list("tokenRequests").is_empty();
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
    let external = !spec.list("externalIPs").is_empty();
    let kind = spec.text("type");
    if spec.text("clusterIP") == "None" && kind == "ClusterIP" {
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
    if external {
        let detail = "is deprecated and may no longer be implemented in some clusters";
        out.push(format!("spec.externalIPs {detail}"));
    }
    if spec.text("trafficDistribution") == "PreferClose" {
        let path = Path::new("spec.trafficDistribution");
        out.push(format!(
            "{path}: \"PreferClose\" is deprecated; use \"PreferSameZone\""
        ));
    }
    if kind == "ExternalName" && external {
        out.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
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

/// A pod, or the template of one.
fn template(root: &Path<'_>, pod: &Value, is_template: bool, out: &mut Vec<String>) {
    let spec = pod.at("spec");
    let path = root.child("spec");
    let annotations = pod.at("metadata").at("annotations");
    let annotated = root.child("metadata.annotations");
    node_labels(&path, spec, out);
    spread(&path, spec, out);
    for (key, message) in DEPRECATED_ANNOTATIONS {
        if annotations.has(key) {
            out.push(format!("{}: {message}", annotated.key(key)));
        }
    }
    volumes(&path, spec, out);
    overlaps(spec.list("volumes"), out);
    duplicates(&path, spec, "hostAliases", "ip", out);
    duplicates(&path, spec, "imagePullSecrets", "name", out);
    let secrets = path.child("imagePullSecrets");
    for (index, secret) in spec.list("imagePullSecrets").iter().enumerate() {
        if secret.text("name").is_empty() {
            let at = secrets.index(index);
            out.push(format!("{}: invalid empty name \"\"", at.child("name")));
        }
    }
    let bytes = ["memory", "ephemeral-storage"];
    fractions(&path.child("overhead"), spec.at("overhead"), &bytes, out);
    let security = spec.at("securityContext");
    seccomp(&annotated, annotations, SECCOMP_POD, security, out);
    let has_app_armor = security.has("appArmorProfile");
    let profiled = pod
        .at("metadata")
        .entries("annotations")
        .any(|(key, _)| key.starts_with("container."));
    each_container(&path, spec, &mut |container, at| {
        if profiled {
            let name = container.text("name");
            let security = container.at("securityContext");
            let key = format!("{SECCOMP_CONTAINER}{name}");
            seccomp(&annotated, annotations, &key, security, out);
            let key = format!("{APP_ARMOR}{name}");
            let armed = has_app_armor || security.has("appArmorProfile");
            if is_template && !armed && annotations.has(&key) {
                out.push(format!(
                    "{}: deprecated since v1.30; use the \"appArmorProfile\" field instead",
                    annotated.key(&key)
                ));
            }
        }
        let resources = at.child("resources");
        let listed = container.at("resources");
        let (limits, requests) = (listed.at("limits"), listed.at("requests"));
        for name in bytes {
            fractions(&resources.child("limits"), limits, &[name], out);
            fractions(&resources.child("requests"), requests, &[name], out);
        }
        environment(&at.child("env"), container, out);
    });
    ports(&path, spec, out);
    affinity(&path.child("affinity"), spec.at("affinity"), out);
}

fn node_labels(path: &Path<'_>, spec: &Value, out: &mut Vec<String>) {
    let selector = path.child("nodeSelector");
    for (key, _) in spec.entries("nodeSelector") {
        if let Some(message) = deprecated_label(key) {
            out.push(format!("{}: {message}", selector.key(key)));
        }
    }
    let affinity = spec.at("affinity").at("nodeAffinity");
    let terms = path.child("affinity.nodeAffinity");
    let required = terms.child("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    let required_terms = affinity
        .at("requiredDuringSchedulingIgnoredDuringExecution")
        .list("nodeSelectorTerms");
    for (index, term) in required_terms.iter().enumerate() {
        node_term(&required.index(index), term, out);
    }
    let preferred = terms.child("preferredDuringSchedulingIgnoredDuringExecution");
    let preferred_terms = affinity.list("preferredDuringSchedulingIgnoredDuringExecution");
    for (index, term) in preferred_terms.iter().enumerate() {
        let at = preferred.index(index);
        node_term(&at.child("preference"), term.at("preference"), out);
    }
}

fn node_term(path: &Path<'_>, term: &Value, out: &mut Vec<String>) {
    let expressions = path.child("matchExpressions");
    for (index, expression) in term.list("matchExpressions").iter().enumerate() {
        let key = expression.text("key");
        if let Some(message) = deprecated_label(key) {
            let at = expressions.index(index);
            out.push(format!("{}: {key} is {message}", at.child("key")));
        }
    }
}

fn spread(path: &Path<'_>, spec: &Value, out: &mut Vec<String>) {
    let constraints = path.child("topologySpreadConstraints");
    for (index, constraint) in spec.list("topologySpreadConstraints").iter().enumerate() {
        let at = constraints.index(index);
        let key = constraint.text("topologyKey");
        if let Some(message) = deprecated_label(key) {
            out.push(format!("{}: {key} is {message}", at.child("topologyKey")));
        }
        if !constraint.has("labelSelector") {
            out.push(null_selector(&at.child("labelSelector")));
        }
    }
}

fn affinity(path: &Path<'_>, affinity: &Value, out: &mut Vec<String>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let at = path.child(kind);
        let required = at.child("requiredDuringSchedulingIgnoredDuringExecution");
        let terms = affinity
            .at(kind)
            .list("requiredDuringSchedulingIgnoredDuringExecution");
        for (index, term) in terms.iter().enumerate() {
            if !term.has("labelSelector") {
                out.push(null_selector(&required.index(index).child("labelSelector")));
            }
        }
        let preferred = at.child("preferredDuringSchedulingIgnoredDuringExecution");
        let terms = affinity
            .at(kind)
            .list("preferredDuringSchedulingIgnoredDuringExecution");
        for (index, term) in terms.iter().enumerate() {
            if !term.at("podAffinityTerm").has("labelSelector") {
                let at = preferred.index(index);
                out.push(null_selector(&at.child("podAffinityTerm.labelSelector")));
            }
        }
    }
}

fn null_selector(path: &Path<'_>) -> String {
    format!("{path}: a null labelSelector results in matching no pod")
}

fn volumes(path: &Path<'_>, spec: &Value, out: &mut Vec<String>) {
    let volumes = path.child("volumes");
    for (index, volume) in spec.list("volumes").iter().enumerate() {
        let at = volumes.index(index);
        for (source, value) in volume.as_object().into_iter().flatten() {
            let known = DEPRECATED_VOLUMES.iter().find(|(kind, _)| kind == source);
            if let Some((_, message)) = known.filter(|_| !value.is_null()) {
                let source = if source == "storageos" {
                    "storageOS"
                } else {
                    source
                };
                out.push(format!("{}: {message}", at.child(source)));
            }
            // An empty source is told of once, however many there are.
            let nothing = |part: &Value| part.as_object().is_some_and(serde_json::Map::is_empty);
            if source == "projected" && value.list("sources").iter().any(nothing) {
                let name = quoted(volume.text("name"));
                out.push(format!("volume {name} (Projected) has no sources provided"));
            }
            let template = value.at("volumeClaimTemplate");
            if source == "ephemeral" && template.is_object() {
                let at = at.child("ephemeral.volumeClaimTemplate.spec");
                claim(&at, template.at("spec"), out);
            }
        }
    }
}

fn duplicates(path: &Path<'_>, spec: &Value, list: &str, field: &str, out: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    let items = path.child(list);
    for (index, item) in spec.list(list).iter().enumerate() {
        if !seen.insert(item.text(field)) {
            let shown = quoted(item.text(field));
            let at = items.index(index);
            out.push(format!("{}: duplicate {field} {shown}", at.child(field)));
        }
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

fn seccomp(
    path: &Path<'_>,
    annotations: &Value,
    key: &str,
    security: &Value,
    out: &mut Vec<String>,
) {
    if !security.has("seccompProfile") && annotations.has(key) {
        out.push(format!(
            "{}: non-functional in v1.27+; use the \"seccompProfile\" field instead",
            path.key(key)
        ));
    }
}

fn environment(path: &Path<'_>, container: &Value, out: &mut Vec<String>) {
    let variables = container.list("env");
    let mut names: Vec<&str> = variables.iter().map(|v| v.text("name")).collect();
    names.sort_unstable();
    if names.windows(2).all(|pair| pair[0] != pair[1]) {
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, variable) in variables.iter().enumerate() {
        let name = variable.text("name");
        if seen.insert(name) {
            continue;
        }
        // `X=$(X)123` builds on the value before it; anything else hides it.
        let reference = format!("$({name})");
        let value = variable.text("value");
        if variable.has("valueFrom") || value == reference || !value.contains(&reference) {
            out.push(format!(
                "{}: hides previous definition of {}, which may be dropped when using apply",
                path.index(index),
                quoted(name)
            ));
        }
    }
}

/// A port of one container of a pod.
struct Port<'a> {
    list: &'static str,
    container: usize,
    index: usize,
    value: &'a Value,
    /// What two ports must share to be worth a warning.
    key: (i64, &'a str),
}

impl Port<'_> {
    fn path(&self, spec: &Path<'_>) -> String {
        let list = spec.child(self.list);
        let container = list.index(self.container);
        let ports = container.child("ports");
        ports.index(self.index).to_string()
    }
}

fn ports(path: &Path<'_>, spec: &Value, out: &mut Vec<String>) {
    let mut all: Vec<Port<'_>> = Vec::new();
    for list in CONTAINERS {
        for (container, holder) in spec.list(list).iter().enumerate() {
            for (index, value) in holder.list("ports").iter().enumerate() {
                let number = value.int("containerPort").unwrap_or(0);
                all.push(Port {
                    list,
                    container,
                    index,
                    value,
                    key: (number, value.text("protocol")),
                });
            }
        }
    }
    for (number, port) in all.iter().enumerate() {
        for other in all[..number].iter().filter(|other| other.key == port.key) {
            let of = |port: &Port<'_>| {
                let host = port.value.int("hostPort").unwrap_or(0);
                (port.value.text("hostIP").to_owned(), host)
            };
            let ((ip, host), (other_ip, other_host)) = (of(port), of(other));
            let how = if ip == other_ip && host == other_host {
                "duplicate"
            } else if host == 0 || other_host == 0 {
                "overlapping"
            } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            let (at, with) = (port.path(path), other.path(path));
            out.push(format!("{at}: {how} port definition with {with}"));
        }
    }
}

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

fn each_container(path: &Path<'_>, spec: &Value, visit: &mut impl FnMut(&Value, &Path<'_>)) {
    for list in CONTAINERS {
        let containers = path.child(list);
        for (index, container) in spec.list(list).iter().enumerate() {
            visit(container, &containers.index(index));
        }
    }
}

fn deprecated_label(key: &str) -> Option<&'static str> {
    Some(match key {
        "beta.kubernetes.io/arch" => "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
        "beta.kubernetes.io/os" => "deprecated since v1.14; use \"kubernetes.io/os\" instead",
        "failure-domain.beta.kubernetes.io/region" => {
            "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"
        }
        "failure-domain.beta.kubernetes.io/zone" => {
            "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"
        }
        "beta.kubernetes.io/instance-type" => {
            "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"
        }
        _ => return None,
    })
}

const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

const DEPRECATED_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

const DEPRECATED_VOLUMES: [(&str, &str); 9] = [
    (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];
