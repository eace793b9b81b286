//! How often tasks have run, and when they last succeeded.

use std::fmt;
use std::sync::atomic::AtomicU64;

use kubewright_controller::Clock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// How a run of a task has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskOutcome {
    Done,
    Failed,
    Terminal,
    Panicked,
    Cut,
}

impl TaskOutcome {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Terminal => "terminal",
            Self::Panicked => "panicked",
            Self::Cut => "cut",
        }
    }
}

/// The metrics of tasks. Clones share them.
#[derive(Clone)]
pub(crate) struct TaskMetrics {
    runs: Family<RunLabels, Counter>,
    successes: Family<TaskLabels, Gauge<f64, AtomicU64>>,
    clock: Clock,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    task: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TaskLabels {
    task: String,
}

impl TaskMetrics {
    pub(crate) fn new<'a>(registry: &mut Registry, names: impl Iterator<Item = &'a str>) -> Self {
        let metrics = Self {
            runs: Family::default(),
            successes: Family::default(),
            clock: Clock::new(),
        };
        // An alert on failures needs a number from before the first one.
        for name in names {
            for outcome in [TaskOutcome::Done, TaskOutcome::Failed] {
                drop(metrics.runs.get_or_create(&RunLabels::new(name, outcome)));
            }
        }
        registry.register(
            "kubewright_task_runs",
            "Number of runs of tasks, by outcome",
            metrics.runs.clone(),
        );
        registry.register_with_unit(
            "kubewright_task_last_success_timestamp",
            "When a task last ran without an error, as a Unix timestamp",
            Unit::Seconds,
            metrics.successes.clone(),
        );
        metrics
    }

    /// Counts a run that has ended.
    pub(crate) fn ended(&self, task: &str, outcome: TaskOutcome) {
        self.runs
            .get_or_create(&RunLabels::new(task, outcome))
            .inc();
        if outcome == TaskOutcome::Done {
            let now = self.clock.now().as_duration().as_secs_f64();
            let task = task.to_owned();
            self.successes.get_or_create(&TaskLabels { task }).set(now);
        }
    }
}

impl RunLabels {
    fn new(task: &str, outcome: TaskOutcome) -> Self {
        Self {
            task: task.to_owned(),
            outcome: outcome.as_str(),
        }
    }
}

impl fmt::Debug for TaskMetrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TaskMetrics")
            .finish_non_exhaustive()
    }
}
