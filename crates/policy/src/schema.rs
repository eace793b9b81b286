//! The types of objects, read from the schemas of a cluster, so that expressions are checked against them.

use kubewright_cel::{Environment, Type, escape};
use serde_json::{Map, Value, json};

/// The schema of a kind.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_policy::{Policy, Schema, Typed};
/// use serde_json::json;
///
/// let document = json!({"components": {"schemas": {"Pod": {
///     "type": "object",
///     "properties": {"spec": {"type": "object", "properties": {"hostNetwork": {"type": "boolean"}}}},
///     "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}],
/// }}}});
/// let schema = Schema::of_openapi(&document, "", "v1", "Pod").unwrap();
/// let policy = Policy::<Pod>::validating("hosts").rule("!object.spec.hostNetwerk", "no host network");
/// let mistakes = policy.check(&Typed::object(schema));
/// assert!(mistakes[0].to_string().contains("undefined field 'hostNetwerk'"));
/// ```
#[derive(Clone, Debug)]
pub struct Schema {
    /// The schemas that others refer to.
    all: Map<String, Value>,
    root: Value,
    /// The name of the kind, which messages call its type.
    kind: String,
}

impl Schema {
    /// Finds the schema of a kind in an OpenAPI v3 document, as API servers serve them at `/openapi/v3/api/v1`.
    pub fn of_openapi(document: &Value, group: &str, version: &str, kind: &str) -> Option<Self> {
        let all = document.pointer("/components/schemas")?.as_object()?;
        let wanted = json!({"group": group, "version": version, "kind": kind});
        let root = all.values().find(|schema| {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array();
            kinds.is_some_and(|kinds| kinds.contains(&wanted))
        })?;
        Some(Self {
            all: all.clone(),
            root: root.clone(),
            kind: kind.to_owned(),
        })
    }

    /// Finds the schema of a version in a CustomResourceDefinition.
    pub fn of_definition(definition: &Value, version: &str) -> Option<Self> {
        let versions = definition["spec"]["versions"].as_array()?;
        let found = versions.iter().find(|known| known["name"] == version)?;
        Some(Self {
            all: Map::new(),
            root: found["schema"].get("openAPIV3Schema")?.clone(),
            kind: definition["spec"]["names"]["kind"].as_str()?.to_owned(),
        })
    }

    /// The schema without references, for generators; what refers to itself ends in an object without fields.
    #[doc(hidden)]
    #[must_use]
    pub fn resolved(&self) -> Value {
        self.resolve(&self.root, &mut Vec::new())
    }

    fn resolve(&self, schema: &Value, path: &mut Vec<String>) -> Value {
        if let Some(reference) = reference(schema) {
            if path.iter().any(|known| known == reference) {
                return json!({"type": "object"});
            }
            let Some(target) = self.all.get(reference) else {
                return json!({});
            };
            path.push(reference.to_owned());
            let mut resolved = self.resolve(target, path);
            path.pop();
            for (name, value) in schema.as_object().into_iter().flatten() {
                if !matches!(name.as_str(), "$ref" | "allOf") {
                    resolved[name] = value.clone();
                }
            }
            return resolved;
        }
        match schema {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), self.resolve(value, path)))
                .collect::<Map<_, _>>()
                .into(),
            Value::Array(items) => items.iter().map(|item| self.resolve(item, path)).collect(),
            other => other.clone(),
        }
    }

    /// Declares the types of the schema; answers its own.
    pub(crate) fn declare(&self, environment: Environment) -> (Environment, Type) {
        let resolved = self.resolved();
        let mut walk = Walk {
            environment: Some(environment),
        };
        let of = walk.of_object(&resolved, &self.kind, true);
        (
            walk.environment
                .take()
                .unwrap_or_else(Environment::kubernetes),
            of,
        )
    }
}

/// What a schema refers to. A reference with a default or a description is inside of `allOf`.
fn reference(schema: &Value) -> Option<&str> {
    const PREFIX: &str = "#/components/schemas/";
    let plain = schema["$ref"].as_str();
    let inside = || {
        let all = schema["allOf"].as_array()?;
        all.iter().find_map(|one| one["$ref"].as_str())
    };
    plain.or_else(inside)?.strip_prefix(PREFIX)
}

struct Walk {
    /// Present but while a type is being added to it.
    environment: Option<Environment>,
}

impl Walk {
    /// The type of a schema; `dyn` where it says too little, so that nothing is reported that could be right.
    fn of(&mut self, schema: &Value, name: &str) -> Type {
        let format = schema["format"].as_str().unwrap_or_default();
        if schema["x-kubernetes-int-or-string"] == true || format == "int-or-string" {
            return Type::Dyn;
        }
        match schema["type"].as_str() {
            Some("array") => Type::list(self.of(&schema["items"], &format!("{name}.@idx"))),
            Some("object") => {
                let is_object = schema["x-kubernetes-embedded-resource"] == true;
                self.of_object(schema, name, is_object)
            }
            // The API server holds all of these as strings in the objects that policies see.
            Some("string") => Type::String,
            Some("boolean") => Type::Bool,
            Some("integer") => Type::Int,
            // JSON does not tell whole numbers from others.
            _ => Type::Dyn,
        }
    }

    fn of_object(&mut self, schema: &Value, name: &str, is_object: bool) -> Type {
        let values = &schema["additionalProperties"];
        if values.is_object() {
            return Type::map(Type::String, self.of(values, &format!("{name}.@elem")));
        }
        let properties = schema["properties"].as_object();
        let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true || *values == true;
        if is_open || (properties.is_none() && !is_object) {
            return Type::Dyn;
        }
        let mut fields: Vec<(String, Type)> = Vec::new();
        for (property, schema) in properties.into_iter().flatten() {
            let Some(field) = escape(property) else {
                continue;
            };
            let mut of = self.of(schema, &format!("{name}.{field}"));
            if is_object && property == "metadata" && of == Type::Dyn {
                of = self.metadata(&format!("{name}.metadata"));
            }
            fields.push((field, of));
        }
        if is_object {
            for field in ["apiVersion", "kind"] {
                if fields.iter().all(|(known, _)| known != field) {
                    fields.push((field.to_owned(), Type::String));
                }
            }
            if fields.iter().all(|(known, _)| known != "metadata") {
                let metadata = self.metadata(&format!("{name}.metadata"));
                fields.push(("metadata".to_owned(), metadata));
            }
        }
        self.declare(name, &fields)
    }

    /// The metadata of custom resources, which their schemas leave out.
    fn metadata(&mut self, name: &str) -> Type {
        let strings = || Type::map(Type::String, Type::String);
        let mut fields: Vec<(String, Type)> = [
            "name",
            "generateName",
            "namespace",
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "deletionTimestamp",
        ]
        .map(|field| (field.to_owned(), Type::String))
        .into();
        for field in ["generation", "deletionGracePeriodSeconds"] {
            fields.push((field.to_owned(), Type::Int));
        }
        for field in ["labels", "annotations"] {
            fields.push((field.to_owned(), strings()));
        }
        fields.push(("finalizers".to_owned(), Type::list(Type::String)));
        for field in ["ownerReferences", "managedFields"] {
            fields.push((field.to_owned(), Type::list(Type::Dyn)));
        }
        self.declare(name, &fields)
    }

    fn declare(&mut self, name: &str, fields: &[(String, Type)]) -> Type {
        let fields = fields.iter().map(|(name, of)| (name.as_str(), of.clone()));
        if let Some(environment) = self.environment.take() {
            self.environment = Some(environment.with_object_type(name, fields));
        }
        Type::object(name)
    }
}
