//! One stored object: its JSON text, made once, and the few facts that reads need without parsing it.

use std::ops::Range;

use bytes::Bytes;
use kubewright_apimachinery::json::ordered::{Places, write_stored};
use kubewright_apimachinery::json::{parse_own, write_string};
use kubewright_apimachinery::selectors::LabelValues;
use serde_json::Value;

/// An object as it was written at one revision. GET, LIST and every watcher share its bytes.
#[derive(Debug)]
pub struct Object {
    /// The revision of the write.
    pub revision: u64,
    /// The namespace and the name, with a slash between them; the name alone for cluster-scoped objects.
    pub path: String,
    labels: Labels,
    text: Bytes,
    members: usize,
    digits: Range<usize>,
    read_back: ReadBack,
    /// The name that it has, if it is not the one in its path.
    own_name: Option<Box<str>>,
}

/// The labels of an object: there are few of them, and many objects, so that a map would take more room than the labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Box<[(Box<str>, Box<str>)]>);

impl Labels {
    fn of(object: &Value) -> Self {
        let labels = object.pointer("/metadata/labels");
        let labels = labels.and_then(Value::as_object).into_iter().flatten();
        let strings = labels.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
        Self(
            strings
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }

    /// Returns the value of a label.
    pub fn get(&self, key: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(of, _)| &**of == key)?;
        Some(value)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl LabelValues for Labels {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key)
    }
}

/// What clients see of an object, compared with what the real server stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "clients see more, less, or the same"
)]
pub enum ReadBack {
    /// The same.
    AsStored,
    /// More than that: the next write stores what was added, even if it changes nothing.
    WithDefaults,
    /// Less than that: the next write that does not bring the empty lists and maps, or the negative zeros, again takes them out.
    WithoutEmpties,
}

/// The JSON text of an object that has no revision yet: the store fills that in when it commits.
///
/// A built-in object begins with `kind` and `apiVersion`, as Go writes them, so that a list can leave them out by cutting;
/// the place of the revision is left open, so that it can be filled in without encoding twice.
#[derive(Debug)]
pub struct Draft {
    labels: Labels,
    name: Box<str>,
    text: Vec<u8>,
    members: usize,
    hole: usize,
    /// What clients see of what the real server would store.
    pub read_back: ReadBack,
}

impl Draft {
    /// Encodes an object. Its own `metadata.resourceVersion` is left out.
    pub fn new(object: &Value) -> Self {
        Self::with_managed_fields(object, None)
    }

    /// Encodes an object whose `managedFields` are JSON text already; as [`Self::new`] if there is no text.
    pub fn with_managed_fields(object: &Value, managed_fields: Option<&[u8]>) -> Self {
        let mut text = Vec::with_capacity(8192 + managed_fields.map_or(0, <[u8]>::len));
        let Places { members, revision } = write_stored(&mut text, object, managed_fields);
        text.push(b'\n');
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        Self {
            labels: Labels::of(object),
            name: name.unwrap_or_default().into(),
            text,
            members,
            hole: revision,
            read_back: ReadBack::AsStored,
        }
    }

    /// Returns whether this is the text that `object` already has, apart from the revision.
    pub fn says_the_same_as(&self, object: &Object) -> bool {
        self.read_back == object.read_back
            && self.read_back != ReadBack::WithDefaults
            && self.has_the_text_of(object)
    }

    /// Returns whether clients would see no change if this were written over `object`.
    pub fn has_the_text_of(&self, object: &Object) -> bool {
        self.hole == object.digits.start
            && self.text[..self.hole] == object.text[..object.digits.start]
            && self.text[self.hole..] == object.text[object.digits.end..]
    }

    /// Fills in the revision.
    pub(crate) fn at(mut self, path: String, revision: u64) -> Object {
        let digits = revision.to_string();
        let end = self.hole + digits.len();
        self.text.splice(self.hole..self.hole, digits.into_bytes());
        self.text.shrink_to_fit();
        let own_name =
            (!self.name.is_empty() && *self.name != *name_in(&path)).then_some(self.name);
        Object {
            own_name,
            revision,
            path,
            labels: self.labels,
            text: Bytes::from(self.text),
            members: self.members,
            digits: self.hole..end,
            read_back: self.read_back,
        }
    }

