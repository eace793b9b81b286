//! Types as schemas.

use std::collections::BTreeMap;

use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::descriptions::Descriptions;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::types::{self, Empty, FieldRef, Ownership, Shape, Slot, TypeRef};
use serde_json::{Map, Value, json};

use super::definitions;
use super::markers::{Markers, add};
use super::names::{kind_value, name_of};
use super::v2::of_clients;

/// The schemas of a document, by the names of their definitions.
#[derive(Default)]
pub(super) struct Components {
    schemas: BTreeMap<String, Value>,
    /// Whether they are for v2, which says less of custom resources.
    for_v2: bool,
}

impl Components {
    pub(super) fn of_v2() -> Self {
        Self {
            for_v2: true,
            ..Self::default()
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.schemas.into_iter().collect())
    }

    pub(super) fn into_schemas(self) -> BTreeMap<String, Value> {
        self.schemas
    }

    /// A reference to the schema of a kind.
    ///
    /// A kind that the table does not have is an object of which nothing is known.
    pub(super) fn kind(&mut self, kind: &GroupVersionKind) -> Value {
        match types::root(kind) {
            Some(ty) => {
                let reference = self.ty(ty);
                self.add_kind(&format!("io.k8s.{}", ty.name()), kind);
                reference
            }
            None => self.unknown(kind),
        }
    }

    /// A reference to the schema of a kind's lists.
    pub(super) fn list(&mut self, kind: &GroupVersionKind) -> Value {
        let item = self.kind(kind);
        let item_name = item["$ref"].as_str().unwrap_or_default();
        let name = item_name.trim_start_matches(PREFIX).to_owned() + "List";
        if !self.schemas.contains_key(&name) {
            let text = Descriptions::of(name.trim_start_matches("io.k8s."));
            let list_meta = types::by_name("apimachinery.pkg.apis.meta.v1.ListMeta")
                .map(|meta| self.ty(meta))
                .unwrap_or_default();
            let list_kind = format!("{}List", kind.kind);
            let mut schema = json!({
                "description": text.own(),
                "type": "object",
                "required": ["items"],
                "properties": {
                    "apiVersion": { "type": "string", "description": text.field("apiVersion") },
                    "kind": { "type": "string", "description": text.field("kind") },
                    "metadata": { "allOf": [list_meta], "default": {}, "description": text.field("metadata") },
                    "items": {
                        "type": "array",
                        "items": item,
                        "description": text.field("items"),
                    },
                },
                "x-kubernetes-group-version-kind": [
                    { "group": kind.group, "version": kind.version, "kind": list_kind },
                ],
            });
            if let Some(metadata) = schema["properties"]["metadata"].as_object_mut() {
                metadata.retain(|_, value| value != "");
            }
            self.schemas.insert(name.clone(), schema);
        }
        reference(&name)
    }

    /// A reference to the schema of a type: `apimachinery.pkg.apis.meta.v1.Status`.
    ///
    /// A type that the table does not have is anything.
    pub(super) fn named(&mut self, name: &str) -> Value {
        types::by_name(name).map_or_else(|| json!({}), |ty| self.ty(ty))
    }

    /// A reference to the schema of a request's options, which every group knows as the core group's and as its own.
    pub(super) fn options(&mut self, kind: &str, of: &GroupVersionKind) -> Value {
        let name = format!("apimachinery.pkg.apis.meta.v1.{kind}");
        let reference = self.named(&name);
        self.name_everywhere(&name, kind, of);
        reference
    }

    /// The same for the groups of definitions, which do not know the options as their own.
    pub(super) fn options_of_clients(&mut self, kind: &str) -> Value {
        let name = format!("apimachinery.pkg.apis.meta.v1.{kind}");
        let reference = self.named(&name);
        for known in of_clients(kind) {
            self.add_kind(&format!("io.k8s.{name}"), &known);
        }
        reference
    }

    /// A reference to the schema of what a watch sends.
    pub(super) fn watch_event(&mut self, of: &GroupVersionKind) -> Value {
        const NAME: &str = "apimachinery.pkg.apis.meta.v1.WatchEvent";
        let (raw, schema) = special(&Shape::Raw);
        let raw = self.leaf(raw, schema);
        let reference = self.leaf(
            &format!("io.k8s.{NAME}"),
            json!({
                "description": "Event represents a single event to a watched resource.",
                "type": "object",
                "required": ["type", "object"],
                "properties": {
                    "type": { "type": "string", "default": "" },
                    "object": {
                        "allOf": [raw],
                        "description": "Object is:\n * If Type is Added or Modified: the new state of the object.\n * If Type is Deleted: the state of the object immediately before deletion.\n * If Type is Error: *Status is recommended; other types may make sense\n   depending on context.",
                    },
                },
            }),
        );
        self.name_everywhere(NAME, "WatchEvent", of);
        reference
    }

