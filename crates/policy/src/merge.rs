//! Merges what an apply configuration says into an object, as server-side apply does without owners.

use serde_json::{Map, Value, json};

/// How the lists of an object are merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// Whether the object is of a built-in kind, whose lists are known.
    pub(crate) is_built_in: bool,
    /// Whether it is a Service, whose ports have keys of their own.
    pub(crate) is_service: bool,
    /// The keys of other lists, by their paths such as `spec.backends`; none for a set.
    pub(crate) named: Vec<(String, Vec<String>)>,
}

/// What tells the items of a list apart.
enum Items {
    Atomic,
    Set,
    Keyed(Vec<String>),
}

/// The lists of built-in kinds whose items have keys, by the names of their fields; other lists of objects are replaced.
const KEYED: [(&str, &[&str]); 24] = [
    ("claims", &["name"]),
    ("conditions", &["type"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("hostIPs", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("matchConditions", &["name"]),
    ("ownerReferences", &["uid"]),
    ("paramKinds", &["name"]),
    ("podIPs", &["ip"]),
    ("resourceClaims", &["name"]),
    ("schedulingGates", &["name"]),
    ("secrets", &["name"]),
    (
        "topologySpreadConstraints",
        &["topologyKey", "whenUnsatisfiable"],
    ),
    ("variables", &["name"]),
    ("volumeAttachments", &["name"]),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
    ("volumesAttached", &["name"]),
    ("webhooks", &["name"]),
];

impl Lists {
    fn items(&self, path: &str, applied: &[Value]) -> Items {
        if path == "metadata.finalizers" {
            return Items::Set;
        }
        let named = self.named.iter().find(|(known, _)| known == path);
        if let Some((_, keys)) = named {
            return if keys.is_empty() {
                Items::Set
            } else {
                Items::Keyed(keys.clone())
            };
        }
        let field = path.rsplit('.').next().unwrap_or(path);
        let of_metadata = path == "metadata.ownerReferences";
        if !self.is_built_in && !of_metadata {
            return Items::Atomic;
        }
        let keyed =
            |keys: &[&str]| Items::Keyed(keys.iter().map(|key| (*key).to_owned()).collect());
        let every = |key: &str| applied.iter().all(|item| !item[key].is_null());
        if field == "ports" {
            return if every("containerPort") {
                keyed(&["containerPort", "protocol"])
            } else if self.is_service {
                keyed(&["port", "protocol"])
            } else {
                Items::Atomic
            };
        }
        match KEYED.iter().find(|(known, _)| *known == field) {
            Some((_, keys)) if every(keys[0]) => keyed(keys),
            _ => Items::Atomic,
        }
    }

    /// Merges a value into another one.
    pub(crate) fn merge(&self, into: &mut Value, applied: Value, path: &str) {
        match (into, applied) {
            (Value::Object(into), Value::Object(applied)) => self.members(into, applied, path),
            (Value::Array(into), Value::Array(applied)) => self.elements(into, applied, path),
            (into, applied) => *into = without_nulls(applied),
        }
    }

    fn members(&self, into: &mut Map<String, Value>, applied: Map<String, Value>, path: &str) {
        for (name, value) in applied {
            if value.is_null() {
                into.remove(&name);
                continue;
            }
            let below = match path {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            match into.get_mut(&name) {
                Some(known) => self.merge(known, value, &below),
                None => {
                    into.insert(name, without_nulls(value));
                }
            }
        }
    }

    fn elements(&self, into: &mut Vec<Value>, applied: Vec<Value>, path: &str) {
        match self.items(path, &applied) {
            Items::Atomic => *into = applied.into_iter().map(without_nulls).collect(),
            Items::Set => {
                for item in applied {
                    if !into.contains(&item) {
                        into.push(item);
                    }
                }
            }
            Items::Keyed(keys) => {
                for item in applied {
                    let same = |known: &&mut Value| {
                        keys.iter()
                            .all(|key| key_of(known, key) == key_of(&item, key))
                    };
                    match into.iter_mut().find(same) {
                        Some(known) => self.merge(known, item, path),
                        None => into.push(without_nulls(item)),
                    }
                }
            }
        }
    }
}

/// The value of a key of an item. A protocol is TCP by default.
fn key_of(item: &Value, key: &str) -> Value {
    match &item[key] {
        Value::Null if key == "protocol" => json!("TCP"),
        value => value.clone(),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
