//! JSON text that is only looked into where something changes.

use std::borrow::Cow;

use crate::json::{JsonError, Member, Members, Reader};

/// A JSON value as text. Where the members of an object are can be known already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    text: &'a str,
    known: Known<'a>,
}

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
enum Known<'a> {
    Nothing,
    /// It is the whole object.
    Object(&'a Members),
    /// It is a member of this object, and has these members.
    Inner(&'a str, &'a [Member]),
}

impl<'a> Raw<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            known: Known::Nothing,
        }
    }

    /// An object whose members are known, as ranges of its text.
    pub(crate) fn object(text: &'a str, members: &'a Members) -> Self {
        Self {
            text,
            known: Known::Object(members),
        }
    }

    pub(crate) fn text(self) -> &'a str {
        self.text
    }

    pub(crate) fn is_object(self) -> bool {
        self.text.starts_with('{')
    }

    pub(crate) fn is_list(self) -> bool {
        self.text.starts_with('[')
    }

    /// The value of a member, of which as much is known as of this object.
    pub(crate) fn member(self, key: &str, text: &'a str) -> Self {
        let Known::Object(members) = self.known else {
            return Self::new(text);
        };
        let inner = match key {
            "metadata" => &members.metadata,
            "spec" => &members.spec,
            _ => return Self::new(text),
        };
        Self {
            text,
            known: Known::Inner(self.text, inner),
        }
    }

    /// The members of an object, in the order of the text. Of members with one key, the last one counts, as in Go.
    pub(crate) fn members(self) -> Result<Vec<(Cow<'a, str>, &'a str)>, JsonError> {
        let mut found: Vec<(Cow<'a, str>, &'a str)> = Vec::new();
        let (base, known): (_, &[Member]) = match self.known {
            Known::Nothing => ("", &[]),
            Known::Object(members) => (self.text, &members.object),
            Known::Inner(object, members) => (object, members),
        };
        if known.is_empty() {
            let mut reader = Reader::new(self.text);
            reader.expect(b'{', "an object")?;
            let mut more = reader.has_members(b'}');
            while more {
                let key = reader.key()?;
                let key = reader.text(key);
                found.push((key, reader.skip()?));
                more = reader.has_more(b'}')?;
            }
        } else {
            found.reserve_exact(known.len());
            for (key, value) in known {
                found.push((key_of(&base[key.clone()])?, &base[value.clone()]));
            }
        }
        forget_repeated(&mut found);
        Ok(found)
    }

    /// The elements of a list.
    pub(crate) fn elements(self) -> Result<Vec<&'a str>, JsonError> {
        let mut found = Vec::new();
        let mut reader = Reader::new(self.text);
        reader.expect(b'[', "a list")?;
        let mut more = reader.has_members(b']');
        while more {
            found.push(reader.skip()?);
            more = reader.has_more(b']')?;
        }
        Ok(found)
    }
}

/// A key of a known member, which ends with its quote if it has no escapes.
fn key_of(text: &str) -> Result<Cow<'_, str>, JsonError> {
    if let [b'"', .., b'"'] = text.as_bytes() {
        return Ok(Cow::Borrowed(&text[1..text.len() - 1]));
    }
    let mut reader = Reader::new(text);
    reader.expect(b'"', "a key")?;
    let key = reader.string()?;
    Ok(reader.text(key))
}

fn forget_repeated(members: &mut Vec<(Cow<'_, str>, &str)>) {
    let is_repeated = |at: usize| members[..at].iter().any(|(key, _)| *key == members[at].0);
    if members.len() <= 32 && !(0..members.len()).any(is_repeated) {
        return;
    }
    let mut seen = std::collections::HashSet::new();
    let mut last: Vec<_> = std::mem::take(members);
    last.reverse();
    last.retain(|(key, _)| seen.insert(key.clone()));
    last.reverse();
    *members = last;
}
