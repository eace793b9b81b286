//! The order of the fields in a patched document: what the patch went through is sorted, as Go writes its maps, and all else
//! stands as it was written.

use std::collections::BTreeMap;

use super::{Operation, Patch, in_bounds, index_of, keys, position};
use crate::json::order::Names;

/// Where the fields of a patched document stand in its text.
#[derive(Debug)]
#[non_exhaustive]
pub struct PatchedFields {
    /// Every path; one that stands twice is there twice.
    pub paths: Vec<String>,
    /// What a strict decoder says of fields that stand twice in one object: `duplicate field "spec.foo"`.
    pub duplicates: Vec<String>,
}

impl Patch {
    /// Finds where the fields of a document stand after this patch. `body` is the text of the patch; without one the values of its
    /// operations are sorted. The patch applies to the document.
    pub fn fields_of(&self, document: &[u8], body: Option<&[u8]>) -> PatchedFields {
        let mut names = Names::read(document);
        let said = body.map_or(Names::None, Names::read);
        touch(&mut names);
        for (at, operation) in self.0.iter().enumerate() {
            let value = match &said {
                Names::List(operations) => operations.get(at).and_then(|said| last(said, "value")),
                _ => None,
            };
            let value = || {
                value
                    .cloned()
                    .unwrap_or_else(|| Names::of(&operation.value))
            };
            // An operation whose place is not there did not come this far.
            let _ = operation.rename(&mut names, value);
        }
        PatchedFields {
            paths: names.paths(),
            duplicates: names.duplicates(),
        }
    }
}

impl Operation {
    fn rename(&self, document: &mut Names, value: impl Fn() -> Names) -> Option<()> {
        let path = self.path.as_deref().ok()?;
        match self.op.as_str() {
            "replace" if path.is_empty() => {
                *document = value();
                touch(document);
            }
            "add" => insert(document, path, value(), false)?,
            "replace" => insert(document, path, value(), true)?,
            "remove" => drop(take(document, path)?),
            "move" => {
                let moved = take(document, self.from.as_deref().ok()?)?;
                insert(document, path, moved, false)?;
            }
            "copy" => {
                let from = self.from.as_deref().ok()?;
                find(document, from)?;
                // The way to where it goes may lead through it.
                find(document, path)?;
                let (container, key) = find(document, from)?;
                let copied = below(container, &key)?.clone();
                insert(document, path, copied, false)?;
            }
            "test" => {
                let (container, key) = find(document, path)?;
                touch_all(below(container, &key)?);
            }
            _ => {}
        }
        Some(())
    }
}

/// Makes of the text of an object a map, which has each name once, and is sorted.
fn touch(names: &mut Names) {
    if let Names::Map(members) = names {
        let sorted: BTreeMap<_, _> = std::mem::take(members).into_iter().collect();
        members.extend(sorted);
    }
}

fn touch_all(names: &mut Names) {
    touch(names);
    match names {
        Names::None => {}
        Names::List(items) => items.iter_mut().for_each(touch_all),
        Names::Map(members) => members.iter_mut().for_each(|(_, below)| touch_all(below)),
    }
}

fn last<'a>(names: &'a Names, name: &str) -> Option<&'a Names> {
    let Names::Map(members) = names else {
        return None;
    };
    let found = members.iter().rev().find(|(known, _)| known == name);
    found.map(|(_, value)| value)
}

/// The container of a place and the place's key in it; touches all on the way there.
fn find<'a>(document: &'a mut Names, pointer: &str) -> Option<(&'a mut Names, String)> {
    let mut keys = keys(pointer);
    let mut key = keys.next()?;
    let mut container = document;
    for next in keys {
        container = below(container, &key)?;
        touch(container);
        key = next;
    }
    Some((container, key))
}

fn below<'a>(container: &'a mut Names, key: &str) -> Option<&'a mut Names> {
    match container {
        Names::None => None,
        Names::List(items) => {
            let index = position(key, items.len()).ok()?;
            items.get_mut(index)
        }
        Names::Map(members) => {
            let at = place(members, key).ok()?;
            Some(&mut members[at].1)
        }
    }
}

fn place(members: &[(String, Names)], key: &str) -> Result<usize, usize> {
    members.binary_search_by(|(name, _)| name.as_str().cmp(key))
}

