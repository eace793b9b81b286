//! The definition of a custom resource, merged from what the types of its versions say.

use std::error::Error;

use kube_core::CustomResourceExt;
use serde_json::Value;

use crate::handler::Object;

/// Why a conversion fails, as a message for the client that requested the object.
pub(super) type Cause = Box<dyn Error + Send + Sync>;

/// A version of a custom resource that can be converted: a type that `kube::CustomResource` was derived for.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a version of a custom resource",
    note = "a version derives `kube::CustomResource`, `Serialize`, `Deserialize` and `JsonSchema`"
)]
pub trait Convertible: Object + CustomResourceExt {}

#[diagnostic::do_not_recommend]
impl<K: Object + CustomResourceExt> Convertible for K {}

/// What a version is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sort {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

impl Sort {
    pub(super) fn of<K: Convertible>() -> Self {
        let resource = K::api_resource();
        let (group, version, kind) = (resource.group, resource.version, resource.kind);
        Self {
            api_version: format!("{group}/{version}"),
            kind,
        }
    }
}

/// The versions of a custom resource, of which one is the hub of all.
pub(crate) trait Versioned: Send + Sync {
    fn sorts(&self) -> Vec<&Sort>;

    /// The object in another version, and what the type of its own knew of it. None if one of the versions is not known.
    fn convert(&self, text: &str, from: &str, to: &str) -> Option<Result<(Value, Value), Cause>>;
}

/// The reason why the versions of a conversion are not those of one custom resource.
///
/// ```
/// # mod kube { pub use kube_core as core; }
#[doc = include_str!("widgets.md")]
/// # renamed!(); fn main() {
/// use kubewright_webhook::{Conversion, DefinitionError, converting};
///
/// let widgets: Conversion = converting::<v1::Widget>().spoke::<v2::Widget>().stored("v3").into();
/// assert!(matches!(widgets.definition(), Err(DefinitionError::Stored { version, .. }) if version == "v3"));
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefinitionError {
    /// A definition that cannot be written.
    #[error("the definition of a version of `{0}` cannot be written as JSON")]
    Unwritable(String),
    /// A version of another resource.
    #[error(
        "`{other}` is not another version of `{own}`: their group, kind, plural name and scope have to be the same"
    )]
    OtherResource {
        /// The hub's definition.
        own: String,
        /// The other definition.
        other: String,
    },
    /// A version that comes twice.
    #[error("the version `{version}` of `{definition}` comes twice")]
    Twice {
        /// The definition.
        definition: String,
        /// The version.
        version: String,
    },
    /// Objects are to be stored in a version that there is not.
    #[error("`{definition}` is to be stored as `{version}`, which is none of its versions")]
    Stored {
        /// The definition.
        definition: String,
        /// The version.
        version: String,
    },
}

/// What is known of the custom resource.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The CustomResourceDefinition, without its conversion.
    pub(crate) definition: Value,
}

/// The definition of one version, null if it cannot be written.
pub(super) fn of<K: CustomResourceExt>() -> Value {
    let mut definition = serde_json::to_value(K::crd()).unwrap_or_default();
    if definition.is_null() {
        definition = serde_json::json!({ "metadata": { "name": K::crd_name() } });
    }
    definition
}

impl Known {
    /// The name of the definition.
    pub(crate) fn name(&self) -> &str {
        self.definition["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
    }

    /// The schema of a version, or null.
    pub(crate) fn schema(&self, api_version: &str) -> &Value {
        let name = api_version.rsplit('/').next().unwrap_or_default();
        let versions = self.definition["spec"]["versions"].as_array();
        let mut versions = versions.into_iter().flatten();
        let version = versions.find(|version| version["name"] == name);
        version.map_or(
            &Value::Null,
            |version| &version["schema"]["openAPIV3Schema"],
        )
    }

    /// One definition of all versions, the hub's first.
    pub(super) fn merge(
        definitions: &[Value],
        stored: Option<&str>,
    ) -> Result<Self, DefinitionError> {
        let hub = &definitions[0];
        let own = name(hub);
        let mut versions: Vec<Value> = Vec::new();
        for definition in definitions {
            let of_one = definition["spec"]["versions"].as_array();
            let of_one = of_one.ok_or_else(|| DefinitionError::Unwritable(name(definition)))?;
            let same = ["group", "scope"]
                .into_iter()
                .all(|field| definition["spec"][field] == hub["spec"][field])
                && ["kind", "plural"]
                    .into_iter()
                    .all(|field| definition["spec"]["names"][field] == hub["spec"]["names"][field]);
            if !same {
                let other = name(definition);
                return Err(DefinitionError::OtherResource { own, other });
            }
            for version in of_one {
                if versions
                    .iter()
                    .any(|known| known["name"] == version["name"])
                {
                    return Err(DefinitionError::Twice {
                        definition: own,
                        version: version["name"].as_str().unwrap_or_default().to_owned(),
                    });
                }
                versions.push(version.clone());
            }
        }
        let first = versions[0]["name"].clone();
        let stored = stored.map_or(first, Value::from);
        if !versions.iter().any(|version| version["name"] == stored) {
            return Err(DefinitionError::Stored {
                definition: own,
                version: stored.as_str().unwrap_or_default().to_owned(),
            });
        }
        for version in &mut versions {
            version["storage"] = (version["name"] == stored).into();
        }
        let mut definition = hub.clone();
        definition["apiVersion"] = "apiextensions.k8s.io/v1".into();
        definition["kind"] = "CustomResourceDefinition".into();
        definition["spec"]["versions"] = versions.into();
        Ok(Self { definition })
    }
}

fn name(definition: &Value) -> String {
    let name = definition["metadata"]["name"].as_str();
    name.unwrap_or_default().to_owned()
}
