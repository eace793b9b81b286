//! Events of controllers: a repeated event increments the count of the stored Event.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::{Client, EVENTS, Who};
use super::object::text;

/// Records events, and remembers which ones it has recorded.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    told: Mutex<HashMap<String, (String, u32)>>,
}

/// The scheduler, as the source of an event: it has no service account.
pub(super) const SCHEDULER: &str = "default-scheduler";

/// The type of an event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Normal,
    Warning,
}

/// An event of a controller about an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event<'a> {
    pub(super) controller: &'a str,
    pub(super) object: &'a Value,
    pub(super) kind: Kind,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

impl Recorder {
    /// Records an event about an object, with the controller's service account. An event that cannot be written is lost, as
    /// in the real recorder.
    pub(super) async fn tell(&self, client: &Client, now: &str, event: Event<'_>) {
        /// Maximum number of remembered events. Beyond it the recorder forgets all, and a repeated event becomes a new Event.
        const MOST: usize = 4096;
        let Event {
            controller,
            object,
            kind,
            reason,
            message,
        } = event;
        let [name, uid] = ["/metadata/name", "/metadata/uid"].map(|at| text(object, at));
        let namespace = match text(object, "/metadata/namespace") {
            "" => "default",
            namespace => namespace,
        };
        let component = component(controller);
        let same = format!("{component} {uid} {reason} {message}");
        let told = {
            let mut told = self.told.lock();
            if told.len() >= MOST {
                told.clear();
            }
            told.get_mut(&same).map(|(event, count)| {
                *count += 1;
                (event.clone(), *count)
            })
        };
        let who = match controller {
            SCHEDULER => Who::Scheduler,
            controller => Who::Controller(controller),
        };
        if let Some((event, count)) = told {
            let path = EVENTS.path(namespace, &event);
            let again = json!({"count": count, "lastTimestamp": now});
            if client.merge(who, &path, &again).await.is_ok() {
                return;
            }
        }
        let random = Uuid::new_v4().simple().to_string();
        let event = format!("{name}.{}", &random[..16]);
        let kind = match kind {
            Kind::Normal => "Normal",
            Kind::Warning => "Warning",
        };
        let body = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": event, "namespace": namespace},
            "involvedObject": {
                "apiVersion": object["apiVersion"],
                "kind": object["kind"],
                "name": name,
                "namespace": object["metadata"]["namespace"],
                "uid": uid,
                "resourceVersion": object["metadata"]["resourceVersion"],
            },
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "reportingComponent": component,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
        });
        if let Err(failure) = client.create(who, &EVENTS, namespace, &body).await {
            tracing::debug!(%failure, reason, "an event is lost");
            return;
        }
        self.told.lock().insert(same, (event, 1));
    }
}

/// The source component of a controller's events: for most, the name of the service account.
fn component(controller: &str) -> &str {
    match controller {
        "generic-garbage-collector" => "garbage-collector-controller",
        "daemon-set-controller" => "daemonset-controller",
        "endpointslice-controller" => "endpoint-slice-controller",
        "endpointslicemirroring-controller" => "endpoint-slice-mirroring-controller",
        "persistent-volume-binder" => "persistentvolume-controller",
        "disruption-controller" => "controllermanager",
        same => same,
    }
}
