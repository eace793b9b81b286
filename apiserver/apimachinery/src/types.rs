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

mod definition;
mod table;

use std::fmt;

use crate::meta::GroupVersionKind;
pub use definition::{Empty, Merge, Ownership, Reference, Shape, Slot};
pub(crate) use definition::{Field, Type};

/// A type of Kubernetes' API: an object with known fields.
#[derive(Clone, Copy)]
pub struct TypeRef(&'static Type);

/// A field of a type.
#[derive(Clone, Copy, Debug)]
pub struct FieldRef(&'static Field);

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
