//! From the schemas of OpenAPI documents to the types of expressions.

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_cel::{Environment, Type, escape};
use serde_json::{Map, Value};

use crate::object::{flag, list, text};

/// The schema of a kind in its document, which has the schemas that it refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schema<'d> {
    schemas: &'d Map<String, Value>,
    root: &'d Value,
}

impl<'d> Schema<'d> {
    /// Finds a kind in an OpenAPI v3 document.
    pub(super) fn find(document: &'d Value, kind: &GroupVersionKind) -> Option<Self> {
        let schemas = document.pointer("/components/schemas")?.as_object()?;
        let is_kind = |known: &Value| {
            text(known, "/group") == kind.group
                && text(known, "/version") == kind.version
                && text(known, "/kind") == kind.kind
        };
        let root = schemas.values().find(|schema| {
            let kinds = list(schema, "/x-kubernetes-group-version-kind");
            kinds.iter().any(is_kind)
        })?;
        Some(Self { schemas, root })
    }

    /// Declares the types of the schema, named as those of the API server: the fields of `Pod1` have types such as
    /// `Pod1.spec`. Returns its own type; none if the schema says too little.
    pub(super) fn declare(
        self,
        mut environment: Environment,
        name: &str,
    ) -> (Environment, Option<Type>) {
        let mut walk = Walk {
            schemas: self.schemas,
            path: Vec::new(),
            objects: Vec::new(),
        };
        let of = walk.schema(self.root, name, Place::Root);
        for (name, fields) in walk.objects {
            let fields = fields.iter().map(|(name, of)| (name.as_str(), of.clone()));
            environment = environment.with_object_type(&name, fields);
        }
        (environment, of)
    }
}

/// Where a schema is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is that of an object of the API, with a kind and metadata.
    Root,
    Field,
}

struct Walk<'d> {
    schemas: &'d Map<String, Value>,
    /// The references that lead to the schema.
    path: Vec<&'d str>,
    objects: Vec<(String, Vec<(String, Type)>)>,
}

impl<'d> Walk<'d> {
    fn schema(&mut self, schema: &'d Value, name: &str, place: Place) -> Option<Type> {
        let Some(reference) = reference(schema) else {
            return self.resolved(schema, name, place);
        };
        if self.path.contains(&reference) {
            // The API server ends a cycle with an object that has no fields.
            return Some(self.object(name, Vec::new()));
        }
        let resolved = self.target(reference)?;
        self.path.push(reference);
        let of = self.resolved(resolved, name, place);
        self.path.pop();
        of
    }

    fn target(&self, reference: &str) -> Option<&'d Value> {
        self.schemas.get(reference.strip_prefix(PREFIX)?)
    }

    fn resolved(&mut self, schema: &'d Value, name: &str, place: Place) -> Option<Type> {
        let format = text(schema, "/format");
        if format == "int-or-string" || flag(schema, "/x-kubernetes-int-or-string") {
            return Some(Type::Dyn);
        }
        Some(match text(schema, "/type") {
            "array" => {
                let items = schema.get("items")?;
                Type::list(self.schema(items, &format!("{name}.@idx"), Place::Field)?)
            }
            "object" => {
                let values = schema.get("additionalProperties");
                if let Some(values) = values.filter(|values| values.is_object()) {
                    let of = self.schema(values, &format!("{name}.@elem"), Place::Field)?;
                    return Some(Type::map(Type::String, of));
                }
                let is_object =
                    place == Place::Root || flag(schema, "/x-kubernetes-embedded-resource");
                let fields = self.fields(schema, name, is_object);
                self.object(name, fields)
            }
            "string" => match format {
                "byte" => Type::Bytes,
                "duration" => Type::Duration,
                "date" | "date-time" => Type::Timestamp,
                _ => Type::String,
            },
            "boolean" => Type::Bool,
            "number" => Type::Double,
            "integer" => Type::Int,
            _ => return None,
        })
    }

    fn fields(&mut self, schema: &'d Value, name: &str, is_object: bool) -> Vec<(String, Type)> {
        let adds_own = is_object && !self.has_own_fields(schema);
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut fields: Vec<(String, Type)> = properties
            .into_iter()
            .flatten()
            .filter(|(field, _)| !(adds_own && OWN_FIELDS.contains(&field.as_str())))
            .filter_map(|(field, property)| {
                let field = escape(field)?;
                let of = self.schema(property, &format!("{name}.{field}"), Place::Field)?;
                Some((field, of))
            })
            .collect();
        if adds_own {
            let names = ["name", "generateName"].map(|field| (field.to_owned(), Type::String));
            let metadata = self.object(&format!("{name}.metadata"), names.into());
            fields.push(("metadata".to_owned(), metadata));
            let strings = ["kind", "apiVersion"].map(|field| (field.to_owned(), Type::String));
            fields.extend(strings);
        }
        fields
    }

    /// Whether a schema describes the fields that every object has.
    fn has_own_fields(&self, schema: &'d Value) -> bool {
        let is = |schema: &Value, pointer: &str, of: &str| {
            let pointer = format!("/properties/{pointer}");
            schema
                .pointer(&pointer)
                .is_some_and(|field| text(field, "/type") == of)
        };
        let metadata = schema.pointer("/properties/metadata").and_then(|field| {
            reference(field).map_or(Some(field), |reference| self.target(reference))
        });
        is(schema, "kind", "string")
            && is(schema, "apiVersion", "string")
            && metadata.is_some_and(|metadata| {
                text(metadata, "/type") == "object"
                    && is(metadata, "name", "string")
                    && is(metadata, "generateName", "string")
            })
    }

    fn object(&mut self, name: &str, fields: Vec<(String, Type)>) -> Type {
        self.objects.push((name.to_owned(), fields));
        Type::object(name)
    }
}

/// The fields of every object.
const OWN_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

const PREFIX: &str = "#/components/schemas/";

/// What a schema refers to. A reference with a description or a default is wrapped in `allOf`.
fn reference(schema: &Value) -> Option<&str> {
    let plain = schema.get("$ref").and_then(Value::as_str);
    plain.or_else(|| list(schema, "/allOf").iter().find_map(reference))
}
