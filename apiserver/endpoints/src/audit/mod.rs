//! The audit log: one event for every request, as a real kube-apiserver writes it under a policy of one rule.

mod event;
mod response;
mod source;
mod trail;

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;

pub use event::{Event, Stage};
pub use kubewright_admission::Level;
pub(crate) use trail::Trail;

/// The sink of audit events, and the level at which they are recorded.
///
/// The events are those of a real kube-apiserver (`audit.k8s.io/v1`) whose `--audit-policy-file` has one rule for
/// everything and omits the stage `RequestReceived`. An event is written before its response is sent: a client that
/// has the response finds the event.
#[derive(Clone)]
#[must_use = "an audit log is handed to `ApiServer::builder().audit(…)`"]
pub struct Audit {
    level: Level,
    sink: Arc<dyn Fn(&Event) + Send + Sync>,
}

impl Audit {
    /// Passes every event to `sink`, at [`Level::Metadata`].
    ///
    /// The sink is called on the request's task: a slow sink delays the request.
    pub fn to(sink: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self {
            level: Level::default(),
            sink: Arc::new(sink),
        }
    }

    /// Writes every event as a line of JSON, at [`Level::Metadata`].
    ///
    /// An event that cannot be written is lost and logged as an error; its request does not fail.
    pub fn to_writer(writer: impl Write + Send + 'static) -> Self {
        let writer = Mutex::new(writer);
        Self::to(move |event| {
            let line = format!("{event}\n");
            let mut writer = writer.lock();
            let written = writer.write_all(line.as_bytes());
            if let Err(error) = written.and_then(|()| writer.flush()) {
                tracing::error!(%error, "an audit event cannot be written");
            }
        })
    }

    /// Records events at this level.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// The level at which events are recorded.
    pub(crate) fn kept(&self) -> Level {
        self.level
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit")
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}
