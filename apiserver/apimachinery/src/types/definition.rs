//! What the table says of a type: its fields, what they hold, and how they are written, merged and owned.

use crate::meta::GroupVersionKind;

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
    /// A map with string keys; with Go's name for the type of the keys.
    Map(&'static str, Box<Slot>),
}

/// A reference to another type, which is read on first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference(pub(super) TypeId);

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
    /// The first bytes of the fields' names: comparing words finds a field faster than comparing strings.
    pub(crate) beginnings: Vec<u64>,
    /// Indices of the fields that are written even if they are empty.
    pub(crate) always: Vec<usize>,
    /// The position of each field in Go's order.
    pub(crate) turns: Vec<u16>,
    /// The fields that protobuf carries, by their numbers.
    pub(crate) numbered: Vec<u16>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// The path of protobuf field numbers to the field; empty for a field that protobuf does not carry.
    pub(crate) number: Vec<u32>,
    pub(crate) slot: Slot,
    /// Whether Go has a pointer here, which distinguishes a missing value from an empty one.
    pub(crate) pointer: bool,
    pub(crate) required: bool,
    pub(crate) empty: Empty,
    /// The structs that Go inlines around the field, as error messages name them: `RuleWithOperations.Rule`.
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

/// Index of a type in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(pub(super) u16);

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

    /// The position of a field in Go's order.
    pub(crate) fn turn_of(&self, field: &Field) -> usize {
        let place = self.fields.iter().position(|own| own.name == field.name);
        place.map_or(0, |place| usize::from(self.turns[place]))
    }

    /// Index of a field, for names in sorted order: the search continues where the last one ended.
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

/// The first eight bytes of a name, as a number that sorts as the names do.
pub(super) fn beginning(name: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = name.len().min(bytes.len());
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}
