//! Events of an election: `kubectl describe lease` tells who has led.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use super::record::Record;
use crate::events::{Event, EventType};

/// Tells of an election by Events, beside it: an election does not wait for them.
pub(crate) struct Teller {
    reporter: String,
    telling: JoinSet<()>,
}

impl Teller {
    pub(crate) fn new(reporter: String) -> Self {
        Self {
            reporter,
            telling: JoinSet::new(),
        }
    }

    /// Tells something of a candidate, as client-go does.
    pub(crate) fn tell(
        &mut self,
        client: &Client,
        lease: &Record,
        identity: &str,
        what: &str,
        now: Timestamp,
    ) {
        while self.telling.try_join_next().is_some() {}
        let note = format!("{identity} {what}");
        let event = Event::about(&reference(lease), EventType::Normal, REASON, note)
            .reported_by(&self.reporter)
            .instance(identity)
            .at(now);
        let client = client.clone();
        self.telling.spawn(async move {
            match timeout(PATIENCE, event.create(&client)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "cannot tell of the election"),
                Err(_) => tracing::debug!("cannot tell of the election: no answer"),
            }
        });
    }

    /// Waits until everything is told.
    pub(crate) async fn finish(&mut self) {
        while self.telling.join_next().await.is_some() {}
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
const PATIENCE: Duration = Duration::from_secs(2);
