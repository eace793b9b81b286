//! A cluster from the objects that `kubectl get -o json` or `-o yaml` has written.

use std::collections::BTreeMap;

use kubewright_apiextensions::builtin;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::qualified;
use kubewright_apimachinery::time::now;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_apimachinery::yaml;
use kubewright_storage::{InitialObjects as _, Snapshot, SnapshotError};
use serde_json::{Map, Value};
use thiserror::Error;
use uuid::Uuid;

use crate::seed::Seed;

/// Why objects cannot be imported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is a snapshot, but not a whole one.
    #[error(transparent)]
    Damaged(#[from] SnapshotError),
    /// The text is neither JSON nor YAML.
    #[error("it is neither a snapshot nor JSON or YAML")]
    Malformed,
    /// An object has no kind, no apiVersion or no name.
    #[error("an object has no apiVersion, kind or metadata.name; its fields are: {fields}")]
    Incomplete {
        /// The names of its fields. What is in them may be secret.
        fields: String,
    },
    /// No resource has objects of this kind.
    #[error(
        "no resource has objects of {api_version} {kind}: import its CustomResourceDefinition with it"
    )]
    UnknownKind {
        /// The apiVersion of the object.
        api_version: String,
        /// The kind of the object.
        kind: String,
    },
}

/// Reads a snapshot; or, if it is something else, the objects that `kubectl get -A -o json` or `-o yaml` has written, with which
/// the snapshot has the first objects of a new cluster.
///
/// Their uids, versions and owners are kept. An object without a uid or a version gets one. Custom resources need their definitions.
///
/// ```
/// use kubewright_apiserver::{ApiServer, import};
///
/// let exported = br#"{"apiVersion": "v1", "kind": "List", "items": [
///     {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": "4711"}}
/// ]}"#;
/// let snapshot = import(exported)?;
/// assert_eq!(snapshot.revision(), 4711);
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let server = ApiServer::builder().snapshot(snapshot).start();
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The text is malformed, or a kind is unknown.
pub fn import(text: &[u8]) -> Result<Snapshot, ImportError> {
    match Snapshot::read(text.to_vec()) {
        Ok(snapshot) => return Ok(snapshot),
        Err(error @ SnapshotError::Damaged) => return Err(error.into()),
        Err(SnapshotError::Foreign) => {}
    }
    let mut exported = Vec::new();
    for document in documents(text)? {
        flatten(document, &mut exported);
    }
    let mut objects = first_objects();
    let custom = custom_resources(&exported);
    let version = |object: &Value| {
        let version = object.pointer("/metadata/resourceVersion");
        version
            .and_then(Value::as_str)
            .and_then(|text| text.parse::<u64>().ok())
            // As etcd counts, which leaves room for the changes to come.
            .filter(|version| i64::try_from(*version).is_ok())
    };
    let known = exported.iter().filter_map(version);
    let mut last = known
        .max()
        .unwrap_or_default()
        .max(Seed::now(KubernetesVersion::default()).revision());
    for mut object in exported {
        let (resource, path, stored) = place(&custom, object.clone())?;
        object = stored;
        let revision = version(&object).unwrap_or_else(|| {
            last += 1;
            last
        });
        if let Some(metadata) = object.part("metadata") {
            if metadata.text("uid").is_empty() {
                metadata.put("uid", Uuid::new_v4().to_string());
            }
            if !metadata.has("creationTimestamp") {
                metadata.put("creationTimestamp", now());
            }
        }
        objects.insert((resource, path), (revision, object));
    }
    let objects = objects.into_iter();
    let objects =
        objects.map(|((resource, path), (revision, object))| (resource, path, revision, object));
    Ok(Snapshot::of_objects(last, objects))
}

type Objects = BTreeMap<(String, String), (u64, Value)>;

fn first_objects() -> Objects {
    let seed = Seed::now(KubernetesVersion::default());
    let mut objects = Objects::new();
    for resource in seed.resources() {
        for (revision, path, draft) in seed.of(resource) {
            let text = draft.into_text(Some(revision));
            let object = serde_json::from_slice(&text).unwrap_or_default();
            objects.insert((resource.to_owned(), path), (revision, object));
        }
    }
    objects
}

