//! The tasks of a program at work.

use std::future::{pending, ready};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use kubewright_controller::{Clock, LeaderGuard};
use prometheus_client::registry::Registry;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::{Instrument as _, Span, field};

use super::context::TaskContext;
use super::declared::{Site, Task};
use super::state::{LastRun, States, TaskState};
use super::timing::{Due, Times};
use crate::metrics::{TaskMetrics, TaskOutcome};
use crate::stage::Stage;

/// The tasks of a program. Clones share what is in progress.
#[derive(Clone, Default)]
pub(crate) struct Tasks {
    all: Arc<[Task]>,
    states: States,
    /// Only of a program that has tasks.
    code: Option<Code>,
}

/// How tasks come to run. The code is in no program without tasks.
pub(crate) type BeginTasks = fn(&[Task], &mut Registry) -> Tasks;

pub(crate) const BEGIN: BeginTasks = |tasks, registry| Tasks {
    all: tasks.into(),
    states: States::of(tasks),
    code: Some(Code {
        run: |tasks, site, guard, stage| tasks.run_all(site, guard, stage).boxed(),
        metrics: TaskMetrics::new(registry, tasks.iter().map(Task::name)),
    }),
};

#[derive(Clone)]
struct Code {
    run: fn(Tasks, Site, Option<LeaderGuard>, Stage) -> BoxFuture<'static, ()>,
    metrics: TaskMetrics,
}

/// How a run has ended.
enum End {
    Done,
    Failed(String),
    Panicked(String),
    Terminal(String),
}

/// A run in progress, which is known as such until this is dropped.
struct InProgress<'a> {
    tasks: &'a Tasks,
    name: Arc<str>,
    begun: Instant,
    outcome: TaskOutcome,
    error: Option<Arc<str>>,
}

impl Tasks {
    /// Whether there is one that every replica runs.
    pub(crate) fn run_on_each_replica(&self) -> bool {
        self.all.iter().any(|task| task.site() == Site::EachReplica)
    }