    /// Returns an object that is never stored: it has no revision.
    pub fn unstored(mut self, path: String) -> Object {
        let labels = std::mem::take(&mut self.labels);
        let (members, hole) = (self.members, self.hole);
        Object {
            own_name: None,
            revision: 0,
            path,
            labels,
            text: self.into_text(None),
            members,
            digits: hole..hole,
            read_back: ReadBack::AsStored,
        }
    }

    /// Returns the text with the `resourceVersion` that a client gave an object that is not stored.
    pub fn with_version(mut self, version: &str) -> Bytes {
        let mut quoted = Vec::with_capacity(version.len() + 2);
        write_string(&mut quoted, version);
        self.text.splice(self.hole - 1..=self.hole, quoted);
        Bytes::from(self.text)
    }

    /// Returns the text with a revision, or without `resourceVersion`, for answers to dry runs.
    pub fn into_text(mut self, revision: Option<u64>) -> Bytes {
        if let Some(revision) = revision {
            return self.with_version(&revision.to_string());
        }
        self.text.drain(self.version());
        Bytes::from(self.text)
    }

    /// The place of `resourceVersion` in the text, with one of the commas around it.
    fn version(&self) -> Range<usize> {
        let start = self.hole - b"\"resourceVersion\":\"".len();
        let end = self.hole + 1;
        if self.text[end] == b',' {
            start..end + 1
        } else {
            let comma = usize::from(self.text[start - 1] == b',');
            start - comma..end
        }
    }

    /// Returns what a shared backend keeps: the JSON without `resourceVersion`, which is the backend's, and behind it blanks
    /// that say what clients see of it. Other programs read it as JSON.
    pub(crate) fn to_shared(&self) -> Vec<u8> {
        let version = self.version();
        let json = &self.text[..self.text.len() - 1];
        let mut shared = Vec::with_capacity(json.len());
        shared.extend_from_slice(&json[..version.start]);
        shared.extend_from_slice(&json[version.end..]);
        shared.extend_from_slice(match self.read_back {
            ReadBack::AsStored => b"",
            ReadBack::WithDefaults => b" ",
            ReadBack::WithoutEmpties => b"  ",
        });
        shared
    }

    /// Returns the draft of what a shared backend has kept; none if it is not the JSON of an object.
    pub(crate) fn from_shared(shared: &[u8]) -> Option<Self> {
        let json = shared.trim_ascii_end();
        let value: Value = parse_own(json)?;
        value
            .get("metadata")
            .filter(|metadata| metadata.is_object())?;
        let mut draft = Self::new(&value);
        draft.read_back = match &shared[json.len()..] {
            b" " => ReadBack::WithDefaults,
            b"  " => ReadBack::WithoutEmpties,
            _ => ReadBack::AsStored,
        };
        Some(draft)
    }
}

impl Object {
    /// Returns the JSON text with a newline behind it: the body of a GET.
    #[inline]
    pub fn body(&self) -> Bytes {
        self.text.clone()
    }

    /// Returns the JSON text.
    #[inline]
    pub fn json(&self) -> &[u8] {
        &self.text[..self.text.len() - 1]
    }

    /// Returns the JSON text as an item of a list, without `kind` and `apiVersion`; the opening brace is left out too.
    #[inline]
    pub fn item(&self) -> &[u8] {
        &self.text[self.members..self.text.len() - 1]
    }

    /// Returns the object as a tree.
    #[expect(clippy::missing_panics_doc, reason = "the text was written here")]
    pub fn value(&self) -> Value {
        parse_own(self.json()).expect("the store holds JSON that it has written itself")
    }

    /// Returns the object's labels.
    #[inline]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the namespace; empty for cluster-scoped objects.
    #[inline]
    pub fn namespace(&self) -> &str {
        self.path
            .split_once('/')
            .map_or("", |(namespace, _)| namespace)
    }

    /// Returns the name.
    #[inline]
    pub fn name(&self) -> &str {
        name_in(&self.path)
    }

    /// Returns the name that it has, if it is not the one in its path: a webhook or a policy has changed it while the object was applied.
    #[inline]
    pub fn own_name(&self) -> Option<&str> {
        self.own_name.as_deref()
    }

    /// Returns the object as it was when it was deleted at a revision.
    pub(crate) fn deleted_at(&self, revision: u64) -> Self {
        let digits = revision.to_string();
        let mut text = Vec::with_capacity(self.text.len() + digits.len());
        text.extend_from_slice(&self.text[..self.digits.start]);
        text.extend_from_slice(digits.as_bytes());
        text.extend_from_slice(&self.text[self.digits.end..]);
        Self {
            revision,
            path: self.path.clone(),
            labels: self.labels.clone(),
            text: Bytes::from(text),
            members: self.members,
            digits: self.digits.start..self.digits.start + digits.len(),
            read_back: self.read_back,
            own_name: self.own_name.clone(),
        }
    }

