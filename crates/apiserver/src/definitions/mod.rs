//! The life of definitions: what a real server's controllers do once a CustomResourceDefinition was written (spec section
//! D.1).
//!
//! They run within the request that writes a definition, one after the other, until none of them has anything to do: who
//! has its answer finds the definition established, or its objects gone.

mod conditions;
mod finalizer;
pub(crate) use finalizer::{check_preconditions, marked};
mod names;
mod write;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::custom::Definition;
use crate::kinds::Resource;
use crate::kinds::view::View;
use crate::server::Shared;
use crate::store::{At, Object};

/// The name of the definitions in the store.
pub(crate) const TABLE: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// What is known of the definitions of one server.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    /// The served ones, by name, with what they were read from.
    read: Mutex<HashMap<String, Known>>,
}

struct Known {
    rules: Value,
    definition: Arc<Definition>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}

/// Whether a resource is that of the definitions.
pub(crate) fn are(resource: &Resource) -> bool {
    resource.group == "apiextensions.k8s.io" && resource.plural == "customresourcedefinitions"
}

/// Lets every definition come to rest, and serves what they define.
pub(crate) fn settle(shared: &Shared) {
    // Whoever holds this is the one controller.
    let mut read = shared.definitions.read.lock();
    serve(shared, &mut read);
    while step(shared) {
        serve(shared, &mut read);
    }
}

/// One write of one controller; false when nobody has anything to do.
fn step(shared: &Shared) -> bool {
    let all = list(shared);
    all.iter().any(|object| {
        let definition = object.value();
        conditions::approve(shared, object, &definition)
            || names::accept(shared, object, &definition, &all)
            || conditions::establish(shared, object, &definition)
            || finalizer::finish(shared, object, &definition)
    })
}

fn list(shared: &Shared) -> Vec<Arc<Object>> {
    let listed = shared.store.list(TABLE, "", "", usize::MAX, At::Now);
    listed.map(|listed| listed.objects).unwrap_or_default()
}

/// Puts into the registry what the definitions define now.
fn serve(shared: &Shared, read: &mut HashMap<String, Known>) {
    let mut known = HashMap::new();
    for object in list(shared) {
        let definition = object.value();
        if !is_served(&definition) {
            continue;
        }
        let rules = rules(&definition);
        let name = object.name().to_owned();
        let found = read.remove(&name).filter(|known| known.rules == rules);
        let found = found.unwrap_or_else(|| Known {
            rules,
            definition: Arc::new(Definition::read(&definition, shared.store.revision())),
        });
        known.insert(name, found);
    }
    *read = known;
    let resources: Vec<Resource> = read
        .values()
        .flat_map(|known| known.definition.resources())
        .collect();
    shared.served.extend(|builtin| builtin.with(resources));
}

/// Whether a definition has paths: its names are its own, or were so once.
fn is_served(definition: &Value) -> bool {
    conditions::is_true(definition, "NamesAccepted")
        || conditions::is_true(definition, "Established")
}

/// What of a definition decides how its objects are served.
fn rules(definition: &Value) -> Value {
    let status = definition.at("status");
    Value::from(vec![
        definition.at("metadata").at("uid").clone(),
        definition.at("spec").clone(),
        status.at("acceptedNames").clone(),
        conditions::is_true(definition, "Terminating").into(),
        conditions::is_true(definition, "Established").into(),
    ])
}