    fn name_everywhere(&mut self, name: &str, kind: &str, of: &GroupVersionKind) {
        for (group, version) in [("", "v1"), (&*of.group, &*of.version)] {
            let kind = GroupVersionKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: kind.to_owned(),
            };
            self.add_kind(&format!("io.k8s.{name}"), &kind);
        }
    }

    /// A reference to the schema of a patch's body.
    pub(super) fn patch(&mut self) -> Value {
        self.leaf(
            "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
            json!({
                "description": "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body.",
                "type": "object",
            }),
        )
    }

    fn ty(&mut self, ty: TypeRef) -> Value {
        let name = format!("io.k8s.{}", ty.name());
        if !self.schemas.contains_key(&name) {
            // Types refer to each other in cycles: reserve the name before building the schema.
            self.schemas.insert(name.clone(), Value::Null);
            let schema = self.object(ty);
            self.schemas.insert(name.clone(), schema);
        }
        reference(&name)
    }

    fn object(&mut self, ty: TypeRef) -> Value {
        let descriptions = Descriptions::of(ty.name());
        let marked = Markers::of(ty.name());
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in ty.fields() {
            let mut schema = self.field(field, descriptions);
            if let Some(addition) = marked.of_field(field.name()) {
                add(&mut schema, addition);
            }
            properties.insert(field.name().to_owned(), schema);
            if field.is_required() {
                required.push(field.name());
            }
        }
        let mut schema = json!({ "description": descriptions.own(), "type": "object" });
        if let Some(kind) = ty.kind() {
            schema["x-kubernetes-group-version-kind"] = json!([kind_value(kind)]);
        }
        if ty.is_atomic() {
            schema["x-kubernetes-map-type"] = "atomic".into();
        }
        if !properties.is_empty() {
            schema["properties"] = properties.into();
        }
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        if let Some(addition) = marked.of_field("") {
            add(&mut schema, addition);
        }
        schema
    }

    fn field(&mut self, field: FieldRef, descriptions: Descriptions) -> Value {
        let mut schema = self.slot(field.slot());
        let text = descriptions.field(field.name());
        if !text.is_empty() {
            schema["description"] = text.into();
        }
        if !field.is_pointer() && field.empty() != Empty::OmittedStructsToo {
            let written = field.empty() == Empty::Written;
            if let Some(default) = default(&field.slot().shape, written) {
                schema["default"] = default;
            }
        }
        let merge = field.merge();
        let mut strategy = Vec::new();
        if merge.merge {
            strategy.push("merge");
        }
        if merge.retain_keys {
            strategy.push("retainKeys");
        }
        if !strategy.is_empty() {
            schema["x-kubernetes-patch-strategy"] = strategy.join(",").into();
        }
        if let Some(key) = merge.key {
            schema["x-kubernetes-patch-merge-key"] = key.into();
        }
        let is_list = matches!(field.slot().shape, Shape::List(_) | Shape::Bytes);
        match field.ownership() {
            Ownership::Map(keys) => {
                schema["x-kubernetes-list-type"] = "map".into();
                schema["x-kubernetes-list-map-keys"] = keys.clone().into();
            }
            Ownership::Set => schema["x-kubernetes-list-type"] = "set".into(),
            Ownership::Atomic if is_list => schema["x-kubernetes-list-type"] = "atomic".into(),
            Ownership::Atomic => schema["x-kubernetes-map-type"] = "atomic".into(),
            Ownership::Granular => schema["x-kubernetes-map-type"] = "granular".into(),
            Ownership::Usual => {}
        }
        schema
    }

    fn slot(&mut self, slot: &'static Slot) -> Value {
        let all_of = |reference| json!({ "allOf": [reference] });
        match &slot.shape {
            Shape::String => json!({ "type": "string" }),
            Shape::Bool => json!({ "type": "boolean" }),
            Shape::Int32 => json!({ "type": "integer", "format": "int32" }),
            Shape::Int64 => json!({ "type": "integer", "format": "int64" }),
            Shape::Float64 => json!({ "type": "number", "format": "double" }),
            Shape::Bytes => json!({ "type": "string", "format": "byte" }),
            Shape::Object(reference) => all_of(self.ty(reference.get())),
            Shape::List(item) => {
                let item = self.item(item);
                json!({ "type": "array", "items": item })
            }
            Shape::Map(_, item) => {
                let item = self.item(item);
                json!({ "type": "object", "additionalProperties": item })
            }
            shape => {
                let (name, schema) = special(shape);
                all_of(self.leaf(name, schema))
            }
        }
    }

    /// A reference stands alone where nothing is said beside it.
    fn item(&mut self, slot: &'static Slot) -> Value {
        let mut schema = self.slot(slot);
        let reference = schema.get_mut("allOf").and_then(|all| all.get_mut(0));
        reference.map(Value::take).unwrap_or(schema)
    }

    fn leaf(&mut self, name: &str, schema: Value) -> Value {
        self.schemas.entry(name.to_owned()).or_insert(schema);
        reference(name)
    }

    /// Adds the schemas of a kind that a definition made, and of its lists.
    pub(super) fn define(&mut self, kind: &GroupVersionKind, custom: &Custom) {
        let meta = self.named("apimachinery.pkg.apis.meta.v1.ObjectMeta");
        let schema = definitions::object(kind, custom, &meta, self.for_v2);
        let item = self.leaf(&name_of(kind), schema);
        let list_meta = self.named("apimachinery.pkg.apis.meta.v1.ListMeta");
        let (name, list) = definitions::list(kind, custom, &item, &list_meta);
        self.leaf(&name, list);
    }

    fn unknown(&mut self, kind: &GroupVersionKind) -> Value {
        let name = name_of(kind);
        let schema = json!({
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-group-version-kind": [kind_value(kind)],
        });
        self.leaf(&name, schema)
    }

    /// Notes that objects of this kind have this schema.
    fn add_kind(&mut self, name: &str, kind: &GroupVersionKind) {
        let Some(schema) = self.schemas.get_mut(name) else {
            return;
        };
        let kinds = &mut schema["x-kubernetes-group-version-kind"];
        let kind = kind_value(kind);
        match kinds.as_array_mut() {
            Some(kinds) if kinds.contains(&kind) => {}
            Some(kinds) => kinds.push(kind),
            None => *kinds = json!([kind]),
        }
    }
}

