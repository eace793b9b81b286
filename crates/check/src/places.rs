//! Where the values of a YAML or JSON document are in its source.

use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::ops::Range;

use granit_parser::{Event, Parser, ScanError, Span};

/// A range of bytes of the source.
pub(crate) type Bytes = Range<usize>;

/// The values of a document, and where they are.
///
/// Aliases are not expanded: a document that would be large when expanded costs no more than its source.
#[derive(Debug)]
pub(crate) struct Places {
    nodes: Vec<Node>,
    root: Option<usize>,
    /// Keys that a mapping has before, each with the first of its name.
    repeated: Vec<Repeated>,
    /// The first key that is a mapping or a list.
    collection_as_key: Option<usize>,
}

/// A key that a mapping has twice: the last value counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) name: String,
    pub(crate) first: Bytes,
    pub(crate) again: Bytes,
}

/// What a field path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The value; the nearest one around it when the field is missing.
    pub(crate) value: Bytes,
    /// The key that the value belongs to, unless it is an element of a list or the document itself.
    pub(crate) key: Option<Bytes>,
    /// The last alias (`*name`) or merge key (`<<`) on the way, when the value is written elsewhere.
    pub(crate) alias: Option<Bytes>,
    /// The rest of the path, which the document does not have.
    pub(crate) missing: String,
}

/// Why a document has no places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotYaml {
    /// Where reading ended.
    pub(crate) at: usize,
    /// The parser's words.
    pub(crate) why: String,
}

#[derive(Debug)]
struct Node {
    bytes: Bytes,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Scalar(String),
    Sequence(Vec<usize>),
    Mapping(Vec<Entry>),
    /// The node that the anchor names.
    Alias(usize),
}

#[derive(Debug)]
struct Entry {
    key: usize,
    value: usize,
}

/// A collection whose end has not come.
struct Open {
    node: usize,
    /// The key that waits for its value.
    key: Option<usize>,
}

impl Places {
    /// Reads the first document of `source`.
    ///
    /// # Errors
    /// It is not YAML, or an alias has no anchor.
    pub(crate) fn read(source: &str) -> Result<Self, NotYaml> {
        let options = granit_parser::options! { emit_comments: false };
        let mut reader = Reader::default();
        for event in Parser::new_from_str_with_options(source, options) {
            let (event, span) = event.map_err(|error| not_yaml(source, &error))?;
            if reader.take(event, &span) {
                break;
            }
        }
        Ok(Self {
            nodes: reader.nodes,
            root: reader.root,
            repeated: reader.repeated,
            collection_as_key: reader.collection_as_key,
        })
    }

    /// The first key that is a mapping or a list, which no object has. Unquoted, `{{ name }}` is a mapping with such a key.
    pub(crate) fn collection_as_key(&self) -> Option<Bytes> {
        Some(self.nodes[self.collection_as_key?].bytes.clone())
    }

    /// The keys that their mappings have before.
    pub(crate) fn repeated(&self) -> &[Repeated] {
        &self.repeated
    }

    /// Follows a field path as the API server writes it, such as `spec.containers[0].image`,
    /// `metadata.labels[app.kubernetes.io/name]` and `.spec.ports[port=80]`.
    ///
    /// A key with dots may be written without brackets: the keys of the document decide.
    ///
    /// Returns `None` for a document without a value.
    pub(crate) fn find(&self, path: &str) -> Option<Place> {
        let root = self.root?;
        let mut found = Found {
            node: root,
            key: None,
            alias: None,
        };
        let mut rest = path;
        loop {
            self.follow_alias(&mut found);
            let step = rest.strip_prefix('.').unwrap_or(rest);
            if step.is_empty() {
                break;
            }
            let Some((next, after)) = self.step(&found, step) else {
                rest = step;
                break;
            };
            found = next;
            rest = after;
        }
        Some(Place {
            value: self.nodes[found.node].bytes.clone(),
            key: found.key.map(|key| self.nodes[key].bytes.clone()),
            alias: found.alias,
            missing: rest.strip_prefix('.').unwrap_or(rest).to_owned(),
        })
    }

    fn follow_alias(&self, found: &mut Found) {
        while let Content::Alias(node) = self.nodes[found.node].content {
            found.alias = Some(self.nodes[found.node].bytes.clone());
            found.node = node;
        }
    }

