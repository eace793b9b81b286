//! Events about certificates.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kubewright_certificates::RotationEvent;
use kubewright_controller::{Event, EventType};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::request::Failure;

/// Records Events about the Secret of the authority, without waiting for the API server.
#[derive(Clone)]
pub(crate) struct EventRecorder(mpsc::Sender<Note>);

/// Sends recorded Events to the API server.
pub(crate) struct EventSender {
    notes: mpsc::Receiver<Note>,
    client: Client,
    program: Arc<str>,
    secret: ObjectReference,
}

struct Note {
    type_: EventType,
    reason: &'static str,
    text: String,
}

impl EventRecorder {
    /// Creates a recorder of Events about a Secret, and the task that sends them.
    pub(crate) fn of(
        client: Client,
        program: &Arc<str>,
        namespace: &str,
        secret: &str,
    ) -> (Self, EventSender) {
        let (recorder, notes) = mpsc::channel(MOST_NOTES);
        let sender = EventSender {
            notes,
            client,
            program: Arc::clone(program),
            secret: ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Secret".to_owned()),
                namespace: Some(namespace.to_owned()),
                name: Some(secret.to_owned()),
                ..ObjectReference::default()
            },
        };
        (Self(recorder), sender)
    }

    /// Creates a recorder that drops its Events, for a program without a Secret of its own.
    pub(crate) fn discarding() -> Self {
        Self(mpsc::channel(1).0)
    }

    /// Records an event of the rotation. The certificates that each replica signs for itself are left to its log.
    pub(crate) fn rotation(&self, event: &RotationEvent) {
        if !matches!(event, RotationEvent::Signed { .. }) {
            let type_ = if event.is_warning() {
                EventType::Warning
            } else {
                EventType::Normal
            };
            self.record(type_, event.reason(), event.to_string());
        }
    }

    pub(crate) fn warn(&self, reason: &'static str, text: impl Into<String>) {
        self.record(EventType::Warning, reason, text.into());
    }

    fn record(&self, type_: EventType, reason: &'static str, text: String) {
        // Events are recorded on a best-effort basis: nothing waits for them.
        drop(self.0.try_send(Note {
            type_,
            reason,
            text,
        }));
    }
}

impl EventSender {
    /// Sends Events until the future is dropped.
    pub(crate) async fn run(mut self) {
        while let Some(note) = self.notes.recv().await {
            let event = Event::about(&self.secret, note.type_, note.reason, note.text)
                .reported_by(&self.program);
            match timeout(ANSWER_TIMEOUT, event.create(&self.client)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    let failure = Failure::of(error);
                    tracing::debug!(%failure, "cannot record an Event about the certificates");
                }
                Err(_) => {
                    tracing::debug!("cannot record an Event about the certificates: no answer");
                }
            }
        }
        std::future::pending::<()>().await;
    }
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EventRecorder")
            .finish_non_exhaustive()
    }
}

const MOST_NOTES: usize = 64;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
