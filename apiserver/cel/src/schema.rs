//! Reads declarations from the schema of a custom resource, in the form of OpenAPI v3.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use thiserror::Error;

use crate::declared::{Declared, Form, Items};
use crate::environment::Environment;
use crate::types::Type;

/// The most levels of a schema. Kubernetes has no limit, but JSON of a deeper schema is refused by most readers.
const MAX_DEPTH: usize = 100;

/// Why there is no declaration of a schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema has no type that expressions can use, such as one with `x-kubernetes-preserve-unknown-fields` alone.
    #[error(
        "the schema of {path} has no type for expressions: give it a type, and items if it is an array"
    )]
    Untyped {
        /// The name of the type that was to be declared.
        path: String,
    },
    /// The schema has more than 100 levels.
    #[error("the schema of {path} has more than 100 levels")]
    TooDeep {
        /// The name of the type at the level.
        path: String,
    },
    /// The schema refers to another schema: `$ref`, which structural schemas do not have.
    #[error("the schema of {path} has a $ref, which is not resolved: put the schema in its place")]
    Reference {
        /// The name of the type with the reference.
        path: String,
    },
}

impl Declared {
    /// Reads a schema in the form of OpenAPI v3, such as `openAPIV3Schema` of a CustomResourceDefinition or a part of it.
    ///
    /// `name` is the name of its type in messages; the types of its parts are `name.field`, `name.@idx` for the items of a list and
    /// `name.@elem` for the values of a map. A schema with `x-kubernetes-embedded-resource` has the properties of a resource; add
    /// that to the root of a resource, too. `$ref` is not resolved, and `allOf` and its like do not change types, as in
    /// structural schemas.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Declared, Environment, Place, Type, Variables, Version};
    /// use serde_json::json;
    ///
    /// let schema = Declared::from_schema("Backup", &json!({
    ///     "type": "object",
    ///     "x-kubernetes-embedded-resource": true,
    ///     "properties": {
    ///         "spec": {
    ///             "type": "object",
    ///             "required": ["zones"],
    ///             "properties": {
    ///                 "keep": {"type": "string", "format": "duration"},
    ///                 "zones": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "set", "items": {
    ///                     "type": "string", "maxLength": 15,
    ///                 }},
    ///             },
    ///         },
    ///     },
    /// }))?;
    /// let place = Place::CustomResourceRule { schema: &schema, optional_old_self: false };
    /// let environment = Environment::new_expressions(place, Version::default());
    ///
    /// let rule = "self.spec.keep > duration('1h') && self.spec.zones == oldSelf.spec.zones";
    /// let (program, max_cost) = environment.compile_with_max_cost(rule, &schema, &Type::Bool)?;
    /// assert!(max_cost < 100);
    ///
    /// // `keep` is a duration, and the order of a set does not matter.
    /// let new = json!({"spec": {"keep": "24h", "zones": ["a", "b"]}});
    /// let old = json!({"spec": {"keep": "12h", "zones": ["b", "a"]}});
    /// let variables = Variables::new()
    ///     .with("self", schema.read(&new))
    ///     .with("oldSelf", schema.read(&old));
    /// assert_eq!(program.evaluate(&variables, &mut Budget::policy())?.as_bool(), Some(true));
    ///
    /// let error = environment.compile("self.spec.zone == ''").unwrap_err();
    /// assert!(error.to_string().contains("undefined field 'zone'"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * [`SchemaError::Untyped`]: the schema has no type. Parts of it without a type are left out: expressions cannot select them
    /// * [`SchemaError::TooDeep`]: it has more than 100 levels
    /// * [`SchemaError::Reference`]: it or a part of it has a `$ref`
    pub fn from_schema(name: &str, schema: &Json) -> Result<Self, SchemaError> {
        let declared = node(name, schema, 0)?;
        if declared.value_type.is_none() {
            return Err(SchemaError::Untyped {
                path: name.to_owned(),
            });
        }
        Ok(declared)
    }
}

