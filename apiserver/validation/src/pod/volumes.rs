//! Volumes of pods, and how containers mount them.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::context::Context;
use super::paths::{host_path, local_path, nfs, relative};
use super::projected::{certificate, trust_bundle};
use super::references::{field_reference, resource_reference};
use super::security::id;
use crate::check::{Errors, driver_name, label, one_of_if_set, required, subdomain};
use crate::claims;
use crate::metadata;
use crate::volume_sources::{self, Owner, PORTAL_TOO_LONG};

/// The volumes of a pod that are right, by name: what is wrong cannot be mounted.
pub(super) type Volumes<'a> = Vec<(&'a str, &'a Value)>;

const MORE_THAN_ONE: &str = "may not specify more than 1 volume type";

pub(super) fn volumes<'a>(
    context: Context<'a>,
    path: &Path<'_>,
    errors: &mut Errors,
) -> Volumes<'a> {
    let all = context.spec.list("volumes");
    let mut valid: Volumes<'a> = Vec::with_capacity(all.len());
    for (index, volume) in all.iter().enumerate() {
        let at = path.index(index);
        let before = errors.len();
        source(volume, context, &at, errors);
        let name = volume.text("name");
        if required(volume, &at, "name", errors) {
            label(&at.child("name"), name, errors);
        }
        if valid.iter().any(|(other, _)| *other == name) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        if errors.len() == before {
            valid.push((name, volume));
        }
    }
    valid
}

fn source(volume: &Value, context: Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    let Some(fields) = volume.as_object() else {
        return;
    };
    let mut kinds: Vec<&str> = fields
        .iter()
        .filter(|(field, value)| *field != "name" && !value.is_null())
        .map(|(field, _)| field.as_str())
        .collect();
    if kinds.is_empty() {
        let detail = "must specify a volume type";
        errors.push(FieldError::required(path, detail));
    }
    // In the API server's order, so that the same type counts as the first.
    if kinds.len() > 1 {
        kinds.sort_by_key(|kind| KINDS.iter().position(|known| known == kind));
    }
    for (index, kind) in kinds.into_iter().enumerate() {
        let at = path.child(kind);
        if index == 0 {
            one(kind, volume, context, &at, path, errors);
        } else {
            // These are written otherwise here.
            let at = match kind {
                "cephfs" => path.child("cephFS"),
                "downwardAPI" => path.child("downwarAPI"),
                _ => at,
            };
            errors.push(FieldError::forbidden(&at, MORE_THAN_ONE));
        }
        if kind == "iscsi" {
            portal(volume, path, errors);
        }
    }
}

/// The names of a volume and of its portal, which become one of a connection.
fn portal(volume: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (name, source) = (volume.text("name"), volume.at("iscsi"));
    if source.has("initiatorName") && name.len() + 1 + source.text("targetPortal").len() > 64 {
        let at = path.child("name");
        errors.push(FieldError::invalid(&at, name, PORTAL_TOO_LONG));
    }
}

