//! Claims, persistent volumes and storage classes.

use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::quantity::{Quantity, Spelled};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use kubewright_validation::check::{
    Errors, IMMUTABLE, driver_name, immutable, label, one_of_if_set, required, subdomain,
};
use kubewright_validation::claims::{VOLUME_MODES, access_modes, claim_spec_after};
use kubewright_validation::internal::{difference, shown};
use kubewright_validation::pod::paths::{host_path, nfs, no_backsteps};
use kubewright_validation::pod::scheduling::node_selector;
use kubewright_validation::semantic::same;
use kubewright_validation::volume_sources::{self, Owner};

pub(crate) fn claim(object: &Value, old: &Value, errors: &mut Errors) {
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

pub(crate) fn claim_update(new: &Value, old: &Value, errors: &mut Errors) {
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
        spec.take_from(before, "volumeAttributesClassName");
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
    let field = "volumeAttributesClassName";
    let (class, was) = (new.at("spec").at(field), before.at(field));
    if class != was && old.at("status").has("currentVolumeAttributesClassName") {
        let to = match class.as_str() {
            None => "nil",
            Some("") => "empty string",
            Some(_) => return,
        };
        let detail = format!(
            "update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"
        );
        errors.push(FieldError::forbidden(&path.child(field), &detail));
    }
}

pub(crate) fn volume(object: &Value, errors: &mut Errors) {
    let name = object.at("metadata").text("name");
    volume_spec(object.at("spec"), Some(name), &Path::new("spec"), errors);
}

/// The spec of a persistent volume of this name, or of one without a name inside an attachment.
pub(crate) fn volume_spec(spec: &Value, name: Option<&str>, path: &Path<'_>, errors: &mut Errors) {
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
        node_selector(affinity.at("required"), &at, errors);
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
        let Some(amount) = Spelled::from_value(value) else {
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

pub(crate) fn volume_update(new: &Value, old: &Value, errors: &mut Errors) {
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
            "hostPath" => host_path(source, &at, errors),
            "nfs" => nfs(source, &at, errors),
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
                    no_backsteps(source.text("path"), &at.child("path"), errors);
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
