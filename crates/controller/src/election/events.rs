//! Events of an election: `kubectl describe lease` shows which replicas have led.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use super::record::Record;
use crate::events::{Event, EventType};

/// Records Events about an election in the background: an election does not wait for them.
pub(crate) struct EventRecorder {
    reporter: String,
    requests: JoinSet<()>,
}

impl EventRecorder {
    pub(crate) fn new(reporter: String) -> Self {
        Self {
            reporter,
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
        let event = Event::about(&reference(lease), EventType::Normal, REASON, note)
            .reported_by(&self.reporter)
            .instance(identity)
            .at(now);
        let client = client.clone();
        self.requests.spawn(async move {
            match timeout(ANSWER_TIMEOUT, event.create(&client)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(%error, "cannot record an Event about the election");
                }
                Err(_) => tracing::debug!("cannot record an Event about the election: no answer"),
            }
        });
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

const REASON: &str = "LeaderElection";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
