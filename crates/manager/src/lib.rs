//! What a program is made of, and how it is run.
//!
//! A program is a function that asks [`Needs`] for its handles and returns an [`App`]. [`run`] makes
//! a binary of it, with sub-commands; [`Program`] runs it inside another process, such as a test.

mod app;
mod background;
mod client;
mod command;
mod config_map;
mod configuration;
mod deployment;
mod error;
mod file;
mod live;
mod logging;
mod metrics;
mod needs;
mod opening;
mod process;
mod program;
mod recorder;
mod run;
mod sentence;
mod serving;
mod signals;
mod tasks;
mod tls;
mod traces;
mod trust;
mod watch;
mod yaml;

pub use app::App;
pub use configuration::ConfigurationError;
pub use error::{RunError, StartError};
pub use live::Live;
pub use needs::{Narrowed, Needs};
pub use program::Program;
pub use run::{run, run_with};
pub use serving::{Serving, Started};
