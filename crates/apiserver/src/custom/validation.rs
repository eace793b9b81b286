//! Which custom objects are refused, and with which words.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::{Custom, scale};
use crate::admission::Notes;
use crate::kinds::{Resource, validation};
use crate::structural::Change;

/// What there is to say of an object.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) errors: Vec<FieldError>,
    pub(crate) warnings: Vec<String>,
}

impl Judgement {
    /// The errors; what is only warned of is told.
    pub(crate) fn told(self, notes: &Notes) -> Vec<FieldError> {
        self.warnings.iter().for_each(|warning| notes.warn(warning));
        self.errors
    }
}

impl Custom {
    /// Judges a new object.
    pub(crate) fn judge_new(&self, resource: &Resource, object: &Value) -> Judgement {
        let mut errors = self.wrong_identity(object);
        if !errors.is_empty() {
            return Judgement {
                errors,
                ..Judgement::default()
            };
        }
        validation::custom_metadata(resource, object, &mut errors);
        self.judge(
            Change {
                new: object,
                old: None,
                status: false,
            },
            errors,
        )
    }

    /// Judges a changed object, or one whose status was changed.
    pub(crate) fn judge_changed(
        &self,
        resource: &Resource,
        subresource: &str,
        new: &Value,
        old: &Value,
    ) -> Judgement {
        let mut errors = Vec::new();
        validation::any_changed_metadata(resource, new, old, &mut errors);
        let wrong = self.wrong_identity(new);
        if !wrong.is_empty() {
            errors.extend(wrong);
            return Judgement {
                errors,
                ..Judgement::default()
            };
        }
        validation::changed_metadata(new, old, &mut errors);
        self.judge(
            Change {
                new,
                old: Some(old),
                status: subresource == "status",
            },
            errors,
        )
    }

    fn judge(&self, change: Change<'_>, mut errors: Vec<FieldError>) -> Judgement {
        if let Some(schema) = &self.schema {
            schema.validate(change, &mut errors);
        }
        if let Some(paths) = &self.scale {
            scale::check(paths, change, &mut errors);
        }
        let warnings = match &self.schema {
            Some(schema) => schema.validate_rules(change, &mut errors),
            None => Vec::new(),
        };
        Judgement { errors, warnings }
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