    /// One step of a path, and what remains of the path behind it.
    fn step<'a>(&self, from: &Found, path: &'a str) -> Option<(Found, &'a str)> {
        match &self.nodes[from.node].content {
            Content::Mapping(_) => {
                let (entry, rest) = self.longest(from.node, path, &mut Vec::new())?;
                let alias = entry.through.or_else(|| from.alias.clone());
                let found = Found {
                    node: entry.value,
                    key: Some(entry.key),
                    alias,
                };
                Some((found, rest))
            }
            Content::Sequence(items) => {
                let inner = path.strip_prefix('[')?;
                // A value between brackets may have brackets itself.
                let ends = inner.match_indices(']').map(|(end, _)| end);
                let mut candidates = ends.filter(|end| is_boundary(&inner[end + 1..]));
                candidates.find_map(|end| {
                    let node = self.element(items, &inner[..end])?;
                    let found = Found {
                        node,
                        key: None,
                        alias: from.alias.clone(),
                    };
                    Some((found, &inner[end + 1..]))
                })
            }
            Content::Scalar(_) | Content::Alias(_) => None,
        }
    }

    /// The element of a list by its index, by its value, or by the values of its keys.
    fn element(&self, items: &[usize], named: &str) -> Option<usize> {
        if let Ok(index) = named.parse::<usize>() {
            return items.get(index).copied();
        }
        let wanted: Option<Vec<(&str, &str)>> = named.split(',').map(key_and_value).collect();
        let is_it = |item: &&usize| match (&wanted, self.resolved(**item)) {
            (Some(wanted), node @ Content::Mapping(_)) => wanted
                .iter()
                .all(|(key, value)| self.scalar_of(node, key).is_some_and(|is| is == *value)),
            (None, Content::Scalar(text)) => text == named.trim_matches('"'),
            _ => false,
        };
        items.iter().find(is_it).copied()
    }

    fn resolved(&self, node: usize) -> &Content {
        match &self.nodes[node].content {
            Content::Alias(node) => self.resolved(*node),
            content => content,
        }
    }

    fn scalar_of<'a>(&'a self, mapping: &'a Content, key: &str) -> Option<&'a str> {
        let Content::Mapping(entries) = mapping else {
            return None;
        };
        let entry = entries
            .iter()
            .rev()
            .find(|entry| self.is_key(entry.key, key))?;
        match self.resolved(entry.value) {
            Content::Scalar(text) => Some(text),
            _ => None,
        }
    }

    fn is_key(&self, node: usize, key: &str) -> bool {
        matches!(self.resolved(node), Content::Scalar(text) if text == key)
    }

    /// The entry with the longest key that the path begins with. The last one of several counts, and one's own before those that
    /// are merged.
    fn longest<'a>(
        &self,
        mapping: usize,
        path: &'a str,
        seen: &mut Vec<usize>,
    ) -> Option<(Merged, &'a str)> {
        let Content::Mapping(entries) = &self.nodes[mapping].content else {
            return None;
        };
        let mut best: Option<(Merged, &str)> = None;
        for entry in entries.iter().rev() {
            let Content::Scalar(key) = self.resolved(entry.key) else {
                continue;
            };
            let Some(rest) = behind_key(path, key) else {
                continue;
            };
            if best
                .as_ref()
                .is_none_or(|(_, other)| rest.len() < other.len())
            {
                let merged = Merged {
                    key: entry.key,
                    value: entry.value,
                    through: None,
                };
                best = Some((merged, rest));
            }
        }
        if best.is_some() {
            return best;
        }
        let merges = entries.iter().filter(|entry| self.is_key(entry.key, "<<"));
        for merge in merges {
            for source in self.sources(merge.value) {
                if seen.contains(&source) {
                    continue;
                }
                seen.push(source);
                if let Some((mut entry, rest)) = self.longest(source, path, seen) {
                    entry.through = Some(self.nodes[merge.value].bytes.clone());
                    return Some((entry, rest));
                }
            }
        }
        None
    }

    /// The mappings that a merge key takes entries from.
    fn sources(&self, node: usize) -> Vec<usize> {
        let mut node = node;
        while let Content::Alias(to) = self.nodes[node].content {
            node = to;
        }
        match &self.nodes[node].content {
            Content::Sequence(items) => items
                .iter()
                .filter_map(|item| match self.nodes[*item].content {
                    Content::Alias(to) => Some(to),
                    Content::Mapping(_) => Some(*item),
                    _ => None,
                })
                .collect(),
            _ => vec![node],
        }
    }
}

#[derive(Clone, Debug)]
struct Found {
    node: usize,
    key: Option<usize>,
    alias: Option<Bytes>,
}

struct Merged {
    key: usize,
    value: usize,
    /// The merge key's value, if the entry comes through one.
    through: Option<Bytes>,
}

#[derive(Default)]
struct Reader {
    nodes: Vec<Node>,
    root: Option<usize>,
    open: Vec<Open>,
    /// The nodes that have anchors, by the parser's numbers.
    anchors: HashMap<usize, usize>,
    repeated: Vec<Repeated>,
    collection_as_key: Option<usize>,
}

