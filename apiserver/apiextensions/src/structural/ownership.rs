//! What a schema says of who can own which part of an object: what server-side apply needs to know of it.

use serde_json::Value;

use super::Structural;
use super::schema::{Additional, ListType, Schema};

/// A part of a schema.
#[derive(Clone, Copy, Debug)]
pub struct Part<'s> {
    schema: &'s Schema,
    /// Whether its values are objects with type and metadata.
    is_object: bool,
    /// Whether unknown fields are preserved here or around it: what is said once holds for all below.
    preserves: bool,
}

/// What can be owned of a value.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "server-side apply treats each of them"
)]
pub enum Owned<'s> {
    /// A number.
    Number,
    /// A string.
    Text,
    /// A truth.
    Bool,
    /// A number, a text or a truth: a text that has a format is not looked at.
    Scalar,
    /// The members of an object.
    Members {
        /// Whether they are owned together.
        atomic: bool,
    },
    /// The items of a list.
    List(Items<'s>),
    /// Whatever the value is.
    Anything {
        /// Whether its parts are owned together.
        atomic: bool,
    },
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "server-side apply treats each of them"
)]
pub enum Items<'s> {
    /// Not at all: the list is owned as a whole.
    Atomic,
    /// By their values.
    Set,
    /// By these fields.
    Map(&'s [String]),
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "server-side apply treats each of them"
)]
pub enum Member<'s> {
    /// A field that the schema names.
    Field(Part<'s>),
    /// An entry of a map.
    Entry(Part<'s>),
    /// `apiVersion` or `kind`.
    TypeName,
    /// The metadata of an object.
    Metadata,
    /// What the schema does not know and lets pass.
    Unknown,
}

impl Structural {
    /// The schema of whole objects.
    pub fn whole(&self) -> Part<'_> {
        Part {
            schema: &self.root,
            is_object: true,
            preserves: self.root.preserve_unknown,
        }
    }
}

impl<'s> Part<'s> {
    fn below(self, schema: &'s Schema) -> Self {
        Self {
            schema,
            is_object: schema.embedded,
            preserves: self.preserves || schema.preserve_unknown,
        }
    }

    /// What can be owned of a value of this part.
    pub fn owned(self) -> Owned<'s> {
        let schema = self.schema;
        if schema.int_or_string {
            return Owned::Anything { atomic: false };
        }
        let atomic = schema.atomic_map;
        match schema.kind.as_str() {
            "integer" | "number" => Owned::Number,
            "string" if matches!(schema.format.as_str(), "" | "byte") => Owned::Text,
            "string" => Owned::Scalar,
            "boolean" => Owned::Bool,
            "array" => Owned::List(match &schema.list {
                ListType::Atomic | ListType::Unknown(_) => Items::Atomic,
                ListType::Set => Items::Set,
                ListType::Map(keys) => Items::Map(keys),
            }),
            "object" => Owned::Members { atomic },
            _ => Owned::Anything { atomic },
        }
    }

    fn has_members(self) -> bool {
        !self.schema.properties.is_empty() || self.schema.additional.schema().is_some()
    }

    /// The member of this name; none where the schema knows no such member.
    pub fn member(self, name: &str) -> Option<Member<'s>> {
        match name {
            "apiVersion" | "kind" if self.is_object => return Some(Member::TypeName),
            "metadata" if self.is_object => return Some(Member::Metadata),
            _ => {}
        }
        if let Some(field) = self.schema.properties.get(name) {
            return Some(Member::Field(self.below(field)));
        }
        match &self.schema.additional {
            Additional::Schema(entry) => Some(Member::Entry(self.below(entry))),
            Additional::Allowed(true) => Some(Member::Unknown),
            _ if self.is_object || self.has_members() => self.preserves.then_some(Member::Unknown),
            // An object without fields may have any.
            _ => Some(Member::Unknown),
        }
    }

    /// The items of a list.
    pub fn item(self) -> Option<Self> {
        let items = self.schema.items.as_deref()?;
        Some(self.below(items))
    }

    /// What a field of this object is where it is left out.
    pub fn default_of(self, field: &str) -> Option<&'s Value> {
        self.schema.properties.get(field)?.default.as_ref()
    }
}
