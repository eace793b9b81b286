//! Writes objects as the real server does: a struct's fields in the order in which Go declares them, everything else by name.
//!
//! Objects of custom resources have no structs, so theirs stand by name throughout.
//!
//! ```
//! use kubewright_apimachinery::json::ordered;
//! use serde_json::json;
//!
//! let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}}});
//! assert_eq!(
//!     ordered::text(&pod),
//!     br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","labels":{"app":"web"}}}"#
//! );
//! ```

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::write::{write, write_string};
use crate::types::{self, Shape, Slot, Type, TypeRef};

/// Offsets in the text of a stored object.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the two places that are left open"
)]
pub struct Places {
    /// The member behind `kind` and `apiVersion`.
    pub members: usize,
    /// Where the digits of the revision belong.
    pub revision: usize,
}

/// Appends an object as it is stored, with an empty `resourceVersion` to be filled in. `managed_fields` is the text of
/// `metadata.managedFields`, for an object that does not have them yet.
pub fn write_stored(out: &mut Vec<u8>, object: &Value, managed_fields: Option<&[u8]>) -> Places {
    let mut writer = Writer::new(out);
    writer.object(object, managed_fields, true);
    writer.places
}

/// Appends an object of any kind. `managed_fields` is the text of `metadata.managedFields`, for an object that does not have
/// them yet.
pub fn write_object(out: &mut Vec<u8>, object: &Value, managed_fields: Option<&[u8]>) {
    Writer::new(out).object(object, managed_fields, false);
}

/// Returns the text of an answer: an object, a list, a table.
pub fn text(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    Writer::new(&mut out).answer(value);
    out
}

/// Returns the text of a part of an object, whose type has the name `kind`: `api.core.v1.PodSpec`.
pub fn part_text(kind: &str, part: &Value) -> String {
    let mut out = Vec::new();
    match part {
        Value::Object(members) => Writer::new(&mut out).fields(members, types::by_name(kind)),
        part => write(&mut out, part),
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The type of an object that says what it is.
pub(crate) fn type_of(object: &Value) -> Option<&'static Type> {
    let word = |name: &str| object.get(name).and_then(Value::as_str);
    types::named(word("apiVersion").unwrap_or("v1"), word("kind")?).map(TypeRef::inner)
}

/// The type of the items of a list that says what it is.
pub(crate) fn type_of_items(list: &Value) -> Option<&'static Type> {
    let word = |name: &str| list.get(name).and_then(Value::as_str);
    types::named(word("apiVersion")?, word("kind")?.strip_suffix("List")?).map(TypeRef::inner)
}

const METADATA: &str = "apimachinery.pkg.apis.meta.v1.ObjectMeta";
const REVISION: &str = "resourceVersion";
const MANAGED_FIELDS: &str = "managedFields";

static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

struct Writer<'o, 'v> {
    out: &'o mut Vec<u8>,
    /// The members of the objects that are being written, those of the innermost last.
    members: Vec<Member<'v>>,
    places: Places,
}

/// A member and its turn.
#[derive(Clone, Copy)]
struct Member<'v> {
    turn: u16,
    name: &'v str,
    slot: Option<&'static Slot>,
    part: Part<'v>,
}

