//! The changes that may make a service available or unavailable.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::select_all;
use kubewright_storage::{Change, Event, Watcher};
use tokio::sync::watch;

use super::registration::{Registration, TABLE};
use crate::rest::shared::Shared;

/// Follows what the availability of an APIService depends on.
#[derive(Debug)]
pub(super) struct Changes {
    registration: Arc<Registration>,
    own: Watcher,
    others: Vec<Watcher>,
    table: watch::Receiver<()>,
}

impl Changes {
    /// Follows the changes from now on.
    pub(super) fn of(shared: &Shared, registration: &Arc<Registration>) -> Self {
        let store = &shared.store;
        let now = store.revision();
        let namespace = registration
            .service
            .as_ref()
            .map(|it| it.namespace.as_str());
        let of_namespace = |table: &str| store.watch_in(table, namespace.unwrap_or_default(), now);
        let mut table = shared.reach().client.services().changes();
        table.mark_unchanged();
        Self {
            registration: registration.clone(),
            own: store.watch(TABLE, now),
            others: ["services", "endpointslices.discovery.k8s.io"]
                .map(of_namespace)
                .into(),
            table,
        }
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        let Self {
            registration,
            own,
            others,
            table,
        } = self;
        let others = select_all(others.iter_mut().map(|watcher| watcher.next().boxed()));
        let in_table = async {
            if table.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = leads_elsewhere(own, registration) => {}
            _ = others => {}
            () = in_table => {}
        }
    }
}

/// Waits until the APIService is gone or leads elsewhere. What its status says is what the checks have found.
async fn leads_elsewhere(own: &mut Watcher, registration: &Registration) {
    let elsewhere = |event: &Arc<Event>| {
        let object = &event.object;
        object.name() == registration.name
            && (event.change == Change::Deleted
                || !Registration::of(&object.value()).leads_where(registration))
    };
    loop {
        match own.next().await {
            Ok(events) if !events.iter().any(elsewhere) => {}
            // A log that no longer has all changes still says that there were some.
            Ok(_) | Err(_) => return,
        }
    }
}