impl Reader {
    /// Takes one event in. Returns whether it ends the document.
    fn take(&mut self, event: Event<'_>, span: &Span) -> bool {
        let bytes = span.byte_range().unwrap_or_default();
        match event {
            Event::Scalar(text, _, anchor, _) => {
                let content = Content::Scalar(text.into_owned());
                self.add(bytes, content, anchor);
            }
            Event::SequenceStart(_, anchor, _) => {
                let node = self.add(bytes, Content::Sequence(Vec::new()), anchor);
                self.open.push(Open { node, key: None });
            }
            Event::MappingStart(_, anchor, _) => {
                let node = self.add(bytes, Content::Mapping(Vec::new()), anchor);
                self.open.push(Open { node, key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(bytes),
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor);
                // The parser refuses an alias that has no anchor.
                let content = match known {
                    Some(node) => Content::Alias(*node),
                    None => Content::Scalar(String::new()),
                };
                self.add(bytes, content, 0);
            }
            Event::DocumentEnd => return true,
            _ => {}
        }
        false
    }

    fn add(&mut self, bytes: Bytes, content: Content, anchor: usize) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node { bytes, content });
        if anchor != 0 {
            self.anchors.insert(anchor, node);
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return node;
        };
        match (&mut self.nodes[parent.node].content, parent.key.take()) {
            (Content::Sequence(items), _) => items.push(node),
            (Content::Mapping(entries), Some(key)) => entries.push(Entry { key, value: node }),
            _ => {
                parent.key = Some(node);
                self.note_collection_as_key(node);
            }
        }
        node
    }

    /// A collection in flow style ends with its bracket, one in block style with its last value.
    fn close(&mut self, end: Bytes) {
        let Some(Open { node, .. }) = self.open.pop() else {
            return;
        };
        let last = match &self.nodes[node].content {
            Content::Sequence(items) => items.last().copied(),
            Content::Mapping(entries) => entries.last().map(|entry| entry.value),
            _ => None,
        };
        let end = match last {
            _ if !end.is_empty() => end.end,
            Some(last) => self.nodes[last].bytes.end,
            None => self.nodes[node].bytes.end,
        };
        self.nodes[node].bytes.end = end.max(self.nodes[node].bytes.start);
        self.note_repeated(node);
    }

    fn note_collection_as_key(&mut self, key: usize) {
        let mut resolved = key;
        while let Content::Alias(node) = self.nodes[resolved].content {
            resolved = node;
        }
        let is_collection = !matches!(self.nodes[resolved].content, Content::Scalar(_));
        if is_collection && self.collection_as_key.is_none() {
            self.collection_as_key = Some(key);
        }
    }

    fn note_repeated(&mut self, mapping: usize) {
        let Content::Mapping(entries) = &self.nodes[mapping].content else {
            return;
        };
        let mut first: HashMap<&str, &Bytes> = HashMap::with_capacity(entries.len());
        for entry in entries {
            let key = &self.nodes[entry.key];
            let Content::Scalar(name) = &key.content else {
                continue;
            };
            match first.entry(name) {
                Vacant(vacant) => {
                    vacant.insert(&key.bytes);
                }
                Occupied(known) => self.repeated.push(Repeated {
                    name: name.clone(),
                    first: (*known.get()).clone(),
                    again: key.bytes.clone(),
                }),
            }
        }
    }
}

/// The rest of a path behind a key with or without brackets.
fn behind_key<'a>(path: &'a str, key: &str) -> Option<&'a str> {
    let bare = path.strip_prefix(key);
    let bare = bare.filter(|rest| !key.is_empty() && is_boundary(rest));
    bare.or_else(|| {
        let rest = path.strip_prefix('[')?.strip_prefix(key)?;
        rest.strip_prefix(']').filter(|rest| is_boundary(rest))
    })
}

fn is_boundary(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

/// `name="web"` and `port=80`, as structured merges write the keys of an element.
fn key_and_value(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once('=')?;
    Some((key.trim().trim_matches('"'), value.trim().trim_matches('"')))
}

fn not_yaml(source: &str, error: &ScanError) -> NotYaml {
    let at = error.marker().byte_offset().unwrap_or_default();
    let why = error.info().clone();
    // The parser marks where the text with the tab begins.
    let tab = source.get(at..).filter(|_| why.ends_with("found a tab"));
    let tab = tab.and_then(|rest| rest.find('\t'));
    NotYaml {
        at: at + tab.unwrap_or_default(),
        why,
    }
}

#[cfg(test)]
mod tests;
