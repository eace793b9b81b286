//! What is told of certificates by Events.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::core::Request;
use kube::core::params::PostParams;
use kubewright_certificates::Happening;
use serde_json::{Value, json};
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
    namespace: String,
    /// The Secret that the Events are about.
    secret: String,
}

struct Note {
    is_warning: bool,
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
            namespace: namespace.to_owned(),
            secret: secret.to_owned(),
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
        let path = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events",
            self.namespace
        );
        while let Some(note) = self.notes.recv().await {
            let body = self.event(note, Timestamp::now()).to_string().into_bytes();
            let telling = async {
                let event = Request::new(&path).create(&PostParams::default(), body);
                let event = event.map_err(kube::Error::BuildRequest)?;
                self.client.request::<Value>(event).await
            };
            match timeout(PATIENCE, telling).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    let failure = Failure::of(error);
                    tracing::debug!(%failure, "cannot tell of the certificates");
                }
                Err(_) => tracing::debug!("cannot tell of the certificates: no answer"),
            }
        }
        std::future::pending::<()>().await;
    }

    fn event(&self, note: Note, now: Timestamp) -> Value {
        let Self {
            program,
            namespace,
            secret,
            ..
        } = self;
        let mut text = note.text;
        text.truncate(text.floor_char_boundary(LONGEST_NOTE));
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"namespace": namespace, "generateName": format!("{secret}-")},
            "eventTime": format!("{now:.6}"),
            "reportingController": **program, "reportingInstance": **program,
            "action": note.reason, "reason": note.reason, "note": text,
            "type": if note.is_warning { "Warning" } else { "Normal" },
            "regarding": {
                "apiVersion": "v1", "kind": "Secret", "namespace": namespace, "name": secret,
            },
        })
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Teller").finish_non_exhaustive()
    }
}

const MOST_NOTES: usize = 64;
/// No API server takes a longer one.
const LONGEST_NOTE: usize = 1024;
const PATIENCE: Duration = Duration::from_secs(10);
