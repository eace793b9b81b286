//! The types of the built-in kinds: fields, what they hold, and how they are merged.
//!
//! The table is generated from the sources of k8s-openapi and k8s-pb. Loading it finds where each type begins; a type itself is read
//! when it is first asked for.
//!
//! ```
//! use kubewright_apimachinery::meta::GroupVersionKind;
//! use kubewright_apimachinery::types::{self, Ownership, Shape};
//!
//! let pods = GroupVersionKind::from_api_version_and_kind("v1", "Pod");
//! let spec = types::root(&pods).and_then(|pod| pod.field("spec")?.slot().object()).unwrap();
//! assert_eq!(spec.name(), "api.core.v1.PodSpec");
//!
//! let containers = spec.field("containers").unwrap();
//! assert!(matches!(containers.slot().shape, Shape::List(_)));
//! assert_eq!(containers.merge().key, Some("name"));
//! assert_eq!(*containers.ownership(), Ownership::Map(vec!["name"]));
//! ```

mod table;

use std::fmt;

use crate::meta::GroupVersionKind;
pub(crate) use table::TypeId;

/// A type of Kubernetes' API: an object with known fields.
#[derive(Clone, Copy)]
pub struct TypeRef(&'static Type);

/// A field of a type.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef(&'static Field);

/// How a strategic merge patch changes a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the facts of the API's struct tags"
)]
pub struct Merge {
    /// Whether lists are merged (`patchStrategy: merge`) and not replaced.
    pub merge: bool,
    /// The key by which items of a merged list are the same (`patchMergeKey`); none for lists of scalars.
    pub key: Option<&'static str>,
    /// Whether the field is replaced although it is a struct (`patchStrategy: replace`).
    pub replace: bool,
    /// Whether the patch names all keys that stay (`patchStrategy: retainKeys`).
    pub retain_keys: bool,
}

/// How server-side apply owns a field (`listType`, `mapType`, `structType`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the facts of the API's struct tags"
)]
pub enum Ownership {
    /// What the schema does not mark: maps and structs field by field, lists as a whole.
    #[default]
    Usual,
    /// As a whole.
    Atomic,
    /// Field by field, although its type says otherwise.
    Granular,
    /// A list whose items are the keys.
    Set,
    /// A list whose items are known by these fields.
    Map(Vec<&'static str>),
}

/// What stands at a place in an object.
#[derive(Debug)]
pub struct Slot {
    /// What it holds.
    pub shape: Shape,
    /// What Go calls the type of this place where the shape alone does not say it: `v1.PullPolicy`.
    pub(crate) named: Option<&'static str>,
}

/// What a place holds.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new shape concerns everything that walks through objects"
)]
pub enum Shape {
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    /// Base64.
    Bytes,
    /// RFC 3339, seconds.
    Time,
    /// RFC 3339, microseconds.
    MicroTime,
    Quantity,
    IntOrString,
    /// Any JSON: an embedded object (`RawExtension`).
    Raw,
    /// Any JSON: the set of fields of a managed fields entry.
    Fields,
    /// Any JSON: a default or an example of a schema.
    Json,
    /// A `JSONSchemaProps`, or a list of them.
    SchemaOrList,
    /// A `JSONSchemaProps`, or whether anything is allowed.
    SchemaOrBool,
    /// A `JSONSchemaProps`, or a list of names.
    SchemaOrNames,
    /// An object of a known type.
    Object(Reference),
    List(Box<Slot>),
    /// A map from text; with what Go calls the type of its keys.
    Map(&'static str, Box<Slot>),
}

/// A type that another one refers to; it is read when it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference(TypeId);

#[derive(Debug)]
pub(crate) struct Type {
    /// The definition's name without `io.k8s.`.
    pub(crate) name: &'static str,
    /// The kind of its objects, for a type of whole objects.
    pub(crate) kind: Option<GroupVersionKind>,
    /// Whether server-side apply owns its objects as a whole (`structType: atomic`).
    pub(crate) atomic: bool,
    /// By name.
    pub(crate) fields: Vec<Field>,
    /// How the fields' names begin: comparing words finds a field faster than comparing texts.
    pub(crate) beginnings: Vec<u64>,
    /// Which of the fields are written even when nothing is in them.
    pub(crate) always: Vec<usize>,
    /// When each field has its turn in Go's order.
    pub(crate) turns: Vec<u16>,
    /// The fields that protobuf carries, by their numbers.
    pub(crate) numbered: Vec<u16>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// The protobuf field numbers that lead to it; empty for what protobuf does not carry.
    pub(crate) number: Vec<u32>,
    pub(crate) slot: Slot,
    /// Whether Go has a pointer here, so that nothing and an empty value differ.
    pub(crate) pointer: bool,
    pub(crate) required: bool,
    pub(crate) empty: Empty,
    /// The structs that Go inlines around the field, as they stand in error texts: `RuleWithOperations.Rule`.
    pub(crate) inlined_in: &'static str,
    pub(crate) merge: Merge,
    pub(crate) ownership: Ownership,
}

/// What Go writes for a field with an empty value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Empty {
    /// The empty value.
    Written,
    /// Nothing, except for structs (`omitempty`).
    Omitted,
    /// Nothing (`omitzero`).
    OmittedStructsToo,
}

