//! An object as a cache holds it: its bytes, and the little of its metadata that is looked at without decoding them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use super::text::{Packer, Text};
use crate::Key;

/// An object in a cache.
///
/// It is kept as the JSON that the API server sent, without `managedFields`, and packed against other objects of its kind:
/// a pod takes a tenth of the memory that a typed one would in the leanest of caches. It is decoded when it is read, into
/// the full type or into one with the few fields that matter.
///
/// ```
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let entry = cached_entry("{metadata: {name: settings}, data: {mode: quiet}}").await;
/// assert_eq!(entry.key().to_string(), "default/settings");
/// assert!(entry.json().contains(r#""mode":"quiet""#));
/// # Ok(())
/// # }
/// ```
pub struct Entry {
    key: Key,
    metadata: Metadata,
    json: Text,
}

/// Metadata of an object that a cache knows without decoding the object.
///
/// ```
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let entry = cached_entry("metadata: {name: settings, labels: {app: web}}").await;
/// let metadata = entry.metadata();
/// assert_eq!(metadata.label("app"), Some("web"));
/// assert!(!metadata.is_being_deleted());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Metadata {
    uid: Box<str>,
    version: Box<str>,
    generation: Option<i64>,
    is_deleted: bool,
    /// Sorted by name: a map would take more room than what it holds.
    labels: Box<[(Box<str>, Box<str>)]>,
    controller: Option<Box<Owner>>,
    annotations: u64,
    finalizers: u64,
    content: u64,
}

/// An owner reference.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Owner {
    pub(crate) api_version: Box<str>,
    pub(crate) kind: Box<str>,
    pub(crate) name: Box<str>,
    #[serde(default)]
    controller: bool,
}

impl Entry {
    /// Reads an object.
    pub(crate) fn read(json: &str) -> Result<Self, serde_json::Error> {
        let whole: Whole<'_> = serde_json::from_str(json)?;
        let metadata = whole.metadata;
        let key = Key::new(metadata.namespace.as_deref(), &metadata.name);
        let stripped = match metadata.managed_fields {
            Some(fields) => without(json, "\"managedFields\"", fields),
            None => Cow::Borrowed(json),
        };
        Ok(Self {
            key,
            json: Text::Plain(stripped.into()),
            metadata: Metadata {
                uid: metadata.uid.into(),
                version: metadata.resource_version.into(),
                generation: metadata.generation,
                is_deleted: metadata.deletion_timestamp.is_some(),
                labels: metadata.labels.into_iter().flatten().collect(),
                controller: metadata
                    .owner_references
                    .unwrap_or_default()
                    .into_iter()
                    .find(|owner| owner.controller)
                    .map(Box::new),
                annotations: digest(metadata.annotations.map(RawValue::get)),
                finalizers: digest(metadata.finalizers.map(RawValue::get)),
                content: whole.content,
            },
        })
    }

    /// The same object, with a part of its JSON.
    pub(crate) fn with_json(self, json: String) -> Self {
        let json = Text::Plain(json.into());
        Self { json, ..self }
    }

    /// Makes the text small that the entry holds, if it is not yet.
    pub(crate) fn packed(self, packer: &mut Packer) -> Self {
        let json = match self.json {
            Text::Plain(text) => packer.pack(text),
            packed @ Text::Packed { .. } => packed,
        };
        Self { json, ..self }
    }

    /// The bytes that the text takes.
    pub(crate) fn room(&self) -> usize {
        self.json.room()
    }

    /// Whether the text takes as little memory as it can.
    pub(crate) fn is_packed(&self) -> bool {
        self.json.is_packed()
    }

    /// Returns namespace and name of the object.
    ///
    /// ```
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entry = cached_entry("metadata: {name: settings}").await;
    /// assert_eq!((entry.key().namespace(), entry.key().name()), (Some("default"), "settings"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the metadata that is known without decoding the object.
    ///
    /// ```
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entry = cached_entry("metadata: {name: settings, labels: {app: web}}").await;
    /// assert_eq!(entry.metadata().label("app"), Some("web"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the JSON of the object as the API server sent it, without `managedFields`.
    ///
    /// ```
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entry = cached_entry("{metadata: {name: settings}, data: {mode: quiet}}").await;
    /// let object: serde_json::Value = serde_json::from_str(&entry.json())?;
    /// assert_eq!(object["data"]["mode"], "quiet");
    /// assert!(object["metadata"].get("managedFields").is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn json(&self) -> Cow<'_, str> {
        self.json.read()
    }

    /// Decodes the object into its type, or into one with only the fields that matter.
    ///
    /// ```
    #[doc = include_str!("example.md")]
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Settings {
    ///     data: std::collections::BTreeMap<String, String>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entry = cached_entry("{metadata: {name: settings}, data: {mode: quiet}}").await;
    /// assert_eq!(entry.decode::<Settings>()?.data["mode"], "quiet");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the object is not of that type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.json.read())
    }

    /// Returns the finalizers, which takes a look at the whole object.
    pub(crate) fn finalizers(&self) -> Vec<String> {
        let finalizers = self.decode::<Finalizers>().ok();
        let finalizers = finalizers.and_then(|object| object.metadata.finalizers);
        finalizers.unwrap_or_default()
    }

    /// Returns what tells one state of the object from any other.
    pub(crate) fn version(&self) -> (&str, &str) {
        (&self.metadata.uid, &self.metadata.version)
    }
}