#[derive(Clone, Copy)]
enum Part<'v> {
    Value(&'v Value),
    /// JSON text.
    Text(&'v [u8]),
    /// Digits that are filled in later.
    Revision,
}

impl<'o, 'v> Writer<'o, 'v> {
    fn new(out: &'o mut Vec<u8>) -> Self {
        Self {
            out,
            members: Vec::with_capacity(64),
            places: Places::default(),
        }
    }

    fn object(&mut self, object: &'v Value, managed_fields: Option<&'v [u8]>, stored: bool) {
        let Value::Object(members) = object else {
            return write(self.out, object);
        };
        let ty = type_of(object);
        if ty.is_none() && managed_fields.is_none() && !stored {
            return write(self.out, object);
        }
        let start = self.sort(members, ty);
        if stored && !members.contains_key("metadata") {
            self.add(ty, "metadata", Part::Value(&Value::Null));
        }
        self.turns(start);
        let end = self.members.len();
        for at in start..end {
            self.begin(at, start);
            let Member { name, part, .. } = self.members[at];
            match part {
                Part::Value(metadata) if name == "metadata" && (stored || metadata.is_object()) => {
                    if ty.is_some() {
                        // Behind the name and the colon that were just written.
                        self.places.members = self.out.len() - "\"metadata\":".len();
                    }
                    let of = ty.is_some().then(|| types::by_name(METADATA)).flatten();
                    let of = of.map(TypeRef::inner);
                    self.metadata(
                        metadata.as_object().unwrap_or(&NOTHING),
                        of,
                        managed_fields,
                        stored,
                    );
                }
                _ => self.part(at),
            }
        }
        self.end(start);
    }

    fn metadata(
        &mut self,
        metadata: &'v Map<String, Value>,
        ty: Option<&'static Type>,
        managed_fields: Option<&'v [u8]>,
        stored: bool,
    ) {
        let start = self.sort(metadata, ty);
        if stored {
            let said = self.members[start..]
                .iter()
                .position(|member| member.name == REVISION);
            if let Some(at) = said {
                self.members.swap_remove(start + at);
            }
            self.add(ty, REVISION, Part::Revision);
        }
        if let Some(managed_fields) = managed_fields {
            self.add(ty, MANAGED_FIELDS, Part::Text(managed_fields));
        }
        self.turns(start);
        self.all(start);
    }

    fn answer(&mut self, value: &'v Value) {
        let Value::Object(members) = value else {
            return write(self.out, value);
        };
        if type_of(value).is_some() {
            return self.object(value, None, false);
        }
        let known: &[&str] = match value.get("kind").and_then(Value::as_str) {
            Some("Table" | "PartialObjectMetadata" | "PartialObjectMetadataList") => &WHOLE,
            Some(_) if type_of_items(value).is_some() => &WHOLE,
            _ => return write(self.out, value),
        };
        self.out.push(b'{');
        let others = members.keys().map(String::as_str);
        let others = others.filter(|name| !known.contains(name));
        let mut first = true;
        for name in known.iter().copied().chain(others) {
            let Some(member) = members.get(name) else {
                continue;
            };
            if !std::mem::take(&mut first) {
                self.out.push(b',');
            }
            self.name(name);
            match (name, member) {
                ("metadata", Value::Object(metadata)) if members.contains_key("items") => {
                    self.fields(metadata, types::by_name(LIST_METADATA));
                }
                ("metadata", Value::Object(metadata)) if members.contains_key("rows") => {
                    self.fields(metadata, types::by_name(LIST_METADATA));
                }
                ("metadata", Value::Object(metadata)) => {
                    self.fields(metadata, types::by_name(METADATA));
                }
                ("items", Value::Array(items)) => self.items(items, type_of_items(value)),
                ("columnDefinitions", Value::Array(columns)) => self.each(columns, &COLUMN),
                ("rows", Value::Array(rows)) => self.each(rows, &ROW),
                _ => write(self.out, member),
            }
        }
        self.out.push(b'}');
    }

    fn items(&mut self, items: &'v [Value], ty: Option<&'static Type>) {
        self.out.push(b'[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            match (item, ty) {
                (Value::Object(members), Some(ty)) => self.typed(members, ty),
                _ => self.answer(item),
            }
        }
        self.out.push(b']');
    }

    /// Structs that are part of tables alone, by the names of their fields.
    fn each(&mut self, items: &'v [Value], order: &[&str]) {
        self.out.push(b'[');
        for (index, item) in items.iter().enumerate() {
            self.out
                .extend_from_slice(if index > 0 { b",{" } else { b"{" });
            let members = order
                .iter()
                .filter_map(|name| Some((*name, item.get(*name)?)));
            for (turn, (name, member)) in members.enumerate() {
                if turn > 0 {
                    self.out.push(b',');
                }
                self.name(name);
                match member {
                    Value::Array(conditions) if name == "conditions" => {
                        self.each(conditions, &CONDITION);
                    }
                    _ if name == "object" => self.answer(member),
                    _ => write(self.out, member),
                }
            }
            self.out.push(b'}');
        }
        self.out.push(b']');
    }

    fn fields(&mut self, members: &'v Map<String, Value>, ty: Option<types::TypeRef>) {
        let start = self.sort(members, ty.map(TypeRef::inner));
        self.turns(start);
        self.all(start);
    }

    fn typed(&mut self, members: &'v Map<String, Value>, ty: &'static Type) {
        let start = self.sort(members, Some(ty));
        self.turns(start);
        self.all(start);
    }

    /// Notes the members of an object with their turns. Members and fields are both sorted by name, so one pass over both
    /// finds every field.
    fn sort(&mut self, members: &'v Map<String, Value>, ty: Option<&'static Type>) -> usize {
        let start = self.members.len();
        let Some(ty) = ty else {
            let unordered = members.iter().map(|(name, value)| Member {
                turn: 0,
                name,
                slot: None,
                part: Part::Value(value),
            });
            self.members.extend(unordered);
            return start;
        };
        let mut from = 0;
        for (name, value) in members {
            let (turn, slot) = match ty.find_from(&mut from, name) {
                Some(at) => (ty.turns[at], Some(&ty.fields[at].slot)),
                None => (u16::MAX, None),
            };
            let part = Part::Value(value);
            self.members.push(Member {
                turn,
                name,
                slot,
                part,
            });
        }
        start
    }

    /// Adds a member that the object itself does not have.
    fn add(&mut self, ty: Option<&'static Type>, name: &'v str, part: Part<'v>) {
        let at = ty.and_then(|ty| ty.find_from(&mut 0, name));
        let turn = match (ty, at) {
            (Some(ty), Some(at)) => ty.turns[at],
            _ => 0,
        };
        self.members.push(Member {
            turn,
            name,
            slot: None,
            part,
        });
    }

    fn turns(&mut self, start: usize) {
        self.members[start..]
            .sort_unstable_by(|a, b| a.turn.cmp(&b.turn).then_with(|| a.name.cmp(b.name)));
    }

    fn all(&mut self, start: usize) {
        for at in start..self.members.len() {
            self.begin(at, start);
            self.part(at);
        }
        self.end(start);
    }

    fn begin(&mut self, at: usize, start: usize) {
        self.out.push(if at == start { b'{' } else { b',' });
        self.name(self.members[at].name);
    }

    fn name(&mut self, name: &str) {
        write_string(self.out, name);
        self.out.push(b':');
    }

    fn end(&mut self, start: usize) {
        if self.members.len() == start {
            self.out.push(b'{');
        }
        self.out.push(b'}');
        self.members.truncate(start);
    }

    fn part(&mut self, at: usize) {
        let Member { slot, part, .. } = self.members[at];
        match (part, slot) {
            (Part::Value(value), Some(slot)) => self.value(value, slot),
            (Part::Value(value), None) => write(self.out, value),
            (Part::Text(text), _) => self.out.extend_from_slice(text),
            (Part::Revision, _) => {
                self.out.push(b'"');
                self.places.revision = self.out.len();
                self.out.push(b'"');
            }
        }
    }

    fn value(&mut self, value: &'v Value, slot: &'static Slot) {
        match (&slot.shape, value) {
            (Shape::Object(reference), Value::Object(members)) => {
                self.typed(members, reference.get().inner());
            }
            (Shape::List(item), Value::Array(items)) if item.object().is_some() => {
                self.list(items, item);
            }
            (Shape::SchemaOrList | Shape::SchemaOrNames, Value::Array(items)) => {
                self.list(items, slot);
            }
            (Shape::Map(_, item), Value::Object(members)) if item.object().is_some() => {
                let mut before = b'{';
                for (name, member) in members {
                    self.out.push(before);
                    self.name(name);
                    self.value(member, item);
                    before = b',';
                }
                if members.is_empty() {
                    self.out.push(b'{');
                }
                self.out.push(b'}');
            }
            (
                Shape::SchemaOrList | Shape::SchemaOrBool | Shape::SchemaOrNames,
                Value::Object(members),
            ) => self.fields(members, slot.object()),
            _ => write(self.out, value),
        }
    }

    fn list(&mut self, items: &'v [Value], item: &'static Slot) {
        self.out.push(b'[');
        for (index, value) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.value(value, item);
        }
        self.out.push(b']');
    }
}

