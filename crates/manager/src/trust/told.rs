//! What is told of certificates by Events.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kubewright_certificates::Happening;
use kubewright_controller::{Event, EventType};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::request::Failure;

/// Tells what happens, without waiting for it to be told.
#[derive(Clone)]
pub(crate) struct Teller(mpsc::Sender<Note>);

/// Sends what is told.
pub(crate) struct Telling {
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

impl Teller {
    /// Tells of a Secret.
    pub(crate) fn of(
        client: Client,
        program: &Arc<str>,
        namespace: &str,
        secret: &str,
    ) -> (Self, Telling) {
        let (sender, notes) = mpsc::channel(MOST_NOTES);
        let telling = Telling {
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
        (Self(sender), telling)
    }

    /// Tells nobody: the program has no Secret of its own.
    pub(crate) fn silent() -> Self {
        Self(mpsc::channel(1).0)
    }

    /// Tells of a step of a rotation. That each replica has signed a certificate for itself is for its log.
    pub(crate) fn happened(&self, happening: &Happening) {
        if !matches!(happening, Happening::Signed { .. }) {
            let type_ = if happening.is_warning() {
                EventType::Warning
            } else {
                EventType::Normal
            };
            self.tell(type_, happening.reason(), happening.to_string());
        }
    }

    pub(crate) fn warn(&self, reason: &'static str, text: impl Into<String>) {
        self.tell(EventType::Warning, reason, text.into());
    }

    fn tell(&self, type_: EventType, reason: &'static str, text: String) {
        // Events are told as far as that can be done: nothing waits for them.
        drop(self.0.try_send(Note {
            type_,
            reason,
            text,
        }));
    }
}

impl Telling {
    /// Tells until this is dropped.
    pub(crate) async fn run(mut self) {
        while let Some(note) = self.notes.recv().await {
            let event = Event::about(&self.secret, note.type_, note.reason, note.text)
                .reported_by(&self.program);
            match timeout(PATIENCE, event.create(&self.client)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    let failure = Failure::of(error);
                    tracing::debug!(%failure, "cannot tell of the certificates");
                }
                Err(_) => tracing::debug!("cannot tell of the certificates: no answer"),
            }
        }
        std::future::pending::<()>().await;
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Teller").finish_non_exhaustive()
    }
}

const MOST_NOTES: usize = 64;
const PATIENCE: Duration = Duration::from_secs(10);