    /// Runs those of every replica until they are done, or until the program stops and they have returned.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cuts off what is in progress.
    pub(crate) fn on_each_replica(&self, stage: &Stage) -> BoxFuture<'static, ()> {
        self.on(Site::EachReplica, None, stage)
    }

    /// Runs those of the leader as [`on_each_replica`](Self::on_each_replica) does, and at most as long as this replica leads.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cuts off what is in progress.
    pub(crate) fn on_leader(
        &self,
        guard: Option<&LeaderGuard>,
        stage: &Stage,
    ) -> BoxFuture<'static, ()> {
        self.on(Site::Leader, guard, stage)
    }

    fn on(&self, site: Site, guard: Option<&LeaderGuard>, stage: &Stage) -> BoxFuture<'static, ()> {
        match &self.code {
            Some(code) => (code.run)(self.clone(), site, guard.cloned(), stage.clone()),
            None => ready(()).boxed(),
        }
    }

    async fn run_all(self, site: Site, guard: Option<LeaderGuard>, stage: Stage) {
        let mut running = JoinSet::new();
        for task in self.all.iter().filter(|task| task.site() == site) {
            let run = self.clone().run(task.clone(), stage.clone());
            running.spawn(match &guard {
                Some(guard) => guard.clone().bind(run).boxed(),
                None => run.boxed(),
            });
        }
        let lost = async {
            match &guard {
                Some(guard) => guard.lost().await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = lost => {
                for task in self.states.in_progress(|of| of == site) {
                    tracing::warn!(task = &*task, "lost leadership: the task is cut off, and begins anew when this replica leads again");
                }
                running.shutdown().await;
            }
            () = async { while running.join_next().await.is_some() {} } => {}
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The names of those that run now.
    pub(crate) fn in_progress(&self) -> Vec<Arc<str>> {
        self.states.in_progress(|_| true)
    }

    /// How it goes with each.
    pub(crate) fn states(&self) -> Vec<TaskState> {
        self.states.read()
    }

    /// Runs a task whenever it is due.
    async fn run(self, task: Task, stage: Stage) {
        let clock = Clock::new();
        let Ok(timing) = task.timing() else {
            // It was checked before the program started, and time zones do not vanish.
            tracing::error!(
                task = task.name(),
                "the schedule of the task cannot be used any more"
            );
            return;
        };
        let mut times = Times::new(timing, clock);
        let (mut failures, mut retry) = (0_u32, None);
        loop {
            let due = times.next();
            let next = [
                due.map(|due| due.at(clock)),
                retry.map(|at| time_of(at, clock)),
            ];
            self.states.set(task.name(), |state| {
                state.failures = failures;
                state.next = next.into_iter().flatten().min();
            });
            if due.is_none() && retry.is_none() {
                tracing::info!(
                    task = task.name(),
                    "the task has ended and does not run again"
                );
                return;
            }
            tokio::select! {
                biased;
                () = stage.stopping() => return,
                due = wait(due, clock) => times.uses(due),
                () = until(retry) => {}
            }
            let context = TaskContext {
                name: task.name().into(),
                due: times.last(),
                failures,
                clock,
                stage: stage.clone(),
            };
            let (end, lasted) = self.run_once(&task, context).await;
            if lasted >= STEADY {
                failures = 0;
            }
            retry = match end {
                End::Done => {
                    failures = 0;
                    tracing::debug!(task = task.name(), ?lasted, "the task is done");
                    None
                }
                End::Terminal(error) => {
                    failures = failures.saturating_add(1);
                    tracing::error!(
                        task = task.name(),
                        error,
                        "the task failed; not trying again before its next time, if it has one"
                    );
                    None
                }
                End::Failed(error) => {
                    failures = failures.saturating_add(1);
                    let pause = task.backoff().pause(failures);
                    tracing::warn!(
                        task = task.name(),
                        error,
                        failures,
                        ?pause,
                        "the task failed; trying again"
                    );
                    Some(Instant::now() + pause)
                }
                End::Panicked(panic) => {
                    failures = failures.saturating_add(1);
                    let pause = task.backoff().pause(failures);
                    tracing::error!(
                        task = task.name(),
                        panic,
                        failures,
                        ?pause,
                        "the task panicked; trying again"
                    );
                    Some(Instant::now() + pause)
                }
            };
        }
    }

    async fn run_once(&self, task: &Task, context: TaskContext) -> (End, Duration) {
        let span = tracing::info_span!("task", task = task.name(), otel.status_code = field::Empty);
        let mut progress = InProgress::begin(self, task.name());
        let run = AssertUnwindSafe(async { task.function().run_any(context).await });
        let end = match run.catch_unwind().instrument(span.clone()).await {
            Ok(Ok(())) => End::Done,
            Ok(Err(error)) if error.is_terminal() => End::Terminal(error.to_string()),
            Ok(Err(error)) => End::Failed(error.to_string()),
            Err(panic) => End::Panicked(message(&*panic).to_owned()),
        };
        progress.outcome = end.outcome();
        progress.error = end.error();
        if !matches!(end, End::Done) {
            Span::record(&span, "otel.status_code", "ERROR");
        }
        (end, Instant::now().duration_since(progress.begun))
    }
}

impl<'a> InProgress<'a> {
    fn begin(tasks: &'a Tasks, name: &str) -> Self {
        let begun = Instant::now();
        tasks.states.set(name, |state| {
            state.running = Some(begun);
            state.next = None;
        });
        Self {
            tasks,
            name: name.into(),
            begun,
            // Unless it comes to an end of its own.
            outcome: TaskOutcome::Cut,
            error: None,
        }
    }
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.tasks.states.set(&self.name, |state| {
            state.running = None;
            state.last = Some(LastRun {
                begun: self.begun,
                ended: Instant::now(),
                outcome: self.outcome,
                error: self.error.take(),
            });
        });
        if let Some(code) = &self.tasks.code {
            code.metrics.ended(&self.name, self.outcome);
        }
    }
}

impl End {
    fn error(&self) -> Option<Arc<str>> {
        match self {
            Self::Done => None,
            Self::Failed(error) | Self::Panicked(error) | Self::Terminal(error) => {
                Some(error[..error.floor_char_boundary(LONGEST_ERROR)].into())
            }
        }
    }

    fn outcome(&self) -> TaskOutcome {
        match self {
            Self::Done => TaskOutcome::Done,
            Self::Failed(_) => TaskOutcome::Failed,
            Self::Panicked(_) => TaskOutcome::Panicked,
            Self::Terminal(_) => TaskOutcome::Terminal,
        }
    }
}

async fn wait(due: Option<Due>, clock: Clock) -> Due {
    match due {
        Some(due) => {
            due.wait(clock).await;
            due
        }
        None => pending().await,
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

/// The time of day of a moment to come.
fn time_of(at: Instant, clock: Clock) -> Timestamp {
    let left = at.saturating_duration_since(Instant::now());
    let left = SignedDuration::try_from(left).unwrap_or(SignedDuration::MAX);
    clock.now().checked_add(left).unwrap_or(Timestamp::MAX)
}

/// So much of the last error is kept, in bytes.
const LONGEST_ERROR: usize = 512;

/// Failures that are further apart are not in a row, as kubelets have it for containers.
const STEADY: Duration = Duration::from_mins(10);
