//! The types of volumes that pods and persistent volumes have in common, but for a few fields.

use std::sync::LazyLock;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use regex::Regex;
use serde_json::Value;

use super::check::{Errors, label, one_of_if_set, problems, required};

/// What is said of the name of a volume or of its portal, of which one becomes a connection.
pub(crate) const PORTAL_TOO_LONG: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                                          iscsi.initiatorName is specified.";

const LUN_RANGE: &str = "must be between 0 and 255, inclusive";

/// Whose volume it is: secrets of a persistent one are in a namespace that it has to name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "no third kind has volumes")]
pub enum Owner<'a> {
    /// A pod.
    Pod,
    /// A persistent volume of this name.
    Volume(&'a str),
}

/// Checks a volume of one of the types that are older than CSI; others pass.
pub fn check(kind: &str, source: &Value, owner: Owner<'_>, path: &Path<'_>, errors: &mut Errors) {
    let persistent = owner != Owner::Pod;
    for field in needed(kind) {
        required(source, path, field, errors);
    }
    match kind {
        "gcePersistentDisk" | "awsElasticBlockStore" => partition(source, path, errors),
        "iscsi" => iscsi(source, owner, path, errors),
        "fc" => fibre_channel(source, path, errors),
        "quobyte" => quobyte(source, path, errors),
        "flocker" => flocker(source, path, errors),
        "azureDisk" => azure_disk(source, path, errors),
        "flexVolume" => options(source, path, errors),
        "cinder" => secret(source, persistent, path, errors),
        "glusterfs" if persistent && source.has("endpointsNamespace") => {
            let (name, at) = (
                source.text("endpointsNamespace"),
                path.child("endpointsNamespace"),
            );
            if name.is_empty() {
                let detail = "if the endpointnamespace is set, it must be a valid namespace name";
                errors.push(FieldError::invalid(&at, name, detail));
            } else {
                problems(&at, name, names::dns1123_label(name), errors);
            }
        }
        "azureFile" if persistent && source.has("secretNamespace") => {
            required(source, path, "secretNamespace", errors);
        }
        "storageos" => {
            if required(source, path, "volumeName", errors) {
                label(&path.child("volumeName"), source.text("volumeName"), errors);
            }
            let namespace = source.text("volumeNamespace");
            if !namespace.is_empty() {
                label(&path.child("volumeNamespace"), namespace, errors);
            }
            secret(source, persistent, path, errors);
        }
        _ => {}
    }
}

/// What the types of volumes cannot do without.
fn needed(kind: &str) -> &'static [&'static str] {
    match kind {
        "gitRepo" => &["repository"],
        "gcePersistentDisk" => &["pdName"],
        "awsElasticBlockStore" | "cinder" | "portworxVolume" => &["volumeID"],
        "glusterfs" => &["endpoints", "path"],
        "rbd" => &["monitors", "image"],
        "cephfs" => &["monitors"],
        "flexVolume" => &["driver"],
        "azureFile" => &["secretName", "shareName"],
        "vsphereVolume" => &["volumePath"],
        "photonPersistentDisk" => &["pdID"],
        "scaleIO" => &["gateway", "system", "volumeName"],
        _ => &[],
    }
}

fn partition(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let number = source.int("partition").unwrap_or(0);
    if !(0..=255).contains(&number) {
        let detail = "must be between 1 and 255, inclusive";
        errors.push(FieldError::invalid(
            &path.child("partition"),
            number,
            detail,
        ));
    }
}

/// The reference to a secret, which has to have a namespace of its own outside of pods.
fn secret(source: &Value, with_namespace: bool, path: &Path<'_>, errors: &mut Errors) {
    if !source.has("secretRef") {
        return;
    }
    let (reference, at) = (source.at("secretRef"), path.child("secretRef"));
    required(reference, &at, "name", errors);
    if with_namespace {
        required(reference, &at, "namespace", errors);
    }
}

fn iscsi(source: &Value, owner: Owner<'_>, path: &Path<'_>, errors: &mut Errors) {
    required(source, path, "targetPortal", errors);
    let detail = match owner {
        Owner::Pod => "must be valid format starting with iqn, eui, or naa",
        Owner::Volume(name) => {
            let portal = source.text("targetPortal");
            if source.has("initiatorName") && name.len() + 1 + portal.len() > 64 {
                let at = path.child("targetportal");
                errors.push(FieldError::invalid(&at, portal, PORTAL_TOO_LONG));
            }
            "must be valid format"
        }
    };
    if required(source, path, "iqn", errors) {
        qualified(source.text("iqn"), detail, &path.child("iqn"), errors);
    }
    let lun = source.int("lun").unwrap_or(0);
    if !(0..=255).contains(&lun) {
        errors.push(FieldError::invalid(&path.child("lun"), lun, LUN_RANGE));
    }
    let authenticates = source.flag("chapAuthDiscovery") || source.flag("chapAuthSession");
    if authenticates && !source.has("secretRef") {
        errors.push(FieldError::required(&path.child("secretRef"), ""));
    }
    if owner != Owner::Pod {
        secret(source, false, path, errors);
    }
    if source.has("initiatorName") {
        let at = path.child("initiatorname");
        qualified(source.text("initiatorName"), detail, &at, errors);
    }
}

