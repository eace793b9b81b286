//! What a program does besides answering reviews and reconciling objects: once, from time to time, or as long as it runs.

mod check;
mod context;
mod cron;
mod declared;
mod error;
mod runner;
mod state;
#[cfg(test)]
mod tests;
mod timing;

pub(crate) use check::check;
pub use context::{RunTask, TaskContext};
pub use cron::{Cron, CronError};
pub use declared::Task;
pub use error::TaskError;
pub(crate) use runner::{BEGIN, BeginTasks, Tasks};
pub(crate) use state::{LastRun, TaskState};
