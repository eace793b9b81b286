//! Grafting: what a handler changed in a typed object, as a patch of the raw one.
//!
//! Typed before is compared with typed after, never raw with typed: a type drops fields that it does not know and may make
//! up fields that it requires, and neither is a change. The raw object decides how a change is written: a member that it has
//! is replaced, one that it lacks is added together with the parents that it lacks.

use std::collections::HashMap;

use crate::align::{align, staying};
use crate::apply::apply;
use crate::image::{Image, Kind, Lookup, Node, key_text};
use crate::json::JsonError;
use crate::patch::{Patch, Pointer};
use crate::raw::Raw;

/// Lists are rearranged element by element up to this many steps, and written anew beyond.
const REARRANGING: usize = 1 << 20;

/// The patch that gives a raw object the changes between two images of its typed form.
pub(crate) fn graft(raw: Raw<'_>, before: &Image, after: &Image) -> Result<Patch, JsonError> {
    let mut graft = Graft {
        after,
        patch: Patch::default(),
        path: Pointer::default(),
    };
    graft.value("", raw, Some(before.root()), after.root())?;
    Ok(graft.patch)
}

struct Graft<'g> {
    after: &'g Image,
    patch: Patch,
    path: Pointer,
}

impl Graft<'_> {
    /// A value that the raw object has. The field is the last one on the way to it.
    fn value(
        &mut self,
        field: &str,
        raw: Raw<'_>,
        before: Option<Node<'_>>,
        after: Node<'_>,
    ) -> Result<(), JsonError> {
        if before == Some(after) {
            return Ok(());
        }
        match after.kind() {
            Kind::Map if raw.is_object() => self.members(raw, before, after),
            Kind::List if raw.is_list() => self.elements(field, raw, before, after),
            _ => {
                self.replace(raw, before, after);
                Ok(())
            }
        }
    }

    fn members(
        &mut self,
        raw: Raw<'_>,
        before: Option<Node<'_>>,
        after: Node<'_>,
    ) -> Result<(), JsonError> {
        // Without a map before, every member after is new.
        let nothing = Node::new(EMPTY_MAP, &[]);
        let before = before
            .filter(|node| node.kind() == Kind::Map)
            .unwrap_or(nothing);
        let members = raw.members()?;
        let index = Index::new(&members);
        let mut old = Lookup::new(before);
        for (key, value) in after.members() {
            let old = old.find(key);
            if old == Some(value) {
                continue;
            }
            let key = key_text(key);
            match index.find(key) {
                Some(text) => {
                    let above = self.path.enter(key);
                    self.value(key, raw.member(key, text), old, value)?;
                    self.path.leave(above);
                }
                None => self.add_changed(key, old, value),
            }
        }
        let mut new = Lookup::new(after);
        for (key, _) in before.members() {
            if new.find(key).is_none() {
                let key = key_text(key);
                if index.find(key).is_some() {
                    let above = self.path.enter(key);
                    self.patch.remove(&self.path);
                    self.path.leave(above);
                }
            }
        }
        Ok(())
    }

    /// A member that the raw object lacks: only what changed in it is written, since a type may have made up the rest.
    fn add_changed(&mut self, key: &str, before: Option<Node<'_>>, after: Node<'_>) {
        let mark = self.patch.mark();
        let above = self.path.enter(key);
        if write_changed(self.patch.begin("add", &self.path), before, after) {
            self.patch.end();
        } else {
            self.patch.take_back(mark);
        }
        self.path.leave(above);
    }

    fn replace(&mut self, raw: Raw<'_>, before: Option<Node<'_>>, after: Node<'_>) {
        // A type may leave a member out of its serialization that the raw object has with this very value.
        let is_after = |raw: Image| raw.root() == after;
        if before.is_none() && self.after.then_json(raw.text()).is_ok_and(is_after) {
            return;
        }
        after.write(self.patch.begin("replace", &self.path));
        self.patch.end();
    }

    fn elements(
        &mut self,
        field: &str,
        raw: Raw<'_>,
        before: Option<Node<'_>>,
        after: Node<'_>,
    ) -> Result<(), JsonError> {
        let old = before.map(Node::elements).unwrap_or_default();
        let raws = raw.elements()?;
        if old.len() != raws.len() || before.is_none_or(|node| node.kind() != Kind::List) {
            // The type does not hold the elements one by one, so the old and the new elements cannot be matched.
            self.replace(raw, before, after);
            return Ok(());
        }
        let new = after.elements();
        let places = align(field, &old, &new);
        let stays = staying(&places);
        let moves = stays.iter().filter(|stays| !**stays).count();
        if moves.saturating_mul(old.len().max(new.len())) > REARRANGING {
            return self.rewrite(&raws, &old, &new, &places);
        }
        self.rearrange(&old, &new, &places, &stays);
        for (position, value) in new.iter().enumerate() {
            if let Some(place) = places[position] {
                let above = self.path.enter_at(position);
                self.value(field, Raw::new(raws[place]), Some(old[place]), *value)?;
                self.path.leave(above);
            }
        }
        Ok(())
    }

    /// Removes what is gone, then walks through the list as it shall be: what stays is passed, the rest is moved or added.
    fn rearrange(
        &mut self,
        old: &[Node<'_>],
        new: &[Node<'_>],
        places: &[Option<usize>],
        stays: &[bool],
    ) {
        let mut kept = vec![false; old.len()];
        for place in places.iter().flatten() {
            kept[*place] = true;
        }
        for place in (0..old.len()).rev().filter(|place| !kept[*place]) {
            let above = self.path.enter_at(place);
            self.patch.remove(&self.path);
            self.path.leave(above);
        }
        let mut current: Vec<Option<usize>> = (0..old.len())
            .filter(|place| kept[*place])
            .map(Some)
            .collect();
        // Everything before this position is in order, but for elements that have yet to be moved away.
        let mut next = 0;
        for (position, place) in places.iter().enumerate() {
            match place {
                Some(_) if stays[position] => {
                    while current[next] != *place {
                        next += 1;
                    }
                }
                Some(_) => {
                    let from = current
                        .iter()
                        .position(|element| element == place)
                        .expect("an element that was kept is in the list until the end");
                    current.remove(from);
                    let to = next - usize::from(from < next);
                    next = to;
                    current.insert(to, *place);
                    let mut source = self.path.clone();
                    let _ = source.enter_at(from);
                    let above = self.path.enter_at(to);
                    self.patch.relocate(&source, &self.path);
                    self.path.leave(above);
                }
                None => {
                    current.insert(next, None);
                    let above = self.path.enter_at(next);
                    new[position].write(self.patch.begin("add", &self.path));
                    self.patch.end();
                    self.path.leave(above);
                }
            }
            next += 1;
        }
    }

    /// Writes a list anew, each element that was there with all that its raw form has.
    fn rewrite(
        &mut self,
        raws: &[&str],
        old: &[Node<'_>],
        new: &[Node<'_>],
        places: &[Option<usize>],
    ) -> Result<(), JsonError> {
        let mut list = Vec::new();
        for (position, value) in new.iter().enumerate() {
            list.push(if position == 0 { b'[' } else { b',' });
            let Some(place) = places[position] else {
                value.write(&mut list);
                continue;
            };
            let mut inner = Graft {
                after: self.after,
                patch: Patch::default(),
                path: Pointer::default(),
            };
            let raw = Raw::new(raws[place]);
            if raw.is_object() || raw.is_list() {
                inner.value("", raw, Some(old[place]), *value)?;
                let text = apply(raw, &inner.patch)
                    .map_err(|error| JsonError::new(error.to_string(), 0))?;
                list.extend_from_slice(text.as_bytes());
            } else {
                value.write(&mut list);
            }
        }
        if list.is_empty() {
            list.push(b'[');
        }
        list.push(b']');
        self.patch
            .begin("replace", &self.path)
            .extend_from_slice(&list);
        self.patch.end();
        Ok(())
    }
}

const EMPTY_MAP: &[u8] = &[Kind::Map as u8, 0, 0, 0, 0];

/// Writes what changed in a value: of maps the members that differ. Says whether anything did.
fn write_changed(out: &mut Vec<u8>, before: Option<Node<'_>>, after: Node<'_>) -> bool {
    let Some(before) = before.filter(|node| node.kind() == Kind::Map && after.kind() == Kind::Map)
    else {
        after.write(out);
        return true;
    };
    let mut old = Lookup::new(before);
    let mut changed = false;
    out.push(b'{');
    for (key, value) in after.members() {
        let old = old.find(key);
        if old == Some(value) {
            continue;
        }
        let start = out.len();
        if changed {
            out.push(b',');
        }
        crate::json::write_string(out, key_text(key));
        out.push(b':');
        if write_changed(out, old, value) {
            changed = true;
        } else {
            out.truncate(start);
        }
    }
    out.push(b'}');
    changed
}

/// Finds members of a raw object.
enum Index<'m, 'a> {
    Few(&'m [(std::borrow::Cow<'a, str>, &'a str)]),
    Many(HashMap<&'m str, &'a str>),
}

impl<'m, 'a> Index<'m, 'a> {
    fn new(members: &'m [(std::borrow::Cow<'a, str>, &'a str)]) -> Self {
        if members.len() <= 32 {
            Self::Few(members)
        } else {
            Self::Many(
                members
                    .iter()
                    .map(|(key, value)| (&**key, *value))
                    .collect(),
            )
        }
    }

    fn find(&self, key: &str) -> Option<&'a str> {
        match self {
            Self::Few(members) => members
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| *value),
            Self::Many(members) => members.get(key).copied(),
        }
    }
}