/// A name of an end of an iSCSI connection; `detail` is said of what begins as none of them.
fn qualified(name: &str, detail: &str, path: &Path<'_>, errors: &mut Errors) {
    static FORMS: LazyLock<[(&str, Regex); 3]> = LazyLock::new(|| {
        let pattern = |text| Regex::new(text).expect("a constant pattern");
        [
            (
                "iqn",
                pattern(r"iqn\.\d{4}-\d{2}\.([[:alnum:]\-.]+)(:[^,;*&$|\s]+)$"),
            ),
            ("eui", pattern("^eui.[[:alnum:]]{16}$")),
            ("naa", pattern("^naa.[[:alnum:]]{32}$")),
        ]
    });
    match FORMS.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        None => errors.push(FieldError::invalid(path, name, detail)),
        Some((_, form)) if !form.is_match(name) => {
            errors.push(FieldError::invalid(path, name, "must be valid format"));
        }
        Some(_) => {}
    }
}

fn fibre_channel(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (names, ids) = (source.list("targetWWNs"), source.list("wwids"));
    let at = path.child("targetWWNs");
    match (names.is_empty(), ids.is_empty()) {
        (true, true) => {
            let detail = "must specify either targetWWNs or wwids, but not both";
            errors.push(FieldError::required(&at, detail));
        }
        (false, false) => {
            let detail = "targetWWNs and wwids can not be specified simultaneously";
            let value = source.at("targetWWNs").clone();
            errors.push(FieldError::invalid(&at, value, detail));
        }
        _ => {}
    }
    if names.is_empty() {
        return;
    }
    let at = path.child("lun");
    match source.int("lun") {
        None => {
            let detail = "lun is required if targetWWNs is specified";
            errors.push(FieldError::required(&at, detail));
        }
        Some(lun) if !(0..=255).contains(&lun) => {
            errors.push(FieldError::invalid(&at, lun, LUN_RANGE));
        }
        Some(_) => {}
    }
}

fn quobyte(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (registry, at) = (source.text("registry"), path.child("registry"));
    let detail = "must be a host:port pair or multiple pairs separated by commas";
    if registry.is_empty() {
        errors.push(FieldError::required(&at, detail));
    } else if source.text("tenant").len() >= 65 {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        errors.push(FieldError::required(&path.child("tenant"), detail));
    } else {
        for _ in registry.split(',').filter(|pair| !has_port(pair)) {
            errors.push(FieldError::invalid(&at, registry, detail));
        }
    }
    required(source, path, "volume", errors);
}

/// Whether a text is a host and a port, as Go splits them: the host in brackets where it has colons itself.
fn has_port(pair: &str) -> bool {
    let Some((host, port)) = pair.rsplit_once(':') else {
        return false;
    };
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']'),
        None => Some(host).filter(|host| !host.contains(':')),
    };
    let plain = |text: &str| !text.contains(['[', ']']);
    host.is_some_and(plain) && plain(port)
}

/// A dataset has one name, which is no path.
fn flocker(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (name, id) = (source.text("datasetName"), source.text("datasetUUID"));
    if name.is_empty() && id.is_empty() {
        let detail = "one of datasetName and datasetUUID is required";
        errors.push(FieldError::required(path, detail));
    }
    if !name.is_empty() && !id.is_empty() {
        let detail = "datasetName and datasetUUID can not be specified simultaneously";
        errors.push(FieldError::invalid(path, "resource", detail));
    }
    if name.contains('/') {
        let at = path.child("datasetName");
        errors.push(FieldError::invalid(&at, name, "must not contain '/'"));
    }
}

/// Options of a driver, whose names Kubernetes keeps some of.
fn options(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (key, _) in source.entries("options") {
        let namespace = key.split_once('/').map_or(key, |(namespace, _)| namespace);
        let dotted = format!(".{}", namespace.to_lowercase());
        if dotted.ends_with(".kubernetes.io") || dotted.ends_with(".k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            let at = path.child("options");
            errors.push(FieldError::invalid(&at.key(key), key, detail));
        }
    }
}

fn azure_disk(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["diskName", "diskURI"] {
        required(source, path, field, errors);
    }
    let modes = ["None", "ReadOnly", "ReadWrite"];
    one_of_if_set(source, path, "cachingMode", &modes, errors);
    let kinds = ["Dedicated", "Managed", "Shared"];
    one_of_if_set(source, path, "kind", &kinds, errors);
    let managed = source.text("kind") == "Managed";
    let (prefix, form) = if managed {
        (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        )
    } else {
        (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        )
    };
    let address = source.text("diskURI");
    if !address.starts_with(prefix) {
        let at = path.child("diskURI");
        errors.push(FieldError::not_supported(&at, address, &[form]));
    }
}
