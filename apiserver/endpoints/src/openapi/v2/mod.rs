//! OpenAPI v2: one document of all groups and versions, made of the same operations and schemas as those of v3.
//!
//! Old kubectl explains and validates by it, and generators of clients read it.

mod kinds;
mod operations;
mod parameters;
mod schemas;
mod structural;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use kubewright_registry::{GroupVersion, Registry, Snapshot};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

pub(super) use kinds::of_clients;
pub(super) use structural::without_what_v2_cannot_say;

use super::document::{Document, bearer_token, hash_of, info};
use super::schemas::Components;
use super::{gnostic, overview, paths};

/// The document of one server: made when it is first asked for, and again when the resources have changed.
#[derive(Debug, Default)]
pub struct Swagger(Mutex<Option<(Snapshot, Arc<Document>)>>);

impl Swagger {
    /// Returns the document of the resources that are served now.
    pub fn document(&self, served: &Snapshot) -> Arc<Document> {
        /// Every server begins with the built-in kinds: their document is made once in a process.
        static BUILTIN: LazyLock<Swagger> = LazyLock::new(Swagger::default);
        let of_which = match served {
            Snapshot::Builtin(_) => &BUILTIN,
            Snapshot::Extended(_) => self,
        };
        let mut made = of_which.0.lock();
        if let Some((of, document)) = &*made
            && is_same(of, served)
        {
            return Arc::clone(document);
        }
        let text = document(served).to_string();
        let hash = hash_of(text.as_bytes());
        let document = Arc::new(Document::new(text.into(), hash, gnostic::V2));
        *made = Some((served.clone(), Arc::clone(&document)));
        document
    }
}

fn is_same(one: &Snapshot, other: &Snapshot) -> bool {
    match (one, other) {
        (Snapshot::Builtin(one), Snapshot::Builtin(other)) => std::ptr::eq(*one, *other),
        (Snapshot::Extended(one), Snapshot::Extended(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

/// Whether definitions made the resources of a version.
pub(super) fn is_custom(version: &GroupVersion) -> bool {
    let mut resources = version.resources.iter();
    resources.any(|resource| resource.strategy.is_unstructured())
}

fn document(registry: &Registry) -> Value {
    let mut all_paths = Map::new();
    let mut definitions = BTreeMap::new();
    let mut add = |paths: Value, components: Components, custom: bool| {
        if let Value::Object(paths) = paths {
            for (path, item) in paths {
                all_paths.insert(path, operations::path_item(&item, custom));
            }
        }
        for (name, schema) in components.into_schemas() {
            // Types that several groups use are the same in each.
            definitions
                .entry(name)
                .or_insert_with(|| schemas::in_v2(schema));
        }
    };
    for place in overview::places(registry) {
        let words: Vec<&str> = place.split('/').collect();
        let mut components = Components::of_v2();
        if let Some(paths) = overview::of(registry, &words, &mut components) {
            add(paths, components, false);
        }
    }
    for group in registry.groups() {
        for version in &group.versions {
            let mut components = Components::of_v2();
            let paths = paths::of(&group.name, version, &mut components);
            add(paths, components, is_custom(version));
        }
    }
    kinds::add_all(&mut definitions);
    let parameters = parameters::share(&mut all_paths);
    json!({
        "swagger": "2.0",
        "info": info(registry.version()),
        "paths": all_paths,
        "definitions": definitions,
        "parameters": parameters,
        "securityDefinitions": { "BearerToken": bearer_token() },
        "security": [{ "BearerToken": [] }],
    })
}

#[cfg(test)]
mod tests;
