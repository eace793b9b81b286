//! OpenAPI v3: the index, and a document for each group and version; v2 is made of the same parts.
//!
//! kubectl reads it to explain kinds, and before it applies: whether the server knows `fieldValidation`, which patch types a
//! kind takes, and by which keys its lists are merged.

mod definitions;
mod document;
mod gnostic;
mod markers;
mod names;
mod operation;
mod overview;
mod parameters;
mod paths;
mod schemas;
mod v2;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::{descriptions, types};
use kubewright_registry::{GroupVersion, Registry};
use parking_lot::Mutex;
use ring::digest::{Context, SHA512};
use serde_json::{Map, Value, json};

pub use document::Document;
use document::{bearer_token, hex, info};
pub use v2::Swagger;

/// The index: an address for each document, with its hash.
///
/// The hashes are of what the documents are made from, so that none has to be made here.
///
/// `others` are the entries of documents that other servers have.
pub fn v3_index(registry: &Registry, others: impl IntoIterator<Item = (String, Value)>) -> Bytes {
    let mut entries = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let place = names::place(&group.name, &version.version);
            let hash = hash(registry, &place, Some(version));
            entries.insert(place.clone(), entry(&place, &hash));
        }
    }
    for place in overview::places(registry) {
        let hash = hash(registry, &place, None);
        entries.insert(place.clone(), entry(&place, &hash));
    }
    entries.extend(others);
    json!({ "paths": entries }).to_string().into()
}

fn entry(place: &str, hash: &str) -> Value {
    json!({ "serverRelativeURL": format!("/openapi/v3/{place}?hash={hash}") })
}

/// The document at a place, such as `apis`, `apps`, `v1`; none if the registry does not serve it.
///
/// It is made when it is first asked for and kept, as long as the version's resources stay as they are.
pub fn v3_document(registry: &Registry, place: &[&str]) -> Option<Arc<Document>> {
    static MADE: LazyLock<Mutex<HashMap<String, Arc<Document>>>> = LazyLock::new(Mutex::default);
    let described = match place {
        ["api", version] => Some(("", served(registry, "", version)?)),
        ["apis", group, version] => Some((*group, served(registry, group, version)?)),
        _ => None,
    };
    let words = place;
    let place = words.join("/");
    let hash = hash(registry, &place, described.map(|(_, version)| version));
    let current = |made: &HashMap<String, Arc<Document>>| {
        made.get(&place)
            .filter(|document| document.hash == hash)
            .map(Arc::clone)
    };
    if let Some(document) = current(&MADE.lock()) {
        return Some(document);
    }
    let of_custom = described.is_some_and(|(_, version)| v2::is_custom(version));
    let mut components = schemas::Components::default();
    let paths = match described {
        Some((group, version)) => paths::of(group, version, &mut components),
        None => overview::of(registry, words, &mut components)?,
    };
    let body = document(registry.version(), &paths, components, of_custom)
        .to_string()
        .into();
    let document = Arc::new(Document::new(body, hash, gnostic::V3));
    MADE.lock().insert(place, Arc::clone(&document));
    Some(document)
}

fn served<'r>(registry: &'r Registry, group: &str, version: &str) -> Option<&'r GroupVersion> {
    let mut versions = registry.group(group)?.versions.iter();
    versions.find(|served| served.version == version)
}

fn document(
    version: KubernetesVersion,
    paths: &Value,
    components: schemas::Components,
    of_custom: bool,
) -> Value {
    // The documents of definitions come from a part of the real server that knows neither its name nor its security.
    if of_custom {
        return json!({
            "openapi": "3.0.0",
            "info": { "title": "Kubernetes CRD Swagger", "version": "v0.1.0" },
            "paths": paths,
            "components": { "schemas": components.into_value() },
        });
    }
    let mut document = json!({
        "openapi": "3.0.0",
        "info": info(version),
        "paths": paths,
        "components": { "securitySchemes": { "BearerToken": bearer_token() } },
    });
    let schemas = components.into_value();
    // The issuer of tokens has no resources.
    if schemas
        .as_object()
        .is_some_and(|schemas| !schemas.is_empty())
    {
        document["components"]["schemas"] = schemas;
    }
    document
}

fn hash(registry: &Registry, place: &str, version: Option<&GroupVersion>) -> String {
    static TABLES: LazyLock<Context> = LazyLock::new(|| {
        let mut digest = Context::new(&SHA512);
        digest.update(env!("CARGO_PKG_VERSION").as_bytes());
        digest.update(types::generated().as_bytes());
        digest.update(descriptions::TABLE.as_bytes());
        digest.update(include_bytes!("markers.tsv"));
        digest.update(include_bytes!("parameters.txt"));
        digest
    });
    let mut digest = TABLES.clone();
    digest.update(registry.version().to_string().as_bytes());
    digest.update(place.as_bytes());
    for resource in version.into_iter().flat_map(|version| &version.resources) {
        digest.update(format!("{resource:?}").as_bytes());
    }
    hex(digest)
}

#[cfg(test)]
mod tests;
