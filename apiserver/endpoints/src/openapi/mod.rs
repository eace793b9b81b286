//! OpenAPI v3: the index, and a document for each group and version.
//!
//! kubectl reads it to explain kinds, and before it applies: whether the server knows `fieldValidation`, which patch types a
//! kind takes, and by which keys its lists are merged.

mod definitions;
mod markers;
mod names;
mod operation;
mod overview;
mod parameters;
mod paths;
mod schemas;
pub mod v2;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use kubewright_apimachinery::{descriptions, types};
use kubewright_registry::{GroupVersion, Registry};
use parking_lot::Mutex;
use ring::digest::{Context, SHA512};
use serde_json::{Map, Value, json};

/// A document and the hash by which clients know it.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "bytes and their name, for the handler that serves them"
)]
pub struct Document {
    /// The JSON text.
    pub body: Bytes,
    /// The hash in the index's address and in the ETag.
    pub hash: String,
}

/// The index: an address for each document, with its hash.
///
/// The hashes are of what the documents are made from, so that none has to be made here.
pub fn v3_index(registry: &Registry) -> Bytes {
    let mut entries = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let place = names::place(&group.name, &version.version);
            let hash = hash(&place, Some(version));
            entries.insert(place.clone(), entry(&place, &hash));
        }
    }
    for place in overview::places(registry) {
        let hash = hash(&place, None);
        entries.insert(place.clone(), entry(&place, &hash));
    }
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
    let hash = hash(&place, described.map(|(_, version)| version));
    let current = |made: &HashMap<String, Arc<Document>>| {
        made.get(&place)
            .filter(|document| document.hash == hash)
            .map(Arc::clone)
    };
    if let Some(document) = current(&MADE.lock()) {
        return Some(document);
    }
    let mut components = schemas::Components::default();
    let paths = match described {
        Some((group, version)) => paths::of(group, version, &mut components),
        None => overview::of(registry, words, &mut components)?,
    };
    let body = document(&paths, components).to_string().into();
    let document = Arc::new(Document { body, hash });
    MADE.lock().insert(place, Arc::clone(&document));
    Some(document)
}

fn served<'r>(registry: &'r Registry, group: &str, version: &str) -> Option<&'r GroupVersion> {
    let mut versions = registry.group(group)?.versions.iter();
    versions.find(|served| served.version == version)
}

fn document(paths: &Value, components: schemas::Components) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "1.37" },
        "paths": paths,
        "components": {
            "schemas": components.into_value(),
            "securitySchemes": { "BearerToken": {
                "type": "apiKey",
                "description": "Bearer Token authentication",
                "name": "authorization",
                "in": "header",
            } },
        },
    })
}

fn hash(place: &str, version: Option<&GroupVersion>) -> String {
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
    digest.update(place.as_bytes());
    for resource in version.into_iter().flat_map(|version| &version.resources) {
        digest.update(format!("{resource:?}").as_bytes());
    }
    hex(digest)
}

fn hex(digest: Context) -> String {
    let bytes = digest.finish();
    let mut out = String::with_capacity(2 * bytes.as_ref().len());
    for byte in bytes.as_ref() {
        let _ = write!(out, "{byte:02X}");
    }
    out
}

#[cfg(test)]
mod tests;
