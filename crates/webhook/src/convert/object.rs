//! One object on its way: what the types made of it, with what they do not know.

use kubewright_review::printable;
use serde_json::{Map, Value};

use super::definition::{Cause, Known, Versioned};
use crate::executor::catch;

/// Why an object could not be converted, as a message for the client that requested it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) panicked: bool,
}

impl Failure {
    fn new(message: String) -> Self {
        Self {
            message,
            panicked: false,
        }
    }
}

/// Converts an object, which is JSON.
pub(super) fn convert(
    versions: &dyn Versioned,
    known_as: &Known,
    text: &str,
    wanted: &str,
) -> Result<String, Failure> {
    let raw: Map<String, Value> = serde_json::from_str(text)
        .map_err(|_| Failure::new("cannot convert what is not an object".to_owned()))?;
    let said = |field: &str| raw.get(field).and_then(Value::as_str).unwrap_or_default();
    let from = said("apiVersion");
    let sorts = versions.sorts();
    let what = || format!("{} {}", printable(said("kind")), printable(&place(&raw)));
    let of_kind = sorts.iter().all(|sort| sort.kind == said("kind"));
    let knows = |version: &str| sorts.iter().any(|sort| sort.api_version == version);
    if let Some(unknown) = [from, wanted].into_iter().find(|version| !knows(version)) {
        return Err(Failure::new(unknown_version(&what(), unknown, versions)));
    }
    if !of_kind {
        let kind = &sorts[0].kind;
        let what = what();
        return Err(Failure::new(format!(
            "cannot convert {what}: what is converted here is {kind}"
        )));
    }
    if from == wanted {
        return Ok(text.to_owned());
    }
    let about = || format!("{} from {from} to {wanted}", what());
    // What the cause says is the user's code as well.
    let convert = || {
        let converted = versions.convert(text, from, wanted)?;
        Some(converted.map_err(|cause| chain(&cause)))
    };
    let converted = catch(convert).ok_or_else(|| Failure {
        message: format!(
            "the conversion of {} panicked; the log of the webhook says where",
            about()
        ),
        panicked: true,
    })?;
    let Some(converted) = converted else {
        return Err(Failure::new(unknown_version(&what(), wanted, versions)));
    };
    let cannot = |why: &str| Failure::new(format!("cannot convert {}: {why}", about()));
    let (result, known) = converted.map_err(|why| cannot(&why))?;
    let Value::Object(mut result) = result else {
        return Err(cannot("the result is not an object"));
    };
    finish(&raw, &known, known_as.schema(from), &mut result).map_err(|why| cannot(&why))?;
    result.insert("apiVersion".to_owned(), wanted.into());
    result.insert("kind".to_owned(), said("kind").into());
    Ok(Value::Object(result).to_string())
}

fn unknown_version(what: &str, unknown: &str, versions: &dyn Versioned) -> String {
    let sorts = versions.sorts();
    let known: Vec<&str> = sorts.iter().map(|sort| &*sort.api_version).collect();
    format!(
        "cannot convert {what}: the webhook does not know the version {}, only {}",
        printable(unknown),
        known.join(", ")
    )
}

/// `blue/a`, or the name of an object of the cluster.
fn place(object: &Map<String, Value>) -> String {
    let metadata = object.get("metadata");
    let text = |field: &str| {
        let value = metadata.and_then(|metadata| metadata.get(field));
        value
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let name = text("name").unwrap_or("without a name");
    match text("namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

fn chain(cause: &Cause) -> String {
    let mut text = cause.to_string();
    let mut next = cause.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// Adds the metadata, and the fields that the type does not know, to the result.
fn finish(
    raw: &Map<String, Value>,
    known: &Value,
    schema: &Value,
    result: &mut Map<String, Value>,
) -> Result<(), String> {
    let mut metadata = match raw.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => Map::new(),
    };
    if let Some(Value::Object(typed)) = result.get("metadata")
        && typed.get("name").is_some_and(Value::is_string)
    {
        for field in ["name", "namespace", "uid"] {
            if typed.contains_key(field) && typed.get(field) != metadata.get(field) {
                return Err(format!("the conversion changes metadata.{field}"));
            }
        }
        for field in ["labels", "annotations"] {
            match typed.get(field) {
                Some(entries @ Value::Object(_)) => {
                    metadata.insert(field.to_owned(), entries.clone());
                }
                _ => drop(metadata.remove(field)),
            }
        }
    }
    result.insert("metadata".to_owned(), Value::Object(metadata));
    let known = known.as_object();
    for (name, value) in raw {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            let known = known.and_then(|known| known.get(name));
            carry(name, value, known, &schema["properties"][name], result);
        }
    }
    Ok(())
}

/// Copies the parts of a member that the type does not know to the result. The type knows every field of its schema, even one
/// that it does not serialize.
fn carry(
    name: &str,
    raw: &Value,
    known: Option<&Value>,
    schema: &Value,
    result: &mut Map<String, Value>,
) {
    match (raw, known, result.get_mut(name)) {
        (raw, None, None) if schema.is_null() && !raw.is_null() => {
            result.insert(name.to_owned(), raw.clone());
        }
        (raw, Some(known), Some(result)) => carry_within(raw, known, schema, result),
        _ => {}
    }
}

fn carry_within(raw: &Value, known: &Value, schema: &Value, result: &mut Value) {
    match (raw, known, result) {
        (Value::Object(raw), Value::Object(known), Value::Object(result)) => {
            for (name, value) in raw {
                let schema = &schema["properties"][name];
                carry(name, value, known.get(name), schema, result);
            }
        }
        (Value::Array(raw), Value::Array(known), Value::Array(result))
            if raw.len() == known.len() =>
        {
            let is_key = |key: &&str| is_key(key, known) && is_key(key, result);
            let Some(key) = KEYS.into_iter().find(is_key) else {
                return;
            };
            for (raw, known) in raw.iter().zip(known) {
                let same = result.iter_mut().find(|found| found[key] == known[key]);
                if let Some(found) = same {
                    carry_within(raw, known, &schema["items"], found);
                }
            }
        }
        _ => {}
    }
}

/// Whether every element has its own text under a key.
fn is_key(key: &str, elements: &[Value]) -> bool {
    let mut seen = std::collections::HashSet::new();
    let keys = elements.iter().map(|element| element.get(key));
    keys.map(|key| key.and_then(Value::as_str))
        .all(|key| key.is_some_and(|key| seen.insert(key)))
}

/// What elements of lists are known by.
const KEYS: [&str; 3] = ["name", "key", "type"];
