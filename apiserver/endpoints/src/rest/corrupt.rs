//! What clients hear of stored objects that cannot be decoded: the real server's storage calls them corrupt.

use kubewright_apimachinery::status::Status;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_registry::Resource;
use kubewright_storage::Object;
use serde_json::{Map, Value, json};

const UNDECODABLE: &str = "object not decodable";
/// How many of them a list names.
pub(crate) const MOST: usize = 100;

/// The failure of a write of such an object.
pub(crate) fn undecodable(version: KubernetesVersion, revision: &str, why: &str) -> Status {
    Status::plain(if are_told(version) {
        undecoded(revision, why)
    } else {
        why.to_owned()
    })
}

/// The failure of a request for the object at a path, if that is why it failed.
pub(crate) fn got(resource: &Resource, path: &str, failure: Status) -> Status {
    if !failure.reason().is_empty() || !failure.message().starts_with(UNDECODABLE) {
        return failure;
    }
    let key = format!("/{}", key(resource, path));
    Status::internal(&said(&key, failure.message()))
}

/// The failure of a list with such objects, of which there is one at least.
pub(crate) fn listed(
    version: KubernetesVersion,
    resource: &Resource,
    table: &str,
    failures: &[(&Object, String)],
) -> Status {
    if let (false, Some((_, why))) = (are_told(version), failures.first()) {
        return Status::plain(why.clone());
    }
    let mut causes: Vec<Value> = Vec::new();
    for (object, why) in failures {
        let key = format!("/registry/{}", key(resource, &object.path));
        let failure = undecoded(&object.revision.to_string(), why);
        causes.push(json!({
            "reason": "UnexpectedServerResponse",
            "message": said(&key, &failure),
            "field": key,
        }));
    }
    let first = causes[0]["message"].as_str().unwrap_or_default();
    let more = match failures.len() {
        0 | 1 => String::new(),
        all => format!(" (and {} more)", all - 1),
    };
    let message = format!("failed to read one or more {table} from the storage: {first}{more}");
    if failures.len() == MOST {
        causes.push(json!({
            "reason": "FieldValueTooMany",
            "message": "too many errors, the list is truncated",
        }));
    }
    let mut details = Map::new();
    details.insert("name".to_owned(), "list".into());
    details.insert("group".to_owned(), resource.group.as_str().into());
    details.insert("kind".to_owned(), resource.plural.as_str().into());
    details.insert("causes".to_owned(), causes.into());
    Status::new(500, "StorageReadError", message).with_details(details)
}

/// Whether the server says of an object that it is corrupt: before 1.37 it says what is wrong with it alone.
fn are_told(version: KubernetesVersion) -> bool {
    version >= KubernetesVersion::V1_37
}

fn undecoded(revision: &str, why: &str) -> String {
    format!("{UNDECODABLE} revision={revision}: {why}")
}

fn key(resource: &Resource, path: &str) -> String {
    format!("{}/{}/{path}", resource.group, resource.plural)
}

fn said(key: &str, why: &str) -> String {
    format!(
        "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    )
}