impl Metadata {
    /// Returns the UID, which differs between two objects that had the same name one after the other.
    ///
    /// ```
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (one, other) = (cached_entry("metadata: {name: a}").await, cached_entry("metadata: {name: b}").await);
    /// assert_ne!(one.metadata().uid(), other.metadata().uid());
    /// # Ok(())
    /// # }
    /// ```
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Returns `metadata.resourceVersion`.
    ///
    /// ```
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entry = cached_entry("metadata: {name: settings}").await;
    /// let object: serde_json::Value = serde_json::from_str(&entry.json())?;
    /// assert_eq!(object["metadata"]["resourceVersion"], entry.metadata().resource_version());
    /// # Ok(())
    /// # }
    /// ```
    pub fn resource_version(&self) -> &str {
        &self.version
    }

    /// Returns `metadata.generation`, which counts changes of the desired state; `None` for kinds without it.
    ///
    /// ```
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entry = cached_entry("metadata: {name: settings}").await;
    /// assert_eq!(entry.metadata().generation(), None, "a ConfigMap has no generation");
    /// # Ok(())
    /// # }
    /// ```
    pub fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// Returns whether the object is being deleted and waits for its finalizers.
    ///
    /// ```
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entry = cached_entry("metadata: {name: settings}").await;
    /// assert!(!entry.metadata().is_being_deleted());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_being_deleted(&self) -> bool {
        self.is_deleted
    }

    /// Returns the value of a label.
    ///
    /// ```
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entry = cached_entry("metadata: {name: settings, labels: {app: web}}").await;
    /// assert_eq!(entry.metadata().label("app"), Some("web"));
    /// assert_eq!(entry.metadata().label("tier"), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn label(&self, name: &str) -> Option<&str> {
        let place = self
            .labels
            .binary_search_by(|(known, _)| (**known).cmp(name));
        place.ok().map(|place| &*self.labels[place].1)
    }

    pub(crate) fn labels(&self) -> &[(Box<str>, Box<str>)] {
        &self.labels
    }

    pub(crate) fn controller(&self) -> Option<&Owner> {
        self.controller.as_deref()
    }

    pub(crate) fn annotations(&self) -> u64 {
        self.annotations
    }

    pub(crate) fn finalizers(&self) -> u64 {
        self.finalizers
    }

    pub(crate) fn content(&self) -> u64 {
        self.content
    }
}

