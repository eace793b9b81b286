//! Which objects of a resource a list, a watch or a collection delete means: label and field selectors.

use std::borrow::Cow;
use std::sync::Arc;

use kubewright_apimachinery::selectors::{Fields, Labels};
use kubewright_apimachinery::status::{Result, Status};
use kubewright_registry::Resource;
use kubewright_storage::Object;

use super::call::Call;
use super::query::Query;

/// The selectors of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    labels: Labels,
    fields: Fields,
    /// Whether the fields can be told from the key alone.
    fields_are_keys: bool,
}

impl Selection {
    /// Reads the selectors.
    ///
    /// # Errors
    /// 400 with the parser's words.
    pub(crate) fn read(query: &Query) -> Result<Self> {
        let bad = |why: String| Status::bad_request(why);
        let labels = Labels::parse(query.text("labelSelector")).map_err(bad)?;
        let fields = Fields::parse(query.text("fieldSelector")).map_err(bad)?;
        let fields_are_keys = fields
            .names()
            .all(|name| matches!(name, "metadata.name" | "metadata.namespace"));
        Ok(Self {
            labels,
            fields,
            fields_are_keys,
        })
    }

    /// Checks that the kind has the fields.
    ///
    /// # Errors
    /// 400 for a field that the kind does not select by.
    pub(crate) fn check(&self, resource: &Resource) -> Result<()> {
        let mut names = self.fields.names();
        names
            .try_for_each(|name| resource.strategy.check_field(name))
            .map_err(Status::bad_request)
    }

    /// Whether everything is meant.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether one object is meant, by its name.
    pub(crate) fn names_one(&self) -> bool {
        let name = self.fields.exact("metadata.name");
        name.is_some_and(|name| !name.is_empty())
    }

    /// The part of the selection that an index of the resource answers.
    pub(crate) fn indexed(&self, resource: &Resource) -> Option<Self> {
        let field = resource.strategy.indexed_field()?;
        let value = self.fields.exact(field)?;
        Some(Self {
            fields: Fields::equal([(field.to_owned(), value.to_owned())]),
            ..Self::default()
        })
    }

    /// Whether any of these objects is meant.
    pub(crate) async fn matches_any(&self, call: &Call, objects: &[Arc<Object>]) -> bool {
        for object in objects {
            if self.matches(call, object).await {
                return true;
            }
        }
        false
    }

    /// Whether a stored object is meant.
    pub(crate) async fn matches(&self, call: &Call, object: &Object) -> bool {
        if !self.labels.matches(Some(object.labels())) {
            return false;
        }
        if self.fields.is_empty() {
            return true;
        }
        if self.fields_are_keys {
            return self.fields.matches(|field| {
                Cow::Borrowed(match field {
                    "metadata.name" => object.name(),
                    _ => object.namespace(),
                })
            });
        }
        let Ok(value) = call.value(object).await else {
            return false;
        };
        self.fields.matches(|field| {
            call.resource
                .strategy
                .field_value(&value, field)
                .unwrap_or_default()
        })
    }
}
