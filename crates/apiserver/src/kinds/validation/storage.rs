//! Claims, persistent volumes and storage classes.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::check::{
    Errors, IMMUTABLE, immutable, immutable_as, label, one_of_if_set, problems, quantity, required,
    selector, subdomain,
};
use super::pod;
use super::volume_sources::{self, Owner};
use crate::kinds::internal::{difference, shown};
use crate::kinds::strategy::same;

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

/// The spec of a claim, also inside templates.
pub(super) fn claim_spec(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    claim_spec_after(&Value::Null, spec, path, errors);
}

/// The same for a claim that was stored with the spec `old`.
fn claim_spec_after(old: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let sources = ["dataSource", "dataSourceRef"];
    // Groups were not looked at once: a claim that names one may name any.
    let any_group = sources.iter().any(|field| old.at(field).has("apiGroup"));
    let modes = spec.list("accessModes");
    let modes_path = path.child("accessModes");
    if modes.is_empty() {
        let detail = "at least 1 access mode is required";
        errors.push(FieldError::required(&modes_path, detail));
    }
    if spec.has("selector") {
        selector(spec.at("selector"), &path.child("selector"), errors);
    }
    access_modes(modes, &modes_path, errors);
    let at = path.child("resources");
    let at = at.key("storage");
    let size = spec.at("resources").at("requests").at("storage");
    match Quantity::from_value(size) {
        None => errors.push(FieldError::required(&at, "")),
        Some(amount) if amount.is_negative() || amount.is_zero() => {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(&at, size.clone(), detail));
        }
        Some(_) => quantity("storage", size, &at, errors),
    }
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        subdomain(&path.child("storageClassName"), class, errors);
    }
    one_of_if_set(spec, path, "volumeMode", &VOLUME_MODES, errors);
    for field in sources {
        if spec.has(field) {
            data_source(spec.at(field), any_group, &path.child(field), errors);
        }
    }
    two_sources(spec, path, errors);
    let class = spec.text("volumeAttributesClassName");
    if !class.is_empty() {
        subdomain(&path.child("volumeAttributesClassName"), class, errors);
    }
}

pub(super) fn claim(object: &Value, old: &Value, errors: &mut Errors) {
    claim_spec_after(
        old.at("spec"),
        object.at("spec"),
        &Path::new("spec"),
        errors,
    );
}

/// The class of a claim once stood in an annotation, and may go from there to the field.
fn claim_class_update(new: &Value, old: &Value, spec: &mut Value, errors: &mut Errors) {
    const ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
    let field = "storageClassName";
    let of = |claim: &Value| {
        claim
            .at("metadata")
            .at("annotations")
            .at(ANNOTATION)
            .clone()
    };
    let (now, before) = (of(new), of(old));
    let comes = spec.has(field) && !old.at("spec").has(field);
    let fits = before.is_null() || *spec.at(field) == before;
    if comes && fits && !before.is_null() && (now.is_null() || now == before) {
        spec.drop_field(field);
        return;
    }
    let text = |class: &Value| class.as_str().unwrap_or_default().to_owned();
    if text(&now) != text(&before) {
        let path = Path::new("metadata.annotations");
        let at = path.child(ANNOTATION);
        errors.push(FieldError::invalid(&at, text(&now), IMMUTABLE));
    }
    if comes && fits {
        spec.take_from(old.at("spec"), field);
    }
}

pub(super) fn claim_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let before = old.at("spec");
    let mut spec = new.at("spec").clone();
    let mut was = before.clone();
    if before.text("volumeName").is_empty() {
        was.take_from(&spec, "volumeName");
    }
    claim_class_update(new, old, &mut spec, errors);
    let bound = new.at("status").text("phase") == "Bound";
    // What is not said is nothing.
    let amount = |value: &Value| {
        let nothing = || Quantity::from_value(&Value::from("0"));
        Quantity::from_value(value).or_else(nothing)
    };
    let size = |spec: &Value| amount(spec.at("resources").at("requests").at("storage"));
    if bound {
        if let Some(requests) = spec
            .existing("resources")
            .and_then(|resources| resources.existing("requests"))
        {
            requests.take_from(before.at("resources").at("requests"), "storage");
        }
        if spec.has("volumeAttributesClassName") {
            spec.take_from(before, "volumeAttributesClassName");
        }
    }
    if !same_type("api.core.v1.PersistentVolumeClaimSpec", &spec, &was) {
        let detail = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
             claims\n{}",
            difference("PersistentVolumeClaimSpec", &was, &spec)
        );
        errors.push(FieldError::forbidden(&path, &detail));
    }
    let (now, then) = (size(new.at("spec")), size(before));
    let capacity = amount(old.at("status").at("capacity").at("storage"));
    if now < then && now <= capacity {
        let at = path.child("resources.requests.storage");
        let detail = "field can not be less than status.capacity";
        errors.push(FieldError::forbidden(&at, detail));
    }
    // The path lacks `spec`, as the real one does.
    let root = Path::root();
    immutable(new.at("spec"), before, &root, "volumeMode", errors);
}

