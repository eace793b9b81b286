//! What runs beside the server: followed files, caches, the election and the controllers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kube::Client;
use kubewright_controller::{
    AnyController, Connection, Informers, LeaderElector, LeaderGuard, Running,
};
use kubewright_server::{Condition, Drain, Readiness};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::configuration::Followed;
use crate::diagnostics::{Addresses, Diagnostics};
use crate::logging::{Levels, Log};
use crate::metrics::Metrics;
use crate::tasks::{Panicked, Tasks};
use crate::{App, Live, Needs};

/// What a program does besides serving, ready to run.
pub(crate) struct Background {
    name: Arc<str>,
    configuration: Vec<Box<dyn Followed>>,
    log_levels: Option<(Live<Option<Levels>>, Option<Log>)>,
    client: Option<Client>,
    connection: Connection,
    informers: Informers,
    caches: Condition,
    controllers: Vec<Running>,
    elector: Option<LeaderElector>,
    others: Tasks,
    stage: Stage,
    diagnostics: Diagnostics,
    grace: Duration,
}

/// What a program does besides serving, at work. It ends at once when this is dropped.
pub(crate) struct AtWork {
    stage: Stage,
    work: Tasks,
    // Behind the controllers, which read from caches to the end.
    others: Tasks,
    // It answers probes to the end.
    _diagnostics: Diagnostics,
    grace: Duration,
}

/// How far a program has come. Clones share it.
#[derive(Clone)]
struct Stage(Arc<watch::Sender<At>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    /// What has to come before the controllers is there.
    Running,
    /// It was told to stop.
    Stopping(Instant),
}

impl Background {
    pub(crate) fn new(
        app: &App,
        needs: Needs,
        client: Option<Client>,
        drain: Drain,
        readiness: &Readiness,
        diagnostics: Diagnostics,
        log: Option<Log>,
    ) -> Self {
        let informers = needs.informers;
        let election = app.election().zip(client.as_ref());
        let stage = Stage(Arc::new(watch::Sender::new(At::Start)));
        let caches = readiness.condition("caches");
        readiness.check("shutdown", {
            let stage = stage.clone();
            move || !stage.is_stopping()
        });
        let elector = election.map(|(election, client)| {
            let elector = LeaderElector::new(election, client.clone()).record_events(app.name());
            diagnostics
                .metrics
                .election(election.lease(), elector.guard());
            elector
        });
        diagnostics.metrics.caches(informers.clone());
        let configuration = needs.configuration.iter();
        diagnostics
            .metrics
            .configuration(configuration.map(|source| source.state()).collect());
        let attach = |controller: &AnyController| {
            let mut running = controller.attach(&informers);
            let metrics = diagnostics.metrics.clone();
            running.observe(move |reconciled| metrics.reconciled(reconciled));
            running
        };
        let controllers: Vec<Running> = app.controllers().iter().map(attach).collect();
        diagnostics
            .metrics
            .queues(controllers.iter().map(Running::meter).collect());
        Self {
            name: app.name().into(),
            configuration: needs.configuration,
            log_levels: needs.log_levels.map(|levels| (levels, log)),
            connection: needs.connection,
            caches,
            controllers,
            elector,
            client,
            informers,
            others: Tasks::default(),
            stage,
            diagnostics,
            grace: drain.longest(),
        }
    }

    /// Runs something beside the rest, from now until the program has ended.
    pub(crate) fn others(&mut self) -> &mut Tasks {
        &mut self.others
    }

