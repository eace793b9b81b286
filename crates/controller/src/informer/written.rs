//! What the API server responds to a write, put into the caches of the program: read your writes (decision 0063).

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::cache::Informer;
use super::entry::Entry;
use super::{Informers, locked};
use crate::{Key, Kind};

/// An object that a program deletes, as far as it knows it.
#[derive(Clone, Copy)]
pub(crate) struct Deletion<'a> {
    pub(crate) key: &'a Key,
    pub(crate) uid: Option<&'a str>,
    pub(crate) version: Option<&'a str>,
}

impl Informers {
    /// Has the caches of a kind show an object as the API server has stored it.
    pub(crate) fn take_write(&self, kind: &Kind, key: &Key, response: &[u8]) {
        let informers = self.concerned(kind, key);
        if informers.is_empty() {
            return;
        }
        match Response::read(kind, response, Verb::Write) {
            Some(shown) => shown.show(key, &informers, response),
            None => {
                tracing::debug!(%kind, "the response to a write is no object: caches show it later");
            }
        }
    }

    /// Has the caches of a kind show that an object is gone or, if it waits for finalizers or the end of its grace period, that
    /// it is being deleted. `None`: there was no such object any more.
    pub(crate) fn take_deletion(
        &self,
        kind: &Kind,
        deletion: Deletion<'_>,
        response: Option<&[u8]>,
    ) {
        let informers = self.concerned(kind, deletion.key);
        if informers.is_empty() {
            return;
        }
        let gone = |uid: &str| Response::Gone {
            uid: uid.to_owned(),
            version: deletion.version.unwrap_or_default().to_owned(),
        };
        let shown = match response {
            Some(response) => match Response::read(kind, response, Verb::Delete) {
                Some(Response::Deleted(uid)) => Some(gone(&uid)),
                other => other,
            },
            None => deletion.uid.map(gone),
        };
        if let Some(shown) = shown {
            shown.show(deletion.key, &informers, response.unwrap_or_default());
        }
    }

    /// The caches that an object at this place can be in.
    fn concerned(&self, kind: &Kind, key: &Key) -> Vec<Informer> {
        locked(self.all.lock())
            .iter()
            .filter(|informer| {
                informer.kind().has_resource_of(kind) && informer.scope().admits(key)
            })
            .filter(|informer| informer.store().is_following())
            .cloned()
            .collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Write,
    Delete,
}

enum Response {
    Stored(Arc<Entry>),
    /// The object of this UID is gone, which still existed in this version.
    Gone {
        uid: String,
        version: String,
    },
    /// The same, as a `Status` says it: without a version.
    Deleted(String),
}

impl Response {
    fn read(kind: &Kind, response: &[u8], verb: Verb) -> Option<Self> {
        let text = std::str::from_utf8(response).ok()?;
        if verb == Verb::Delete {
            let status: Status<'_> = serde_json::from_str(text).ok()?;
            if status.kind == "Status" {
                // With a UID it says that the object is gone, and does not wait for finalizers.
                let uid = status.details?.uid?;
                let is_done = status.outcome?.get() == r#""Success""#;
                return is_done.then(|| Self::Deleted(uid.into_owned()));
            }
        }
        let entry = Entry::read(text).ok()?;
        let may_be_gone = verb == Verb::Delete || entry.metadata().is_being_deleted();
        if may_be_gone && is_gone(kind, text)? {
            return Some(Self::Gone {
                uid: entry.metadata().uid().to_owned(),
                version: entry.metadata().resource_version().to_owned(),
            });
        }
        Some(Self::Stored(Arc::new(entry)))
    }