pub(super) fn volume(object: &Value, errors: &mut Errors) {
    let name = object.at("metadata").text("name");
    volume_spec(object.at("spec"), Some(name), &Path::new("spec"), errors);
}

/// The spec of a persistent volume of this name, or of one without a name inside an attachment.
pub(super) fn volume_spec(spec: &Value, name: Option<&str>, path: &Path<'_>, errors: &mut Errors) {
    let inline = name.is_none();
    if inline {
        let detail = "may not be specified in the context of inline volumes";
        if spec.has("claimRef") {
            errors.push(FieldError::forbidden(&path.child("claimRef"), detail));
        }
        if spec.entries("capacity").next().is_some() {
            errors.push(FieldError::forbidden(&path.child("capacity"), detail));
        }
        if !spec.has("csi") {
            let detail = "has to be specified in the context of inline volumes";
            errors.push(FieldError::required(&path.child("csi"), detail));
        }
    }
    let modes = spec.list("accessModes");
    let at = path.child("accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    access_modes(modes, &at, errors);
    if !inline {
        capacity(spec, &path.child("capacity"), errors);
    }
    let policy = "persistentVolumeReclaimPolicy";
    if !inline {
        let policies = ["Delete", "Recycle", "Retain"];
        one_of_if_set(spec, path, policy, &policies, errors);
    } else if !matches!(spec.text(policy), "" | "Retain") {
        let detail = "may only be Retain in the context of inline volumes";
        errors.push(FieldError::forbidden(&path.child(policy), detail));
    }
    let (affinity, at) = (spec.at("nodeAffinity"), path.child("nodeAffinity"));
    if inline && !affinity.is_null() {
        let detail = "may not be specified in the context of inline volumes";
        errors.push(FieldError::forbidden(&at, detail));
    } else if affinity.has("required") {
        let at = at.child("required");
        pod::node_selector(affinity.at("required"), &at, errors);
    } else if !affinity.is_null() {
        let detail = "must specify required node constraints";
        errors.push(FieldError::required(&at.child("required"), detail));
    }
    source(spec, name, path, errors);
    let mount = spec.at("hostPath").text("path");
    let is_root = mount.starts_with('/') && mount.split('/').all(|part| matches!(part, "" | "."));
    if is_root && spec.text(policy) == "Recycle" {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        errors.push(FieldError::forbidden(&path.child(policy), detail));
    }
    let class = spec.text("storageClassName");
    if !class.is_empty() && inline {
        let detail = "may not be specified in the context of inline volumes";
        errors.push(FieldError::forbidden(
            &path.child("storageClassName"),
            detail,
        ));
    } else if !class.is_empty() {
        subdomain(&path.child("storageClassName"), class, errors);
    }
    if !inline {
        one_of_if_set(spec, path, "volumeMode", &VOLUME_MODES, errors);
    } else if !matches!(spec.text("volumeMode"), "" | "Filesystem") {
        let detail =
            "may not specify volumeMode other than Filesystem in the context of inline volumes";
        errors.push(FieldError::forbidden(&path.child("volumeMode"), detail));
    }
    let field = "volumeAttributesClassName";
    if spec.has(field) && !inline {
        let (class, at) = (spec.text(field), path.child(field));
        if class.is_empty() {
            errors.push(FieldError::required(&at, "an empty string is disallowed"));
        } else {
            subdomain(&at, class, errors);
        }
        if !spec.has("csi") {
            let detail = "has to be specified when using volumeAttributesClassName";
            errors.push(FieldError::required(&path.child("csi"), detail));
        }
    }
}

fn capacity(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let amounts = spec.map("capacity");
    if amounts.is_none_or(serde_json::Map::is_empty) {
        errors.push(FieldError::required(path, ""));
    }
    if amounts.is_none_or(|amounts| amounts.len() != 1 || !amounts.contains_key("storage")) {
        let value = spec.at("capacity").clone();
        errors.push(FieldError::not_supported(path, value, &["storage"]));
    }
    for (name, value) in spec.entries("capacity") {
        let at = path.key(name);
        let Some(amount) = Quantity::from_value(value) else {
            continue;
        };
        if amount.wrapped() < 0 {
            let detail = "must be a valid resource quantity";
            errors.push(FieldError::invalid(&at, amount.wrapped(), detail));
        }
        if amount.is_negative() || amount.is_zero() {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(&at, amount.to_string(), detail));
        }
    }
}

