//! One served resource: the facts that discovery shows and every request needs.

use std::fmt;
use std::sync::Arc;

use kubewright_apimachinery::field::FieldError;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::strategy::{Findings, Strategy};
use kubewright_validation::metadata;

/// What can be done to a resource, as discovery names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the words are Kubernetes' own")]
#[non_exhaustive]
pub enum Verb {
    Create,
    Delete,
    DeleteCollection,
    Get,
    List,
    Patch,
    Update,
    Watch,
}

/// A part of a resource that has a path of its own: `status`, `scale`, `eviction`.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "built from tables inside this crate"
)]
pub struct Subresource {
    /// The name behind the resource's: `status`.
    pub name: String,
    /// The kind that is sent and answered: the resource's own for `status`, `autoscaling/v1 Scale` for `scale`.
    pub kind: GroupVersionKind,
    /// What can be done to it.
    pub verbs: Vec<Verb>,
}

/// The groups of apiextensions-apiserver and kube-aggregator.
const OTHER_SERVERS: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// One resource of one version.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "built from tables and definitions"
)]
pub struct Resource {
    /// The API group; empty for core.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, such as `Pod`.
    pub kind: String,
    /// The plural name, such as `pods`.
    pub plural: String,
    /// The singular name, such as `pod`.
    pub singular: String,
    /// Short names, such as `po`.
    pub short_names: Vec<String>,
    /// Categories, such as `all`.
    pub categories: Vec<String>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// What can be done to it, in discovery's order (alphabetical).
    pub verbs: Vec<Verb>,
    /// The kind of its lists: `PodList`.
    pub list_kind: String,
    /// Its sub-resources, by name.
    pub subresources: Vec<Subresource>,
    /// The group and version whose form is stored. Resources with the same plural and storage are one set of objects
    /// seen in several versions (and groups: `events`).
    pub storage: (String, String),
    /// The rules of its objects.
    pub strategy: Arc<dyn Strategy>,
}

impl Resource {
    /// Group, version and kind.
    pub fn group_version_kind(&self) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
        }
    }

    /// `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether discovery shows this verb.
    pub fn allows(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }

    /// Returns whether the server has a route for the verb, whether discovery shows it or not.
    pub fn serves(&self, verb: Verb) -> bool {
        self.allows(verb) || !self.strategy.installs_routes()
    }

    /// Fills in the defaults of an object; one of a kind with a type has metadata. A second call changes nothing more.
    pub fn default(&self, object: &mut Value) {
        if !object.is_object() {
            return;
        }
        if !self.strategy.is_unstructured() {
            object.part("metadata");
        }
        self.strategy.default(object);
    }

    /// Prepares a changed object, as `rest.BeforeUpdate` does: metadata that no path may change are those of the stored
    /// object; then the strategy decides. `subresource` is empty for the object itself.
    pub fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        let old_metadata = old.at("metadata");
        if let Some(metadata) = new.part("metadata") {
            for field in ["generation", "creationTimestamp"] {
                metadata.take_from(old_metadata, field);
            }
            // What a deletion has set stays; what none has set is refused later.
            if old_metadata.has("deletionTimestamp") {
                metadata.take_from(old_metadata, "deletionTimestamp");
            }
            let grace = "deletionGracePeriodSeconds";
            if old_metadata.has(grace) && !metadata.has(grace) {
                metadata.take_from(old_metadata, grace);
            }
            if metadata.text("uid").is_empty() {
                metadata.take_from(old_metadata, "uid");
            }
        }
        self.strategy.prepare_for_update(subresource, new, old);
    }

    /// Checks a new object, as `rest.BeforeCreate` does: by its strategy, and whether its names fit into a path.
    pub fn validate(&self, object: &Value) -> Findings {
        let mut found = Findings::default();
        self.strategy.validate(object, &mut found);
        if found.errors.is_empty() {
            metadata::fits_into_a_path(object, &mut found.errors);
        }
        self.settle(&mut found);
        found
    }

    /// Custom objects and the kinds of the servers beside kube-apiserver's own have no declarative validation, which takes
    /// care that nothing is said twice.
    fn settle(&self, found: &mut Findings) {
        let is_of_another_server = OTHER_SERVERS.contains(&self.group.as_str());
        if !self.strategy.is_unstructured() && !is_of_another_server {
            FieldError::settle(&mut found.errors);
        }
    }

    /// Checks a changed object, as `rest.BeforeUpdate` does. The API server looks at the metadata of every changed object,
    /// and then the strategy of its kind does so again.
    pub fn validate_update(&self, subresource: &str, new: &Value, old: &Value) -> Findings {
        let mut found = Findings::default();
        metadata::common(self.namespaced, new, &mut found.errors);
        metadata::changed(new, old, &mut found.errors);
        self.strategy
            .validate_update(subresource, new, old, &mut found);
        self.settle(&mut found);
        if subresource == "status" && found.errors.is_empty() {
            found.warnings.extend(self.strategy.status_warnings(new));
        }
        found
    }

    /// The named sub-resource.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }
}

impl Verb {
    /// The word in discovery and in RBAC rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
