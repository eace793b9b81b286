//! Events of an election: `kubectl describe lease` tells who has led.

use jiff::Timestamp;
use kube::Client;
use kube::core::Request as Requests;
use kube::core::params::PostParams;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};
use uuid::Uuid;

use super::record::Record;
use crate::handles::ask;

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
        let (client, event) = (
            client.clone(),
            event(&self.reporter, lease, identity, what, now),
        );
        let namespace = lease.namespace().to_owned();
        self.telling.spawn(async move {
            let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
            let body = event.to_string().into_bytes();
            let request = Requests::new(path).create(&PostParams::default(), body);
            match timeout(PATIENCE, ask::<Value>(&client, request)).await {
                Ok(Ok(_)) => {}
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

fn event(reporter: &str, lease: &Record, identity: &str, what: &str, now: Timestamp) -> Value {
    let (namespace, name) = (lease.namespace(), lease.name());
    let mut instance = identity.to_owned();
    instance.truncate(instance.floor_char_boundary(LONGEST_INSTANCE));
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"namespace": namespace, "name": format!("{name}.{}", Uuid::new_v4().simple())},
        "eventTime": format!("{now:.6}"),
        "reportingController": reporter, "reportingInstance": instance,
        "action": REASON, "reason": REASON, "type": "Normal",
        "note": format!("{identity} {what}"),
        "regarding": {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "namespace": namespace, "name": name,
            "uid": lease.uid(), "resourceVersion": lease.version(),
        },
    })
}

const REASON: &str = "LeaderElection";
/// No API server takes a longer one.
const LONGEST_INSTANCE: usize = 128;
const PATIENCE: Duration = Duration::from_secs(2);
