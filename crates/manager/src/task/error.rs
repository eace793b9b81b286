//! What is wrong with the tasks of a program.

use super::cron::CronError;

/// A task cannot run as it is declared.
///
/// ```
/// use kubewright_controller::Error;
/// use kubewright_manager::{App, Program, StartError, Task, TaskContext, TaskError};
///
/// async fn report(_: TaskContext) -> Result<(), Error> {
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let app = App::new("worker").task(Task::on_leader("report", report).cron("0 24 * * *"));
/// let StartError::Tasks(error) = Program::new(|_| app).start().await.unwrap_err() else { unreachable!() };
/// assert!(matches!(error, TaskError::Cron { .. }));
/// assert_eq!(error.to_string(), "the task `report`: invalid schedule `0 24 * * *`: the hour `24`: 24 is not between 0 and 23");
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// A name that logs and metrics could not show.
    #[error(
        "the task `{0}`: its name is to consist of lower case letters, digits and `-`, to begin and end with a letter or a digit, \
         and to have 63 characters at most"
    )]
    Name(String),
    /// Two tasks of one name, which logs and metrics could not tell apart.
    #[error("the task `{0}` is there twice: each task needs a name of its own")]
    Duplicate(String),
    /// A schedule or a time zone that is none.
    #[error("the task `{task}`: {error}")]
    Cron {
        /// The name of the task.
        task: String,
        /// What is wrong with the schedule.
        error: CronError,
    },
    /// A time zone without a schedule in cron form.
    #[error("the task `{0}` has a time zone and no schedule in cron form: call `cron`")]
    TimeZone(String),
    /// A period of no time.
    #[error("the task `{0}` is to run every 0 s: a period is longer than no time")]
    Period(String),
    /// A jitter that is not shorter than the period.
    #[error("the task `{0}`: its jitter is to be shorter than its period")]
    Jitter(String),
    /// A jitter without times.
    #[error("the task `{0}` has a jitter and no times: call `every` or `cron`")]
    JitterAlone(String),
}
