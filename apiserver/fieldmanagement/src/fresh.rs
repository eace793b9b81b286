//! The `managedFields` of a new object: one entry, written as JSON in one pass over the object, without the sets that a
//! comparison of two arbitrary states needs. The creating manager owns every field that an empty object of the kind lacks.

use std::borrow::Cow;

use bytes::Bytes;
use kubewright_apimachinery::conform::{Medium, write_empties};
use kubewright_apimachinery::json::{parse_own, write, write_string};
use kubewright_apimachinery::view::Edit;
use serde_json::{Map, Value};

use super::compare::compare_member;
use super::fields_v1;
use super::reset::reset;
use super::set::{Node, Set};
use super::shape::{Atom, Items, List, Members, Shape};
use super::track::{Tracked, UNOWNED};

/// The `managedFields` of a new object, as JSON that is not part of the object yet.
///
/// What writes the object includes the JSON as it is; what reads or changes the entries puts them into the object first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewManagedFields(Bytes);

impl NewManagedFields {
    /// Returns the JSON form of a list of entries.
    pub fn of(entries: &Value) -> Self {
        let mut json = Vec::new();
        write(&mut json, entries);
        Self(json.into())
    }

    /// Returns the JSON of the entries.
    pub fn json(&self) -> &[u8] {
        &self.0
    }

    /// Sets the `managedFields` of the object to the entries.
    #[expect(clippy::missing_panics_doc, reason = "the JSON was written here")]
    pub fn put_into(&self, object: &mut Value) {
        let entries = parse_own(&self.0).expect("JSON that was written here");
        if let Some(metadata) = object.part("metadata") {
            metadata.put("managedFields", entries);
        }
    }
}

