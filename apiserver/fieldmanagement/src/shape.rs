//! What stands at a place in an object, as far as ownership goes.

use std::borrow::Cow;

use kubewright_apiextensions::structural::{Member, Owned, Part};
use kubewright_apiextensions::{custom::Custom, structural};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::types::{self, FieldRef, Merge, Ownership, Slot, TypeRef};
use kubewright_registry::Registry;
use serde_json::Value;

use super::element::Element;

/// What stands at a place in an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'s> {
    Struct {
        of: TypeRef,
        atomic: bool,
    },
    Map {
        item: &'static Slot,
        atomic: bool,
    },
    List(List<'s>),
    Scalar(Scalar),
    /// What the schema of a custom resource says.
    Custom(Part<'s>),
    /// Anything; maps are owned key by key, unless it is atomic.
    Any {
        atomic: bool,
    },
    /// The fields of a manager: any map.
    Fields,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Number,
    Text,
    Bool,
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct List<'s> {
    item: Item<'s>,
    pub(super) items: Items<'s>,
}

#[derive(Clone, Copy, Debug)]
enum Item<'s> {
    Slot(&'static Slot),
    Custom(Part<'s>),
    Any,
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug)]
pub(super) enum Items<'s> {
    /// They are not: the list is owned as a whole.
    Atomic,
    /// By their values.
    Values,
    /// By these of their fields.
    Keys(Keys<'s>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Keys<'s> {
    Several(&'static [&'static str]),
    One(&'static str),
    Custom(&'s [String]),
}

/// What a value at a place is taken for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atom<'s> {
    Scalar(Scalar),
    List(List<'s>),
    Map(Members<'s>),
}

/// The members of a struct or map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members<'s> {
    of: MembersOf<'s>,
    pub(super) atomic: bool,
}

#[derive(Clone, Copy, Debug)]
enum MembersOf<'s> {
    Struct(TypeRef),
    Map(&'static Slot),
    Custom(Part<'s>),
    Any { atomic: bool },
}

impl<'s> Shape<'s> {
    /// Objects of a kind; none for a kind without a known type.
    pub(super) fn of_kind(registry: &'s Registry, kind: &GroupVersionKind) -> Option<Self> {
        let Some(of) = types::root(kind) else {
            let custom = Custom::of(registry.find_kind(kind)?)?;
            let schema = custom.schema.as_ref();
            return Some(schema.map_or(Self::Any { atomic: false }, |schema| {
                Self::Custom(schema.whole())
            }));
        };
        Some(Self::Struct {
            of,
            atomic: of.is_atomic(),
        })
    }

    fn of_part(part: Part<'s>) -> Self {
        match part.owned() {
            Owned::Number => Self::Scalar(Scalar::Number),
            Owned::Text => Self::Scalar(Scalar::Text),
            Owned::Bool => Self::Scalar(Scalar::Bool),
            Owned::Scalar => Self::Scalar(Scalar::Any),
            Owned::Anything { atomic } => Self::Any { atomic },
            Owned::Members { .. } => Self::Custom(part),
            Owned::List(items) => Self::List(List {
                item: part.item().map_or(Item::Any, Item::Custom),
                items: match items {
                    structural::Items::Atomic => Items::Atomic,
                    structural::Items::Set => Items::Values,
                    structural::Items::Map(keys) => Items::Keys(Keys::Custom(keys)),
                },
            }),
        }
    }

    fn of_metadata() -> Self {
        const METADATA: &str = "apimachinery.pkg.apis.meta.v1.ObjectMeta";
        let typed = |of| Self::Struct { of, atomic: false };
        types::by_name(METADATA).map_or(Self::Any { atomic: false }, typed)
    }

    fn of_field(field: FieldRef) -> Self {
        Self::of_slot(field.slot(), field.ownership(), field.merge())
    }

    fn of_item(slot: &'static Slot) -> Self {
        Self::of_slot(slot, &Ownership::Usual, Merge::default())
    }

    fn of_slot(slot: &'static Slot, ownership: &'static Ownership, merge: Merge) -> Self {
        let atomic = *ownership == Ownership::Atomic;
        match &slot.shape {
            types::Shape::String | types::Shape::Bytes => Self::Scalar(Scalar::Text),
            types::Shape::Bool => Self::Scalar(Scalar::Bool),
            types::Shape::Int32 | types::Shape::Int64 | types::Shape::Float64 => {
                Self::Scalar(Scalar::Number)
            }
            types::Shape::Time | types::Shape::MicroTime | types::Shape::Quantity => {
                Self::Scalar(Scalar::Any)
            }
            types::Shape::Raw => Self::Any { atomic: true },
            types::Shape::Object(reference) => {
                let of = reference.get();
                Self::Struct {
                    of,
                    atomic: atomic || of.is_atomic() && *ownership != Ownership::Granular,
                }
            }
            types::Shape::Map(_, item) => Self::Map { item, atomic },
            types::Shape::List(item) => Self::List(List {
                item: Item::Slot(item),
                items: match ownership {
                    Ownership::Set => Items::Values,
                    Ownership::Map(keys) => Items::Keys(Keys::Several(keys)),
                    // A list that patches merge and that says nothing of ownership.
                    Ownership::Usual if merge.merge => match merge.key {
                        Some(key) => Items::Keys(Keys::One(key)),
                        None => Items::Values,
                    },
                    _ => Items::Atomic,
                },
            }),
            types::Shape::Fields => Self::Fields,
            types::Shape::IntOrString
            | types::Shape::Json
            | types::Shape::SchemaOrList
            | types::Shape::SchemaOrBool
            | types::Shape::SchemaOrNames => Self::Any { atomic: false },
        }
    }

    /// What a value is taken for here; nothing and null fit everything.
    pub(super) fn atom(self, value: Option<&Value>) -> Atom<'s> {
        let map = |of, atomic| Atom::Map(Members { of, atomic });
        match self {
            Self::Struct { of, atomic } => map(MembersOf::Struct(of), atomic),
            Self::Map { item, atomic } => map(MembersOf::Map(item), atomic),
            Self::Custom(part) => {
                let atomic = matches!(part.owned(), Owned::Members { atomic: true });
                map(MembersOf::Custom(part), atomic)
            }
            Self::Fields => map(MembersOf::Any { atomic: false }, false),
            Self::List(list) => Atom::List(list),
            Self::Scalar(scalar) => Atom::Scalar(scalar),
            Self::Any { atomic } => match value {
                Some(Value::Array(_)) => Atom::List(List {
                    item: Item::Any,
                    items: Items::Atomic,
                }),
                Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                    Atom::Scalar(Scalar::Any)
                }
                _ => map(MembersOf::Any { atomic }, atomic),
            },
        }
    }
}

impl<'s> Members<'s> {
    /// The shape of a member, and whether it is a field of a struct; none if a struct has no such field.
    pub(super) fn get(self, name: &str) -> Option<(Shape<'s>, bool)> {
        match self.of {
            MembersOf::Struct(of) => match of.field(name) {
                Some(field) => Some((Shape::of_field(field), true)),
                // A struct without fields takes anything.
                None if of.fields().next().is_none() => Some((Shape::Any { atomic: false }, false)),
                None => None,
            },
            MembersOf::Map(item) => Some((Shape::of_item(item), false)),
            MembersOf::Custom(part) => Some(match part.member(name)? {
                Member::Field(part) => (Shape::of_part(part), true),
                Member::Entry(part) => (Shape::of_part(part), false),
                Member::TypeName => (Shape::Scalar(Scalar::Text), true),
                Member::Metadata => (Shape::of_metadata(), true),
                Member::Unknown => (Shape::Any { atomic: false }, false),
            }),
            MembersOf::Any { atomic } => Some((Shape::Any { atomic }, false)),
        }
    }

    /// The element that leads to a member.
    pub(super) fn element(self, name: &str) -> Element {
        let known = match self.of {
            MembersOf::Struct(of) => of.field(name).map(FieldRef::name),
            _ => None,
        };
        Element::Field(known.map_or_else(|| Cow::Owned(name.to_owned()), Cow::Borrowed))
    }
}

impl<'s> List<'s> {
    /// The shape of the items.
    pub(super) fn item(self) -> Shape<'s> {
        match self.item {
            Item::Slot(slot) => Shape::of_item(slot),
            Item::Custom(part) => Shape::of_part(part),
            Item::Any => Shape::Any { atomic: true },
        }
    }

    /// The element that leads to an item.
    ///
    /// # Errors
    /// An item that cannot be told apart from others.
    pub(super) fn element(self, item: &Value) -> Result<Element, String> {
        match self.items {
            Items::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            Items::Values => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".to_owned())
                }
                Value::Null => Err(
                    "associative list without keys has an element that's an explicit null"
                        .to_owned(),
                ),
                value => Ok(Element::Value(value.clone())),
            },
            Items::Keys(Keys::One(key)) => self.keyed([Cow::Borrowed(key)], item),
            Items::Keys(Keys::Several(keys)) => {
                self.keyed(keys.iter().map(|key| Cow::Borrowed(*key)), item)
            }
            Items::Keys(Keys::Custom(keys)) => {
                self.keyed(keys.iter().map(|key| Cow::Owned(key.clone())), item)
            }
        }
    }

    fn keyed(
        self,
        keys: impl IntoIterator<Item = Cow<'static, str>> + Clone,
        item: &Value,
    ) -> Result<Element, String> {
        let members = match item {
            Value::Object(members) => members,
            Value::Null => {
                return Err("associative list with keys may not have a null element".to_owned());
            }
            _ => {
                return Err("associative list with keys may not have non-map elements".to_owned());
            }
        };
        let mut fields: Vec<(Cow<'static, str>, Value)> = keys
            .clone()
            .into_iter()
            .filter_map(|key| {
                let said = members.get(&*key).cloned();
                let value = said.or_else(|| self.default(&key))?;
                Some((key, value))
            })
            .collect();
        if fields.is_empty() {
            let keys = keys.into_iter().map(|key| quoted(&key));
            let keys: Vec<_> = keys.collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values \
                 for any key fields)",
                keys.join(" ")
            ));
        }
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Element::Key(fields))
    }

    /// What a key is when an item does not say it: the schema gives the fields that Go always writes their empty value.
    fn default(self, key: &str) -> Option<Value> {
        let of = match self.item {
            Item::Slot(slot) => slot.object()?,
            Item::Custom(part) => return part.default_of(key).cloned(),
            Item::Any => return None,
        };
        if key == "protocol" && matches!(of.short_name(), "ContainerPort" | "ServicePort") {
            return Some("TCP".into());
        }
        // The one key that may be left out and still is one.
        let reference = key == "name" && of.short_name() == "LocalObjectReference";
        let field = of
            .field(key)
            .filter(|field| field.empty() == types::Empty::Written || reference)?;
        match field.slot().shape {
            types::Shape::String => Some("".into()),
            types::Shape::Int32 | types::Shape::Int64 => Some(0.into()),
            _ => None,
        }
    }
}
