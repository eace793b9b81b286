#![doc = include_str!("../README.md")]
//!
//! # Other servers, and faults
//!
//! The same test runs on a real kube-apiserver, or on an existing cluster, if `KUBEWRIGHT_TEST_CLUSTER` is set: see [`Server`].
//! [`Faults`] breaks watches, delays responses and makes the API server unreachable, in paused time if everything runs in one
//! process. [`TestCluster::sent`] lists the requests that a program has sent. [`ControlPlane`] is a kube-apiserver with its etcd
//! and nothing else.

mod account;
mod agree;
mod apply;
mod cluster;
#[cfg(unix)]
mod control_plane;
mod definitions;
mod eventually;
mod faults;
mod host;
mod isolation;
mod member;
mod outcome;
mod permissions;
mod policies;
mod policy_probe;
mod published;
mod recorded;
mod round_trips;
mod schemas;
mod server;
mod serving;
mod shared;
mod user;
mod witness;

pub use agree::{Agreed, PoliciesAgree, policies_agree, type_check};
pub use apply::apply;
pub use cluster::{Builder, Object, TestCluster};
#[cfg(unix)]
pub use control_plane::{ControlPlane, ControlPlaneBuilder, ControlPlaneError};
pub use eventually::eventually;
pub use faults::{End, Fault, Faults, Refusal, Requests, Sent};
pub use isolation::unique;
pub use kubewright_apiserver::admission::AdmissionPlugin;
pub use kubewright_apiserver::{
    Container, Controllers, Output, PodHandlers, PortForward, Program, RequestInfo, Session, Stdin,
    Terminal, TerminalSize, Workloads,
};
pub use kubewright_webhook::Recording;
pub use member::{Link, TestMember};
pub use outcome::{Denied, Outcome};
pub use recorded::{Changed, recordings, replay};
pub use round_trips::{RoundTrips, round_trips};
pub use server::Server;
pub use user::{ActingAs, acting_as};

use serde::de::DeserializeOwned;

/// Reads an object from inline YAML, without its common indentation.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_testing::yaml;
///
/// let pod: Pod = yaml("
///     metadata: {name: web}
///     spec:
///       containers:
///       - {name: web, image: nginx}
/// ");
/// assert_eq!(pod.spec.unwrap().containers[0].image.as_deref(), Some("nginx"));
/// ```
///
/// # Panics
/// The text is not YAML of that type. The message says where.
#[track_caller]
pub fn yaml<K: DeserializeOwned>(text: &str) -> K {
    let indent = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.get(indent..).unwrap_or_default())
        .collect();
    let text = lines.join("\n");
    match serde_saphyr::from_str(&text) {
        Ok(object) => object,
        Err(error) => fail(format_args!(
            "the YAML of a test object cannot be read: {error}\n{text}"
        )),
    }
}

/// Ends the test: in this crate a panic is the answer, not an accident.
#[track_caller]
#[expect(
    clippy::panic,
    reason = "a failed expectation ends the test that states it"
)]
pub(crate) fn fail(why: std::fmt::Arguments<'_>) -> ! {
    panic!("{why}")
}
