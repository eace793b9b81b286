//! Discovery in its old form: one document per group and version.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_registry::{Registry, Resource, Verb};
use serde_json::{Map, Value, json};

use super::merged::MergedGroup;
use crate::rest::request::Request;

/// `/api`.
pub(super) fn versions(request: &Request) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{
            "clientCIDR": "0.0.0.0/0",
            "serverAddress": request.host(),
        }],
    })
}

/// `/apis`.
pub(super) fn groups(groups: &[MergedGroup<'_>]) -> Value {
    let groups: Vec<Value> = groups.iter().map(described).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`.
pub(super) fn group(groups: &[MergedGroup<'_>], name: &str) -> Option<Value> {
    let mut group = described(groups.iter().find(|group| group.name == name)?);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

/// `/api/v1` and `/apis/<group>/<version>`.
pub(super) fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let found = registry
        .group(group)?
        .versions
        .iter()
        .find(|candidate| candidate.version == version)?;
    let resources: Vec<Value> = found
        .resources
        .iter()
        .flat_map(|resource| {
            let parts = resource.subresources.iter();
            std::iter::once(main_entry(resource, registry.version()))
                .chain(parts.map(|part| {
                    let mut entry = Map::new();
                    let name = format!("{}/{}", resource.plural, part.name);
                    entry.insert("name".to_owned(), name.into());
                    entry.insert("singularName".to_owned(), "".into());
                    entry.insert("namespaced".to_owned(), resource.namespaced.into());
                    if (&part.kind.group, &part.kind.version)
                        != (&resource.group, &resource.version)
                    {
                        entry.insert("group".to_owned(), part.kind.group.as_str().into());
                        entry.insert("version".to_owned(), part.kind.version.as_str().into());
                    }
                    entry.insert("kind".to_owned(), part.kind.kind.as_str().into());
                    entry.insert("verbs".to_owned(), verbs(&part.verbs));
                    Value::Object(entry)
                }))
                .collect::<Vec<_>>()
        })
        .collect();
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": group_version,
        "resources": resources,
    });
    // The core group's document is older than the member.
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn main_entry(resource: &Resource, emulated: KubernetesVersion) -> Value {
    let mut entry = Map::new();
    entry.insert("name".to_owned(), resource.plural.as_str().into());
    entry.insert("singularName".to_owned(), resource.singular.as_str().into());
    entry.insert("namespaced".to_owned(), resource.namespaced.into());
    entry.insert("kind".to_owned(), resource.kind.as_str().into());
    entry.insert("verbs".to_owned(), verbs(&resource.verbs));
    if !resource.short_names.is_empty() {
        entry.insert("shortNames".to_owned(), resource.short_names.clone().into());
    }
    if !resource.categories.is_empty() {
        entry.insert("categories".to_owned(), resource.categories.clone().into());
    }
    // What is not stored has no hash.
    let stored = resource.serves(Verb::Create)
        && resource.serves(Verb::Get)
        && resource.strategy.serves_storage_version();
    if stored {
        let hash = storage_version_hash(resource, emulated);
        entry.insert("storageVersionHash".to_owned(), hash.into());
    }
    Value::Object(entry)
}

pub(super) fn verbs(verbs: &[Verb]) -> Value {
    verbs.iter().map(|verb| verb.as_str()).collect()
}

fn described(group: &MergedGroup<'_>) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            json!({
                "groupVersion": format!("{}/{}", group.name, version.name()),
                "version": version.name(),
            })
        })
        .collect();
    json!({
        "name": group.name,
        "preferredVersion": versions.first(),
        "versions": versions,
    })
}

/// What tells clients that two resources store the same objects: as the real server computes it.
fn storage_version_hash(resource: &Resource, emulated: KubernetesVersion) -> String {
    let (group, version) = &resource.storage;
    // These are stored in an older version, so that an older server can read them.
    let version = match resource.kind.as_str() {
        "ClusterTrustBundle"
        | "CustomResourceDefinition"
        | "PodCertificateRequest"
        | "StorageVersionMigration" => "v1beta1",
        "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding"
            if emulated < KubernetesVersion::V1_37 =>
        {
            "v1beta1"
        }
        "DeviceTaintRule" => "v1beta2",
        _ => version,
    };
    let text = format!("{group}/{version}/{}", resource.kind);
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    STANDARD.encode(&digest.as_ref()[..8])
}