const PREFIX: &str = "#/components/schemas/";

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{PREFIX}{name}") })
}

/// The default that the schema of a field declares, Go's zero value: always for structs, and for scalars that are always
/// written.
fn default(shape: &Shape, written: bool) -> Option<Value> {
    Some(match shape {
        Shape::Object(_) => json!({}),
        Shape::String if written => json!(""),
        Shape::Bool if written => json!(false),
        Shape::Int32 | Shape::Int64 | Shape::Float64 if written => json!(0),
        _ => return None,
    })
}

/// The schemas of shapes that are neither plain scalars nor objects with fields.
fn special(shape: &Shape) -> (&'static str, Value) {
    let time =
        |about: &str| json!({ "description": about, "type": "string", "format": "date-time" });
    match shape {
        Shape::Time => (
            "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
            time(
                "Time is a wrapper around time.Time which supports correct marshaling to YAML and JSON.  Wrappers are provided for many of the factory methods that the time package offers.",
            ),
        ),
        Shape::MicroTime => (
            "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
            time("MicroTime is version of Time with microsecond level precision."),
        ),
        Shape::Quantity => (
            "io.k8s.apimachinery.pkg.api.resource.Quantity",
            json!({
                "description": Descriptions::of("apimachinery.pkg.api.resource.Quantity").own(),
                "oneOf": [{ "type": "string" }, { "type": "number" }],
            }),
        ),
        Shape::IntOrString => (
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
            json!({
                "description": "IntOrString is a type that can hold an int32 or a string.  When used in JSON or YAML marshalling and unmarshalling, it produces or consumes the inner type.  This allows you to have, for example, a JSON field that can accept a name or number.",
                "format": "int-or-string",
                "oneOf": [{ "type": "integer" }, { "type": "string" }],
            }),
        ),
        Shape::Fields => (
            "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
            json!({
                "description": Descriptions::of("apimachinery.pkg.apis.meta.v1.FieldsV1").own(),
                "type": "object",
            }),
        ),
        Shape::Json => (
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
            json!({ "description": "JSON represents any valid JSON value. These types are supported: bool, int64, float64, string, []interface{}, map[string]interface{} and nil." }),
        ),
        Shape::SchemaOrList => (
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
            json!({ "description": "JSONSchemaPropsOrArray represents a value that can either be a JSONSchemaProps or an array of JSONSchemaProps. Mainly here for serialization purposes." }),
        ),
        Shape::SchemaOrBool => (
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
            json!({ "description": "JSONSchemaPropsOrBool represents JSONSchemaProps or a boolean value. Defaults to true for the boolean property." }),
        ),
        Shape::SchemaOrNames => (
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
            json!({ "description": "JSONSchemaPropsOrStringArray represents a JSONSchemaProps or a string array." }),
        ),
        _ => (
            "io.k8s.apimachinery.pkg.runtime.RawExtension",
            json!({
                "description": Descriptions::of("apimachinery.pkg.runtime.RawExtension").own(),
                "type": "object",
            }),
        ),
    }
}