impl Environment {
    /// Declares the object types of a value and of all its parts, for variables of its type. See [`Declared::from_schema`].
    ///
    /// ```
    /// use kubewright_cel::{Declared, Environment};
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "object", "properties": {"keep": {"type": "integer"}}});
    /// let backup = Declared::from_schema("Backup", &schema)?;
    /// let of = backup.value_type.clone().ok_or("no type")?;
    ///
    /// let environment = Environment::kubernetes().with_declared_types(&backup).with_variable("backup", of);
    /// assert!(environment.compile("backup.keep > 3").is_ok());
    /// assert!(environment.compile("backup.keep > 'a'").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_declared_types(mut self, declared: &Declared) -> Self {
        match &declared.form {
            Form::Object(fields) => {
                if let Some(Type::Object(name)) = &declared.value_type {
                    let known: Vec<(String, Type)> = declared.fields().collect();
                    let known = known.iter().map(|(name, of)| (name.as_str(), of.clone()));
                    self = self.with_object_type(name, known);
                }
                for field in fields.values() {
                    self = self.with_declared_types(field);
                }
                self
            }
            Form::List(element, _) | Form::Map(element) => self.with_declared_types(element),
            Form::MapOfFields(element, fields) => {
                self = self.with_declared_types(element);
                for field in fields.values() {
                    self = self.with_declared_types(field);
                }
                self
            }
            _ => self,
        }
    }
}

fn node(path: &str, schema: &Json, depth: usize) -> Result<Declared, SchemaError> {
    let path_owned = || path.to_owned();
    if depth >= MAX_DEPTH {
        return Err(SchemaError::TooDeep { path: path_owned() });
    }
    if schema.get("$ref").is_some() {
        return Err(SchemaError::Reference { path: path_owned() });
    }
    let text = |keyword| {
        schema
            .get(keyword)
            .and_then(Json::as_str)
            .unwrap_or_default()
    };
    let flag = |keyword| schema.get(keyword) == Some(&Json::Bool(true));
    let limit = |keyword| schema.get(keyword).and_then(Json::as_i64);
    let below =
        |part: &str, schema| node(&format!("{path}.{part}"), schema, depth + 1).map(Arc::new);
    let declared = if flag("x-kubernetes-int-or-string") {
        Declared::int_or_string(limit("maxLength"))
    } else {
        match text("type") {
            "array" => match schema.get("items") {
                Some(items) => {
                    Declared::list(below("@idx", items)?, identity(schema), limit("maxItems"))
                }
                None => Declared::unseen(),
            },
            "object" => {
                let mut properties = BTreeMap::new();
                for (name, property) in members(schema, "properties") {
                    properties.insert(name.clone(), below(name, property)?);
                }
                if flag("x-kubernetes-embedded-resource") {
                    Declared::add_resource_properties(&mut properties);
                }
                match schema.get("additionalProperties") {
                    Some(values @ Json::Object(_)) => {
                        let values = below("@elem", values)?;
                        let map = Declared::map(Arc::clone(&values), limit("maxProperties"));
                        // Expressions have the type of a map, and read the properties alone.
                        if properties.is_empty() {
                            map
                        } else {
                            let form = Form::MapOfFields(values, properties);
                            Declared { form, ..map }
                        }
                    }
                    _ => Declared::object(path, properties, |name| is_always_there(schema, name)),
                }
            }
            kind => {
                let longest = longest_choice(schema);
                Declared::scalar(kind, text("format"), limit("maxLength"), longest)
                    .unwrap_or_else(Declared::unseen)
            }
        }
    };
    Ok(declared.with_nullable(flag("nullable")))
}

fn members<'s>(schema: &'s Json, keyword: &str) -> impl Iterator<Item = (&'s String, &'s Json)> {
    let members = schema.get(keyword).and_then(Json::as_object);
    members.into_iter().flatten()
}

fn elements<'s>(schema: &'s Json, keyword: &str) -> &'s [Json] {
    let elements = schema.get(keyword).and_then(Json::as_array);
    elements.map_or(&[], Vec::as_slice)
}

/// Whether every object has the property in each request: it is required, and no default fills it in.
fn is_always_there(schema: &Json, name: &str) -> bool {
    let property = schema.get("properties").and_then(|all| all.get(name));
    let default = property.and_then(|property| property.get("default"));
    default.is_none_or(Json::is_null) && elements(schema, "required").iter().any(|one| one == name)
}

fn longest_choice(schema: &Json) -> Option<usize> {
    let choices = elements(schema, "enum");
    let lengths = choices.iter().filter_map(|one| one.as_str().map(str::len));
    (!choices.is_empty()).then(|| lengths.max().unwrap_or(0))
}

fn identity(schema: &Json) -> Items {
    match schema.get("x-kubernetes-list-type").and_then(Json::as_str) {
        None | Some("" | "atomic") => Items::Ordered,
        Some("set") => Items::Set,
        Some("map") => {
            let keys = elements(schema, "x-kubernetes-list-map-keys").iter();
            Items::Keyed(keys.filter_map(Json::as_str).map(str::to_owned).collect())
        }
        Some(unknown) => Items::Unknown(unknown.into()),
    }
}
