//! Reads the generated table of types.

use std::sync::{LazyLock, OnceLock};

use crate::meta::GroupVersionKind;

use super::definition::{
    Empty, Field, Merge, Ownership, Reference, Shape, Slot, Type, TypeId, beginning,
};

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(Table::index);

pub(super) const TEXT: &str = include_str!("../types.txt");

/// Where each type begins.
pub(super) struct Table {
    /// By name.
    entries: Vec<Entry>,
    /// Types with a kind: group, version and kind, and the place among the entries; sorted.
    roots: Vec<(Kind, TypeId)>,
}

type Kind = (&'static str, &'static str, &'static str);

struct Entry {
    name: &'static str,
    /// Group and version, for a type of whole objects.
    served_as: Option<&'static str>,
    atomic: bool,
    fields: &'static str,
    read: OnceLock<Type>,
}

/// The type of schemas, which are fields, lists and choices of each other.
pub(super) fn schema() -> &'static Type {
    static SCHEMA: LazyLock<TypeId> = LazyLock::new(|| {
        TABLE
            .find("apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
            .expect("the table has the type of schemas")
    });
    SCHEMA.read()
}

impl Table {
    fn index() -> Self {
        let mut entries = Vec::with_capacity(700);
        let mut roots = Vec::with_capacity(150);
        for block in TEXT.split("\n\ntype ").skip(1) {
            let (head, fields) = block.split_once('\n').unwrap_or((block, ""));
            let mut words = head.split(' ');
            let name = words.next().unwrap_or_default();
            let (mut served_as, mut atomic) = (None, false);
            for word in words {
                match word {
                    "atomic" => atomic = true,
                    _ => served_as = Some(word),
                }
            }
            if let Some(served_as) = served_as {
                let id = TypeId(entries.len().try_into().expect("some hundred types"));
                roots.push((kind(name, served_as), id));
            }
            entries.push(Entry {
                name,
                served_as,
                atomic,
                fields,
                read: OnceLock::new(),
            });
        }
        roots.sort_unstable_by_key(|(kind, _)| *kind);
        Self { entries, roots }
    }

    pub(super) fn root(&self, group: &str, version: &str, kind: &str) -> Option<TypeId> {
        let at = self
            .roots
            .binary_search_by(|(root, _)| root.cmp(&(group, version, kind)))
            .ok()?;
        Some(self.roots[at].1)
    }

    pub(super) fn find(&self, name: &str) -> Option<TypeId> {
        let at = self
            .entries
            .binary_search_by(|entry| entry.name.cmp(name))
            .ok()?;
        u16::try_from(at).ok().map(TypeId)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = TypeId> {
        (0..self.entries.len()).filter_map(|at| u16::try_from(at).ok().map(TypeId))
    }
}

impl TypeId {
    #[inline]
    pub(super) fn read(self) -> &'static Type {
        let entry = &TABLE.entries[usize::from(self.0)];
        entry.read.get_or_init(|| read(entry))
    }
}

fn kind(name: &'static str, served_as: &'static str) -> Kind {
    let (group, version) = served_as.split_once('/').unwrap_or(("", served_as));
    let kind = name.rsplit('.').next().unwrap_or(name);
    (group, version, kind)
}

fn read(entry: &Entry) -> Type {
    let package = entry
        .name
        .rsplit_once('.')
        .map_or("", |(package, _)| package);
    let mut fields: Vec<Field> = entry
        .fields
        .lines()
        .map(|line| field(line, package))
        .collect();
    // The table has them in Go's order.
    let mut sorted: Vec<u16> = (0..).take(fields.len()).collect();
    sorted.sort_unstable_by_key(|at| fields[usize::from(*at)].name);
    fields.sort_unstable_by_key(|field| field.name);
    let mut numbered: Vec<u16> = (0..).take(fields.len()).collect();
    numbered.retain(|at| !fields[usize::from(*at)].number.is_empty());
    let number = |at: &u16| &fields[usize::from(*at)].number;
    numbered.sort_unstable_by(|a, b| number(a).cmp(number(b)));
    let always = fields
        .iter()
        .enumerate()
        .filter(|(_, field)| field.is_written_when_absent())
        .map(|(at, _)| at)
        .collect();
    let kind = entry.served_as.map(|served_as| {
        let (group, version, kind) = kind(entry.name, served_as);
        GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    });
    Type {
        name: entry.name,
        kind,
        atomic: entry.atomic,
        beginnings: fields.iter().map(|field| beginning(field.name)).collect(),
        fields,
        always,
        turns: sorted,
        numbered,
    }
}

impl Field {
    /// Whether Go writes the field although the object has none.
    fn is_written_when_absent(&self) -> bool {
        match self.empty {
            Empty::Written => true,
            Empty::OmittedStructsToo => false,
            // `omitempty` knows no empty struct, and Go's times, quantities and the like are structs.
            Empty::Omitted => {
                !self.pointer
                    && matches!(
                        self.slot.shape,
                        Shape::Object(_)
                            | Shape::Time
                            | Shape::MicroTime
                            | Shape::Quantity
                            | Shape::IntOrString
                            | Shape::Raw
                    )
            }
        }
    }
}

fn field(line: &'static str, package: &str) -> Field {
    let mut words = line.trim_start().split(' ');
    let mut word = || {
        words
            .next()
            .expect("a field has a name, a number and a type")
    };
    let (name, number, ty) = (word(), word(), word());
    let (pointer, ty) = match ty.strip_prefix('*') {
        Some(ty) => (true, ty),
        None => (false, ty),
    };
    let mut field = Field {
        name,
        number: number
            .split('.')
            .filter_map(|part| part.parse().ok())
            .collect(),
        slot: slot(ty, package),
        pointer,
        required: false,
        empty: Empty::Omitted,
        inlined_in: "",
        merge: Merge::default(),
        ownership: Ownership::Usual,
    };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("!", _) => {
                field.required = true;
                field.empty = Empty::Written;
            }
            ("required", _) => field.required = true,
            ("always", _) => field.empty = Empty::Written,
            ("omitzero", _) => field.empty = Empty::OmittedStructsToo,
            ("in", names) => field.inlined_in = names,
            ("merge", key) => {
                field.merge.merge = true;
                field.merge.key = (!key.is_empty()).then_some(key);
            }
            ("retain", _) => field.merge.retain_keys = true,
            ("keys", keys) => field.ownership = Ownership::Map(keys.split(',').collect()),
            ("set", _) => field.ownership = Ownership::Set,
            ("atomic", _) => field.ownership = Ownership::Atomic,
            ("granular", _) => field.ownership = Ownership::Granular,
            ("replace", _) => field.merge.replace = true,
            _ => unreachable!("the table knows no flag {word}"),
        }
    }
    field
}

