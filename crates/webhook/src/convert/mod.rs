//! Conversion between the versions of a custom resource: every version to and from one of them, the hub.

mod answer;
mod conversion;
mod definition;
mod object;
mod version;

use std::fmt;
use std::sync::Arc;

use kubewright_review::ConversionVersion;
use serde_json::Value;

pub(crate) use answer::answer;
pub use conversion::{Conversion, Unconvertible};
pub use definition::{Convertible, DefinitionError};

use definition::{Cause, Known};
use version::Version;

/// Begins the conversion of a custom resource, whose hub is `Hub`: the version that all others are converted to and from, and
/// in which objects are stored unless [`Converting::stored`] says otherwise.
///
/// It is served at `/convert/<plural>.<group>`. A conversion only ever sees one object and asks nobody: it gives the same for
/// the same.
///
/// # What becomes of an object
///
/// * The types say what is converted: an object is read as the type of its version, made the hub, made the type of the version
///   that is wanted, and written.
/// * What the type of an object's version does not know stays where it is, if the result has the object that it stands in and no
///   member of this name. Elements of lists are the same if both lists have them under one `name`, `key` or `type`. The API
///   server prunes of it what the schema of the wanted version does not know.
/// * Metadata stay as they are, but for labels and annotations, which are those of the typed result: the API server takes no
///   other change of them. A result without a name has not looked at the metadata, and keeps those labels and annotations too,
///   so that `..Default::default()` loses nothing.
///
/// # Example: a field that was renamed
///
/// ```
/// # mod kube { pub use kube_core as core; }
#[doc = include_str!("widgets.md")]
///
/// # fn main() {
/// use kubewright_webhook::{Conversion, Webhooks, converting};
///
/// fn widgets() -> Conversion {
///     converting::<v1::Widget>().spoke::<v2::Widget>().into()
/// }
///
/// let webhooks = Webhooks::new("example.com").with(widgets());
/// assert_eq!(webhooks.check(), Ok(()));
///
/// let old = serde_json::json!({
///     "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "uid": "7"}, "spec": {"size": 3},
/// });
/// let new = widgets().convert(&old, "example.com/v2").unwrap();
/// assert_eq!(new["spec"], serde_json::json!({"length": 3}));
/// assert_eq!(new["metadata"], old["metadata"]);
/// # }
/// ```
pub fn converting<Hub: Convertible>() -> Converting<Hub> {
    Converting::new()
}

/// How the versions of a custom resource become each other.
#[must_use]
pub struct Converting<Hub> {
    versions: Vec<Version<Hub>>,
    definitions: Vec<Value>,
    stored: Option<String>,
    path: Option<String>,
    review_versions: Vec<ConversionVersion>,
}

impl<Hub: Convertible> Converting<Hub> {
    fn new() -> Self {
        Self {
            versions: vec![Version::hub()],
            definitions: vec![definition::of::<Hub>()],
            stored: None,
            path: None,
            review_versions: vec![ConversionVersion::V1],
        }
    }

    /// Adds a version that says by `TryFrom`, or by `From`, how it goes to the hub and comes from it.
    ///
    /// An error of `try_from` is shown to whoever asked for the object, so it says in a sentence what cannot be said in the
    /// other version.
    pub fn spoke<Spoke>(self) -> Self
    where
        Spoke: Convertible + TryFrom<Hub, Error: Into<Cause>>,
        Hub: TryFrom<Spoke, Error: Into<Cause>>,
    {
        self.spoke_by(
            |spoke: Spoke| Hub::try_from(spoke),
            |hub| Spoke::try_from(hub),
        )
    }

    /// Adds a version by two functions: for types that are not your own.
    pub fn spoke_by<Spoke, ToError, FromError>(
        mut self,
        to_hub: impl Fn(Spoke) -> Result<Hub, ToError> + Send + Sync + 'static,
        from_hub: impl Fn(Hub) -> Result<Spoke, FromError> + Send + Sync + 'static,
    ) -> Self
    where
        Spoke: Convertible,
        ToError: Into<Cause>,
        FromError: Into<Cause>,
    {
        self.versions.push(Version::spoke(to_hub, from_hub));
        self.definitions.push(definition::of::<Spoke>());
        self
    }

    /// Stores objects in this version, such as `v1`, instead of the hub's.
    pub fn stored(mut self, version: impl Into<String>) -> Self {
        self.stored = Some(version.into());
        self
    }

    /// Sets the path of its URL.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the versions of the conversion protocol, the preferred one first. The default is `v1` alone.
    pub fn review_versions(
        mut self,
        versions: impl IntoIterator<Item = ConversionVersion>,
    ) -> Self {
        self.review_versions = versions.into_iter().collect();
        self
    }
}

impl<Hub> fmt::Debug for Converting<Hub> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Converting")
            .field("versions", &self.versions)
            .finish_non_exhaustive()
    }
}

impl<Hub: Convertible> From<Converting<Hub>> for Conversion {
    fn from(converting: Converting<Hub>) -> Self {
        let Converting {
            versions,
            definitions,
            stored,
            path,
            review_versions,
        } = converting;
        let known = Known::merge(&definitions, stored.as_deref());
        let path = path.unwrap_or_else(|| format!("/convert/{}", Hub::crd_name()));
        Self {
            known,
            path,
            review_versions,
            versions: Arc::new(version::Versions(versions)),
            threads: answer::threads(),
        }
    }
}
