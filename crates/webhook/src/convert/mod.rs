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
/// It is served at `/convert/<plural>.<group>`. A conversion sees one object at a time and makes no requests: equal objects
/// have equal results.
///
/// # How an object is converted
///
/// * The types decide: the object is deserialized as the type of its version, converted to the hub, converted to the type of
///   the requested version, and serialized.
/// * Fields that the type of the object's version does not know stay where they are, if the result has their parent object and
///   no field of the same name. Elements of two lists correspond if they have the same `name`, `key` or `type`. The API server
///   prunes the fields that the schema of the requested version does not know.
/// * Metadata stay as they are, except for labels and annotations, which are those of the typed result: the API server accepts
///   no other change of them. A result without a name has not handled the metadata, and keeps the labels and annotations, too,
///   so that `..Default::default()` loses nothing.
///
/// # Example: a field that was renamed
///
/// ```
/// # mod kube { pub use kube_core as core; }
#[doc = include_str!("widgets.md")]
#[doc = include_str!("renamed.md")]
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

/// The versions of a custom resource and the functions that convert between them, as [`converting`] begins it.
///
/// ```
/// # mod kube { pub use kube_core as core; }
#[doc = include_str!("widgets.md")]
/// # renamed!(); fn main() {
/// use kubewright_webhook::{Conversion, converting};
///
/// let conversion: Conversion = converting::<v2::Widget>().spoke::<v1::Widget>().stored("v1").into();
/// assert_eq!(conversion.api_versions(), ["example.com/v2", "example.com/v1"]);
/// # }
/// ```
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

    /// Adds a version that implements `TryFrom`, or `From`, to and from the hub.
    ///
    /// An error of `try_from` is shown to the client that asked for the object, so its message says what cannot be expressed in
    /// the other version.
    ///
    /// ```
    /// # mod kube { pub use kube_core as core; }
    #[doc = include_str!("widgets.md")]
    /// # renamed!(); fn main() {
    /// use kubewright_webhook::{Conversion, converting};
    ///
    /// let widgets: Conversion = converting::<v1::Widget>().spoke::<v2::Widget>().into();
    /// let new = serde_json::json!({
    ///     "apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"length": 3},
    /// });
    /// assert_eq!(widgets.convert(&new, "example.com/v1").unwrap()["spec"]["size"], 3);
    /// # }
    /// ```
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

    /// Adds a version by two functions, for types that are not your own.
    ///
    /// ```
    /// # mod kube { pub use kube_core as core; }
    #[doc = include_str!("widgets.md")]
    /// # renamed!(); fn main() {
    /// use kubewright_webhook::{Conversion, converting};
    ///
    /// let widgets: Conversion = converting::<v1::Widget>()
    ///     .spoke_by(
    ///         |new: v2::Widget| Ok::<_, String>(v1::Widget::from(new)),
    ///         |old: v1::Widget| match old.spec.size {
    ///             0 => Err("v2 has no widgets of size 0".to_owned()),
    ///             _ => Ok(v2::Widget::from(old)),
    ///         },
    ///     )
    ///     .into();
    /// let old = serde_json::json!({
    ///     "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 0},
    /// });
    /// let error = widgets.convert(&old, "example.com/v2").unwrap_err();
    /// assert!(error.to_string().ends_with("v2 has no widgets of size 0"));
    /// # }
    /// ```
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
    ///
    /// ```
    /// # mod kube { pub use kube_core as core; }
    #[doc = include_str!("widgets.md")]
    /// # renamed!(); fn main() {
    /// use kubewright_webhook::{Conversion, converting};
    ///
    /// let widgets: Conversion = converting::<v1::Widget>().spoke::<v2::Widget>().stored("v2").into();
    /// let versions = &widgets.definition().unwrap()["spec"]["versions"];
    /// assert_eq!((&versions[0]["storage"], &versions[1]["storage"]), (&false.into(), &true.into()));
    /// # }
    /// ```
    pub fn stored(mut self, version: impl Into<String>) -> Self {
        self.stored = Some(version.into());
        self
    }

    /// Sets the path of its URL. The default is `/convert/<plural>.<group>`.
    ///
    /// ```
    /// # mod kube { pub use kube_core as core; }
    #[doc = include_str!("widgets.md")]
    /// # renamed!(); fn main() {
    /// use kubewright_webhook::{Webhooks, converting};
    ///
    /// let widgets = converting::<v1::Widget>().spoke::<v2::Widget>().at("/widgets");
    /// let webhooks = Webhooks::new("example.com").with(widgets);
    /// assert_eq!(webhooks.conversions()[0].path, "/widgets");
    /// # }
    /// ```
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the versions of the conversion protocol, the preferred one first. The default is `v1` alone.
    ///
    /// ```
    /// # mod kube { pub use kube_core as core; }
    #[doc = include_str!("widgets.md")]
    /// # renamed!(); fn main() {
    /// use kubewright_webhook::{ConversionVersion, DeclarationError, Webhooks, converting};
    ///
    /// let widgets = converting::<v1::Widget>().spoke::<v2::Widget>();
    /// let webhooks = Webhooks::new("example.com").with(widgets.review_versions([]));
    /// let name = "widgets.example.com".to_owned();
    /// assert_eq!(webhooks.check(), Err(DeclarationError::ReviewVersions(name)));
    /// # let both = converting::<v1::Widget>().review_versions([ConversionVersion::V1, ConversionVersion::V1Beta1]);
    /// # assert_eq!(Webhooks::new("example.com").with(both).conversions()[0].review_versions.len(), 2);
    /// # }
    /// ```
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
