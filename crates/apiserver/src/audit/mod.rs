//! The audit log: one event for every request, as a real kube-apiserver writes it under a policy of one rule.

mod event;
mod response;
mod source;
mod trail;

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

pub use event::{Event, Stage};
pub(crate) use trail::Trail;

/// Where audit events go, and how much they tell.
///
/// The events are those of a real kube-apiserver (`audit.k8s.io/v1`) whose `--audit-policy-file` has one rule for
/// everything and omits the stage `RequestReceived`. An event is written before its answer is sent, so that who has the
/// answer finds the event.
///
/// # Example: what a request leaves in the log
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use kubewright_apiserver::ApiServer;
/// use kubewright_apiserver::audit::{Audit, Event};
/// use tower::ServiceExt as _;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let events = Arc::new(Mutex::new(Vec::new()));
/// let seen = events.clone();
/// let audit = Audit::to(move |event: &Event| seen.lock().unwrap().push(event.clone()));
/// let server = ApiServer::builder().audit(audit).start();
///
/// let request = http::Request::get("/api/v1/namespaces/default").body(String::new())?;
/// server.service().oneshot(request).await?;
///
/// let events = events.lock().unwrap();
/// assert_eq!(events[0].verb(), "get");
/// assert_eq!(events[0].annotations()["authorization.k8s.io/decision"], "allow");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "an audit log is handed to `ApiServer::builder().audit(…)`"]
pub struct Audit {
    level: Level,
    sink: Arc<dyn Fn(&Event) + Send + Sync>,
}

/// How much an event tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub enum Level {
    /// Who did what to which object, when, and what came of it. No object, and so no secret, is written. The default.
    #[default]
    Metadata,
    /// The object, the patch or the options of the request, too, and the patches of mutating webhooks: of Secrets as of
    /// everything else.
    Request,
    /// The answer, too: of Secrets and tokens as of everything else.
    RequestResponse,
}

impl Audit {
    /// Shows every event to `sink`, at [`Level::Metadata`].
    ///
    /// It is called on the request's own task: a sink that takes long makes the request slow.
    pub fn to(sink: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self {
            level: Level::default(),
            sink: Arc::new(sink),
        }
    }

    /// Writes every event as a line of JSON, at [`Level::Metadata`].
    ///
    /// What cannot be written is lost, and said so in the program's log: requests do not fail for it.
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

    /// Tells as much as this.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// How much is told.
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