pub(super) fn volume_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    // A secret for growing may come later.
    let mut source = spec.clone();
    let secret = "controllerExpandSecretRef";
    if before.has("csi")
        && !before.at("csi").has(secret)
        && let Some(csi) = source.existing("csi")
    {
        csi.drop_field(secret);
    }
    let sources = |spec: &Value| -> Value {
        let all = SOURCES.iter().filter(|kind| spec.has(kind));
        all.map(|kind| ((*kind).to_owned(), spec.at(kind).clone()))
            .collect()
    };
    let of = "api.core.v1.PersistentVolumeSpec";
    if !same_type(of, &sources(&source), &sources(before)) {
        let detail = format!(
            "spec.persistentvolumesource is immutable after creation\n{}",
            difference("PersistentVolumeSource", before, &source)
        );
        errors.push(FieldError::forbidden(
            &Path::new("spec.persistentvolumesource"),
            &detail,
        ));
    }
    let root = Path::root();
    immutable(spec, before, &root, "volumeMode", errors);
    if before.has("nodeAffinity") {
        let (kind, field) = ("?VolumeNodeAffinity", "nodeAffinity");
        if spec.has(field) != before.has(field) || !same(spec.at(field), before.at(field)) {
            let detail = format!("{IMMUTABLE}, except for updating from beta label to GA");
            let value = shown(kind, spec.at(field));
            errors.push(FieldError::invalid_shown(
                &root.child(field),
                &value,
                &detail,
            ));
        }
    }
    let class = "volumeAttributesClassName";
    if before.has(class) && !spec.has(class) {
        let detail = "update from non-nil value to nil is forbidden";
        let at = Path::new("spec");
        errors.push(FieldError::forbidden(&at.child(class), detail));
    }
}

pub(super) fn class(object: &Value, errors: &mut Errors) {
    let root = Path::root();
    provisioner(object, "provisioner", errors);
    parameters(object, errors);
    let policies = ["Delete", "Retain"];
    if !object.text("reclaimPolicy").is_empty() {
        one_of_if_set(object, &root, "reclaimPolicy", &policies, errors);
    }
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of_if_set(object, &root, "volumeBindingMode", &modes, errors);
    topologies(object, errors);
}

/// Who provides volumes of a class; upper case is taken, too.
pub(super) fn provisioner(object: &Value, field: &str, errors: &mut Errors) {
    let root = Path::root();
    if required(object, &root, field, errors) {
        let name = object.text(field).to_lowercase();
        let found = names::qualified_name(&name);
        problems(&root.child(field), &name, found, errors);
    }
}

/// What a class tells its provisioner.
pub(super) fn parameters(object: &Value, errors: &mut Errors) {
    let path = Path::new("parameters");
    let mut size = 0;
    for (key, value) in object.entries("parameters") {
        if key.is_empty() {
            let detail = "field can not be empty.";
            errors.push(FieldError::invalid(&path, key, detail));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if object.entries("parameters").count() > 512 {
        errors.push(FieldError::too_long(&path, 512));
    }
    if size > 256 * 1024 {
        errors.push(FieldError::too_long(&path, 256 * 1024));
    }
}

/// Where volumes of a class may be: terms that differ, of labels that have values.
fn topologies(object: &Value, errors: &mut Errors) {
    let path = Path::new("allowedTopologies");
    let terms = object.list("allowedTopologies");
    // The API server compares each term with as many empty ones as there are terms.
    let mut seen = vec![BTreeMap::new(); terms.len()];
    for (index, term) in terms.iter().enumerate() {
        let at = path.index(index);
        let at = at.child("matchLabelExpressions");
        let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (index, label) in term.list("matchLabelExpressions").iter().enumerate() {
            let at = at.index(index);
            let values = label.list("values");
            let path = at.child("values");
            if values.is_empty() {
                errors.push(FieldError::required(&path, ""));
            }
            for (index, value) in values.iter().enumerate() {
                if values[..index].contains(value) {
                    errors.push(FieldError::duplicate(&path.index(index), value.clone()));
                }
            }
            let key = label.text("key");
            let found = names::qualified_name(key);
            problems(&at.child("key"), key, found, errors);
            if labels.contains_key(key) {
                errors.push(FieldError::duplicate(&at.child("key"), key));
            }
            labels.insert(key, values.iter().filter_map(Value::as_str).collect());
        }
        for other in &seen {
            if *other == labels {
                errors.push(FieldError::duplicate(&at, ""));
            }
        }
        seen.push(labels);
    }
}

pub(super) fn class_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Path::root();
    for (field, kind) in [
        ("parameters", "{}s"),
        ("provisioner", "s"),
        ("reclaimPolicy", "?s"),
        ("volumeBindingMode", "?s"),
    ] {
        immutable_as(kind, new, old, &root, field, errors);
    }
}

/// The name of a CSI driver.
pub(super) fn driver_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    if name.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    let lower = name.to_lowercase();
    if !name.is_empty() {
        problems(path, name, names::dns1123_subdomain(&lower), errors);
    }
}

