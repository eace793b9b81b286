//! A cluster in your test process.
//!
//! [`TestCluster`] starts an embedded Kubernetes API server and your webhooks, over real HTTPS, in milliseconds, and
//! leaves nothing behind when it is dropped:
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kubewright_testing::{TestCluster, yaml};
//! use kubewright_webhook::{Change, Mutated, Review, Webhooks, mutating};
//!
//! async fn team(change: Change<Pod>, _: Review) -> Mutated<Pod> {
//!     let mut pod = change.into_object();
//!     let labels = pod.metadata.labels.get_or_insert_default();
//!     labels.entry("team".into()).or_insert("blue".into());
//!     Ok(pod)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let webhooks = Webhooks::new("policy.example.com").with(mutating("team", team));
//! let cluster = TestCluster::builder().webhooks(webhooks).start().await;
//!
//! let pod: Pod = yaml("
//!     apiVersion: v1
//!     kind: Pod
//!     metadata: {name: web}
//!     spec: {containers: [{name: web, image: nginx}]}
//! ");
//! let pod = cluster.create(&pod).await.expect_allowed();
//! assert_eq!(pod.metadata.labels.unwrap()["team"], "blue");
//! # }
//! ```
//!
//! The same test runs on a real kube-apiserver, or on a cluster that is there already, when `KUBEWRIGHT_TEST_CLUSTER` says so:
//! see [`Server`]. What a program does when watches break, answers are late and nobody is there is for [`Faults`] to find
//! out, in paused time where all is in one process; [`TestCluster::sent`] tells what it has sent. [`ControlPlane`] is a kube-apiserver and an etcd without the rest.

mod account;
mod apply;
mod cluster;
#[cfg(unix)]
mod control_plane;
mod definitions;
mod eventually;
mod faults;
mod host;
mod isolation;
mod outcome;
mod permissions;
mod published;
mod recorded;
mod round_trips;
mod schemas;
mod server;
mod serving;
mod shared;
mod user;
mod witness;

pub use apply::apply;
pub use cluster::{Builder, Object, TestCluster};
#[cfg(unix)]
pub use control_plane::{ControlPlane, ControlPlaneBuilder, ControlPlaneError};
pub use eventually::eventually;
pub use faults::{End, Fault, Faults, Refusal, Requests, Sent};
pub use isolation::unique;
pub use kubewright_apiserver::admission::AdmissionPlugin;
pub use kubewright_apiserver::{Controllers, RequestInfo, Workloads};
pub use kubewright_webhook::Recording;
pub use outcome::{Denied, Outcome};
pub use recorded::{Changed, recordings, replay};
pub use round_trips::{RoundTrips, round_trips};
pub use server::Server;
pub use user::{ActingAs, acting_as};

use serde::de::DeserializeOwned;

/// Reads an object from YAML written inline; common indentation is taken off.
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
