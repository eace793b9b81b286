//! One served resource: the facts that discovery shows and every request needs.

use std::fmt;

use kubewright_apimachinery::meta::GroupVersionKind;

use crate::custom::Custom;

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

/// One resource of one version.
#[derive(Clone, Debug)]
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
    /// Its sub-resources, by name.
    pub subresources: Vec<Subresource>,
    /// The group and version whose form is stored. Resources with the same plural and storage are one set of objects
    /// seen in several versions (and groups: `events`).
    pub storage: (String, String),
    /// The rules of its objects, if a definition made it.
    pub(crate) custom: Option<Custom>,
}

impl Resource {
    /// Group, version and kind.
    pub(crate) fn group_version_kind(&self) -> GroupVersionKind {
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

    /// The kind of its lists: `PodList`.
    pub(crate) fn list_kind(&self) -> String {
        match &self.custom {
            Some(custom) => custom.definition.list_kind.clone(),
            None => format!("{}List", self.kind),
        }
    }

    /// Whether discovery shows this verb.
    pub fn allows(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
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
