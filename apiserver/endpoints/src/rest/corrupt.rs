//! What clients hear of stored objects that cannot be decoded: the real server's storage calls them corrupt.

use kubewright_apimachinery::status::Status;
use kubewright_storage::Object;
use serde_json::{Map, Value, json};

use super::call::Call;

const UNDECODABLE: &str = "object not decodable";
/// How many of them a list names.
pub(crate) const MOST: usize = 100;

/// The failure of a write of such an object.
pub(crate) fn undecodable(revision: &str, why: &str) -> Status {
    Status::plain(format!("{UNDECODABLE} revision={revision}: {why}"))
}

/// The failure of a request for one object, if that is why it failed.
pub(crate) fn got(call: &Call, name: &str, failure: Status) -> Status {
    if !failure.reason().is_empty() || !failure.message().starts_with(UNDECODABLE) {
        return failure;
    }
    let key = format!("/{}", key(call, &call.key(name)));
    Status::internal(&said(&key, failure.message()))
}

/// The failure of a list with such objects, of which there is one at least.
pub(crate) fn listed(call: &Call, failures: &[(&Object, String)]) -> Status {
    let mut causes: Vec<Value> = Vec::new();
    for (object, why) in failures {
        let key = format!("/registry/{}", key(call, &object.path));
        let failure = undecodable(&object.revision.to_string(), why);
        causes.push(json!({
            "reason": "UnexpectedServerResponse",
            "message": said(&key, failure.message()),
            "field": key,
        }));
    }
    let first = causes[0]["message"].as_str().unwrap_or_default();
    let more = match failures.len() {
        0 | 1 => String::new(),
        all => format!(" (and {} more)", all - 1),
    };
    let message = format!(
        "failed to read one or more {} from the storage: {first}{more}",
        call.table
    );
    if failures.len() == MOST {
        causes.push(json!({
            "reason": "FieldValueTooMany",
            "message": "too many errors, the list is truncated",
        }));
    }
    let mut details = Map::new();
    details.insert("name".to_owned(), "list".into());
    details.insert("group".to_owned(), call.resource.group.as_str().into());
    details.insert("kind".to_owned(), call.resource.plural.as_str().into());
    details.insert("causes".to_owned(), causes.into());
    Status::new(500, "StorageReadError", message).with_details(details)
}

fn key(call: &Call, path: &str) -> String {
    format!("{}/{}/{path}", call.resource.group, call.resource.plural)
}

fn said(key: &str, why: &str) -> String {
    format!(
        "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
    )
}
