//! Events about a Lease: `kubectl describe lease` shows which replicas have led, or have held shards.

use futures::FutureExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use super::record::Record;
use crate::events::{Event, EventType};

/// Records Events about a Lease in the background: what is done with the Lease does not wait for them.
pub(crate) struct EventRecorder {
    reporter: String,
    reason: &'static str,
    requests: JoinSet<()>,
}

impl EventRecorder {
    /// Records the Events of an election or of what is like one, which the reason says.
    pub(crate) fn new(reporter: String, reason: &'static str) -> Self {
        Self {
            reporter,
            reason,
            requests: JoinSet::new(),
        }
    }

    /// Records an Event about a replica, worded as client-go words it.
    pub(crate) fn record(
        &mut self,
        client: &Client,
        lease: &Record,
        identity: &str,
        what: &str,
        now: Timestamp,
    ) {
        while self.requests.try_join_next().is_some() {}
        let note = format!("{identity} {what}");
        let event = Event::about(&reference(lease), EventType::Normal, self.reason, note)
            .reported_by(&self.reporter)
            .instance(identity)
            .at(now);
        let client = client.clone();
        let recorded = async move {
            match timeout(ANSWER_TIMEOUT, event.create(&client)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "cannot record an Event about the Lease");
                }
                Err(_) => tracing::debug!("cannot record an Event about the Lease: no answer"),
            }
        };
        self.requests.spawn(recorded.boxed());
    }

    /// Waits until every request is answered.
    pub(crate) async fn finish(&mut self) {
        while self.requests.join_next().await.is_some() {}
    }
}

fn reference(lease: &Record) -> ObjectReference {
    let filled = |text: &str| Some(text.to_owned());
    ObjectReference {
        api_version: filled("coordination.k8s.io/v1"),
        kind: filled("Lease"),
        namespace: filled(lease.namespace()),
        name: filled(lease.name()),
        uid: filled(lease.uid()),
        resource_version: filled(lease.version()),
        field_path: None,
    }
}

const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
