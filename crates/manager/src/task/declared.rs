//! A task as a value.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kubewright_controller::Backoff;

use super::context::{AnyRunTask, RunTask};
use super::cron::{Cron, CronError};
use super::error::TaskError;
use super::timing::Timing;

/// Something that a program does besides answering reviews and reconciling objects. It begins when the program's caches are complete,
/// with a function that runs once, or as long as the program does; [`every`](Self::every) and [`cron`](Self::cron) have it run
/// again and again.
///
/// ```
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Node;
/// use kubewright_controller::{Cached, Error};
/// use kubewright_manager::{App, Needs, Task, TaskContext};
///
/// fn app(needs: &mut Needs) -> App {
///     let nodes: Cached<Node> = needs.cached();
///     let report = move |_: TaskContext| {
///         let nodes = nodes.clone();
///         async move {
///             let count = nodes.list().await?.len();
///             tracing::info!(nodes = count, "the cluster as it is");
///             Ok::<_, Error>(())
///         }
///     };
///     App::new("census").task(Task::on_leader("report", report).every(Duration::from_mins(1)))
/// }
/// # assert_eq!(app(&mut Needs::default()).name(), "census");
/// ```
///
/// * A run that returns `Ok` is done, and the next begins at its time. A task without times is done for good.
/// * A run that returns an error, or panics, is logged and counted, and the task runs again after a [pause](Self::retry), or at its
///   next time if that comes first. [`Error::terminal`](kubewright_controller::Error::terminal) leaves it alone until its next
///   time. Neither changes whether the program is ready.
/// * It never runs twice at once. A time that comes while it runs is left out.
/// * When the program shuts down, a run in progress has the time of the program's [`Drain`](kubewright_server::Drain) to return.
///   [`TaskContext::shutdown`](crate::TaskContext::shutdown) tells it. Then it is cut off, and a warning names it.
/// * A [leader's](Self::on_leader) task is cut off at once when leadership is lost. Its handles write nothing from that moment on;
///   tasks that it spawns itself with `tokio::spawn` are not held back by that.
#[derive(Clone)]
#[must_use]
pub struct Task {
    name: Arc<str>,
    site: Site,
    times: Times,
    zone: Option<Zone>,
    jitter: Duration,
    backoff: Backoff,
    run: Arc<dyn AnyRunTask>,
}

/// A time zone and how a schedule comes to be in it, for which programs without time zones have no code.
#[derive(Clone)]
struct Zone {
    name: String,
    enter: fn(Cron, &str) -> Result<Cron, CronError>,
}

/// The replicas on which a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    EachReplica,
    Leader,
}

impl Site {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::EachReplica => "eachReplica",
            Self::Leader => "leader",
        }
    }
}

/// When a task runs, as it was declared.
#[derive(Clone, Debug)]
enum Times {
    Once,
    Every(Duration),
    Cron(Result<Cron, CronError>),
}