    pub(crate) fn client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.diagnostics.metrics
    }

    pub(crate) fn diagnostics_addrs(&self) -> Addresses {
        self.diagnostics.addresses()
    }

    /// Starts files and caches. Controllers follow when it [begins](AtWork::begin) and the caches are complete.
    pub(crate) fn run(self) -> AtWork {
        let mut others = self.others;
        for source in self.configuration {
            others.spawn("the configuration", source.follow(self.client.clone()));
        }
        if let Some((levels, log)) = self.log_levels {
            others.spawn("the level of the log", follow_levels(levels, log));
        }
        if let Some(client) = self.client {
            self.connection.open(client.clone(), Arc::clone(&self.name));
            let informers = self.informers.clone();
            others.spawn("the caches", async move { informers.run(client).await });
        }
        let stage = self.stage.clone();
        let mut work = Tasks::default();
        work.spawn("the controllers", async move {
            let ready = async {
                self.informers.synced().await;
                self.caches.set(true);
                stage.begun().await;
            };
            tokio::select! {
                () = stage.stopping() => return,
                () = ready => {}
            }
            let controllers = self.controllers;
            match self.elector {
                None => control(&controllers, None, &stage).await,
                Some(elector) => {
                    let lead = |guard| control(&controllers, Some(guard), &stage);
                    elector.run(stage.stopping(), lead).await;
                }
            }
        });
        AtWork {
            stage: self.stage,
            work,
            others,
            _diagnostics: self.diagnostics,
            grace: self.grace,
        }
    }
}

async fn follow_levels(mut levels: Live<Option<Levels>>, log: Option<Log>) {
    loop {
        let levels = levels.next().await;
        if let Some(log) = &log {
            log.set(levels.as_ref().as_ref());
        } else {
            tracing::warn!("the level of the log stays: this process has set up a log of its own");
        }
    }
}

/// Runs the controllers, until the program stops or does not lead any more.
async fn control(controllers: &[Running], guard: Option<LeaderGuard>, stage: &Stage) {
    let ended = |controller| run(controller, guard.clone(), stage.stopping());
    join_all(controllers.iter().map(ended)).await;
    // A program may lead without having controllers.
    match guard {
        None => stage.stopping().await,
        Some(guard) => tokio::select! {
            () = stage.stopping() => {}
            () = guard.lost() => {}
        },
    }
}

async fn run(
    controller: &Running,
    guard: Option<LeaderGuard>,
    stopping: impl Future<Output = ()> + Send,
) {
    match guard {
        None => controller.run(stopping).await,
        Some(guard) => controller.run_for(guard, stopping).await,
    }
}

impl AtWork {
    /// Lets the controllers, or the election, begin: what has to come before them is there.
    pub(crate) fn begin(&self) {
        self.stage.begin();
    }

    /// Waits until a component has panicked. The program then ends: otherwise the component would stay down unnoticed.
    pub(crate) async fn broken(&mut self) -> Panicked {
        let panicked = tokio::select! {
            panicked = self.work.panicked() => panicked,
            panicked = self.others.panicked() => panicked,
        };
        tracing::error!(
            part = panicked.0,
            "a part of the program has panicked; it ends"
        );
        panicked
    }

    /// Stops the controllers and gives the Lease back, and returns since when. Caches stay: what is served reads from them.
    ///
    /// Controllers finish what they have begun within a part of the grace that leaves time for what stops after them.
    pub(crate) async fn stop_controllers(&mut self, part: u32) -> Instant {
        let told = self.stage.stop();
        match timeout_at(told + self.grace / part, self.work.ended()).await {
            Ok(Ok(())) => {}
            Ok(Err(panicked)) => tracing::error!(
                part = panicked.0,
                "a part of the program has panicked at its end"
            ),
            Err(_) => {
                self.work.shutdown().await;
                tracing::warn!(grace = ?self.grace, "reconciles were cut off: their part of the grace is over");
            }
        }
        told
    }
}

impl Stage {
    fn begin(&self) {
        self.0.send_if_modified(|at| {
            let is_start = *at == At::Start;
            if is_start {
                *at = At::Running;
            }
            is_start
        });
    }

    /// Returns when it was stopped first.
    fn stop(&self) -> Instant {
        let now = Instant::now();
        let mut told = now;
        self.0.send_modify(|at| match at {
            At::Stopping(first) => told = *first,
            At::Start | At::Running => *at = At::Stopping(now),
        });
        told
    }

    fn is_stopping(&self) -> bool {
        matches!(*self.0.borrow(), At::Stopping(_))
    }

    async fn begun(&self) {
        self.until(|at| *at != At::Start).await;
    }

    async fn stopping(&self) {
        self.until(|at| matches!(at, At::Stopping(_))).await;
    }

    async fn until(&self, is_reached: impl FnMut(&At) -> bool) {
        // This holds a sender, so the channel cannot close.
        drop(self.0.subscribe().wait_for(is_reached).await);
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
