//! What the generator knows about Kubernetes' types, between reading and writing.

use std::collections::BTreeMap;

/// Types by name: the OpenAPI definition's name without its leading `io.k8s.`.
pub(crate) type Types = BTreeMap<String, Type>;

/// One type.
#[derive(Debug, Default)]
pub(crate) struct Type {
    /// The group and version, when objects of this type have a kind: `apps/v1`.
    pub(crate) served_as: Option<String>,
    /// Whether server-side apply owns its objects as a whole.
    pub(crate) atomic: bool,
    /// Its fields, by JSON name.
    pub(crate) fields: BTreeMap<String, Field>,
}

/// One field of a type.
#[derive(Debug)]
pub(crate) struct Field {
    /// What it holds.
    pub(crate) shape: Shape,
    /// Whether Go has a pointer here.
    pub(crate) pointer: bool,
    /// Whether the schema requires it.
    pub(crate) required: bool,
    /// When an empty value is written.
    pub(crate) written: Written,
    /// The path of protobuf field numbers to the field: more than one where Go inlines a struct that is a separate message.
    pub(crate) number: Vec<u32>,
    /// The position of its declaration in the Go struct, after the positions of the structs that Go inlines around it.
    pub(crate) place: Vec<usize>,
    /// The structs that Go inlines around it, as Go's error messages name them: `RuleWithOperations.Rule`.
    pub(crate) inlined_in: Vec<String>,
    /// How strategic merge patches and server-side apply treat it.
    pub(crate) merge: Vec<String>,
}

/// When Go writes a field whose value is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Always: no `omitempty`.
    Always,
    /// As `omitempty` does: structs always, everything else when not empty.
    NotEmpty,
    /// As `omitzero` does: structs too only when not empty.
    NotZero,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A scalar or a type with a form of its own: `string`, `int32`, `quantity`.
    Leaf(&'static str),
    /// An object of this type.
    Object(String),
    /// A list.
    List(Box<Self>),
    /// A map; the Go type of its keys if it is not `string`.
    Map(String, Box<Self>),
    /// Something that has a name of its own in Go, such as `v1.PullPolicy`.
    Named(String, Box<Self>),
}

impl Shape {
    /// Whether Go has a struct here that it writes as an object.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// The Go type of the keys, if this is a map, and what the list or map holds.
    pub(crate) fn contents(&mut self) -> Option<(Option<&mut String>, &mut Self)> {
        match self {
            Self::Leaf(_) | Self::Object(_) => None,
            Self::List(item) => Some((None, item)),
            Self::Map(key, item) => Some((Some(key), item)),
            Self::Named(_, shape) => shape.contents(),
        }
    }

    /// Whether this is the metadata of an object or a list.
    pub(crate) fn is_metadata(&self) -> bool {
        let Self::Object(name) = self else {
            return false;
        };
        name.ends_with(".meta.v1.ObjectMeta") || name.ends_with(".meta.v1.ListMeta")
    }

    /// The text in the table, with types of `package` by their short names.
    pub(crate) fn text(&self, package: &str) -> String {
        match self {
            Self::Leaf(name) => (*name).to_owned(),
            Self::Object(name) => match name.rsplit_once('.') {
                Some((other, short)) if other == package => short.to_owned(),
                _ => name.clone(),
            },
            Self::List(item) => format!("[]{}", item.text(package)),
            Self::Map(key, item) => format!("{{{key}}}{}", item.text(package)),
            Self::Named(name, shape) => format!("{name}={}", shape.text(package)),
        }
    }
}
