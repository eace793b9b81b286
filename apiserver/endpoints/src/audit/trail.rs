//! What one request leaves in the audit log, gathered while it is answered.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::Response;
use http::request::Parts;
use jiff::Timestamp;
use kubewright_admission::Notes;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::status::Status;
use kubewright_apimachinery::user::User;
use kubewright_auth::Impersonated;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::event::{AuthenticationMetadata, Event, ObjectReference, Stage, as_answered, as_sent};
use super::{Audit, Level, response, source};
use crate::body::Body;
use crate::rest::negotiate::takes_objects;
use crate::rest::target::Target;

/// The events of one request.
pub(crate) struct Trail {
    audit: Audit,
    notes: Arc<Notes>,
    /// Whether the start of the answer is an event of its own.
    long_running: bool,
    /// Whether answers of this path are objects of the API.
    of_the_api: bool,
    /// Whether a Status can be written as the client wants its answers: in the form of the object itself.
    shows_status: bool,
    inner: Mutex<Inner>,
}

struct Inner {
    event: Event,
    identified: bool,
    /// Whether the real server could not write the event.
    unwritable: bool,
}

impl Trail {
    pub(crate) fn begin(
        audit: &Audit,
        notes: Arc<Notes>,
        audit_id: &str,
        connection: Option<IpAddr>,
        parts: &Parts,
        target: &Target<'_>,
    ) -> Self {
        let uri = parts.uri.path_and_query();
        let path = parts.uri.path();
        let event = Event {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: audit.level,
            audit_id: audit_id.to_owned(),
            stage: Stage::ResponseComplete,
            request_uri: uri.map_or_else(|| path.to_owned(), ToString::to_string),
            verb: target.verb.clone().into_owned(),
            user: Map::new().into(),
            impersonated_user: None,
            authentication_metadata: None,
            source_ips: source::addresses(&parts.headers, connection),
            user_agent: source::user_agent(&parts.headers),
            object_ref: target.resource.map(|resource| ObjectReference {
                resource: resource.plural.clone(),
                namespace: resource.namespace.clone(),
                name: target.name.clone().into_owned(),
                api_group: resource.group.clone(),
                api_version: resource.version.clone(),
                subresource: resource.subresource.clone(),
                ..ObjectReference::default()
            }),
            response_status: None,
            request_object: None,
            response_object: None,
            request_received_timestamp: now(),
            stage_timestamp: String::new(),
            annotations: std::collections::BTreeMap::new(),
        };
        Self {
            audit: audit.clone(),
            notes,
            long_running: target.is_long_running(),
            shows_status: takes_objects(&parts.headers),
            of_the_api: path == "/api" || path.starts_with("/api/") || path.starts_with("/apis"),
            inner: Mutex::new(Inner {
                event,
                identified: false,
                unwritable: false,
            }),
        }
    }

    /// Who sent the request.
    pub(crate) fn sent_by(&self, user: &User) {
        let mut inner = self.inner.lock();
        inner.event.user = user.user_info();
        inner.identified = true;
    }

    /// Whom the request acts as.
    pub(crate) fn impersonates(&self, impersonated: &Impersonated) {
        let mut inner = self.inner.lock();
        inner.event.impersonated_user = Some(impersonated.user.user_info());
        if !impersonated.constraint.is_empty() {
            inner.event.authentication_metadata = Some(AuthenticationMetadata {
                impersonation_constraint: impersonated.constraint.clone(),
            });
        }
    }

    /// The object of the request, decoded and defaulted. Where the path says less than the object, the object's own
    /// metadata tell what it is about.
    pub(crate) fn request_object(&self, object: &Value) {
        let mut inner = self.inner.lock();
        let event = &mut inner.event;
        let reference = event.object_ref.get_or_insert_default();
        for (member, name) in [
            (&mut reference.namespace, "namespace"),
            (&mut reference.name, "name"),
            (&mut reference.uid, "uid"),
            (&mut reference.resource_version, "resourceVersion"),
        ] {
            if member.is_empty() {
                meta_text(object, name).clone_into(member);
            }
        }
        if event.level >= Level::Request {
            event.request_object = as_answered(object);
        }
    }

    /// The patch of the request.
    pub(crate) fn request_patch(&self, patch: &[u8]) {
        let mut inner = self.inner.lock();
        if inner.event.level >= Level::Request {
            let patch = as_sent(patch);
            // The real server takes what begins as JSON into the event as it is, and cannot write an event that is no JSON.
            inner.unwritable = patch.is_none();
            inner.event.request_object = patch;
        }
    }

    /// The request failed.
    pub(crate) fn failed(&self, status: &Status) {
        if !self.shows_status {
            return;
        }
        let status = status.to_value();
        let mut inner = self.inner.lock();
        inner.event.response_status = Some(response::status(&status));
        if inner.event.level >= Level::RequestResponse {
            inner.event.response_object = as_answered(&status);
        }
    }

    /// Writes the events of an answer; that of a watch's end is written when its body is dropped.
    pub(crate) fn answered(self: Arc<Self>, response: Response<Body>) -> Response<Body> {
        let identified = self.take_note_of(&response);
        if self.long_running || !identified {
            self.write(Stage::ResponseStarted);
        }
        if !identified {
            return response;
        }
        if response.body().length().is_some() {
            self.write(Stage::ResponseComplete);
            return response;
        }
        let completed = Completed(self);
        response.map(|body| body.with(completed))
    }

    /// The server failed.
    pub(crate) fn panicked(&self, why: &str) {
        let status = Status::new(500, "InternalError", format!("APIServer panic'd: {why}"));
        self.inner.lock().event.response_status = Some(response::status(&status.to_value()));
        self.write(Stage::Panic);
    }

    /// Keeps of the answer what belongs into an event; answers whether the sender is known.
    fn take_note_of(&self, answer: &Response<Body>) -> bool {
        let mut inner = self.inner.lock();
        let event = &mut inner.event;
        let shown = answer.status().is_success() || self.shows_status;
        if event.response_status.is_none() && self.of_the_api && shown {
            let object = if event.level >= Level::RequestResponse {
                response::object(answer)
            } else {
                response::status_object(answer)
            };
            if let Some(object) = object {
                if object["kind"] == "Status" {
                    event.response_status = Some(response::status(&object));
                }
                if event.level >= Level::RequestResponse {
                    event.response_object = as_answered(&object);
                }
            }
        }
        let status = event.response_status.get_or_insert_with(|| {
            let empty = Value::Object(Map::new());
            response::status(&empty)
        });
        status.insert("code".to_owned(), answer.status().as_u16().into());
        inner.identified
    }

    fn write(&self, stage: Stage) {
        let mut inner = self.inner.lock();
        if inner.unwritable {
            tracing::warn!(
                audit_id = inner.event.audit_id,
                "no audit event is written of a patch that is no JSON, as on a real API server"
            );
            return;
        }
        let event = &mut inner.event;
        event.stage = stage;
        event.stage_timestamp = now();
        event.annotations = self.notes.annotations();
        if stage == Stage::ResponseStarted {
            // The real server finds out when it counts the request, behind its answer.
            event.annotations.remove("k8s.io/deprecated");
        }
        (self.audit.sink)(event);
    }
}

/// Writes the last event when the answer is over.
struct Completed(Arc<Trail>);

impl Drop for Completed {
    fn drop(&mut self) {
        self.0.write(Stage::ResponseComplete);
    }
}

impl fmt::Debug for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trail").finish_non_exhaustive()
    }
}

fn now() -> String {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ");
    now.to_string()
}