fn slot(text: &'static str, package: &str) -> Slot {
    if let Some(item) = text.strip_prefix("[]") {
        let shape = Shape::List(Box::new(slot(item, package)));
        return Slot { shape, named: None };
    }
    if let Some((key, item)) = text.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        let shape = Shape::Map(key, Box::new(slot(item, package)));
        return Slot { shape, named: None };
    }
    if let Some((name, rest)) = text.split_once('=') {
        let named = Some(name);
        return Slot {
            named,
            ..slot(rest, package)
        };
    }
    let shape = match text {
        "string" => Shape::String,
        "bool" => Shape::Bool,
        "int32" => Shape::Int32,
        "int64" => Shape::Int64,
        "float64" => Shape::Float64,
        "bytes" => Shape::Bytes,
        "time" => Shape::Time,
        "microtime" => Shape::MicroTime,
        "quantity" => Shape::Quantity,
        "intorstring" => Shape::IntOrString,
        "raw" => Shape::Raw,
        "fields" => Shape::Fields,
        "json" => Shape::Json,
        "schemaorlist" => Shape::SchemaOrList,
        "schemaorbool" => Shape::SchemaOrBool,
        "schemaornames" => Shape::SchemaOrNames,
        name => {
            let id = if name.contains('.') {
                TABLE.find(name)
            } else {
                TABLE.find(&format!("{package}.{name}"))
            };
            Shape::Object(Reference(id.expect("the table has every type it names")))
        }
    };
    Slot { shape, named: None }
}