impl Task {
    /// Creates a task that every replica of the program runs, with a name, for logs and metrics.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use kubewright_manager::{App, Program, Task, TaskContext};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let is_warm = Arc::new(AtomicBool::new(false));
    /// let warm = Arc::clone(&is_warm);
    /// let warm_up = move |_: TaskContext| {
    ///     warm.store(true, Ordering::Relaxed);
    ///     async { Ok(()) }
    /// };
    /// let started = Program::new(|_| App::new("worker").task(Task::on_each_replica("warm-up", warm_up))).start().await?;
    /// let shutdown = async {
    ///     while !is_warm.load(Ordering::Relaxed) {
    ///         tokio::task::yield_now().await;
    ///     }
    /// };
    /// started.run(shutdown).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_each_replica(name: impl Into<Arc<str>>, run: impl RunTask) -> Self {
        Self::new(name.into(), Site::EachReplica, Arc::new(run))
    }

    /// Creates a task that only the leader runs: the replica that also runs the controllers, see
    /// [`App::leader_election`](crate::App::leader_election). A replica that comes to lead begins it anew. In a program without
    /// leader election every replica leads, so that its manifests install one.
    ///
    /// ```
    /// use kubewright_controller::{Error, Writer};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_manager::{App, Needs, Program, Task, TaskContext};
    ///
    /// fn app(needs: &mut Needs) -> App {
    ///     let maps: Writer<ConfigMap> = needs.in_namespace("blue").writer();
    ///     let announce = move |_: TaskContext| {
    ///         let maps = maps.clone();
    ///         async move {
    ///             let mut map = ConfigMap::default();
    ///             map.metadata.name = Some("leader".to_owned());
    ///             map.metadata.namespace = Some("blue".to_owned());
    ///             maps.create(&map).await?;
    ///             Ok::<_, Error>(())
    ///         }
    ///     };
    ///     App::new("gardens").leader_election("gardens").task(Task::on_leader("announce", announce))
    /// }
    ///
    /// let roles = Program::new(app).permissions();
    /// assert!(roles.to_yaml().contains("- configmaps\n"), "the task's handles are the program's permissions");
    /// ```
    pub fn on_leader(name: impl Into<Arc<str>>, run: impl RunTask) -> Self {
        Self::new(name.into(), Site::Leader, Arc::new(run))
    }

    fn new(name: Arc<str>, site: Site, run: Arc<dyn AnyRunTask>) -> Self {
        Self {
            name,
            site,
            times: Times::Once,
            zone: None,
            jitter: Duration::ZERO,
            backoff: DEFAULT_BACKOFF,
            run,
        }
    }

    /// Runs the task when it begins, and then once in each period. The times do not drift, however long a run takes.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_manager::{App, Program, Task, TaskContext};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (sender, mut runs) = tokio::sync::mpsc::unbounded_channel();
    /// let tick = move |_: TaskContext| {
    ///     drop(sender.send(tokio::time::Instant::now()));
    ///     async { Ok(()) }
    /// };
    /// let app = App::new("clock").task(Task::on_each_replica("tick", tick).every(Duration::from_hours(1)));
    /// tokio::spawn(Program::new(|_| app).start().await?.run(std::future::pending()));
    /// let first = runs.recv().await.unwrap();
    /// let second = runs.recv().await.unwrap(); // a test with paused time does not wait for an hour
    /// assert_eq!(second - first, Duration::from_hours(1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn every(mut self, period: Duration) -> Self {
        self.times = Times::Every(period);
        self
    }

    /// Runs the task at the times of a schedule in cron form: a string, or a [`Cron`]. A mistake in it is an error when the program
    /// starts. The times are in UTC unless a [time zone](Self::time_zone) is set.
    ///
    /// A program does not know when it last ran: times that passed while no replica was there, or none led, are not made up for.
    ///
    /// ```
    /// use jiff::SignedDuration;
    /// use kubewright_manager::{App, Program, Task, TaskContext};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (sender, mut runs) = tokio::sync::mpsc::unbounded_channel();
    /// let report = move |context: TaskContext| {
    ///     drop(sender.send(context.due()));
    ///     async { Ok(()) }
    /// };
    /// let app = App::new("clock").task(Task::on_each_replica("report", report).cron("0 6 * * *"));
    /// tokio::spawn(Program::new(|_| app).start().await?.run(std::future::pending()));
    /// let first = runs.recv().await.flatten().unwrap();
    /// assert!(first.to_string().ends_with("T06:00:00Z"));
    /// let second = runs.recv().await.flatten().unwrap(); // a day later, as the test has it
    /// assert_eq!(second.duration_since(first), SignedDuration::from_hours(24));
    /// # Ok(())
    /// # }
    /// ```
    pub fn cron<S>(mut self, schedule: S) -> Self
    where
        S: TryInto<Cron, Error: Into<CronError>>,
    {
        self.times = Times::Cron(schedule.try_into().map_err(Into::into));
        self
    }

    /// Sets the time zone of the schedule in cron form, by its name in the IANA database such as `Europe/Berlin`. The image needs that
    /// database, which is the package `tzdata`; a name that is not in it is an error when the program starts.
    ///
    /// ```
    /// use kubewright_controller::Error;
    /// use kubewright_manager::{App, Program, Task, TaskContext};
    ///
    /// async fn report(_: TaskContext) -> Result<(), Error> {
    ///     Ok(())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let report = Task::on_leader("report", report).cron("0 6 * * *");
    /// let berlin = App::new("census").task(report.clone().time_zone("Europe/Berlin"));
    /// assert!(Program::new(|_| berlin).start().await.is_ok());
    /// let nowhere = App::new("census").task(report.time_zone("Europe/Nowhere"));
    /// assert!(Program::new(|_| nowhere).start().await.is_err());
    /// # }
    /// ```
    pub fn time_zone(mut self, name: impl Into<String>) -> Self {
        self.zone = Some(Zone {
            name: name.into(),
            enter: Cron::in_time_zone,
        });
        self
    }

    /// Delays each run at random, by less than this, so that programs that started together do not all call at once. It is not added
    /// up over runs. Default: no delay.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::Error;
    /// use kubewright_manager::{Task, TaskContext};
    ///
    /// async fn renew(_: TaskContext) -> Result<(), Error> {
    ///     Ok(())
    /// }
    ///
    /// let task = Task::on_each_replica("renew", renew).every(Duration::from_hours(1)).jitter(Duration::from_mins(5));
    /// assert_eq!(task.name(), "renew");
    /// ```
    pub fn jitter(mut self, longest: Duration) -> Self {
        self.jitter = longest;
        self
    }

    /// Sets how long to wait after errors. Default: from 1 s to 5 min. The pauses begin anew after a run that was done, or that lasted
    /// for ten minutes.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::{Backoff, Error};
    /// use kubewright_manager::{App, Program, Task, TaskContext};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (sender, mut runs) = tokio::sync::mpsc::unbounded_channel();
    /// let connect = move |context: TaskContext| {
    ///     drop(sender.send(context.failures()));
    ///     async { Err(Error::retry("nothing listens")) }
    /// };
    /// let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
    /// let app = App::new("worker").task(Task::on_each_replica("connect", connect).retry(backoff));
    /// tokio::spawn(Program::new(|_| app).start().await?.run(std::future::pending()));
    /// for failures in 0..20 {
    ///     assert_eq!(runs.recv().await, Some(failures));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn retry(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether only the leader runs it.
    pub(crate) fn is_of_leader(&self) -> bool {
        self.site == Site::Leader
    }

    pub(super) fn site(&self) -> Site {
        self.site
    }

    pub(super) fn backoff(&self) -> Backoff {
        self.backoff
    }

    pub(super) fn function(&self) -> &Arc<dyn AnyRunTask> {
        &self.run
    }

    /// When it runs, if that makes sense.
    pub(super) fn timing(&self) -> Result<Timing, TaskError> {
        let name = || self.name.to_string();
        let wrong = |error| TaskError::Cron {
            task: name(),
            error,
        };
        if self.zone.is_some() && !matches!(self.times, Times::Cron(_)) {
            return Err(TaskError::TimeZone(name()));
        }
        match &self.times {
            Times::Once if !self.jitter.is_zero() => Err(TaskError::JitterAlone(name())),
            Times::Once => Ok(Timing::Once),
            Times::Every(period) if period.is_zero() => Err(TaskError::Period(name())),
            Times::Every(period) if *period <= self.jitter => Err(TaskError::Jitter(name())),
            Times::Every(period) => Ok(Timing::Every(*period, self.jitter)),
            Times::Cron(schedule) => {
                let schedule = schedule.clone().map_err(wrong)?;
                let schedule = match &self.zone {
                    Some(zone) => (zone.enter)(schedule, &zone.name).map_err(wrong)?,
                    None => schedule,
                };
                Ok(Timing::Cron(schedule, self.jitter))
            }
        }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Task")
            .field("name", &self.name)
            .field("site", &self.site)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

/// A second is soon enough for what no change waits for, and five minutes is what kubelets wait for at the most.
const DEFAULT_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));
