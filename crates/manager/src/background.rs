//! What runs beside the server: followed files, caches, the election and the controllers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{join, join_all, join3};
use kube::Client;
use kubewright_controller::{
    AnyController, Connection, Informers, LeaderElector, LeaderGuard, Reconciled, Running,
};
use kubewright_server::{Condition, Drain, Readiness};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::cluster::{Clusters, Leads};
use crate::configuration::Followed;
use crate::diagnostics::Diagnostics;
use crate::inspection::Shown;
use crate::logging::{Levels, Log};
use crate::metrics::Metrics;
use crate::parts::{Panicked, Parts, Roll};
use crate::stage::Stage;
use crate::task::Tasks;
use crate::{App, ClusterState, Live, Needs};

/// What a program does besides serving, ready to run.
pub(crate) struct Background {
    name: Arc<str>,
    configuration: Vec<Box<dyn Followed>>,
    log_levels: Option<(Live<Option<Levels>>, Option<Log>)>,
    client: Option<Client>,
    connection: Connection,
    informers: Informers,
    state: watch::Sender<Arc<ClusterState>>,
    caches: Condition,
    controllers: Vec<Running>,
    tasks: Tasks,
    clusters: Option<Clusters>,
    elector: Option<LeaderElector>,
    others: Parts,
    roll: Roll,
    stage: Stage,
    diagnostics: Diagnostics,
    grace: Duration,
}

/// What a program does besides serving, at work. It ends at once when this is dropped.
pub(crate) struct AtWork {
    stage: Stage,
    work: Parts,
    tasks: Tasks,
    // Behind the controllers, which read from caches to the end.
    others: Parts,
    // It answers probes to the end.
    _diagnostics: Diagnostics,
    grace: Duration,
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
        let Needs {
            own,
            log_levels,
            others,
            ..
        } = needs;
        let informers = own.informers;
        let election = app.election().zip(client.as_ref());
        let stage = Stage::new();
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
            diagnostics.show(|| Shown::Leadership {
                lease: election.lease().to_owned(),
                identity: elector.identity().to_owned(),
                guard: elector.guard(),
                observed: elector.observed(),
            });
            elector
        });
        diagnostics.metrics.caches(informers.clone());
        let configuration = own.configuration.iter();
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
        let metrics = &diagnostics.metrics;
        let tasks = app
            .begin_tasks()
            .map(|begin| metrics.register(|own| begin(app.tasks(), own)));
        let tasks = tasks.unwrap_or_default();
        let roll = Roll::default();
        diagnostics.show(|| Shown::Caches(informers.clone()));
        diagnostics.show(|| {
            let metrics = diagnostics.metrics.clone();
            Shown::Controllers {
                meters: controllers.iter().map(Running::meter).collect(),
                reconciles: Box::new(move |controller| metrics.reconciles(controller)),
            }
        });
        diagnostics.show(|| Shown::Tasks(tasks.clone()));
        let sources = own.configuration.iter();
        diagnostics.show(|| Shown::Configuration(sources.map(|source| source.state()).collect()));
        diagnostics.show(|| Shown::Parts(roll.clone()));
        let metrics = diagnostics.metrics.clone();
        let observe = move |reconciled: &Reconciled<'_>| metrics.reconciled(reconciled);
        let clusters = others.begin().map(|begin| {
            let register = &diagnostics.metrics;
            register.register(|registry| begin(others, Arc::new(observe), registry))
        });
        Self {
            name: app.name().into(),
            configuration: own.configuration,
            log_levels: log_levels.map(|levels| (levels, log)),
            connection: own.connection,
            state: own.states.0,
            caches,
            controllers,
            tasks,
            clusters,
            elector,
            client,
            informers,
            others: Parts::on(roll.clone()),
            roll,
            stage,
            diagnostics,
            grace: drain.longest(),
        }
    }

    /// Runs something beside the rest, from now until the program has ended.
    pub(crate) fn others(&mut self) -> &mut Parts {
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

    pub(crate) fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    pub(crate) fn diagnostics_mut(&mut self) -> &mut Diagnostics {
        &mut self.diagnostics
    }

    /// Starts files and caches. Controllers follow when it [begins](AtWork::begin) and the caches are complete.
    pub(crate) fn run(self) -> AtWork {
        let mut others = self.others;
        let leads = self.clusters.as_ref().map(Clusters::leads);
        if let (Some(clusters), Some(client)) = (self.clusters, &self.client) {
            let kept = clusters.keep(client.clone(), Arc::clone(&self.name));
            others.spawn("the other clusters", kept);
        }
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
        let mut work = Parts::on(self.roll);
        if self.tasks.run_on_each_replica() {
            let (tasks, stage) = (self.tasks.clone(), self.stage.clone());
            let informers = self.informers.clone();
            work.spawn("the tasks", async move {
                if is_ready(&informers, &stage).await {
                    tasks.on_each_replica(&stage).await;
                }
            });
        }
        let (stage, tasks) = (self.stage.clone(), self.tasks.clone());
        work.spawn("the controllers", async move {
            tokio::select! {
                () = stage.stopping() => return,
                () = self.informers.synced() => {
                    self.caches.set(true);
                    self.state.send_replace(Arc::new(ClusterState::Ready));
                }
            }
            if !is_ready(&self.informers, &stage).await {
                return;
            }
            let (sharded, controllers): (Vec<_>, Vec<_>) =
                self.controllers.into_iter().partition(Running::is_sharded);
            let sharing = join_all(sharded.iter().map(|one| one.run(stage.stopping())));
            let leading = async {
                let lead = |guard| control(&controllers, &tasks, leads.as_ref(), guard, &stage);
                match self.elector {
                    None => lead(None).await,
                    Some(elector) => {
                        elector
                            .run(stage.stopping(), |guard| lead(Some(guard)))
                            .await;
                    }
                }
            };
            join(sharing, leading).await;
        });
        AtWork {
            stage: self.stage,
            work,
            tasks: self.tasks,
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

/// Waits until tasks may begin; false: the program stops before.
async fn is_ready(informers: &Informers, stage: &Stage) -> bool {
    let ready = async {
        informers.synced().await;
        stage.begun().await;
    };
    tokio::select! {
        () = stage.stopping() => false,
        () = ready => true,
    }
}

/// Runs the controllers and the tasks of a leader, until the program stops or does not lead any more.
async fn control(
    controllers: &[Running],
    tasks: &Tasks,
    elsewhere: Option<&Leads>,
    guard: Option<LeaderGuard>,
    stage: &Stage,
) {
    let over = || async {
        match &guard {
            None => stage.stopping().await,
            Some(guard) => tokio::select! {
                () = stage.stopping() => {}
                () = guard.lost() => {}
            },
        }
    };
    let ended = |controller| run(controller, guard.clone(), stage.stopping());
    let elsewhere = async {
        if let Some(leads) = elsewhere {
            leads.control(guard.clone(), over()).await;
        }
    };
    join3(
        join_all(controllers.iter().map(ended)),
        tasks.on_leader(guard.as_ref(), stage),
        elsewhere,
    )
    .await;
    // A program may lead without having controllers.
    over().await;
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
    /// Lets the controllers and tasks, or the election, begin: what has to come before them is there.
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
                for task in self.tasks.in_progress() {
                    tracing::warn!(task = &*task, grace = ?self.grace, "the task did not stop when it was told to: it is cut off");
                }
                self.work.shutdown().await;
                tracing::warn!(grace = ?self.grace, "what was in progress was cut off: its part of the grace is over");
            }
        }
        told
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