const LIST_METADATA: &str = "apimachinery.pkg.apis.meta.v1.ListMeta";

/// The fields of what is answered around objects.
const WHOLE: [&str; 6] = [
    "kind",
    "apiVersion",
    "metadata",
    "items",
    "columnDefinitions",
    "rows",
];
const COLUMN: [&str; 5] = ["name", "type", "format", "description", "priority"];
const ROW: [&str; 3] = ["cells", "conditions", "object"];
const CONDITION: [&str; 4] = ["type", "status", "reason", "message"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(value: &Value) -> String {
        String::from_utf8(text(value)).unwrap()
    }

    #[test]
    fn fields_stand_as_go_declares_them_and_maps_by_name() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"uid": "u", "name": "p", "labels": {"b": "2", "a": "1"}},
            "spec": {
                "containers": [{"image": "i", "name": "c", "ports": [{"containerPort": 1, "name": "p"}]}],
                "initContainers": [], "volumes": [{"emptyDir": {}, "name": "v"}], "unknown": {"b": 1, "a": 2},
            },
        });
        assert_eq!(
            written(&pod),
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","uid":"u","labels":{"a":"1","b":"2"}},"spec":{"volumes":[{"name":"v","emptyDir":{}}],"initContainers":[],"containers":[{"name":"c","image":"i","ports":[{"name":"p","containerPort":1}]}],"unknown":{"a":2,"b":1}}}"#
        );
    }

    #[test]
    fn custom_objects_stand_by_name() {
        let custom = json!({"kind": "Box", "apiVersion": "example.com/v1", "metadata": {"name": "a", "labels": {}}, "a": 1});
        assert_eq!(written(&custom), custom.to_string());
        let mut out = Vec::new();
        let places = write_stored(&mut out, &custom, None);
        let text = String::from_utf8(out).unwrap();
        let expected = r#"{"a":1,"apiVersion":"example.com/v1","kind":"Box","metadata":{"labels":{},"name":"a","resourceVersion":""}}"#;
        assert_eq!(text, expected);
        assert_eq!(&text[places.revision - 1..], r#"""}}"#);
    }

    #[test]
    fn what_is_stored_leaves_room_for_the_revision_and_has_its_owners() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {}, "metadata": {
            "resourceVersion": "7", "name": "a", "generation": 1, "annotations": {},
        }});
        let mut out = Vec::new();
        let places = write_stored(&mut out, &map, Some(b"[1]"));
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"","generation":1,"annotations":{},"managedFields":[1]},"data":{}}"#
        );
        assert!(text[places.members..].starts_with(r#""metadata":"#));
        assert!(text[places.revision..].starts_with(r#"","generation""#));
    }

    #[test]
    fn lists_tables_and_failures_begin_with_what_they_are() {
        for (value, expected) in [
            (
                json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"data": {}, "metadata": {"uid": "u", "name": "a"}}],
                    "metadata": {"remainingItemCount": 1, "resourceVersion": "1", "continue": "c"}}),
                r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"c","remainingItemCount":1},"items":[{"metadata":{"name":"a","uid":"u"},"data":{}}]}"#,
            ),
            (
                json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "columnDefinitions": [
                        {"name": "n", "description": "d", "format": "", "priority": 0, "type": "string"}],
                    "rows": [{"object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                        "metadata": {"uid": "u", "name": "a"}}, "cells": ["a"]}]}),
                r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[{"name":"n","type":"string","format":"","description":"d","priority":0}],"rows":[{"cells":["a"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u"}}}]}"#,
            ),
            (
                crate::status::Status::not_found("apps", "deployments", "a").to_value(),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \"a\" not found","reason":"NotFound","details":{"name":"a","group":"apps","kind":"deployments"},"code":404}"#,
            ),
        ] {
            assert_eq!(written(&value), expected);
        }
    }
}
