//! Warnings about pods and the templates of pods.

use std::collections::BTreeSet;

use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names::label_value;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::fractions::{claim, fractions};
use super::overlaps::overlaps;
use super::{addresses, ports};
use crate::pod_secrets::CONTAINERS;

/// A pod, or the template of one.
pub(crate) fn template(root: &Path<'_>, pod: &Value, is_template: bool, out: &mut Vec<String>) {
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
    ports::ports(&path, spec, out);
    ports::names(&path, spec, out);
    if spec
        .int("terminationGracePeriodSeconds")
        .is_some_and(|period| period < 0)
    {
        let at = path.child("terminationGracePeriodSeconds");
        let detail = "must be >= 0; negative values are invalid and will be treated as 1";
        out.push(format!("{at}: {detail}"));
    }
    affinity(&path.child("affinity"), spec.at("affinity"), out);
    let servers = path.child("dnsConfig.nameservers");
    let list = spec.at("dnsConfig").list("nameservers");
    addresses::each(&servers, list, addresses::ip, out);
    let aliases = path.child("hostAliases");
    for (index, alias) in spec.list("hostAliases").iter().enumerate() {
        let at = aliases.index(index);
        addresses::ip(&at.child("ip"), alias.text("ip"), out);
    }
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
        preference(&at.child("preference"), term.at("preference"), out);
    }
}

pub(crate) fn node_term(path: &Path<'_>, term: &Value, out: &mut Vec<String>) {
    let expressions = path.child("matchExpressions");
    for (index, expression) in term.list("matchExpressions").iter().enumerate() {
        node_label(&expressions.index(index), expression, out);
    }
}

/// A preferred term, in which no value is validated: a node cannot have a wrong one, and so is not preferred.
fn preference(path: &Path<'_>, term: &Value, out: &mut Vec<String>) {
    let expressions = path.child("matchExpressions");
    for (index, expression) in term.list("matchExpressions").iter().enumerate() {
        let at = expressions.index(index);
        node_label(&at, expression, out);
        let values = at.child("values");
        for (index, value) in expression.list("values").iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            let at = values.index(index);
            let problems = label_value(value);
            out.extend(
                problems
                    .iter()
                    .map(|why| format!("{at}: {value} is invalid, {why}")),
            );
        }
    }
}

fn node_label(at: &Path<'_>, expression: &Value, out: &mut Vec<String>) {
    let key = expression.text("key");
    if let Some(message) = deprecated_label(key) {
        out.push(format!("{}: {key} is {message}", at.child("key")));
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
        // Between the deprecated kinds, at its place in the order of upstream.
        for (source, message) in &DEPRECATED_VOLUMES {
            if *source == "cephfs" {
                let at = at.child("ephemeral.volumeClaimTemplate.spec");
                let template = volume.at("ephemeral").at("volumeClaimTemplate");
                if template.is_object() {
                    claim(&at, template.at("spec"), out);
                }
            }
            if volume.has(source) {
                let shown = match *source {
                    "storageos" => "storageOS",
                    source => source,
                };
                out.push(format!("{}: {message}", at.child(shown)));
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
fn each_container(path: &Path<'_>, spec: &Value, visit: &mut impl FnMut(&Value, &Path<'_>)) {
    for list in CONTAINERS {
        let containers = path.child(list);
        for (index, container) in spec.list(list).iter().enumerate() {
            visit(container, &containers.index(index));
        }
    }
}

pub(crate) fn deprecated_label(key: &str) -> Option<&'static str> {
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

/// The kinds of volumes that warn, in the order in which they do.
pub(crate) const DEPRECATED_VOLUMES: [(&str, &str); 9] = [
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
