//! What users write of a task: a function, and what it is called with.

use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use kubewright_controller::{Clock, Error};

use crate::stage::Stage;

/// Does what a [`Task`](crate::Task) is for. Implemented by `async fn(TaskContext) -> Result<(), Error>`.
///
/// ```
/// use k8s_openapi::api::batch::v1::Job;
/// use kubewright_controller::{Deleter, Error, Reader};
/// use kubewright_manager::{App, Needs, RunTask, Task, TaskContext};
/// use std::time::Duration;
///
/// /// Deletes the Jobs that have succeeded.
/// struct Cleanup {
///     jobs: Reader<Job>,
///     deleter: Deleter<Job>,
/// }
///
/// impl RunTask for Cleanup {
///     async fn run(&self, _: TaskContext) -> Result<(), Error> {
///         for job in self.jobs.list().await? {
///             if job.status.as_ref().is_some_and(|status| status.succeeded > Some(0)) {
///                 self.deleter.delete(&job).await?;
///             }
///         }
///         Ok(())
///     }
/// }
///
/// fn app(needs: &mut Needs) -> App {
///     let cleanup = Cleanup { jobs: needs.reader(), deleter: needs.deleter() };
///     App::new("janitor").task(Task::on_leader("cleanup", cleanup).every(Duration::from_hours(1)))
/// }
/// # assert_eq!(app(&mut Needs::default()).name(), "janitor");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot run as a task",
    note = "a task is `async fn(TaskContext) -> Result<(), Error>`, or a type that implements `RunTask`"
)]
pub trait RunTask: Send + Sync + 'static {
    /// Runs the task, once.
    ///
    /// # Errors
    ///
    /// Any error has the task run again, after a pause; [`Error::terminal`] leaves it alone until its next time, if it has one.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the replica has lost leadership, if the task is one of the leader's, and when the program has to
    /// end before it has returned.
    fn run(&self, context: TaskContext) -> impl Future<Output = Result<(), Error>> + Send;
}

#[diagnostic::do_not_recommend]
impl<F, Done> RunTask for F
where
    F: Fn(TaskContext) -> Done + Send + Sync + 'static,
    Done: Future<Output = Result<(), Error>> + Send,
{
    fn run(&self, context: TaskContext) -> impl Future<Output = Result<(), Error>> + Send {
        self(context)
    }
}

/// What a run of a task knows: its name, when it was due, how often it has failed, and whether the program shuts down. Clones are cheap.
///
/// A test calls the function of a task with one that it [makes itself](Self::detached).
#[derive(Clone, Debug)]
pub struct TaskContext {
    pub(super) name: Arc<str>,
    pub(super) due: Option<Timestamp>,
    pub(super) failures: u32,
    pub(super) clock: Clock,
    pub(super) stage: Stage,
}

impl TaskContext {
    /// Creates the context of a task of this name outside of a program, which never shuts down.
    ///
    /// ```
    /// use kubewright_controller::Error;
    /// use kubewright_manager::TaskContext;
    ///
    /// async fn report(context: TaskContext) -> Result<(), Error> {
    ///     if context.failures() > 3 {
    ///         return Err(Error::terminal("the report can wait until tomorrow"));
    ///     }
    ///     Ok(())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let ended = report(TaskContext::detached("report")).await;
    /// assert!(ended.is_ok());
    /// # }
    /// ```
    pub fn detached(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            due: None,
            failures: 0,
            clock: Clock::new(),
            stage: Stage::new(),
        }
    }

    /// Returns the name of the task.
    ///
    /// ```
    /// use kubewright_manager::TaskContext;
    ///
    /// assert_eq!(TaskContext::detached("report").name(), "report");
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time of the schedule for which the task runs, without [jitter](crate::Task::jitter): of
    /// [`cron`](crate::Task::cron) or [`every`](crate::Task::every). A run after an error has the time of the run that failed.
    ///
    /// ```
    /// use kubewright_manager::TaskContext;
    ///
    /// assert_eq!(TaskContext::detached("report").due(), None);
    /// ```
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// Returns the number of runs in a row that have failed before this one.
    ///
    /// ```
    /// use kubewright_manager::TaskContext;
    ///
    /// assert_eq!(TaskContext::detached("report").failures(), 0);
    /// ```
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the current time. In a test with paused time it advances with tokio's clock.
    ///
    /// ```
    /// use jiff::{SignedDuration, Timestamp};
    /// use kubewright_manager::TaskContext;
    ///
    /// let now = TaskContext::detached("report").now();
    /// assert!(Timestamp::now().duration_since(now).abs() < SignedDuration::from_mins(1));
    /// ```
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Waits until the program shuts down. The task then has the time of [`Drain`](kubewright_server::Drain) to return, and is
    /// cut off after that: a task that runs as long as the program waits for this beside its work.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::Error;
    /// use kubewright_manager::{App, Program, Task, TaskContext};
    ///
    /// async fn follow(context: TaskContext) -> Result<(), Error> {
    ///     loop {
    ///         tokio::select! {
    ///             () = context.shutdown() => return Ok(()),
    ///             () = tokio::time::sleep(Duration::from_secs(5)) => { /* the work */ }
    ///         }
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let started = Program::new(|_| App::new("worker").task(Task::on_each_replica("follow", follow))).start().await?;
    /// let shutdown = tokio::time::sleep(Duration::from_millis(10));
    /// started.run(shutdown).await?; // returns at once, without a warning about the task
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn shutdown(&self) {
        self.stage.stopping().await;
    }

    /// Returns whether the program shuts down.
    ///
    /// ```
    /// use kubewright_manager::TaskContext;
    ///
    /// assert!(!TaskContext::detached("report").is_shutting_down());
    /// ```
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.stage.is_stopping()
    }
}

/// A task's function whose type is forgotten.
pub(super) trait AnyRunTask: Send + Sync {
    fn run_any(&self, context: TaskContext) -> TaskRun<'_>;
}

pub(super) type TaskRun<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

impl<R: RunTask> AnyRunTask for R {
    fn run_any(&self, context: TaskContext) -> TaskRun<'_> {
        Box::pin(self.run(context))
    }
}
