//! Which custom objects are refused, and with which words.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use kubewright_registry::Findings;
use kubewright_validation::metadata;
use serde_json::Value;

use super::metadata as custom_metadata;
use super::{Custom, scale};
use crate::structural::Change;

impl Custom {
    /// Checks a new object.
    pub(super) fn check_new(&self, object: &Value, found: &mut Findings) {
        found.errors = self.wrong_identity(object);
        if !found.errors.is_empty() {
            return;
        }
        let rule = names::dns1123_subdomain;
        match custom_metadata::unreadable(object) {
            Some(unreadable) => found.errors.push(unreadable),
            None => metadata::named(self.definition.namespaced, object, rule, &mut found.errors),
        }
        let change = Change {
            new: object,
            old: None,
            status: false,
        };
        self.check(change, found);
    }

    /// Checks a changed object, or one whose status was changed.
    pub(super) fn check_changed(
        &self,
        subresource: &str,
        new: &Value,
        old: &Value,
        found: &mut Findings,
    ) {
        let wrong = self.wrong_identity(new);
        if !wrong.is_empty() {
            found.errors.extend(wrong);
            return;
        }
        match custom_metadata::unreadable(new) {
            Some(unreadable) => found.errors.push(unreadable),
            None => metadata::changed(new, old, &mut found.errors),
        }
        let change = Change {
            new,
            old: Some(old),
            status: subresource == "status",
        };
        self.check(change, found);
    }

    fn check(&self, change: Change<'_>, found: &mut Findings) {
        let errors = &mut found.errors;
        if let Some(schema) = &self.schema {
            schema.validate(change, errors);
        }
        if let Some(paths) = &self.scale {
            scale::check(paths, change, errors);
        }
        if let Some(schema) = &self.schema {
            found.warnings.extend(schema.validate_rules(change, errors));
        }
    }

    /// What an object says that it is, where that is not what it is.
    fn wrong_identity(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (field, wanted) in [
            ("kind", self.definition.kind.clone()),
            ("apiVersion", self.api_version()),
        ] {
            let said = object.text(field);
            if said != wanted {
                let detail = format!("must be {wanted}");
                errors.push(FieldError::invalid(&Path::new(field), said, &detail));
            }
        }
        errors
    }
}