    /// What clients see of what the real server would store.
    pub fn read_back(&self) -> ReadBack {
        self.read_back
    }

    pub(crate) fn size(&self) -> usize {
        self.text.len()
    }

    /// Returns what a backend keeps: the JSON, and before it a byte that says what clients see of it.
    pub(crate) fn to_kept(&self) -> Vec<u8> {
        let mut kept = Vec::with_capacity(self.text.len());
        kept.push(match self.read_back {
            ReadBack::AsStored => b'=',
            ReadBack::WithDefaults => b'+',
            ReadBack::WithoutEmpties => b'-',
        });
        kept.extend_from_slice(self.json());
        kept
    }

    /// Returns the object that a backend has kept; none if it is not one.
    pub(crate) fn kept(path: &str, kept: &[u8]) -> Option<Self> {
        let (revision, draft) = Draft::kept(kept)?;
        Some(draft.at(path.to_owned(), revision))
    }
}

fn name_in(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, name)| name)
}

impl Draft {
    /// Returns the draft of what a backend has kept, and its revision; none if it is not an object.
    pub(crate) fn kept(kept: &[u8]) -> Option<(u64, Self)> {
        let (read_back, json) = kept.split_first()?;
        let value: Value = parse_own(json)?;
        let revision = value.pointer("/metadata/resourceVersion")?.as_str()?;
        let revision = revision.parse().ok()?;
        let mut draft = Self::new(&value);
        draft.read_back = match read_back {
            b'=' => ReadBack::AsStored,
            b'+' => ReadBack::WithDefaults,
            b'-' => ReadBack::WithoutEmpties,
            _ => return None,
        };
        Some((revision, draft))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_revision_stands_in_the_metadata() {
        let value = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
            "metadata": {"name": "x", "resourceVersion": "7", "labels": {"app": "web"}},
        });
        let object = Draft::new(&value).at("default/x".to_owned(), 42);
        let mut expected = value;
        expected["metadata"]["resourceVersion"] = "42".into();
        assert_eq!(object.value(), expected);
        assert_eq!(object.labels().get("app"), Some("web"));
        assert_eq!((object.namespace(), object.name()), ("default", "x"));
        assert!(
            object
                .json()
                .starts_with(br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":"#)
        );
        assert!(object.item().starts_with(br#""metadata":"#));
    }

    #[test]
    fn a_name_that_is_not_that_of_the_path_is_known() {
        let object = |metadata: Value| {
            let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
            Draft::new(&value).at("default/x".to_owned(), 1)
        };
        assert_eq!(object(json!({"name": "x"})).own_name(), None);
        assert_eq!(object(json!({})).own_name(), None);
        let renamed = object(json!({"name": "y"}));
        assert_eq!((renamed.name(), renamed.own_name()), ("x", Some("y")));
        assert_eq!(renamed.deleted_at(2).own_name(), Some("y"));
    }

    #[test]
    fn the_same_content_is_recognised_at_another_revision() {
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
        let object = Draft::new(&value).at("default/x".to_owned(), 9_999);
        assert!(Draft::new(&object.value()).says_the_same_as(&object));
        let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "y"}});
        assert!(!Draft::new(&other).says_the_same_as(&object));
    }

    #[test]
    fn an_answer_that_was_not_stored_echoes_a_version_that_is_no_number() {
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
        let text = Draft::new(&value).with_version("a\"b");
        let shown = serde_json::from_slice::<Value>(&text).unwrap();
        assert_eq!(shown["metadata"]["resourceVersion"], "a\"b");
        assert_eq!(shown["metadata"]["name"], "x");
    }

    #[test]
    fn an_answer_that_was_not_stored_has_no_revision() {
        let metadata = [
            json!({"name": "x"}),
            json!({"name": "x", "uid": "u", "labels": {"a": "b"}}),
            json!({"labels": {"a": "b"}}),
            json!({}),
        ];
        let kinds = [("v1", "ConfigMap"), ("example.com/v1", "Box")];
        for (metadata, (version, kind)) in metadata
            .iter()
            .flat_map(|metadata| kinds.map(|kind| (metadata, kind)))
        {
            let value = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
            let text = Draft::new(&value).into_text(None);
            assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), value);
        }
    }
}