const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

fn source(spec: &Value, name: Option<&str>, path: &Path<'_>, errors: &mut Errors) {
    let owner = Owner::Volume(name.unwrap_or_default());
    let mut found = false;
    for kind in SOURCES.into_iter().filter(|kind| spec.has(kind)) {
        let (source, at) = (spec.at(kind), path.child(kind));
        // Only this type may come besides another one.
        if found && kind != "flexVolume" {
            let detail = "may not specify more than 1 volume type";
            let at = match kind {
                "cephfs" => path.child("cephFS"),
                _ => at,
            };
            errors.push(FieldError::forbidden(&at, detail));
            continue;
        }
        found = true;
        match kind {
            "hostPath" => pod::host_path(source, &at, errors),
            "nfs" => pod::nfs(source, &at, errors),
            "gcePersistentDisk" => {
                let at = path.child("persistentDisk");
                volume_sources::check(kind, source, owner, &at, errors);
            }
            "csi" => {
                driver_name(source.text("driver"), &at.child("driver"), errors);
                required(source, &at, "volumeHandle", errors);
                for secret in [
                    "controllerPublishSecretRef",
                    "controllerExpandSecretRef",
                    "nodePublishSecretRef",
                    "nodeExpandSecretRef",
                ] {
                    if source.has(secret) {
                        secret_reference(source.at(secret), &at.child(secret), errors);
                    }
                }
            }
            "local" => {
                if required(source, &at, "path", errors) {
                    pod::no_backsteps(source.text("path"), &at.child("path"), errors);
                }
                if !spec.has("nodeAffinity") || name.is_none() {
                    let detail = "Local volume requires node affinity";
                    errors.push(FieldError::required(&path.child("nodeAffinity"), detail));
                }
            }
            _ => volume_sources::check(kind, source, owner, &at, errors),
        }
    }
    if !found {
        let detail = "must specify a volume type";
        errors.push(FieldError::required(path, detail));
    }
}

fn secret_reference(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    if required(reference, path, "name", errors) {
        subdomain(&path.child("name"), reference.text("name"), errors);
    }
    if required(reference, path, "namespace", errors) {
        label(
            &path.child("namespace"),
            reference.text("namespace"),
            errors,
        );
    }
}

fn access_modes(modes: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for mode in modes {
        let mode = mode.as_str().unwrap_or_default();
        if !MODES.contains(&mode) {
            errors.push(FieldError::not_supported(path, mode, &MODES));
        }
    }
    let once = modes.iter().any(|mode| mode == "ReadWriteOncePod");
    let other = modes
        .iter()
        .filter_map(Value::as_str)
        .any(|mode| mode != "ReadWriteOncePod" && MODES.contains(&mode));
    if once && other {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(path, detail));
    }
}

/// Both ways to name a source have to name the same one.
fn two_sources(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !spec.has("dataSource") || !spec.has("dataSourceRef") {
        return;
    }
    let (source, reference) = (spec.at("dataSource"), spec.at("dataSourceRef"));
    let same = |field: &str| source.at(field) == reference.at(field);
    let detail = if !reference.text("namespace").is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if !["apiGroup", "kind", "name"].into_iter().all(same) {
        "must match dataSourceRef"
    } else {
        return;
    };
    // Where the value belongs, the API server shows a path, of which nothing is seen.
    errors.push(FieldError::invalid_shown(path, "{}", detail));
}

fn data_source(source: &Value, any_group: bool, path: &Path<'_>, errors: &mut Errors) {
    for field in ["name", "kind"] {
        required(source, path, field, errors);
    }
    let (group, kind) = (source.text("apiGroup"), source.text("kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        errors.push(FieldError::invalid(
            path,
            kind,
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        ));
    }
    if !group.is_empty() && !any_group {
        subdomain(&path.child("apiGroup"), group, errors);
    }
    let namespace = source.text("namespace");
    if !namespace.is_empty() {
        label(&path.child("namespace"), namespace, errors);
    }
}