/// The type of a kind's objects.
///
/// The options of requests (`DeleteOptions` and the like) are known in every group and version.
pub fn root(kind: &GroupVersionKind) -> Option<TypeRef> {
    let known = table::TABLE.root(&kind.group, &kind.version, &kind.kind);
    let options = || {
        let is_options = matches!(
            &*kind.kind,
            "CreateOptions"
                | "DeleteOptions"
                | "GetOptions"
                | "ListOptions"
                | "PatchOptions"
                | "UpdateOptions"
        );
        let name = format!("apimachinery.pkg.apis.meta.v1.{}", kind.kind);
        is_options.then(|| table::TABLE.find(&name)).flatten()
    };
    // No resource is served in this version any more, and still the old form of an eviction is taken.
    let eviction = || {
        let is_old =
            (&*kind.group, &*kind.version, &*kind.kind) == ("policy", "v1beta1", "Eviction");
        is_old
            .then(|| table::TABLE.find("api.policy.v1.Eviction"))
            .flatten()
    };
    let id = known.or_else(options).or_else(eviction);
    id.map(|id| TypeRef(id.read()))
}

/// The type of the objects with this `apiVersion` and `kind`.
pub fn named(api_version: &str, kind: &str) -> Option<TypeRef> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let known = table::TABLE.root(group, version, kind);
    known.map(|id| TypeRef(id.read()))
}

/// The generated table as text, for digests: it differs if any type does.
pub fn generated() -> &'static str {
    table::TEXT
}

/// The type of this name: the OpenAPI definition's without its leading `io.k8s.`, such as `api.core.v1.Container`.
pub fn by_name(name: &str) -> Option<TypeRef> {
    table::TABLE.find(name).map(|id| TypeRef(id.read()))
}

/// What a type holds that Go calls by a name of its own: `v1.PullPolicy`.
pub fn shape_called(name: &str) -> Option<&'static Shape> {
    let mut fields = table::TABLE.all().flat_map(|id| &id.read().fields);
    fields.find_map(|field| field.slot.shape_called(name))
}

/// Every type, by name.
pub fn all() -> impl Iterator<Item = TypeRef> {
    table::TABLE.all().map(|id| TypeRef(id.read()))
}

impl TypeRef {
    /// The name: the OpenAPI definition's without its leading `io.k8s.`.
    #[inline]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The last word of the name, which is Go's name of the type.
    #[inline]
    pub fn short_name(self) -> &'static str {
        self.0.short_name()
    }

    /// The kind of its objects, for a type of whole objects.
    #[inline]
    pub fn kind(self) -> Option<&'static GroupVersionKind> {
        self.0.kind.as_ref()
    }

    /// Whether server-side apply owns an object of this type as a whole, wherever it stands.
    #[inline]
    pub fn is_atomic(self) -> bool {
        self.0.atomic
    }

    /// The field of this JSON name.
    #[inline]
    pub fn field(self, name: &str) -> Option<FieldRef> {
        self.0.field(name).map(FieldRef)
    }

    /// The fields, by JSON name.
    #[inline]
    pub fn fields(self) -> impl Iterator<Item = FieldRef> {
        self.0.fields.iter().map(FieldRef)
    }

    #[inline]
    pub(crate) fn inner(self) -> &'static Type {
        self.0
    }
}

impl FieldRef {
    /// The JSON name.
    #[inline]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// What the field holds.
    #[inline]
    pub fn slot(self) -> &'static Slot {
        &self.0.slot
    }

    /// How strategic merge patches change it.
    #[inline]
    pub fn merge(self) -> Merge {
        self.0.merge
    }

    /// How server-side apply owns it.
    #[inline]
    pub fn ownership(self) -> &'static Ownership {
        &self.0.ownership
    }

    /// Whether the schema requires it.
    #[inline]
    pub fn is_required(self) -> bool {
        self.0.required
    }

    /// Whether Go has a pointer here, so that nothing and an empty value differ.
    #[inline]
    pub fn is_pointer(self) -> bool {
        self.0.pointer
    }

    /// What Go writes where the value is empty.
    #[inline]
    pub fn empty(self) -> Empty {
        self.0.empty
    }
}

