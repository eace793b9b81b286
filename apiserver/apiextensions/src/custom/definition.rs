//! A definition as the server uses it: its versions, each with its schema, columns and sub-resources.

use std::fmt;
use std::sync::Arc;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::View;
use kubewright_registry::{Resource, Subresource, Verb, by_stability};
use serde_json::Value;
use tokio::sync::watch;

use super::Custom;
use super::columns::Column;
use super::convert::Conversion;
use super::fields::Selectable;
use crate::structural::Structural;

/// A definition that is served.
pub struct Definition {
    /// The uid of the definition.
    pub(crate) uid: String,
    /// The API group of its objects.
    pub group: String,
    /// The kind of its objects.
    pub kind: String,
    /// The kind of their lists.
    pub list_kind: String,
    /// The version in whose form objects are stored.
    pub storage: String,
    /// Whether it is being deleted: nothing new is created any more.
    pub terminating: bool,
    /// The versions, each with rules of its own.
    pub versions: Vec<Version>,
    /// The revision at which it began to be like this: what was written later was written under its rules.
    pub since: u64,
    /// The revision at which its objects began to be served like this: the conditions do not count.
    pub cached_since: u64,
    /// Becomes true when its objects are served by other rules, or no longer: their watches end.
    pub replaced: watch::Sender<bool>,
    /// How its versions become each other.
    pub(crate) conversion: Conversion,
    names: Value,
    pub(super) namespaced: bool,
}

/// One version of a definition.
pub struct Version {
    /// The name, such as `v1alpha1`.
    pub name: String,
    /// Whether the version has paths.
    pub served: bool,
    /// None where the version has no schema.
    pub schema: Option<Structural>,
    /// The schema as the definition says it.
    pub written: Value,
    pub(crate) columns: Vec<Column>,
    /// Whether `status` has a path of its own.
    pub status: bool,
    /// Where a Scale has its numbers, if `scale` has a path of its own.
    pub scale: Option<Scale>,
    /// The fields that field selectors may name besides those of the metadata.
    pub selectable: Vec<Selectable>,
    /// The warning for clients of a deprecated version.
    pub warning: Option<String>,
}

/// Where the members of a Scale are found in an object, as paths that begin with a dot.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scale {
    /// The wanted number of replicas.
    pub spec_replicas: String,
    /// The number of replicas that there are.
    pub status_replicas: String,
    /// The label selector of the pods.
    pub selector: Option<String>,
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("group", &self.group)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Version")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Definition {
    /// Reads a definition that was validated. `since` is the revision of the last change of its rules, `cached_since` that of
    /// those of its objects, and `replaced` tells the watches of its objects when these rules hold no longer.
    pub fn read(
        object: &Value,
        since: u64,
        cached_since: u64,
        replaced: watch::Sender<bool>,
    ) -> Self {
        let (spec, names) = (object.at("spec"), object.at("status").at("acceptedNames"));
        let versions = spec.list("versions").iter();
        let stored = versions.clone().find(|version| version.flag("storage"));
        Self {
            uid: object.at("metadata").text("uid").to_owned(),
            group: spec.text("group").to_owned(),
            kind: names.text("kind").to_owned(),
            list_kind: names.text("listKind").to_owned(),
            storage: stored.map_or("", |version| version.text("name")).to_owned(),
            terminating: is_true(object, "Terminating"),
            versions: versions
                .map(|version| Version::read(version, spec))
                .collect(),
            since,
            cached_since,
            replaced,
            conversion: Conversion::read(spec.at("conversion"), object.at("metadata").text("name")),
            names: names.clone(),
            namespaced: spec.text("scope") == "Namespaced",
        }
    }

    /// The resources of the served versions.
    pub fn resources(self: &Arc<Self>) -> Vec<Resource> {
        let served = self.versions.iter().enumerate();
        served
            .filter(|(_, version)| version.served)
            .map(|(at, version)| self.resource(at, version))
            .collect()
    }

    /// Whether the storage version is served.
    pub fn serves_its_storage(&self) -> bool {
        let storage = self.version(&self.storage);
        storage.is_some_and(|version| version.served)
    }

    /// The name of its resource.
    pub fn plural(&self) -> &str {
        self.names.text("plural")
    }

    /// Whether a webhook converts between the versions.
    pub fn converts_by_webhook(&self) -> bool {
        matches!(self.conversion, Conversion::Webhook(_))
    }

    /// The version of this name.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    fn resource(self: &Arc<Self>, at: usize, version: &Version) -> Resource {
        let words = |field: &str| {
            let list = self.names.list(field).iter();
            list.filter_map(|word| word.as_str().map(str::to_owned))
                .collect()
        };
        let mut verbs = vec![Verb::Delete, Verb::DeleteCollection, Verb::Get, Verb::List];
        if !self.terminating {
            verbs.extend([Verb::Patch, Verb::Create, Verb::Update]);
        }
        verbs.push(Verb::Watch);
        Resource {
            group: self.group.clone(),
            version: version.name.clone(),
            kind: self.kind.clone(),
            plural: self.plural().to_owned(),
            singular: self.names.text("singular").to_owned(),
            short_names: words("shortNames"),
            categories: words("categories"),
            namespaced: self.namespaced,
            verbs,
            subresources: self.subresources(version),
            storage: (self.group.clone(), self.storage.clone()),
            list_kind: self.list_kind.clone(),
            strategy: Arc::new(Custom {
                definition: Arc::clone(self),
                at,
            }),
        }
    }

    fn subresources(&self, version: &Version) -> Vec<Subresource> {
        let part = |name: &str, group: &str, version: &str, kind: &str| Subresource {
            name: name.to_owned(),
            kind: GroupVersionKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: kind.to_owned(),
            },
            verbs: vec![Verb::Get, Verb::Patch, Verb::Update],
        };
        let mut parts = Vec::new();
        if version.status {
            parts.push(part("status", &self.group, &version.name, &self.kind));
        }
        if version.scale.is_some() {
            parts.push(part("scale", "autoscaling", "v1", "Scale"));
        }
        parts
    }
}

