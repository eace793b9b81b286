//! ComponentStatuses: what a real server says of a control plane's other components, which this server does not have.
//!
//! It stores none of them and asks for their health anew each time.

use std::sync::Arc;

use kubewright_storage::{Draft, Object};
use serde_json::{Value, json};

/// The kind of these objects.
pub(super) const KIND: &str = "ComponentStatus";

/// The status of every component. The database is part of this server; nothing listens where the others would.
pub(super) fn all() -> Vec<Arc<Object>> {
    let unreachable = |port: u16| {
        let url = format!("https://127.0.0.1:{port}/healthz");
        let why = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
        ("False", format!("Get \"{url}\": {why}"))
    };
    [
        ("controller-manager", unreachable(10257)),
        ("etcd-0", ("True", "ok".to_owned())),
        ("scheduler", unreachable(10259)),
    ]
    .map(|(name, (status, message))| status_of(name, status, &message))
    .into()
}

/// The status of one component.
pub(super) fn find(name: &str) -> Option<Arc<Object>> {
    all().into_iter().find(|object| object.name() == name)
}

fn status_of(name: &str, status: &str, message: &str) -> Arc<Object> {
    let object: Value = json!({
        "kind": KIND,
        "apiVersion": "v1",
        "metadata": {"name": name},
        "conditions": [{"type": "Healthy", "status": status, "message": message}],
    });
    Arc::new(Draft::new(&object).unstored(name.to_owned()))
}
