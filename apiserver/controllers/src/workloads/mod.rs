//! The workload simulator: controllers that make pods, a scheduler that gives them to nodes, and kubelets that say they
//! run. No container does, but for those whose image was given a program.

mod affinity;
mod claims;
mod commands;
mod containers;
pub(super) mod cron_jobs;
pub(super) mod daemon_sets;
pub(super) mod deployments;
mod exec;
mod hash;
pub(super) mod jobs;
pub(super) mod kubelet;
pub(super) mod node_lifecycle;
pub(super) mod nodes;
mod pod_control;
pub(super) mod pod_gc;
mod programs;
pub(super) mod replica_sets;
mod revisions;
mod runs;
pub(super) mod scheduler;
mod script;
pub(super) mod stateful_sets;
mod status;
pub(super) mod taint_eviction;

use kubewright_kubelet::{Images, Program};
use tokio::time::Duration;

pub(super) use deployments::share;
pub(super) use status::{condition, count, put_condition};

/// How the workload simulator behaves.
///
/// It is simulated: no image is pulled, and no container runs or is probed, but for those of images with a program
/// ([`Workloads::container`]). Deployments, ReplicaSets,
/// ReplicationControllers, StatefulSets, DaemonSets, Jobs and CronJobs make pods under the names of the real controllers, a
/// scheduler gives the pods to nodes, and the pods say that they run and are ready.
///
/// A container does what its command says, as far as it is one of `true`, `false`, `exit`, `sleep`, `echo`, `touch`, `cat` and
/// `test`, alone or in lists, conditions and loops of `sh -c`. Any other container serves until it is stopped; it
/// succeeds if it is one of a Job or of a Helm hook, such as a test. The annotation `kubewright.dev/simulate` of a pod decides over its commands: `success`,
/// `failure`, `exit CODE`, `crash-loop`, `wait` or `unready`. It may change while the pod runs.
///
/// The scheduler counts requests, pods and host ports against what nodes have, keeps node affinity, taints, affinity and anti-affinity of
/// pods and topology spread constraints that must hold, and preempts pods of a lower priority. It prefers the node with the fewest
/// pods. A node whose condition `Ready` is `Unknown`, as a test writes it, is silent.
///
/// The controllers go by tokio's clock: a test that pauses it moves the schedules of CronJobs.
///
/// What is not there: preferred affinities, volumes of pods, resizing of pods in place. A StatefulSet's claims are
/// kept, whatever its retention policy says.
///
/// # Example: pods that take a second to become ready, on three nodes
///
/// ```
/// use std::time::Duration;
/// use kubewright_controllers::{Controllers, Workloads};
///
/// let workloads = Workloads::default()
///     .nodes(3)
///     .ready_after(Duration::from_secs(1));
/// let controllers = Controllers::all().workloads(workloads);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Workloads {
    pub(super) nodes: usize,
    pub(super) ready: Duration,
    pub(super) finished: Duration,
    pub(super) stopped: Duration,
    pub(super) images: Images,
}

impl Default for Workloads {
    /// One node, and pods that are ready, finished and gone at once.
    fn default() -> Self {
        Self {
            nodes: 1,
            ready: Duration::ZERO,
            finished: Duration::ZERO,
            stopped: Duration::ZERO,
            images: Images::default(),
        }
    }
}

impl Workloads {
    /// Starts with so many nodes, `simulated-0` and on. Nodes that others create take pods too, once nothing taints them.
    pub fn nodes(mut self, count: usize) -> Self {
        self.nodes = count;
        self
    }

    /// How long a pod on a node takes until it is ready.
    pub fn ready_after(mut self, time: Duration) -> Self {
        self.ready = time;
        self
    }

    /// How long a pod of a Job runs until it has succeeded.
    pub fn finished_after(mut self, time: Duration) -> Self {
        self.finished = time;
        self
    }

    /// How long a pod that is deleted takes to end, if its grace period is not over before.
    pub fn stopped_after(mut self, time: Duration) -> Self {
        self.stopped = time;
        self
    }

    /// Runs a program in place of the containers of an image; an image that ends with `*` is every one that begins so.
    ///
    /// The program gets the container's arguments, environment and volumes, and an address of Linux's loopback network for
    /// each pod. Its output is the log of the container, and its exit code and probes make the container's status. Other
    /// containers are simulated: nothing runs that was not given here.
    ///
    /// ```
    /// use kubewright_controllers::{Controllers, Program, Workloads};
    ///
    /// let greeter = Program::function(async |container| {
    ///     container.log(format!("listening on {}", container.address()));
    ///     container.stopped().await;
    ///     0
    /// });
    /// let workloads = Workloads::default()
    ///     .container("registry.example.com/greeter:*", greeter)
    ///     .container("registry.example.com/server:1.4", Program::process("target/debug/server"));
    /// let controllers = Controllers::all().workloads(workloads);
    /// ```
    pub fn container(mut self, image: impl Into<String>, program: Program) -> Self {
        self.images.add(image, program);
        self
    }
}