impl Version {
    fn read(version: &Value, spec: &Value) -> Self {
        let written = version.at("schema").at("openAPIV3Schema").clone();
        let schema = match &written {
            Value::Null => None,
            schema => Some(Structural::read(schema)),
        };
        let parts = version.at("subresources");
        let scale = parts.has("scale").then(|| {
            let scale = parts.at("scale");
            let selector = scale.text("labelSelectorPath");
            Scale {
                spec_replicas: scale.text("specReplicasPath").to_owned(),
                status_replicas: scale.text("statusReplicasPath").to_owned(),
                selector: (!selector.is_empty()).then(|| selector.to_owned()),
            }
        });
        let fields = version.list("selectableFields").iter();
        Self {
            name: version.text("name").to_owned(),
            served: version.flag("served"),
            schema,
            columns: Column::of(version.list("additionalPrinterColumns")),
            status: parts.has("status"),
            scale,
            selectable: fields
                .map(|field| Selectable::new(field.text("jsonPath")))
                .collect(),
            warning: warning(version, spec),
            written,
        }
    }
}

/// Whether a condition of a definition holds.
pub(super) fn is_true(definition: &Value, condition: &str) -> bool {
    let conditions = definition.at("status").list("conditions").iter();
    let mut found = conditions.filter(|known| known.text("type") == condition);
    found.any(|found| found.text("status") == "True")
}

/// What a deprecated version says; without words of its own, which stable one to use.
fn warning(version: &Value, spec: &Value) -> Option<String> {
    if !version.flag("deprecated") {
        return None;
    }
    if version.has("deprecationWarning") {
        return Some(version.text("deprecationWarning").to_owned());
    }
    let (group, kind) = (spec.text("group"), spec.at("names").text("kind"));
    let name = version.text("name");
    let mut better: Vec<&str> = spec
        .list("versions")
        .iter()
        .filter(|other| other.flag("served") && !other.flag("deprecated"))
        .map(|other| other.text("name"))
        .filter(|other| by_stability(other, name).is_lt())
        .collect();
    better.sort_by(|a, b| by_stability(a, b));
    let instead = better.first();
    let instead = instead.map_or_else(String::new, |best| format!("; use {group}/{best} {kind}"));
    Some(format!("{group}/{name} {kind} is deprecated{instead}"))
}
