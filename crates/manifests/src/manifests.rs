//! Objects that are ready to be applied.

use serde_json::Value;

/// Objects in the order in which to apply them.
///
/// ```
/// use kubewright_manifests::Manifests;
/// use serde_json::json;
///
/// let manifests: Manifests = [
///     json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "policy-system"}}),
///     json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "policy"}}),
/// ]
/// .into_iter()
/// .collect();
/// let kinds: Vec<_> = manifests.into_iter().map(|object| object["kind"].clone()).collect();
/// assert_eq!(kinds, ["Namespace", "ServiceAccount"]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Manifests(Vec<Value>);

impl Manifests {
    pub(crate) fn new(objects: Vec<Value>) -> Self {
        Self(objects)
    }

    /// Returns the objects.
    ///
    /// ```
    /// use kubewright_manifests::{Permissions, PolicyRule};
    ///
    /// let mut permissions = Permissions::default();
    /// permissions.grant(None, PolicyRule::new("", "pods", ["get"]));
    /// let manifests = permissions.manifests("policy");
    /// assert_eq!(manifests.objects()[0]["kind"], "ClusterRole");
    /// ```
    #[must_use]
    pub fn objects(&self) -> &[Value] {
        &self.0
    }

    /// Returns the objects as YAML documents that kubectl reads.
    ///
    /// The YAML depends on nothing but the objects: keys are sorted, and there is no time in it.
    ///
    /// ```
    /// use kubewright_manifests::Manifests;
    /// use serde_json::json;
    ///
    /// let manifests: Manifests = [json!({"kind": "A", "apiVersion": "v1"}), json!({"kind": "B"})].into_iter().collect();
    /// assert_eq!(manifests.to_yaml(), "apiVersion: v1\nkind: A\n---\nkind: B\n");
    /// ```
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let documents: Vec<String> = self.0.iter().map(document).collect();
        documents.join("---\n")
    }
}

impl FromIterator<Value> for Manifests {
    fn from_iter<T: IntoIterator<Item = Value>>(objects: T) -> Self {
        Self(objects.into_iter().collect())
    }
}

impl IntoIterator for Manifests {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

fn document(object: &Value) -> String {
    // A `caBundle` is one long word: it stays on the line of its key, where people look for it.
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    serde_saphyr::to_string_with_options(object, options)
        .expect("every JSON value can be written as YAML")
}
