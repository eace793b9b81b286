//! The toolkit for Kubernetes admission webhooks and controllers.
//!
//! A webhook is a function, a program is a value, and `main` is one line:
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kubewright::prelude::*;
//!
//! /// Annotates every pod that is created.
//! async fn welcome(change: Change<Pod>, _: Review) -> Mutated<Pod> {
//!     let mut pod = change.into_object();
//!     pod.annotations_mut().insert("mutate".to_owned(), "welcome".to_owned());
//!     Ok(pod)
//! }
//!
//! /// What this program is made of. Called to run it, to test it and to write its manifests.
//! fn app(_: &mut Needs) -> App {
//!     App::new("greeter")
//!         .webhooks(Webhooks::new("example.com").with(mutating("welcome", welcome).on([Create])))
//! }
//!
//! fn main() -> std::process::ExitCode {
//! # if false {
//!     kubewright::run(app)
//! # } else { std::process::ExitCode::SUCCESS }
//! }
//! ```
//!
//! The [`guide`] starts there and explains the rest.
//!
//! # Features
//!
//! No feature is enabled by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `testing` | `kubewright::testing`, a Kubernetes API server in the test process; for `[dev-dependencies]` |
//! | `otlp` | traces by OTLP: `run --otlp-endpoint URL` |
//! | `rsa` | keys for clients that take no ECDSA: `SharedAuthority::rsa` |

pub mod guide;
pub mod prelude;

pub use kubewright_manager::{
    App, ConfigurationError, Live, Narrowed, Needs, Program, RunError, Serving, StartError,
    Started, run, run_with,
};

pub use kubewright_certificates as certificates;
pub use kubewright_controller as controller;
pub use kubewright_manifests as manifests;
pub use kubewright_review as review;
pub use kubewright_server as server;
#[cfg(feature = "testing")]
pub use kubewright_testing as testing;
pub use kubewright_webhook as webhook;

/// The README's examples run, too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[derive(Debug)]
pub struct Readme;
