//! What runs beside the server: followed files, caches and controllers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kubewright_controller::{Connection, Informers, Running};
use kubewright_server::{Condition, Drain, Readiness};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::file::Followed;
use crate::{App, Needs};

/// What a program does besides serving, ready to run.
pub(crate) struct Background {
    name: Arc<str>,
    files: Vec<Box<dyn Followed>>,
    client: Option<Client>,
    connection: Connection,
    informers: Informers,
    caches: Condition,
    controllers: Vec<Running>,
    grace: Duration,
}

/// What a program does besides serving, at work. It ends at once when this is dropped.
pub(crate) struct AtWork {
    stop: Stopper,
    controllers: JoinSet<()>,
    // Behind the controllers, which read from caches to the end.
    _others: JoinSet<()>,
    grace: Duration,
}

/// Tells the controllers to stop.
#[derive(Clone)]
pub(crate) struct Stopper(watch::Sender<Option<Instant>>);

impl Background {
    pub(crate) fn new(
        app: &App,
        needs: Needs,
        client: Option<Client>,
        drain: Drain,
        readiness: &Readiness,
    ) -> Self {
        let informers = needs.informers;
        Self {
            name: app.name().into(),
            files: needs.files,
            client,
            connection: needs.connection,
            caches: readiness.condition("caches"),
            controllers: app
                .controllers()
                .iter()
                .map(|controller| controller.attach(&informers))
                .collect(),
            informers,
            grace: drain.longest(),
        }
    }

    /// Starts everything, in order: files, caches, and each controller as soon as its caches are complete.
    pub(crate) fn run(self) -> AtWork {
        let mut others = JoinSet::new();
        for file in self.files {
            others.spawn(file.follow());
        }
        if let Some(client) = self.client {
            self.connection.open(client.clone(), Arc::clone(&self.name));
            let informers = self.informers.clone();
            others.spawn(async move { informers.run(client).await });
        }
        let (informers, caches) = (self.informers, self.caches);
        others.spawn(async move {
            informers.synced().await;
            caches.set(true);
        });
        let stop = Stopper(watch::Sender::new(None));
        let mut controllers = JoinSet::new();
        for controller in self.controllers {
            let stop = stop.clone();
            controllers.spawn(async move { controller.run(stop.told()).await });
        }
        AtWork {
            stop,
            controllers,
            _others: others,
            grace: self.grace,
        }
    }
}

impl AtWork {
    pub(crate) fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Stops in the reverse order: the controllers finish what they have begun, then the caches end.
    pub(crate) async fn stop(mut self) {
        let end = self.stop.now() + self.grace;
        let all_done = async { while self.controllers.join_next().await.is_some() {} };
        if timeout_at(end, all_done).await.is_err() {
            tracing::warn!(grace = ?self.grace, "reconciles were cut off at the end of the grace");
        }
    }
}

impl Stopper {
    /// Returns when they were told first.
    pub(crate) fn now(&self) -> Instant {
        let now = Instant::now();
        self.0.send_modify(|told| *told = told.or(Some(now)));
        self.0.borrow().unwrap_or(now)
    }

    async fn told(self) {
        // This holds a sender, so the channel cannot close.
        drop(self.0.subscribe().wait_for(Option::is_some).await);
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Background")
            .field("controllers", &self.controllers)
            .field("informers", &self.informers)
            .finish_non_exhaustive()
    }
}