fn insert(document: &mut Names, pointer: &str, value: Names, instead: bool) -> Option<()> {
    let (container, key) = find(document, pointer)?;
    match container {
        Names::None => return None,
        Names::List(items) if key == "-" => items.push(value),
        Names::List(items) if instead => {
            let index = position(&key, items.len()).ok()?;
            items[index] = value;
        }
        Names::List(items) => {
            let index = in_bounds(index_of(&key).ok()?, items.len() + 1).ok()?;
            items.insert(index, value);
        }
        Names::Map(members) => match place(members, &key) {
            Ok(at) => members[at].1 = value,
            Err(at) => members.insert(at, (key, value)),
        },
    }
    Some(())
}

fn take(document: &mut Names, pointer: &str) -> Option<Names> {
    let (container, key) = find(document, pointer)?;
    match container {
        Names::None => None,
        Names::List(items) => {
            let index = position(&key, items.len()).ok()?;
            Some(items.remove(index))
        }
        Names::Map(members) => {
            let at = place(members, &key).ok()?;
            Some(members.remove(at).1)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_str};

    use super::*;

    fn paths(body: &str) -> Vec<String> {
        let document = br#"{"z":{"d":1,"c":{"b":1,"a":1}},"l":[{"y":1,"x":1},{"v":1,"u":1}]}"#;
        let patch = Patch::from_value(from_str(body).unwrap()).unwrap();
        let mut changed: Value = serde_json::from_slice(document).unwrap();
        patch.apply(&mut changed).unwrap();
        let found = patch.fields_of(document, Some(body.as_bytes())).paths;
        let mut sorted = found.clone();
        sorted.sort();
        let mut wanted = Names::of(&changed).paths();
        wanted.sort();
        assert_eq!(sorted, wanted, "{body}");
        found
    }

    #[test]
    fn objects_on_the_way_are_sorted_and_values_stand_as_they_are_written() {
        let patch = r#"[{"op":"add","path":"/z/e","value":{"q":1,"p":{"s":1,"r":1}}}]"#;
        assert_eq!(
            paths(patch),
            [
                "l", "l[0].y", "l[0].x", "l[1].v", "l[1].u", "z", "z.c", "z.c.b", "z.c.a", "z.d",
                "z.e", "z.e.q", "z.e.p", "z.e.p.s", "z.e.p.r"
            ]
        );
    }

    #[test]
    fn what_is_moved_or_copied_keeps_its_order() {
        let moved = r#"[{"op":"move","from":"/l/0","path":"/m"},{"op":"copy","from":"/z/c","path":"/l/-"}]"#;
        assert_eq!(
            paths(moved),
            [
                "l", "l[0].v", "l[0].u", "l[1].b", "l[1].a", "m", "m.y", "m.x", "z", "z.c",
                "z.c.b", "z.c.a", "z.d"
            ]
        );
    }

    #[test]
    fn what_is_copied_into_itself_is_sorted_before() {
        let copied = r#"[{"op":"copy","from":"/z","path":"/z/e"}]"#;
        let of_copy = ["z.e", "z.e.c", "z.e.c.b", "z.e.c.a", "z.e.d"];
        assert_eq!(paths(copied)[10..], of_copy);
    }

    #[test]
    fn what_is_tested_is_sorted_and_what_is_replaced_is_not() {
        let tested = r#"[{"op":"test","path":"/l","value":[{"x":1,"y":1},{"u":1,"v":1}]},{"op":"replace","path":"/z","value":{"g":1,"f":1}},{"op":"remove","path":"/l/-2"}]"#;
        assert_eq!(paths(tested), ["l", "l[0].u", "l[0].v", "z", "z.g", "z.f"]);
    }

    #[test]
    fn a_value_may_name_a_field_twice() {
        let body = br#"[{"op":"add","path":"/z/e","value":{"q":1,"q":2}}]"#;
        let patch = Patch::from_value(serde_json::from_slice(body).unwrap()).unwrap();
        let document = br#"{"z":{}}"#;
        let said = patch.fields_of(document, Some(body)).duplicates;
        assert_eq!(said, [r#"duplicate field "z.e.q""#]);
        assert!(patch.fields_of(document, None).duplicates.is_empty());
    }
}
