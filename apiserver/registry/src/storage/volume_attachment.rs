//! Attachments of volumes to nodes.

use jiff::Timestamp;
use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::core::validation::persistent_volumes::volume_spec;
use crate::defaults::shared::resource_list;
use crate::defaults::volumes::shared_sources;
use crate::metadata;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::{
    Errors, declared_change, declared_driver_name, driver_name, subdomain,
};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of attachments.
#[derive(Debug)]
pub(crate) struct VolumeAttachment;

impl Strategy for VolumeAttachment {
    fn default(&self, object: &mut Value) {
        default(object);
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
        fill_status(object);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            metadata::reset(new, old);
            new.take_from(old, "spec");
        } else {
            new.take_from(old, "status");
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        let attacher = object.at("spec").text("attacher");
        declared_driver_name(attacher, &Path::new("spec.attacher"), errors);
        check(object, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(new, errors);
        let (spec, path) = (new.at("spec"), Path::new("spec"));
        driver_name(spec.text("attacher"), &path.child("attacher"), errors);
        check(new, errors);
        if !same_type("api.storage.v1.VolumeAttachmentSpec", spec, old.at("spec")) {
            errors.push(declared_change("storage.VolumeAttachmentSpec", spec, &path));
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

fn fill_status(object: &mut Value) {
    if let Some(status) = object.part("status") {
        status.fill("attached", false);
    }
}

/// Defaults of the volume inside of an attachment.
fn default(object: &mut Value) {
    let source = object
        .existing("spec")
        .and_then(|spec| spec.existing("source"));
    if let Some(volume) = source.and_then(|source| source.existing("inlineVolumeSpec")) {
        if let Some(capacity) = volume.existing("capacity") {
            resource_list(capacity);
        }
        shared_sources(volume);
    }
}

fn check(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let (source, at) = (spec.at("source"), path.child("source"));
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let named = source.has("persistentVolumeName");
    match (named, source.has("inlineVolumeSpec")) {
        (false, false) => errors.push(FieldError::required(&at, one)),
        (true, true) => errors.push(FieldError::forbidden(&at, one)),
        (true, false) => {
            if source.text("persistentVolumeName").is_empty() {
                let detail = "must specify non empty persistentVolumeName";
                let at = at.child("persistentVolumeName");
                errors.push(FieldError::required(&at, detail));
            }
        }
        (false, true) => {
            let at = at.child("inlineVolumeSpec");
            volume_spec(source.at("inlineVolumeSpec"), None, &at, errors);
        }
    }
    subdomain(&path.child("nodeName"), spec.text("nodeName"), errors);
    status(object.at("status"), errors);
    if named {
        let at = Path::new("spec.source.persistentVolumeName");
        subdomain(&at, source.text("persistentVolumeName"), errors);
    }
}

fn status(status: &Value, errors: &mut Errors) {
    const MAX_METADATA: usize = 256 << 10;
    const MAX_MESSAGE: usize = 1024;
    let path = Path::new("status");
    let metadata = status.entries("attachmentMetadata");
    let size = metadata.map(|(name, value)| name.len() + value.as_str().map_or(0, str::len));
    if size.sum::<usize>() > MAX_METADATA {
        errors.push(FieldError::too_long(
            &path.child("attachmentMetadata"),
            MAX_METADATA,
        ));
    }
    for field in ["attachError", "detachError"] {
        let (error, at) = (status.at(field), path.child(field));
        if error.text("message").len() > MAX_MESSAGE {
            errors.push(FieldError::too_long(&at.child("message"), MAX_MESSAGE));
        }
        if let Some(code) = error.int("errorCode").filter(|code| *code < 0) {
            let detail = "must be between 0 and 2147483647, inclusive";
            errors.push(FieldError::invalid(&at.child("errorCode"), code, detail));
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    vec![
        row.name(),
        spec.text("attacher").into(),
        spec.at("source").text("persistentVolumeName").into(),
        spec.text("nodeName").into(),
        row.status().flag("attached").into(),
        row.age(),
    ]
}