    fn show(&self, key: &Key, informers: &[Informer], response: &[u8]) {
        for informer in informers {
            match self {
                Self::Stored(_) if informer.kind().is_metadata() => {
                    if let Some(entry) = metadata_alone(response) {
                        informer.take_write(&Arc::new(entry));
                    }
                }
                Self::Stored(entry) => informer.take_write(entry),
                Self::Gone { uid, version } => informer.store().delete(key, uid, version),
                Self::Deleted(uid) => informer.store().delete(key, uid, ""),
            }
        }
    }
}

/// An object as an API server that is asked for its metadata alone responds with it.
fn metadata_alone(response: &[u8]) -> Option<Entry> {
    let Whole { metadata } = serde_json::from_slice(response).ok()?;
    let object = format!(
        r#"{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{metadata}}}"#
    );
    Entry::read(&object).ok()
}

/// Whether an object in a response, which is being deleted or was, is stored no more: the update that removes the last finalizer
/// is answered with the object, and so is the deletion of some kinds. The rule is that of the API server's registry
/// (`ShouldDeleteDuringUpdate`).
fn is_gone(kind: &Kind, object: &str) -> Option<bool> {
    let End { metadata } = serde_json::from_str(object).ok()?;
    let waits = metadata.finalizers.is_some_and(|all| !all.is_empty())
        || metadata
            .deletion_grace_period_seconds
            .is_some_and(|seconds| seconds > 0);
    if waits || kind.plural() != "namespaces" || !kind.group().is_empty() {
        return Some(!waits);
    }
    // A namespace waits for its contents.
    let Namespace { spec } = serde_json::from_str(object).ok()?;
    Some(spec.finalizers.is_none_or(|all| all.is_empty()))
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    #[serde(rename = "status")]
    outcome: Option<&'a RawValue>,
    #[serde(borrow)]
    details: Option<Details<'a>>,
}

#[derive(Deserialize)]
struct Details<'a> {
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
}

#[derive(Deserialize)]
struct End {
    metadata: EndMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EndMetadata {
    finalizers: Option<Vec<IgnoredAny>>,
    deletion_grace_period_seconds: Option<i64>,
}

#[derive(Deserialize)]
struct Namespace {
    #[serde(default)]
    spec: NamespaceSpec,
}

#[derive(Default, Deserialize)]
struct NamespaceSpec {
    finalizers: Option<Vec<IgnoredAny>>,
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
    use serde_json::{Value, json};

    use super::*;

    fn read(kind: &Kind, verb: Verb, response: &Value) -> String {
        match Response::read(kind, response.to_string().as_bytes(), verb) {
            Some(Response::Stored(entry)) => {
                format!("stored {}", entry.metadata().resource_version())
            }
            Some(Response::Gone { uid, version }) => format!("gone {uid} {version}"),
            Some(Response::Deleted(uid)) => format!("deleted {uid}"),
            None => "unknown".to_owned(),
        }
    }

    #[test]
    fn a_response_says_whether_the_object_is_still_there() {
        let (map, pod, namespace) = (
            Kind::of::<ConfigMap>(),
            Kind::of::<Pod>(),
            Kind::of::<Namespace>(),
        );
        let object = |more: Value| {
            let mut object =
                json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}, "spec": {}});
            json_patch::merge(&mut object, &more);
            object
        };
        let going = |metadata: Value| {
            let mut metadata = metadata;
            metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            object(json!({"metadata": metadata}))
        };
        let status = |status: &str, details: Value| json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": status, "details": details});
        let waiting = json!({"finalizers": ["x"], "deletionGracePeriodSeconds": 0});
        let content = json!({"spec": {"finalizers": ["kubernetes"]}});
        let mut terminating = going(json!({}));
        json_patch::merge(&mut terminating, &content);
        for (kind, verb, response, expected) in [
            (&map, Verb::Write, object(json!({})), "stored 7"),
            (&map, Verb::Write, going(waiting.clone()), "stored 7"),
            // The last finalizer is removed.
            (
                &map,
                Verb::Write,
                going(json!({"deletionGracePeriodSeconds": 0})),
                "gone u 7",
            ),
            (&map, Verb::Delete, going(waiting), "stored 7"),
            (
                &map,
                Verb::Delete,
                status("Success", json!({"uid": "u"})),
                "deleted u",
            ),
            (&map, Verb::Delete, status("Success", json!({})), "unknown"),
            (
                &map,
                Verb::Delete,
                status("Failure", json!({"uid": "u"})),
                "unknown",
            ),
            (&map, Verb::Delete, object(json!({})), "gone u 7"),
            (
                &pod,
                Verb::Delete,
                going(json!({"deletionGracePeriodSeconds": 30})),
                "stored 7",
            ),
            (
                &pod,
                Verb::Delete,
                going(json!({"deletionGracePeriodSeconds": 0})),
                "gone u 7",
            ),
            (&namespace, Verb::Delete, terminating.clone(), "stored 7"),
            (&namespace, Verb::Write, terminating, "stored 7"),
            (&namespace, Verb::Delete, going(json!({})), "gone u 7"),
            (&map, Verb::Write, json!([]), "unknown"),
        ] {
            assert_eq!(read(kind, verb, &response), expected, "{response}");
        }
    }
}
