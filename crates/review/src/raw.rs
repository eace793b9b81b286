//! JSON text that is only looked into where something changes.

use std::borrow::Cow;

use crate::json::{JsonError, Members, Reader};

/// A JSON value as text. Where the members of an object are can be known already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    text: &'a str,
    members: Option<&'a Members>,
}

impl<'a> Raw<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            members: None,
        }
    }

    /// An object whose members are known, as ranges of its text.
    pub(crate) fn object(text: &'a str, members: &'a Members) -> Self {
        Self {
            text,
            members: Some(members),
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

    /// The members of an object, in the order of the text. Of members with one key, the last one counts, as in Go.
    pub(crate) fn members(self) -> Result<Vec<(Cow<'a, str>, &'a str)>, JsonError> {
        let mut found: Vec<(Cow<'a, str>, &'a str)> = Vec::new();
        if let Some(members) = self.members {
            for (key, value) in members {
                let mut reader = Reader::new(&self.text[key.clone()]);
                let key = reader.key()?;
                found.push((reader.text(key), &self.text[value.clone()]));
            }
        } else {
            let mut reader = Reader::new(self.text);
            reader.expect(b'{', "an object")?;
            let mut more = reader.has_members(b'}');
            while more {
                let key = reader.key()?;
                let key = reader.text(key);
                found.push((key, reader.skip()?));
                more = reader.has_more(b'}')?;
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

fn forget_repeated(members: &mut Vec<(Cow<'_, str>, &str)>) {
    let mut keys: Vec<_> = members.iter().map(|(key, _)| &**key).collect();
    keys.sort_unstable();
    if keys.windows(2).all(|pair| pair[0] != pair[1]) {
        return;
    }
    let mut seen = std::collections::HashSet::new();
    let mut last: Vec<_> = std::mem::take(members);
    last.reverse();
    last.retain(|(key, _)| seen.insert(key.clone()));
    last.reverse();
    *members = last;
}
