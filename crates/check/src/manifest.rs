//! Objects in the documents of a source.

use std::ops::Range;

use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_apimachinery::{json, yaml};
use serde_json::{Number, Value};

use crate::finding::ObjectReference;
use crate::places::Places;
use crate::source::Source;

/// How the kinds of lists end.
const KIND_OF_LISTS: &str = "List";

const COLLECTION_AS_KEY: &str =
    "invalid map key: the key of a field has to be a string, not a mapping or a list";

/// An object, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    /// The number of its source.
    pub(crate) source: usize,
    /// The bytes of its document.
    pub(crate) document: Range<usize>,
    /// Its path in the document: empty, or `items[3]`.
    pub(crate) path: String,
    pub(crate) object: Value,
}

/// Something in a source that is no object.
#[derive(Clone, Debug)]
pub(crate) struct NoObject {
    pub(crate) document: Range<usize>,
    pub(crate) found: NotObject,
    pub(crate) why: String,
}

/// What is there in place of an object.
#[derive(Clone, Debug)]
pub(crate) enum NotObject {
    /// Neither YAML nor JSON, because of these bytes of the document, if some are to blame.
    Malformed(Option<Range<usize>>),
    /// Another value, at this path.
    Value(String),
}

impl Manifest {
    /// An object that is in no source.
    pub(crate) fn of(object: Value) -> Self {
        Self {
            source: 0,
            document: 0..0,
            path: String::new(),
            object,
        }
    }

    /// Puts the object into the namespace `default`, if it names none.
    pub(crate) fn default_namespace(&mut self) {
        if self.namespace().is_empty()
            && let Some(metadata) = self.object.part("metadata")
        {
            metadata.put("namespace", "default");
        }
    }

    pub(crate) fn api_version(&self) -> &str {
        self.object.text("apiVersion")
    }

    pub(crate) fn kind(&self) -> &str {
        self.object.text("kind")
    }

    pub(crate) fn name(&self) -> &str {
        meta_text(&self.object, "name")
    }

    pub(crate) fn namespace(&self) -> &str {
        meta_text(&self.object, "namespace")
    }

    pub(crate) fn reference(&self) -> ObjectReference {
        let name = match self.name() {
            "" => meta_text(&self.object, "generateName"),
            name => name,
        };
        ObjectReference {
            api_version: self.api_version().to_owned(),
            kind: self.kind().to_owned(),
            namespace: self.namespace().to_owned(),
            name: name.to_owned(),
        }
    }

    /// The path of one of the object's fields in the document.
    pub(crate) fn path_of(&self, field: &str) -> String {
        let field = field.trim_start_matches('.');
        match (self.path.as_str(), field) {
            ("", field) => field.to_owned(),
            (path, "") => path.to_owned(),
            (path, field) if field.starts_with('[') => format!("{path}{field}"),
            (path, field) => format!("{path}.{field}"),
        }
    }
}

/// Reads all objects of a source.
pub(crate) fn read(number: usize, source: &Source) -> (Vec<Manifest>, Vec<NoObject>) {
    let (mut manifests, mut others) = (Vec::new(), Vec::new());
    for document in source.documents() {
        let bytes = document.bytes;
        let text = &source.text[bytes.clone()];
        match value(text) {
            Ok(Value::Null) => {}
            Ok(value) => {
                let mut found = Vec::new();
                flatten(String::new(), value, &mut found);
                for (path, object) in found {
                    match why_no_object(&object) {
                        None => manifests.push(Manifest {
                            source: number,
                            document: bytes.clone(),
                            path,
                            object,
                        }),
                        Some(why) => others.push(NoObject {
                            document: bytes.clone(),
                            found: NotObject::Value(path),
                            why,
                        }),
                    }
                }
            }
            Err(why) => {
                let (at, why) = match Places::read(text) {
                    Err(error) => (Some(error.at..error.at), error.why),
                    Ok(places) => match places.collection_as_key() {
                        Some(key) => (Some(key), COLLECTION_AS_KEY.to_owned()),
                        None => (None, why),
                    },
                };
                others.push(NoObject {
                    document: bytes,
                    found: NotObject::Malformed(at),
                    why,
                });
            }
        }
    }
    (manifests, others)
}

fn value(text: &str) -> Result<Value, String> {
    let parsed = if text.trim_start().starts_with('{') {
        // YAML in flow style begins alike.
        json::parse(text.as_bytes()).or_else(|_| yaml::parse(text.as_bytes()))
    } else {
        yaml::parse(text.as_bytes())
    };
    match parsed {
        Ok(parsed) => {
            let mut value = parsed.value;
            as_read_by_kubectl(&mut value);
            Ok(value)
        }
        Err(malformed) => Err(malformed.to_string()),
    }
}

/// kubectl keeps a whole number in 64 bits with a sign, and any other as a float.
fn as_read_by_kubectl(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_u64() && !number.is_i64() => {
            if let Some(float) = number.as_f64().and_then(Number::from_f64) {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_read_by_kubectl),
        Value::Object(fields) => fields.values_mut().for_each(as_read_by_kubectl),
        _ => {}
    }
}

/// The objects of a list, or the object itself.
fn flatten(path: String, value: Value, found: &mut Vec<(String, Value)>) {
    let is_list = value.text("kind").ends_with(KIND_OF_LISTS)
        && value.get("items").is_some_and(Value::is_array);
    match value {
        Value::Object(mut list) if is_list => {
            let items = match list.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            for (index, item) in items.into_iter().enumerate() {
                let item_path = match path.as_str() {
                    "" => format!("items[{index}]"),
                    path => format!("{path}.items[{index}]"),
                };
                flatten(item_path, item, found);
            }
        }
        value => found.push((path, value)),
    }
}

fn why_no_object(value: &Value) -> Option<String> {
    if !value.is_object() {
        return Some("the document is not an object".to_owned());
    }
    let missing = ["apiVersion", "kind"].map(|field| value.text(field).is_empty().then_some(field));
    let missing: Vec<&str> = missing.into_iter().flatten().collect();
    if missing.is_empty() {
        return None;
    }
    Some(format!("{} must be set", missing.join(" and ")))
}
