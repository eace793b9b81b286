//! Applies a patch to raw text, of which only the touched parts are taken to pieces.

use std::borrow::Cow;

use crate::json::{JsonError, Reader, write_string};
use crate::patch::Patch;
use crate::raw::Raw;

/// The reason why a patch does not apply.
///
/// ```
#[doc = include_str!("request.md")]
/// use kubewright_review::{ApplyError, Image};
///
/// let nothing = Image::of(&serde_json::json!({}), 0)?;
/// let error = review("DELETE", r#""object":null"#).graft(&nothing, &nothing).unwrap_err();
/// assert_eq!(error, ApplyError::Missing("object to change".to_owned()));
/// # Ok::<(), kubewright_review::ImageError>(())
/// ```
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyError {
    /// The patch or the document is not JSON.
    #[error("cannot read the patch or its document: {0}")]
    Unreadable(String),
    /// An operation's place does not exist.
    #[error("the patch does not apply: there is no {0}")]
    Missing(String),
}

impl From<JsonError> for ApplyError {
    fn from(error: JsonError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// The document as the patch leaves it.
pub(crate) fn apply(document: Raw<'_>, patch: &Patch) -> Result<String, ApplyError> {
    let json = patch.to_json();
    let json =
        String::from_utf8(json).map_err(|error| ApplyError::Unreadable(error.to_string()))?;
    let mut root = Node::Text(document);
    run(&mut root, &json)?;
    let mut out = Vec::with_capacity(document.text().len() + json.len());
    root.write(&mut out);
    String::from_utf8(out).map_err(|error| ApplyError::Unreadable(error.to_string()))
}

/// Whether a patch applies to a document.
pub(crate) fn check(document: Raw<'_>, patch: &Patch) -> Result<(), ApplyError> {
    let json = patch.to_json();
    let json =
        String::from_utf8(json).map_err(|error| ApplyError::Unreadable(error.to_string()))?;
    run(&mut Node::Text(document), &json)
}

/// One operation of a patch.
#[derive(Default)]
struct Operation<'a> {
    op: Cow<'a, str>,
    path: Cow<'a, str>,
    from: Cow<'a, str>,
    value: Option<&'a str>,
}

impl<'a> Operation<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, JsonError> {
        let mut operation = Self::default();
        reader.expect(b'{', "an operation")?;
        let mut more = reader.has_members(b'}');
        while more {
            let key = reader.key()?;
            match reader.borrowed(key) {
                "op" => operation.op = text(reader)?,
                "path" => operation.path = text(reader)?,
                "from" => operation.from = text(reader)?,
                "value" => operation.value = Some(reader.skip()?),
                _ => drop(reader.skip()?),
            }
            more = reader.has_more(b'}')?;
        }
        Ok(operation)
    }

    fn value(&self) -> Result<Node<'a>, ApplyError> {
        self.value
            .map(|value| Node::Text(Raw::new(value)))
            .ok_or_else(|| ApplyError::Missing("value to write".to_owned()))
    }
}

fn text<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, JsonError> {
    reader.expect(b'"', "a string")?;
    let text = reader.string()?;
    Ok(reader.text(text))
}

fn run<'a>(root: &mut Node<'a>, patch: &'a str) -> Result<(), ApplyError> {
    let mut reader = Reader::new(patch);
    reader.expect(b'[', "a list of operations")?;
    let mut more = reader.has_members(b']');
    while more {
        let operation = Operation::read(&mut reader)?;
        match &*operation.op {
            "add" => root.insert(&operation.path, operation.value()?)?,
            "replace" => *root.find(&operation.path)? = operation.value()?,
            "remove" => drop(root.remove(&operation.path)?),
            "move" => {
                let moved = root.remove(&operation.from)?;
                root.insert(&operation.path, moved)?;
            }
            other => return Err(ApplyError::Missing(format!("operation {other}"))),
        }
        more = reader.has_more(b']')?;
    }
    reader.end()?;
    Ok(())
}

/// A value whose JSON is parsed only when an operation needs its members or elements.
enum Node<'a> {
    Text(Raw<'a>),
    Object(Vec<(Cow<'a, str>, Self)>),
    List(Vec<Self>),
}

impl Node<'_> {
    fn open(&mut self) -> Result<(), ApplyError> {
        if let Self::Text(raw) = *self {
            if raw.is_object() {
                let members = raw.members()?.into_iter().map(|(key, text)| {
                    let member = raw.member(&key, text);
                    (key, Node::Text(member))
                });
                *self = Self::Object(members.collect());
            } else if raw.is_list() {
                let elements = raw.elements()?.into_iter();
                *self = Self::List(elements.map(|text| Node::Text(Raw::new(text))).collect());
            }
        }
        Ok(())
    }

    fn find(&mut self, path: &str) -> Result<&mut Self, ApplyError> {
        let missing = || ApplyError::Missing(path.to_owned());
        let mut node = self;
        if path.is_empty() {
            return Ok(node);
        }
        for token in path.strip_prefix('/').ok_or_else(missing)?.split('/') {
            node.open()?;
            node = match node {
                Self::Object(members) => {
                    let key = unescape(token);
                    members
                        .iter_mut()
                        .find(|(name, _)| *name == key)
                        .map(|(_, value)| value)
                        .ok_or_else(missing)?
                }
                Self::List(elements) => index(token)
                    .and_then(|index| elements.get_mut(index))
                    .ok_or_else(missing)?,
                Self::Text(_) => return Err(missing()),
            };
        }
        Ok(node)
    }

    fn insert(&mut self, path: &str, value: Self) -> Result<(), ApplyError> {
        let missing = || ApplyError::Missing(path.to_owned());
        let Some((parent, token)) = path.rsplit_once('/') else {
            *self = value;
            return Ok(());
        };
        let parent = self.find(parent)?;
        parent.open()?;
        match parent {
            Self::Object(members) => {
                let key = unescape(token);
                match members.iter_mut().find(|(name, _)| *name == key) {
                    Some((_, old)) => *old = value,
                    None => members.push((Cow::Owned(key.into_owned()), value)),
                }
            }
            Self::List(elements) => {
                let at = if token == "-" {
                    elements.len()
                } else {
                    index(token).ok_or_else(missing)?
                };
                if at > elements.len() {
                    return Err(missing());
                }
                elements.insert(at, value);
            }
            Self::Text(_) => return Err(missing()),
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<Self, ApplyError> {
        let missing = || ApplyError::Missing(path.to_owned());
        let (parent, token) = path.rsplit_once('/').ok_or_else(missing)?;
        let parent = self.find(parent)?;
        parent.open()?;
        match parent {
            Self::Object(members) => {
                let key = unescape(token);
                let at = members.iter().position(|(name, _)| *name == key);
                at.map(|at| members.remove(at).1).ok_or_else(missing)
            }
            Self::List(elements) => index(token)
                .filter(|index| *index < elements.len())
                .map(|index| elements.remove(index))
                .ok_or_else(missing),
            Self::Text(_) => Err(missing()),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(raw) => out.extend_from_slice(raw.text().as_bytes()),
            Self::Object(members) => {
                out.push(b'{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    write_string(out, key);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
            Self::List(elements) => {
                out.push(b'[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    element.write(out);
                }
                out.push(b']');
            }
        }
    }
}

fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

fn index(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with(['0', '+', '-']);
    token.parse().ok().filter(|_| canonical)
}
