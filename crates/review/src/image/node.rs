//! Values inside an image.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::json::write_string;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    Null,
    False,
    True,
    Unsigned,
    Signed,
    Float,
    Text,
    List,
    Map,
}

impl Kind {
    fn of(tag: u8) -> Self {
        match tag {
            0 => Self::Null,
            1 => Self::False,
            2 => Self::True,
            3 => Self::Unsigned,
            4 => Self::Signed,
            5 => Self::Float,
            7 => Self::List,
            8 => Self::Map,
            _ => Self::Text,
        }
    }
}

/// The tag of a long string, which is kept outside the image.
pub(super) const LONG_TEXT: u8 = 9;

/// A value inside an image. Equal values are equal bytes, but for maps in another order.
#[derive(Clone, Copy)]
pub(crate) struct Node<'i>(&'i [u8], &'i [Arc<str>]);

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Node<'_> {}

impl Hash for Node<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<'i> Node<'i> {
    /// The value at the start of some bytes.
    pub(crate) fn new(bytes: &'i [u8], strings: &'i [Arc<str>]) -> Self {
        let length = match Kind::of(bytes[0]) {
            Kind::Null | Kind::False | Kind::True => 1,
            Kind::Unsigned | Kind::Signed | Kind::Float => 9,
            Kind::Text if bytes[0] == LONG_TEXT => 5,
            Kind::Text | Kind::List | Kind::Map => 5 + length(&bytes[1..]),
        };
        Self(&bytes[..length], strings)
    }

    pub(crate) fn kind(self) -> Kind {
        Kind::of(self.0[0])
    }

    /// The bytes of a text.
    pub(crate) fn text(self) -> &'i str {
        if self.0[0] == LONG_TEXT {
            return &self.1[length(&self.0[1..])];
        }
        key_text(&self.0[5..])
    }

    /// The elements of a list.
    pub(crate) fn elements(self) -> Vec<Self> {
        let mut rest = if self.kind() == Kind::List {
            &self.0[5..]
        } else {
            &[]
        };
        let mut elements = Vec::new();
        while !rest.is_empty() {
            let element = Self::new(rest, self.1);
            rest = &rest[element.0.len()..];
            elements.push(element);
        }
        elements
    }

    /// The members of a map.
    pub(crate) fn members(self) -> Members<'i> {
        let members = if self.kind() == Kind::Map {
            &self.0[5..]
        } else {
            &[]
        };
        Members(members, self.1)
    }

    /// The member of a map with this key.
    pub(crate) fn member(self, key: &str) -> Option<Self> {
        self.members()
            .find(|(name, _)| *name == key.as_bytes())
            .map(|(_, value)| value)
    }

    /// Writes the value as JSON.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self.kind() {
            Kind::Null => out.extend_from_slice(b"null"),
            Kind::False => out.extend_from_slice(b"false"),
            Kind::True => out.extend_from_slice(b"true"),
            Kind::Unsigned => out.extend_from_slice(self.unsigned().to_string().as_bytes()),
            Kind::Signed => {
                out.extend_from_slice(self.unsigned().cast_signed().to_string().as_bytes());
            }
            Kind::Float => write_float(out, f64::from_bits(self.unsigned())),
            Kind::Text => write_string(out, self.text()),
            Kind::List => {
                out.push(b'[');
                for (at, element) in self.elements().into_iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    element.write(out);
                }
                out.push(b']');
            }
            Kind::Map => {
                out.push(b'{');
                for (at, (key, value)) in self.members().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    write_string(out, key_text(key));
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }

    fn unsigned(self) -> u64 {
        self.0[1..]
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

/// A key as text. Images are only made of strings.
pub(crate) fn key_text(key: &[u8]) -> &str {
    std::str::from_utf8(key).unwrap_or_default()
}

fn write_float(out: &mut Vec<u8>, number: f64) {
    // A fraction stays a fraction, so that the API server reads the number as it was.
    let text = format!("{number:?}");
    out.extend_from_slice(text.as_bytes());
}

fn length(bytes: &[u8]) -> usize {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

/// The members of a map, in the order of its serialization.
#[derive(Clone)]
pub(crate) struct Members<'i>(&'i [u8], &'i [Arc<str>]);

impl<'i> Iterator for Members<'i> {
    type Item = (&'i [u8], Node<'i>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let (key, rest) = self.0[4..].split_at(length(self.0));
        let value = Node::new(rest, self.1);
        self.0 = &rest[value.0.len()..];
        Some((key, value))
    }
}

/// Finds the members of a map that are asked for in nearly the order of the map.
pub(crate) struct Lookup<'i> {
    all: Members<'i>,
    next: Members<'i>,
    index: Option<HashMap<&'i [u8], Node<'i>>>,
    misses: u32,
}

impl<'i> Lookup<'i> {
    pub(crate) fn new(map: Node<'i>) -> Self {
        Self {
            all: map.members(),
            next: map.members(),
            index: None,
            misses: 0,
        }
    }

    pub(crate) fn find(&mut self, key: &[u8]) -> Option<Node<'i>> {
        let mut ahead = self.next.clone();
        if let Some((name, value)) = ahead.next()
            && name == key
        {
            self.next = ahead;
            return Some(value);
        }
        if let Some(index) = &self.index {
            return index.get(key).copied();
        }
        self.misses += 1;
        if self.misses > 16 {
            return self
                .index
                .insert(self.all.clone().collect())
                .get(key)
                .copied();
        }
        let mut ahead = self.all.clone();
        let found = ahead.find(|(name, _)| *name == key);
        if found.is_some() {
            self.next = ahead;
        }
        found.map(|(_, value)| value)
    }
}
