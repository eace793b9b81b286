//! Objects that are ready to be applied.

use serde_json::Value;

/// Objects that are ready to be applied, in the order in which they should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifests(Vec<Value>);

impl Manifests {
    pub(crate) fn new(objects: Vec<Value>) -> Self {
        Self(objects)
    }

    /// Returns the objects.
    #[must_use]
    pub fn objects(&self) -> &[Value] {
        &self.0
    }

    /// Returns the objects as YAML documents that kubectl reads.
    ///
    /// The text depends on nothing but the objects: keys are sorted, and there is no time in it.
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