/// Returns the `managedFields` of a new object that has no entries; none if the manager owns no field, or if the managed fields of
/// a template are not what the schema of the kind says.
///
/// `empty` is an empty object of the kind; `empties` says whether `object` may have empty lists and maps, as objects in memory
/// have. For built-in kinds only: the function does not validate the rest of the object against its schema.
pub fn create(
    tracked: &Tracked<'_>,
    empty: &Value,
    object: &Value,
    empties: bool,
    manager: &str,
) -> Option<NewManagedFields> {
    let mut object = Cow::Borrowed(object);
    if empties {
        write_empties(tracked.kind, object.to_mut(), Medium::Json);
    }
    let shape = Shape::of_kind(tracked.registry, tracked.kind)?;
    if !tracked.fits(shape, &object) {
        return None;
    }
    let Atom::Map(of) = shape.atom(Some(&object)) else {
        return None;
    };
    let mut text = Vec::with_capacity(8192);
    text.extend_from_slice(br#"[{"manager":"#);
    write_string(&mut text, manager);
    text.extend_from_slice(br#","operation":"Update","apiVersion":"#);
    write_string(&mut text, &tracked.api_version());
    text.extend_from_slice(br#","time":"#);
    write_string(&mut text, tracked.now);
    text.extend_from_slice(br#","fieldsType":"FieldsV1","fieldsV1":{"#);
    let start = text.len();
    let ignored = reset(tracked.resource, tracked.subresource);
    let except = Except {
        whole: Some(&ignored),
        itself: Some(&UNOWNED),
    };
    members(
        &mut text,
        of,
        empty.as_object()?,
        object.as_object()?,
        except,
    );
    if text.len() == start {
        return None;
    }
    text.extend_from_slice(b"}}]");
    Some(NewManagedFields(text.into()))
}

/// Fields below a path that no manager can own.
#[derive(Clone, Copy)]
struct Except<'a> {
    /// Paths excluded with all fields below them.
    whole: Option<&'a Set>,
    /// Paths excluded without the fields below them.
    itself: Option<&'a Set>,
}

impl<'a> Except<'a> {
    const NOTHING: Self = Self {
        whole: None,
        itself: None,
    };

    /// Returns whether a manager can own the field itself, and the exceptions below it; none if all of it is excluded.
    fn field(self, name: &str) -> Option<(bool, Self)> {
        let node = |set: Option<&'a Set>| set.and_then(|set| set.field(name));
        let below = |node: Option<&'a Node>| node.map(|node| &node.below);
        let (whole, itself) = (node(self.whole), node(self.itself));
        if whole.is_some_and(|node| node.member) {
            return None;
        }
        let except = Self {
            whole: below(whole),
            itself: below(itself),
        };
        Some((itself.is_none_or(|node| !node.member), except))
    }

    /// The paths of a set that a manager can own.
    fn owned_of(self, set: Set) -> Set {
        let set = match self.whole {
            Some(whole) => set.without_all_below(whole),
            None => set,
        };
        match self.itself {
            Some(itself) => set.difference(itself),
            None => set,
        }
    }
}

/// Writes the members of an object that the empty one lacks, or that differ from it.
fn members(
    text: &mut Vec<u8>,
    of: Members<'_>,
    empty: &Map<String, Value>,
    object: &Map<String, Value>,
    except: Except<'_>,
) {
    for (name, value) in object {
        let Some(before) = empty.get(name) else {
            member(text, of, name, value, except);
            continue;
        };
        let Some((shape, _)) = of.get(name) else {
            continue;
        };
        match (shape.atom(Some(value)), before, value) {
            (Atom::Map(of), Value::Object(before), Value::Object(after))
                if !of.atomic && !after.is_empty() =>
            {
                if let Some((_, except)) = except.field(name) {
                    let below = |text: &mut Vec<u8>| members(text, of, before, after, except);
                    node(text, |text| field(text, name), false, below);
                }
                continue;
            }
            (Atom::List(list), Value::Null, Value::Array(after))
                if !matches!(list.items, Items::Atomic) && !after.is_empty() =>
            {
                if except.field(name).is_some() {
                    let below = |text: &mut Vec<u8>| items(text, list, after);
                    node(text, |text| field(text, name), false, below);
                }
                continue;
            }
            _ => {}
        }
        let changed = except.owned_of(compare_member(of, name, before, value));
        if let Value::Object(changed) = fields_v1::write(&changed) {
            for (element, below) in &changed {
                separate(text);
                write_string(text, element);
                text.push(b':');
                write(text, below);
            }
        }
    }
}

/// Writes a member that the empty object lacks.
fn member(text: &mut Vec<u8>, of: Members<'_>, name: &str, value: &Value, except: Except<'_>) {
    if let (Some((shape, _)), Some((ownable, except))) = (of.get(name), except.field(name)) {
        let below = |text: &mut Vec<u8>| everything(text, shape, value, except);
        node(text, |text| field(text, name), ownable, below);
    }
}

/// Writes all paths below a value.
fn everything(text: &mut Vec<u8>, shape: Shape<'_>, value: &Value, except: Except<'_>) {
    match (shape.atom(Some(value)), value) {
        (Atom::List(list), Value::Array(values)) if !matches!(list.items, Items::Atomic) => {
            items(text, list, values);
        }
        (Atom::Map(of), Value::Object(object)) if !of.atomic => {
            for (name, value) in object {
                member(text, of, name, value, except);
            }
        }
        _ => {}
    }
}

/// Writes the items of a list that have a key.
fn items(text: &mut Vec<u8>, list: List<'_>, values: &[Value]) {
    let keyed = values.iter().filter_map(|value| {
        let element = list.element(value).ok()?;
        Some((element.to_text(), value))
    });
    let mut keyed: Vec<_> = keyed.collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    for same in keyed.chunk_by(|a, b| a.0 == b.0) {
        let below = |text: &mut Vec<u8>| {
            // Items with the same key are owned as a whole.
            if let [(_, value)] = same {
                everything(text, list.item(), value, Except::NOTHING);
            }
        };
        node(text, |text| write_string(text, &same[0].0), true, below);
    }
}

/// Writes an element and the paths below it; writes nothing if neither the element nor a path below it is owned.
fn node(
    text: &mut Vec<u8>,
    element: impl FnOnce(&mut Vec<u8>),
    owned: bool,
    below: impl FnOnce(&mut Vec<u8>),
) {
    let start = text.len();
    separate(text);
    element(text);
    text.extend_from_slice(b":{");
    let itself = text.len();
    if owned {
        text.extend_from_slice(br#"".":{}"#);
    }
    let empty = text.len();
    below(text);
    match (text.len() == empty, owned) {
        (true, true) => text.truncate(itself),
        (true, false) => return text.truncate(start),
        (false, _) => {}
    }
    text.push(b'}');
}

/// Writes the comma between two members.
fn separate(text: &mut Vec<u8>) {
    if text.last() != Some(&b'{') {
        text.push(b',');
    }
}

/// Writes the key `"f:name"`.
fn field(text: &mut Vec<u8>, name: &str) {
    text.extend_from_slice(br#""f:"#);
    let quote = text.len();
    write_string(text, name);
    text.remove(quote);
}