fn documents(text: &[u8]) -> Result<Vec<Value>, ImportError> {
    if let Ok(value) = serde_json::from_slice(text) {
        return Ok(vec![value]);
    }
    let text = std::str::from_utf8(text).map_err(|_| ImportError::Malformed)?;
    let mut documents = Vec::new();
    let mut document = String::new();
    for line in text.lines().chain(["---"]) {
        if line == "---" || line.starts_with("--- ") {
            if document
                .lines()
                .any(|line| !line.trim().is_empty() && !line.starts_with('#'))
            {
                let parsed = yaml::parse_own(document.as_bytes()).ok_or(ImportError::Malformed)?;
                documents.push(parsed);
            }
            document.clear();
        } else {
            document.push_str(line);
            document.push('\n');
        }
    }
    Ok(documents)
}

/// The objects of a list, or the object itself.
fn flatten(document: Value, objects: &mut Vec<Value>) {
    match document {
        Value::Object(mut list) if list.get("items").is_some_and(Value::is_array) => {
            if let Some(Value::Array(items)) = list.remove("items") {
                objects.extend(items);
            }
        }
        object => objects.push(object),
    }
}

/// The resources of the definitions among the objects, by group and kind, and whether they are in namespaces.
fn custom_resources(objects: &[Value]) -> BTreeMap<(String, String), (String, bool)> {
    let definitions = objects
        .iter()
        .filter(|object| object.text("kind") == "CustomResourceDefinition");
    let resource = |definition: &Value| {
        let spec = definition.at("spec");
        let (group, names) = (spec.text("group"), spec.at("names"));
        let key = (group.to_owned(), names.text("kind").to_owned());
        let table = qualified(names.text("plural"), group);
        (key, (table, spec.text("scope") == "Namespaced"))
    };
    definitions.map(resource).collect()
}

/// Returns the resource and the path of an object, and the object in the version that is stored.
fn place(
    custom: &BTreeMap<(String, String), (String, bool)>,
    mut object: Value,
) -> Result<(String, String, Value), ImportError> {
    let (api_version, kind) = (
        object.text("apiVersion").to_owned(),
        object.text("kind").to_owned(),
    );
    let name = meta_text(&object, "name").to_owned();
    if api_version.is_empty() || kind.is_empty() || name.is_empty() {
        let fields = object.as_object().into_iter().flat_map(Map::keys);
        let fields: Vec<&str> = fields.map(String::as_str).take(10).collect();
        return Err(ImportError::Incomplete {
            fields: fields.join(", "),
        });
    }
    let gvk = GroupVersionKind::from_api_version_and_kind(&api_version, &kind);
    let registry = builtin::with_all_versions();
    let (table, namespaced) = if let Some(resource) = registry.by_kind(&gvk) {
        let (group, version) = &resource.storage;
        let storage = registry.find(group, version, &resource.plural);
        let storage = storage.unwrap_or_else(|| resource.clone());
        let is_convertible = kubewright_registry::convert(&resource, &storage, &mut object);
        is_convertible.map_err(|_| unknown(&gvk))?;
        object.put("apiVersion", storage.api_version());
        storage.default(&mut object);
        (
            qualified(&storage.plural, &storage.group),
            resource.namespaced,
        )
    } else {
        let known = custom.get(&(gvk.group.clone(), gvk.kind.clone()));
        known.cloned().ok_or_else(|| unknown(&gvk))?
    };
    let path = match meta_text(&object, "namespace") {
        _ if !namespaced => name,
        "" => format!("default/{name}"),
        namespace => format!("{namespace}/{name}"),
    };
    Ok((table, path, object))
}

fn unknown(kind: &GroupVersionKind) -> ImportError {
    ImportError::UnknownKind {
        api_version: kind.api_version(),
        kind: kind.kind.clone(),
    }
}