impl Slot {
    /// The type of the object here, or of the items of the list or map here.
    pub fn object(&self) -> Option<TypeRef> {
        match &self.shape {
            Shape::Object(reference) => Some(reference.get()),
            Shape::List(item) | Shape::Map(_, item) => item.object(),
            Shape::SchemaOrList | Shape::SchemaOrBool | Shape::SchemaOrNames => {
                Some(TypeRef(table::schema()))
            }
            _ => None,
        }
    }

    fn shape_called(&self, name: &str) -> Option<&Shape> {
        if self.named == Some(name) {
            return Some(&self.shape);
        }
        match &self.shape {
            Shape::List(item) | Shape::Map(_, item) => item.shape_called(name),
            _ => None,
        }
    }

    /// What Go calls the type of this place.
    pub(crate) fn go_type(&self) -> String {
        if let Some(name) = self.named {
            return name.to_owned();
        }
        let plain = match &self.shape {
            Shape::String => "string",
            Shape::Bool => "bool",
            Shape::Int32 => "int32",
            Shape::Int64 => "int64",
            Shape::Float64 => "float64",
            Shape::Bytes => "[]uint8",
            Shape::Time => "v1.Time",
            Shape::MicroTime => "v1.MicroTime",
            Shape::Quantity => "resource.Quantity",
            Shape::IntOrString => "intstr.IntOrString",
            Shape::Raw => "runtime.RawExtension",
            Shape::Fields => "v1.FieldsV1",
            Shape::Json => "v1.JSON",
            Shape::SchemaOrList => "v1.JSONSchemaPropsOrArray",
            Shape::SchemaOrBool => "v1.JSONSchemaPropsOrBool",
            Shape::SchemaOrNames => "v1.JSONSchemaPropsOrStringArray",
            Shape::Object(reference) => return reference.get().0.go_type(),
            Shape::List(item) => return format!("[]{}", item.go_type()),
            Shape::Map(key, item) => {
                let key = if key.is_empty() { "string" } else { key };
                return format!("map[{key}]{}", item.go_type());
            }
        };
        plain.to_owned()
    }
}

impl Reference {
    /// The type itself.
    #[inline]
    pub fn get(self) -> TypeRef {
        TypeRef(self.0.read())
    }
}

impl Type {
    #[inline]
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let wanted = beginning(name);
        let first = self.beginnings.partition_point(|found| *found < wanted);
        let alike = self.beginnings[first..]
            .iter()
            .take_while(|found| **found == wanted)
            .count();
        self.fields[first..first + alike]
            .iter()
            .find(|field| field.name == name)
    }

    /// When a field of this type has its turn in Go's order.
    pub(crate) fn turn_of(&self, field: &Field) -> usize {
        let place = self.fields.iter().position(|own| own.name == field.name);
        place.map_or(0, |place| usize::from(self.turns[place]))
    }

    /// The place of a field, for names that come in their order: the search goes on where the last one ended.
    pub(crate) fn find_from(&self, from: &mut usize, name: &str) -> Option<usize> {
        let wanted = beginning(name);
        let rest = self.beginnings.get(*from..)?;
        *from += rest.iter().take_while(|found| **found < wanted).count();
        (*from..self.fields.len())
            .take_while(|at| self.beginnings[*at] == wanted)
            .find(|at| self.fields[*at].name == name)
    }

    /// Whether the type is part of kinds that the real server stores as JSON.
    pub(crate) fn is_stored_as_json(&self) -> bool {
        self.name.starts_with("apiextensions") || self.name.starts_with("kube-aggregator")
    }

    #[inline]
    pub(crate) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// The package's name and the type's: `v1.PodSpec`.
    pub(crate) fn go_type(&self) -> String {
        let mut words = self.name.rsplit('.');
        let short = words.next().unwrap_or(self.name);
        match words.next() {
            Some(package) => format!("{package}.{short}"),
            None => short.to_owned(),
        }
    }
}

/// The first eight bytes, in the order of the texts.
fn beginning(name: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = name.len().min(bytes.len());
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

impl fmt::Debug for TypeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypeRef").field(&self.0.name).finish()
    }
}

impl PartialEq for TypeRef {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for TypeRef {}

#[cfg(test)]
mod tests;
