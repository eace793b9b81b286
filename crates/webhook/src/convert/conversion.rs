//! A complete conversion: it converts objects and declares itself for manifests.

use std::fmt;
use std::sync::Arc;

use kubewright_review::ConversionVersion;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::definition::{DefinitionError, Known, Versioned};
use super::object::{self, Failure};
use crate::declaration::ConversionDeclaration;

/// A complete conversion of a custom resource, made from a [`Converting`](super::Converting). A test converts objects with it:
///
/// ```
/// # mod kube { pub use kube_core as core; }
#[doc = include_str!("widgets.md")]
/// # renamed!(); fn main() {
/// use kubewright_webhook::{Conversion, converting};
///
/// let widgets: Conversion = converting::<v1::Widget>().spoke::<v2::Widget>().into();
/// let old = serde_json::json!({
///     "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 3},
/// });
/// let new = widgets.convert(&old, "example.com/v2").unwrap();
/// assert_eq!(widgets.convert(&new, "example.com/v1").unwrap(), old, "nothing is lost on the way and back");
/// # }
/// ```
pub struct Conversion {
    pub(crate) known: Result<Known, DefinitionError>,
    pub(crate) path: String,
    pub(crate) review_versions: Vec<ConversionVersion>,
    pub(super) versions: Arc<dyn Versioned>,
    pub(super) threads: Arc<Semaphore>,
}

/// The reason why an object could not be converted, as the API server reports it to the client.
///
/// ```
/// # mod kube { pub use kube_core as core; }
#[doc = include_str!("widgets.md")]
/// # renamed!(); fn main() {
/// use kubewright_webhook::{Conversion, converting};
///
/// let widgets: Conversion = converting::<v1::Widget>().spoke::<v2::Widget>().into();
/// let broken = serde_json::json!({
///     "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": "big"},
/// });
/// let error = widgets.convert(&broken, "example.com/v2").unwrap_err();
/// assert!(error.to_string().contains("object.spec.size"), "{error}");
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct Unconvertible {
    message: String,
}

impl Conversion {
    /// Converts an object as the webhook does. `api_version` is a group and version, such as `example.com/v2`.
    ///
    /// ```
    /// # mod kube { pub use kube_core as core; }
    #[doc = include_str!("widgets.md")]
    /// # renamed!(); fn main() {
    /// use kubewright_webhook::{Conversion, converting};
    ///
    /// let widgets: Conversion = converting::<v1::Widget>().spoke::<v2::Widget>().into();
    /// let old = serde_json::json!({
    ///     "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 3},
    /// });
    /// assert_eq!(widgets.convert(&old, "example.com/v2").unwrap()["spec"]["length"], 3);
    /// assert!(widgets.convert(&old, "example.com/v3").is_err());
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If one of the versions is not known, the object is not of its version's type, or the types cannot be converted.
    pub fn convert(&self, object: &Value, api_version: &str) -> Result<Value, Unconvertible> {
        let converted = self.convert_text(&object.to_string(), api_version);
        let converted = converted.map_err(|Failure { message, .. }| Unconvertible { message })?;
        serde_json::from_str(&converted).map_err(|error| Unconvertible {
            message: error.to_string(),
        })
    }

    /// Returns the CustomResourceDefinition with all versions, without its `spec.conversion`.
    ///
    /// ```
    /// # mod kube { pub use kube_core as core; }
    #[doc = include_str!("widgets.md")]
    /// # renamed!(); fn main() {
    /// use kubewright_webhook::{Conversion, converting};
    ///
    /// let widgets: Conversion = converting::<v1::Widget>().spoke::<v2::Widget>().into();
    /// let definition = widgets.definition().unwrap();
    /// assert_eq!(definition["metadata"]["name"], "widgets.example.com");
    /// assert_eq!(definition["spec"]["versions"].as_array().unwrap().len(), 2);
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the versions are not those of one custom resource.
    pub fn definition(&self) -> Result<&Value, DefinitionError> {
        match &self.known {
            Ok(known) => Ok(&known.definition),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the groups and versions, such as `example.com/v1`, the hub's first.
    ///
    /// ```
    /// # mod kube { pub use kube_core as core; }
    #[doc = include_str!("widgets.md")]
    /// # renamed!(); fn main() {
    /// use kubewright_webhook::{Conversion, converting};
    ///
    /// let widgets: Conversion = converting::<v1::Widget>().spoke::<v2::Widget>().into();
    /// assert_eq!(widgets.api_versions(), ["example.com/v1", "example.com/v2"]);
    /// # }
    /// ```
    pub fn api_versions(&self) -> Vec<String> {
        let sorts = self.versions.sorts().into_iter();
        sorts.map(|sort| sort.api_version.clone()).collect()
    }

    /// Converts one object, which is JSON.
    pub(super) fn convert_text(&self, text: &str, wanted: &str) -> Result<String, Failure> {
        match &self.known {
            Ok(known) => object::convert(&*self.versions, known, text, wanted),
            // Webhooks that were not checked are not served.
            Err(error) => Err(Failure {
                message: error.to_string(),
                panicked: false,
            }),
        }
    }

    pub(crate) fn declaration(&self) -> Option<ConversionDeclaration> {
        let known = self.known.as_ref().ok()?;
        Some(ConversionDeclaration {
            definition: known.definition.clone(),
            path: self.path.clone(),
            review_versions: self.review_versions.clone(),
        })
    }
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
