#![doc = include_str!("../README.md")]
//!
//! A program is a function that requests its handles from [`Needs`] and returns an [`App`]. [`run`] makes
//! a binary of it, with sub-commands; [`Program`] runs it inside another process, such as a test.

mod app;
mod background;
mod client;
mod cluster;
mod command;
mod config_map;
mod configuration;
mod deployment;
mod diagnostics;
mod dynamic;
mod error;
mod file;
mod handles;
mod inspection;
mod live;
mod logging;
pub mod metrics;
mod needs;
mod opening;
mod ownership;
mod parts;
mod process;
mod program;
mod recorder;
mod run;
mod sentence;
mod serving;
mod signals;
mod stage;
mod task;
mod tls;
mod traces;
mod trust;
mod yaml;

pub use app::App;
pub use cluster::{ClusterState, Fleet, Kubeconfig, Members};
pub use configuration::ConfigurationError;
pub use dynamic::DynamicNeeds;
pub use error::{RunError, StartError};
pub use live::Live;
pub use needs::{ClusterNeeds, Needs, ScopedNeeds};
pub use program::Program;
pub use run::{run, run_with};
pub use serving::{Serving, Started};
pub use task::{Cron, CronError, RunTask, Task, TaskContext, TaskError};
