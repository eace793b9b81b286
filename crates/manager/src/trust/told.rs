//! What is told of certificates by Events.

use std::fmt;

use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kubewright_certificates::Happening;
use kubewright_controller::{Connection, Recorder, Scope};
use tokio::sync::mpsc;

use crate::run::sentence;

/// Tells what happens, without waiting for it to be told.
#[derive(Clone)]
pub(crate) struct Teller(mpsc::Sender<Note>);

/// Sends what is told.
pub(crate) struct Telling {
    notes: mpsc::Receiver<Note>,
    recorder: Recorder,
    /// What the Events are about.
    secret: Secret,
}

struct Note {
    is_warning: bool,
    reason: &'static str,
    text: String,
}

impl Teller {
    /// Tells of a Secret, to whoever describes it.
    pub(crate) fn of(
        client: Client,
        program: &str,
        namespace: &str,
        secret: &str,
    ) -> (Self, Telling) {
        let (sender, notes) = mpsc::channel(MOST_NOTES);
        let connection = Connection::new();
        connection.open(client, program);
        let scope = Scope::all().in_namespace(namespace).named(secret);
        let mut about = Secret::default();
        about.metadata.namespace = Some(namespace.to_owned());
        about.metadata.name = Some(secret.to_owned());
        let telling = Telling {
            notes,
            recorder: Recorder::new(&connection, scope),
            secret: about,
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
            self.tell(
                happening.is_warning(),
                happening.reason(),
                happening.to_string(),
            );
        }
    }

    pub(crate) fn warn(&self, reason: &'static str, text: impl Into<String>) {
        self.tell(true, reason, text.into());
    }

    fn tell(&self, is_warning: bool, reason: &'static str, text: String) {
        // Events are told as far as that can be done: nothing waits for them.
        drop(self.0.try_send(Note {
            is_warning,
            reason,
            text,
        }));
    }
}

impl Telling {
    /// Tells until this is dropped.
    pub(crate) async fn run(mut self) {
        while let Some(note) = self.notes.recv().await {
            let told = if note.is_warning {
                self.recorder
                    .warning(&self.secret, note.reason, note.text)
                    .await
            } else {
                self.recorder
                    .normal(&self.secret, note.reason, note.text)
                    .await
            };
            if let Err(error) = told {
                tracing::debug!(error = sentence(&error), "cannot tell of the certificates");
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