const KINDS: &[&str] = &[
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

fn one(
    kind: &str,
    volume: &Value,
    context: Context<'_>,
    path: &Path<'_>,
    volume_path: &Path<'_>,
    errors: &mut Errors,
) {
    let source = volume.at(kind);
    match kind {
        "emptyDir" => {
            let limit = Quantity::from_value(source.at("sizeLimit"));
            if limit.is_some_and(|limit| limit.is_negative()) {
                let detail = "SizeLimit field must be a valid resource quantity";
                errors.push(FieldError::forbidden(&path.child("sizeLimit"), detail));
            }
        }
        "hostPath" => host_path(source, path, errors),
        "secret" => {
            required(source, path, "secretName", errors);
            files(source, path, errors);
        }
        "configMap" => {
            required(source, path, "name", errors);
            files(source, path, errors);
        }
        "downwardAPI" => {
            mode(source, "defaultMode", path, errors);
            downward_files(source, path, errors);
        }
        "projected" => projected(source, path, errors),
        "persistentVolumeClaim" => {
            required(source, path, "claimName", errors);
        }
        "ephemeral" => {
            let template = source.at("volumeClaimTemplate");
            let at = path.child("volumeClaimTemplate");
            if template.is_null() {
                errors.push(FieldError::required(&at, ""));
            } else {
                metadata::template(template.at("metadata"), &at.child("metadata"), errors);
                claims::claim_spec(template.at("spec"), &at.child("spec"), errors);
            }
            let (pod, name) = (context.pod.unwrap_or_default(), volume.text("name"));
            if !pod.is_empty() && !name.is_empty() {
                let claim = format!("{pod}-{name}");
                for problem in names::dns1123_subdomain(&claim) {
                    let detail = format!("PVC name {}: {problem}", quoted(&claim));
                    errors.push(FieldError::invalid(
                        &volume_path.child("name"),
                        name,
                        &detail,
                    ));
                }
            }
        }
        "csi" => {
            driver_name(source.text("driver"), &path.child("driver"), errors);
            let secret = source.at("nodePublishSecretRef");
            let at = path.child("nodePublishSecretRef");
            if !secret.is_null() && required(secret, &at, "name", errors) {
                subdomain(&path.child("name"), secret.text("name"), errors);
            }
        }
        "nfs" => nfs(source, path, errors),
        "image" => {
            required(source, path, "reference", errors);
            let policies = ["Always", "IfNotPresent", "Never"];
            one_of_if_set(source, path, "pullPolicy", &policies, errors);
        }
        // Named as the older type was.
        "gcePersistentDisk" => {
            let at = volume_path.child("persistentDisk");
            volume_sources::check(kind, source, Owner::Pod, &at, errors);
        }
        "gitRepo" => {
            volume_sources::check(kind, source, Owner::Pod, path, errors);
            let (directory, at) = (source.text("directory"), path.child("directory"));
            relative(directory, &at, errors);
        }
        _ => volume_sources::check(kind, source, Owner::Pod, path, errors),
    }
}

fn projected(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    mode(source, "defaultMode", path, errors);
    let sources = path.child("sources");
    let mut all: Vec<&str> = Vec::new();
    for (index, part) in source.list("sources").iter().enumerate() {
        let at = sources.index(index);
        let (mut found, mut more) = (false, None);
        for kind in [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ] {
            if !part.has(kind) {
                continue;
            }
            let (item, at) = (part.at(kind), at.child(kind));
            if found {
                let detail = "may not specify more than 1 volume type per source";
                more = Some(detail);
            }
            found = true;
            match kind {
                "secret" | "configMap" => {
                    required(item, &at, "name", errors);
                    key_paths(item, &at, errors);
                }
                "downwardAPI" => downward_files(item, &at, errors),
                "serviceAccountToken" => token(item, &at, path, errors),
                "clusterTrustBundle" => trust_bundle(item, &at, path, &mut all, errors),
                _ => certificate(item, &at, path, &mut all, errors),
            }
            for file in item.list("items").iter().map(|item| item.text("path")) {
                if !file.is_empty() && all.contains(&file) {
                    let detail = "conflicting duplicate paths";
                    // The error names the file for the downward API, and the source object for other sources.
                    let value = if kind == "downwardAPI" {
                        file
                    } else {
                        item.text("name")
                    };
                    errors.push(FieldError::invalid(path, value, detail));
                }
                all.push(file);
            }
        }
        if let Some(detail) = more {
            errors.push(FieldError::forbidden(&at, detail));
        }
    }
}

/// Checks a service account token source. Errors in the path of its file name the path of the volume, not of the source.
fn token(item: &Value, path: &Path<'_>, volume: &Path<'_>, errors: &mut Errors) {
    let seconds = item.int("expirationSeconds").unwrap_or(0);
    let at = path.child("expirationSeconds");
    if seconds < 600 {
        let detail = "may not specify a duration less than 10 minutes";
        errors.push(FieldError::invalid(&at, seconds, detail));
    }
    if seconds > 1 << 32 {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.push(FieldError::invalid(&at, seconds, detail));
    }
    if required(item, volume, "path", errors) {
        local_path(item.text("path"), &volume.child("path"), errors);
    }
    id(item.int("user"), &path.child("user"), errors);
}

fn files(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    mode(source, "defaultMode", path, errors);
    key_paths(source, path, errors);
}

fn key_paths(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let items = path.child("items");
    for (index, item) in source.list("items").iter().enumerate() {
        let at = items.index(index);
        required(item, &at, "key", errors);
        if required(item, &at, "path", errors) {
            local_path(item.text("path"), &at.child("path"), errors);
        }
        mode(item, "mode", &at, errors);
        // Users stay only where more than one source is given.
        id(item.int("user"), &at.child("user"), errors);
    }
}

const VOLUME_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

fn downward_files(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    for item in source.list("items") {
        // The real server leaves the index out of these paths.
        if required(item, path, "path", errors) {
            local_path(item.text("path"), &path.child("path"), errors);
        }
        if item.has("fieldRef") {
            let at = path.child("fieldRef");
            field_reference(item.at("fieldRef"), &VOLUME_FIELDS, &at, errors);
            if item.has("resourceFieldRef") {
                errors.push(FieldError::invalid(
                    path,
                    "resource",
                    "fieldRef and resourceFieldRef can not be specified simultaneously",
                ));
            }
        } else if item.has("resourceFieldRef") {
            let at = path.child("resourceFieldRef");
            resource_reference(item.at("resourceFieldRef"), true, &at, errors);
        } else {
            let detail = "one of fieldRef and resourceFieldRef is required";
            errors.push(FieldError::required(path, detail));
        }
        mode(item, "mode", path, errors);
        id(item.int("user"), &path.child("user"), errors);
    }
}

fn mode(holder: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    if let Some(mode) = holder.int(field).filter(|mode| !(0..=0o777).contains(mode)) {
        errors.push(FieldError::invalid(
            &path.child(field),
            mode,
            "must be a number between 0 and 0777 (octal), both inclusive",
        ));
    }
}

/// Mounts and devices of one container.
pub(super) fn mounts(
    container: &Value,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let mounts = container.list("volumeMounts");
    let devices = container.list("volumeDevices");
    let find = |name: &str| volumes.iter().find(|(other, _)| *other == name);
    let list = path.child("volumeMounts");
    for (index, mount) in mounts.iter().enumerate() {
        let at = list.index(index);
        let (name, target) = (mount.text("name"), mount.text("mountPath"));
        required(mount, &at, "name", errors);
        let volume = find(name);
        if volume.is_none() {
            errors.push(FieldError::not_found(&at.child("name"), name));
        }
        required(mount, &at, "mountPath", errors);
        let mut refuse = |field: &str, value: &str, detail: &str| {
            errors.push(FieldError::invalid(&at.child(field), value, detail));
        };
        if mounts[..index]
            .iter()
            .any(|other| other.text("mountPath") == target)
        {
            refuse("mountPath", target, "must be unique");
        }
        if devices.iter().any(|device| device.text("name") == name) {
            refuse("name", name, "must not already exist in volumeDevices");
        }
        if devices
            .iter()
            .any(|device| device.text("devicePath") == target)
        {
            let detail = "must not already exist as a path in volumeDevices";
            refuse("mountPath", target, detail);
        }
        let (sub, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
        if volume.is_some_and(|(_, volume)| volume.has("image")) {
            // Paths inside an image are allowed since 1.33, expressions are not.
            if !expression.is_empty() {
                let detail = "not allowed in image volume sources";
                refuse("subPathExpr", expression, detail);
            }
        }
        // Here too the real server leaves the index out.
        if !sub.is_empty() {
            local_path(sub, &list.child("subPath"), errors);
        }
        if !expression.is_empty() {
            if !sub.is_empty() {
                let detail = "subPathExpr and subPath are mutually exclusive";
                let at = at.child("subPathExpr");
                errors.push(FieldError::invalid(&at, expression, detail));
            }
            local_path(expression, &list.child("subPathExpr"), errors);
        }
        propagation(mount, container, &list, errors);
        read_only(mount, &list, errors);
    }
    block_devices(container, volumes, path, errors);
}

fn propagation(mount: &Value, container: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !mount.has("mountPropagation") {
        return;
    }
    let words = ["Bidirectional", "HostToContainer", "None"];
    one_of_if_set(mount, path, "mountPropagation", &words, errors);
    let privileged = container.at("securityContext").flag("privileged");
    if mount.text("mountPropagation") == "Bidirectional" && !privileged {
        errors.push(FieldError::forbidden(
            &path.child("mountPropagation"),
            "Bidirectional mount propagation is available only to privileged containers",
        ));
    }
}

/// Whether mounts below this one are read only, too.
fn read_only(mount: &Value, path: &Path<'_>, errors: &mut Errors) {
    let field = "recursiveReadOnly";
    if matches!(mount.text(field), "Enabled" | "IfPossible") {
        let at = path.child(field);
        if !mount.flag("readOnly") {
            let detail = "may only be specified when readOnly is true";
            errors.push(FieldError::forbidden(&at, detail));
        }
        if !matches!(mount.text("mountPropagation"), "" | "None") {
            let detail = "may only be specified when mountPropagation is None or not specified";
            errors.push(FieldError::forbidden(&at, detail));
        }
    }
    let words = ["Disabled", "Enabled", "IfPossible"];
    one_of_if_set(mount, path, field, &words, errors);
}

fn block_devices(container: &Value, volumes: &Volumes<'_>, path: &Path<'_>, errors: &mut Errors) {
    let mounts = container.list("volumeMounts");
    let devices = container.list("volumeDevices");
    let path = path.child("volumeDevices");
    for (index, device) in devices.iter().enumerate() {
        let at = path.index(index);
        let (name, target) = (device.text("name"), device.text("devicePath"));
        required(device, &at, "name", errors);
        let mut others = devices[..index].iter();
        if !name.is_empty() && others.any(|other| other.text("name") == name) {
            let at = at.child("name");
            errors.push(FieldError::invalid(&at, name, "must be unique"));
        }
        match volumes.iter().find(|(other, _)| *other == name) {
            None => errors.push(FieldError::not_found(&at.child("name"), name)),
            Some((_, volume))
                if !volume.has("persistentVolumeClaim") && !volume.has("ephemeral") =>
            {
                errors.push(FieldError::invalid(
                    &at.child("name"),
                    name,
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
                ));
            }
            Some(_) => {}
        }
        required(device, &at, "devicePath", errors);
        let mut refuse = |field: &str, value: &str, detail: &str| {
            errors.push(FieldError::invalid(&at.child(field), value, detail));
        };
        let leaves = target.split('/').any(|part| part == "..");
        let mut others = devices[..index].iter();
        if !leaves && others.any(|other| other.text("devicePath") == target) {
            refuse("devicePath", target, "must be unique");
        }
        if leaves {
            refuse("devicePath", target, "can not contain backsteps ('..')");
        }
        if mounts.iter().any(|mount| mount.text("name") == name) {
            refuse("name", name, "must not already exist in volumeMounts");
        }
        if mounts.iter().any(|mount| mount.text("mountPath") == target) {
            let detail = "must not already exist as a path in volumeMounts";
            refuse("devicePath", target, detail);
        }
    }
}
