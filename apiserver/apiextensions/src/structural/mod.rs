//! Structural schemas of CustomResourceDefinitions: validation of the schemas, and pruning, defaulting and validation of objects.
//!
//! `check` validates the schema of a definition. [`Structural`] is a parsed schema: it prunes objects, sets defaults,
//! validates and runs the rules of `x-kubernetes-validations`. All functions work on JSON and are independent of the server.
//!
//! ```
//! use kubewright_apiextensions::structural::Structural;
//! use serde_json::json;
//!
//! let schema = Structural::read(&json!({"type": "object", "properties": {
//!     "spec": {"type": "object", "properties": {"replicas": {"type": "integer", "default": 1}}},
//! }}));
//! let mut object = json!({"spec": {"colour": "red"}});
//! assert_eq!(schema.prune(&mut object)?, ["spec.colour"]);
//! schema.default(&mut object);
//! assert_eq!(object, json!({"spec": {"replicas": 1}}));
//! # Ok::<(), String>(())
//! ```

mod check;
mod correlation;
mod declare;
mod defaults;
mod email;
mod formats;
mod lists;
mod metadata;
mod numbers;
mod outcome;
mod ownership;
pub(crate) mod paths;
mod prune;
mod rule;
mod rules;
mod schema;
#[cfg(test)]
mod tests;
mod values;

use kubewright_apimachinery::field::{FieldError, Path, Reason};
use serde_json::Value;

pub use check::{check, settle_defaults, shown};
use correlation::Correlation;
pub(crate) use correlation::is_same;
pub use formats::is_format_of;
pub(crate) use metadata::coerce_metadata;
pub use ownership::{Items, Member, Owned, Part};
use schema::Schema;
use values::Taken;

/// A parsed schema with compiled patterns and rules.
#[derive(Debug)]
pub struct Structural {
    root: Schema,
}

/// A created or updated object to validate.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the two objects and the endpoint of the request"
)]
pub struct Change<'a> {
    /// The new object.
    pub new: &'a Value,
    /// The stored object; none for a create request.
    pub old: Option<&'a Value>,
    /// Whether the request writes the status only.
    pub status: bool,
}

impl Structural {
    /// Reads the `openAPIV3Schema` of a version.
    pub fn read(schema: &Value) -> Self {
        let mut root = Schema::read(schema);
        rules::compile(&mut root);
        Self { root }
    }

    /// Removes unknown fields, nulls that the schema neither allows nor replaces by a default, and unknown metadata fields
    /// of embedded objects. Returns the paths of the unknown fields.
    ///
    /// # Errors
    /// The metadata of an embedded object have the wrong type.
    pub fn prune(&self, object: &mut Value) -> Result<Vec<String>, String> {
        let mut unknown = prune::prune(object, &self.root, true);
        defaults::drop_nulls(object, &self.root);
        let mut inside = Vec::new();
        metadata::coerce(object, &self.root, false, &Path::root(), &mut inside)
            .map_err(|error| error.to_string())?;
        inside.sort();
        unknown.append(&mut inside);
        Ok(unknown)
    }

    /// Sets the defaults of an object.
    pub fn default(&self, object: &mut Value) {
        defaults::default(object, &self.root);
    }

    /// Sets the default of one top-level field if the object lacks the field.
    pub fn default_field(&self, object: &mut Value, name: &str) {
        let field = self.root.properties.get(name);
        if let (Some(field), Value::Object(members)) = (field, object)
            && let Some(default) = &field.default
        {
            let value = members.entry(name).or_insert_with(|| default.clone());
            defaults::default(value, field);
        }
    }

    /// Validates an object against the schema, without its rules.
    pub fn validate(&self, change: Change<'_>, errors: &mut Vec<FieldError>) {
        let Change { new, old, status } = change;
        if !status {
            let correlation = old.map(|old| Correlation::new(new, old, &self.root));
            let found = values::check(new, &self.root, Taken::AsServed, correlation.as_ref());
            errors.extend(found.errors(&Path::root()));
            return;
        }
        let (Some(value), Some(schema)) = (new.get("status"), self.root.properties.get("status"))
        else {
            return;
        };
        let whole = old.map(|old| Correlation::new(new, old, &self.root));
        let correlation = whole.as_ref().and_then(|whole| whole.key("status"));
        let found = values::check(value, schema, Taken::AsServed, correlation.as_ref());
        errors.extend(found.errors(&Path::new("status")));
    }

    /// Validates embedded objects, lists that are sets or maps, and rules, after all other validation. Skips the rules if
    /// the errors found so far make them pointless. Returns warnings.
    pub fn validate_rules(&self, change: Change<'_>, errors: &mut Vec<FieldError>) -> Vec<String> {
        let Change { new, old, status } = change;
        let root = Path::root();
        if !status {
            metadata::validate(new, &self.root, false, &root, errors);
        }
        let mut repeated = Vec::new();
        if let Some(old) = old {
            lists::check(old, &self.root, &root, &mut repeated);
        }
        // Duplicate items are allowed if the stored object has duplicates.
        if repeated.is_empty() {
            lists::check(new, &self.root, &root, errors);
        }
        if !rules::has_any(&self.root) {
            return Vec::new();
        }
        if errors.iter().any(blocks_rules) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            errors.push(FieldError::invalid(&root, Value::Null, detail));
            return Vec::new();
        }
        rules::run(&self.root, new, old, errors)
    }
}

/// Whether rules cannot be run on an object with this error.
fn blocks_rules(error: &FieldError) -> bool {
    matches!(
        error.reason(),
        Reason::NotSupported
            | Reason::Required
            | Reason::TooLong
            | Reason::TooMany
            | Reason::TypeInvalid
    )
}