impl fmt::Debug for Entry {
    // The object may hold what must not be in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Entry")
            .field("key", &self.key)
            .field("version", &self.metadata.version)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Finalizers {
    metadata: FinalizersMetadata,
}

#[derive(Deserialize)]
struct FinalizersMetadata {
    finalizers: Option<Vec<String>>,
}

struct Whole<'a> {
    metadata: RawMetadata<'a>,
    /// A digest of all but metadata and status.
    content: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMetadata<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
    generation: Option<i64>,
    deletion_timestamp: Option<IgnoredAny>,
    labels: Option<BTreeMap<Box<str>, Box<str>>>,
    owner_references: Option<Vec<Owner>>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    finalizers: Option<&'a RawValue>,
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Field<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Whole<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Whole<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a Kubernetes object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut metadata = None;
                let mut content = DefaultHasher::new();
                while let Some(Field(name)) = map.next_key()? {
                    match &*name {
                        "metadata" => metadata = Some(map.next_value()?),
                        "status" => {
                            map.next_value::<IgnoredAny>()?;
                        }
                        name => {
                            name.hash(&mut content);
                            map.next_value::<&RawValue>()?.get().hash(&mut content);
                        }
                    }
                }
                Ok(Whole {
                    metadata: metadata.ok_or_else(|| de::Error::missing_field("metadata"))?,
                    content: content.finish(),
                })
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

fn digest(text: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The text without a field, whose value is a part of that text.
fn without<'a>(json: &'a str, name: &str, value: &RawValue) -> Cow<'a, str> {
    let start = value.get().as_ptr().addr() - json.as_ptr().addr();
    let (before, rest) = json.split_at(start);
    let after = &rest[value.get().len()..];
    let field = before
        .trim_end()
        .strip_suffix(':')
        .and_then(|before| before.trim_end().strip_suffix(name));
    match field {
        Some(before) => {
            let before = before.trim_end();
            if let Some(before) = before.strip_suffix(',') {
                Cow::Owned([before, after].concat())
            } else {
                let after = after.trim_start();
                Cow::Owned([before, after.strip_prefix(',').unwrap_or(after)].concat())
            }
        }
        // A name with escapes, which no API server writes.
        None => Cow::Borrowed(json),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::{Value, json};

    use super::*;

    fn entry(object: &Value) -> Entry {
        Entry::read(&object.to_string()).unwrap()
    }

    #[test]
    fn managed_fields_are_cut_out_wherever_they_stand() {
        let fields = r#""managedFields" : [{"manager":"a","fieldsV1":{"f:x":{",":{}}}}]"#;
        for metadata in [
            format!(r#"{{ {fields} , "name":"a"}}"#),
            format!(r#"{{"name":"a",{fields},"uid":"1"}}"#),
            format!(r#"{{"name":"a" , {fields} }}"#),
            r#"{"name":"a"}"#.to_owned(),
        ] {
            let whole = format!(r#"{{"metadata":{metadata},"data":{{"managedFields":"kept"}}}}"#);
            let read = Entry::read(&whole).unwrap();
            let left: Value = read.decode().unwrap();
            assert_eq!(left["metadata"]["managedFields"], Value::Null, "{metadata}");
            assert_eq!(left["metadata"]["name"], "a");
            assert_eq!(left["data"]["managedFields"], "kept");
        }
    }

    #[test]
    fn managed_fields_alone_leave_nothing_but_a_nameless_object_is_none() {
        assert!(Entry::read(r#"{"metadata":{"managedFields":[]}}"#).is_err());
        for text in [
            "",
            "{}",
            "[]",
            r#"{"metadata":null}"#,
            r#"{"metadata":{"name":"#,
        ] {
            assert!(Entry::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_object_is_decoded_when_it_is_read_into_what_the_reader_wants() {
        #[derive(Deserialize)]
        struct Names {
            data: BTreeMap<String, String>,
        }
        let read = entry(&json!({
            "metadata": {"namespace": "blue", "name": "beds", "uid": "1", "resourceVersion": "7",
                "labels": {"c": "d", "a": "b"}},
            "data": {"beds": "4"},
        }));
        assert_eq!(read.key().to_string(), "blue/beds");
        assert_eq!(read.version(), ("1", "7"));
        let label = |name| read.metadata().label(name);
        assert_eq!(
            [label("a"), label("b"), label("c")],
            [Some("b"), None, Some("d")]
        );
        assert_eq!(
            read.decode::<ConfigMap>().unwrap().data.unwrap()["beds"],
            "4"
        );
        assert_eq!(read.decode::<Names>().unwrap().data["beds"], "4");
    }

    #[test]
    fn only_the_owner_that_controls_is_the_controller() {
        let owner = |name: &str, controller: bool| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": "1",
                "controller": controller})
        };
        let owners = |owners: Value| {
            entry(&json!({"metadata": {"name": "a", "ownerReferences": owners}}))
                .metadata()
                .controller()
                .map(|owner| owner.name.to_string())
        };
        assert_eq!(
            owners(json!([owner("a", false), owner("b", true)])).as_deref(),
            Some("b")
        );
        assert_eq!(owners(json!([owner("a", false)])), None);
        assert_eq!(owners(Value::Null), None);
    }

    #[test]
    fn status_and_metadata_are_no_part_of_the_content() {
        let content = |object: Value| entry(&object).metadata().content();
        let first = content(json!({"metadata": {"name": "a"}, "spec": {"x": 1}, "status": 1}));
        let second = content(json!({"metadata": {"name": "b"}, "spec": {"x": 1}, "status": 2}));
        let other = content(json!({"metadata": {"name": "a"}, "spec": {"x": 2}, "status": 1}));
        assert_eq!(first, second);
        assert_ne!(first, other);
    }

    #[test]
    fn debug_output_does_not_show_the_object() {
        let shown = format!(
            "{:?}",
            entry(&json!({"metadata": {"name": "a"}, "data": "hunter2"}))
        );
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
