#![doc = include_str!("../README.md")]
//!
//! The module [`guide`] has the chapters of the guide.

pub mod guide;
pub mod prelude;

pub use kubewright_manager::{
    App, ClusterNeeds, ClusterState, ConfigurationError, Cron, CronError, DynamicNeeds, Fleet,
    Kubeconfig, Live, Members, Needs, Program, RunError, RunTask, ScopedNeeds, Serving, StartError,
    Started, Task, TaskContext, TaskError, run, run_with,
};

pub use kubewright_certificates as certificates;
pub use kubewright_controller as controller;
pub use kubewright_manager::metrics;
pub use kubewright_manifests as manifests;
#[cfg(feature = "policies")]
pub use kubewright_policy as policy;
pub use kubewright_review as review;
pub use kubewright_server as server;
#[cfg(feature = "testing")]
pub use kubewright_testing as testing;
pub use kubewright_webhook as webhook;

/// The README's examples run, too.
#[cfg(doctest)]
#[doc = include_str!("../repository.md")]
#[derive(Debug)]
pub struct Readme;
