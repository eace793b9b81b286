//! Defaults of volumes, claims and persistent volumes.

use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use super::image::pull_policy;
use super::shared::{field_reference, requirements, resource_list};

/// Defaults of one volume of a pod.
pub(crate) fn volume(volume: &mut Value) {
    let Some(map) = volume.as_object() else {
        return;
    };
    if !map
        .iter()
        .any(|(field, value)| field != "name" && !value.is_null())
    {
        volume.put("emptyDir", empty());
    }
    shared_sources(volume);
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.existing(source) {
            source.fill("defaultMode", 0o644);
        }
    }
    if let Some(source) = volume.existing("downwardAPI") {
        items(source);
    }
    if let Some(source) = volume.existing("projected") {
        for part in source.each("sources") {
            if let Some(downward) = part.existing("downwardAPI") {
                items(downward);
            }
            if let Some(token) = part.existing("serviceAccountToken") {
                token.fill("expirationSeconds", 3600);
            }
        }
    }
    if let Some(ephemeral) = volume.existing("ephemeral")
        && let Some(template) = ephemeral.existing("volumeClaimTemplate")
    {
        template.part("metadata");
        if let Some(spec) = template.part("spec") {
            claim_spec(spec);
        }
    }
    if let Some(image) = volume.existing("image")
        && image.text("pullPolicy").is_empty()
    {
        let policy = pull_policy(image.text("reference"));
        image.put("pullPolicy", policy);
    }
}

/// Defaults of a claim.
pub(crate) fn claim(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        claim_spec(spec);
    }
    if let Some(status) = object.part("status") {
        for list in ["capacity", "allocatedResources"] {
            if let Some(list) = status.existing(list) {
                resource_list(list);
            }
        }
    }
}

/// Defaults of a claim's spec, also inside templates.
pub(crate) fn claim_spec(spec: &mut Value) {
    spec.fill("volumeMode", "Filesystem");
    if let Some(resources) = spec.part("resources") {
        requirements(resources);
    }
}

/// Defaults of a persistent volume.
pub(crate) fn persistent_volume(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill_text("persistentVolumeReclaimPolicy", "Retain");
    spec.fill("volumeMode", "Filesystem");
    if let Some(capacity) = spec.existing("capacity") {
        resource_list(capacity);
    }
    shared_sources(spec);
}

/// The sources that pods and persistent volumes have in common.
pub(crate) fn shared_sources(holder: &mut Value) {
    if let Some(source) = holder.existing("hostPath") {
        source.fill("type", "");
    }
    if let Some(source) = holder.existing("iscsi") {
        source.fill_text("iscsiInterface", "default");
    }
    if let Some(source) = holder.existing("rbd") {
        source.fill_text("pool", "rbd");
        source.fill_text("user", "admin");
        source.fill_text("keyring", "/etc/ceph/keyring");
    }
    if let Some(source) = holder.existing("azureDisk") {
        source.fill("cachingMode", "ReadWrite");
        source.fill("kind", "Shared");
        source.fill("fsType", "ext4");
        source.fill("readOnly", false);
    }
    if let Some(source) = holder.existing("scaleIO") {
        source.fill_text("storageMode", "ThinProvisioned");
        source.fill_text("fsType", "xfs");
    }
}

fn items(source: &mut Value) {
    for item in source.each("items") {
        field_reference(item);
    }
}
