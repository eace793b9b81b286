//! What a new definition of a custom resource would break.

mod schema;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use schema::{items, text};

/// A change of a CustomResourceDefinition that breaks objects or clients. [`breaks`] finds them.
///
/// ```
/// use kubewright_manifests::breaks;
/// use serde_json::json;
///
/// let definition = |served: bool| json!({
///     "metadata": {"name": "gardens.example.com"},
///     "spec": {"versions": [{"name": "v1", "served": served, "storage": true}]},
/// });
/// let found = breaks(&definition(true), &definition(false));
/// assert_eq!(found[0].to_string(), "gardens.example.com: v1 is no longer served");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    definition: String,
    place: String,
    problem: String,
}

impl Break {
    /// Returns the name of the definition, such as `gardens.example.com`.
    ///
    /// ```
    /// use kubewright_manifests::breaks;
    /// use serde_json::json;
    ///
    /// let definition = |scope: &str| json!({"metadata": {"name": "gardens.example.com"}, "spec": {"scope": scope}});
    /// let found = breaks(&definition("Cluster"), &definition("Namespaced"));
    /// assert_eq!((found[0].definition(), found[0].place()), ("gardens.example.com", "the scope"));
    /// ```
    #[must_use]
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// Returns the changed part of the definition, such as `v1: spec.beds`.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for Break {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            definition,
            place,
            problem,
        } = self;
        write!(formatter, "{definition}: {place} {problem}")
    }
}

/// Compares a CustomResourceDefinition with the one that a cluster has, or that was released: what would its objects, or those
/// who write and read them, lose?
///
/// It is certain of what it says, and knows only what a schema says: a conversion that loses something, it does not see. What
/// is new and optional breaks nothing, and neither does a bound that became wider.
///
/// ```
/// use kubewright_manifests::breaks;
/// use serde_json::json;
///
/// let definition = |fields: serde_json::Value| {
///     json!({
///         "metadata": {"name": "gardens.example.com"},
///         "spec": {"versions": [{
///             "name": "v1", "served": true, "storage": true,
///             "schema": {"openAPIV3Schema": {"type": "object", "properties": fields}},
///         }]},
///     })
/// };
/// let old = definition(json!({"beds": {"type": "integer"}}));
/// let new = definition(json!({"beds": {"type": "string"}, "soil": {"type": "string"}}));
/// let found = breaks(&old, &new);
/// assert_eq!(found.len(), 1);
/// assert_eq!(
///     found[0].to_string(),
///     "gardens.example.com: v1: beds was of type integer and is of type string",
/// );
/// ```
#[must_use]
pub fn breaks(old: &Value, new: &Value) -> Vec<Break> {
    let definition = text(&old["metadata"]["name"]);
    let mut found = Vec::new();
    let mut say = |place: &str, problem: String| {
        found.push(Break {
            definition: definition.to_owned(),
            place: place.to_owned(),
            problem,
        });
    };
    for (field, what) in [
        ("/metadata/name", "the name"),
        ("/spec/group", "the group"),
        ("/spec/names/kind", "the kind"),
        ("/spec/names/plural", "the plural name"),
        ("/spec/scope", "the scope"),
    ] {
        let of = |crd: &Value| crd.pointer(field).map(|value| text(value).to_owned());
        if let (Some(was), Some(is)) = (of(old), of(new))
            && was != is
        {
            say(what, format!("was `{was}` and is `{is}`"));
        }
    }
    let stored = items(&old["status"]["storedVersions"]).map(text);
    let stores = |version: &&Value| version["storage"] == true;
    let storing = versions(old)
        .filter(stores)
        .map(|version| text(&version["name"]));
    let stored: BTreeSet<&str> = stored.chain(storing).collect();
    for was in versions(old) {
        let name = text(&was["name"]);
        let is = versions(new).find(|version| version["name"] == name);
        let Some(is) = is else {
            if stored.contains(name) {
                say(name, "is gone, and objects are stored in it".to_owned());
            } else if was["served"] == true {
                say(name, "is gone".to_owned());
            }
            continue;
        };
        if was["served"] == true && is["served"] != true {
            say(name, "is no longer served".to_owned());
        }
        for part in ["status", "scale"] {
            if was["subresources"][part].is_object() && !is["subresources"][part].is_object() {
                say(name, format!("no longer has the sub-resource {part}"));
            }
        }
        let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
        for (path, problem) in schema::breaks(&schema(was), &schema(is)) {
            say(&format!("{name}: {path}"), problem);
        }
    }
    found
}

fn versions(crd: &Value) -> impl Iterator<Item = &Value> {
    items(&crd["spec"]["versions"])
}
