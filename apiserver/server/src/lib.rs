#![doc = include_str!("../README.md")]
//!
//! # What answers 501
//!
//! What only a kubelet could answer is refused with `501 NotImplemented` and a sentence, never accepted without effect: `exec` and
//! `attach` that nothing answers, and `log` and `proxy` of containers that do not run. The guide has a table of all such answers
//! (`docs/guide/not-implemented.md`), made from the code.
//!
//! # What differs without a word
//!
//! * Every authenticated user may do everything: roles and bindings are stored and not gone by, unless the server is built
//!   with [`Builder::rbac`].
//! * There are no controllers unless [`Controllers`] are asked for, as in a control plane of kube-apiserver and etcd
//!   alone; and then not all of them. Without them, ClusterRoles with an aggregation rule, such as `view`, have the
//!   rules that are written into them. Endpoints of several ports list
//!   them by name, where a real controller has an order of hashes; EndpointSlices have no hints of topology-aware routing
//!   (`service.kubernetes.io/topology-mode`), but those of `trafficDistribution`.
//! * No metrics API is served: autoscalers read metrics from annotations ([`Controllers::autoscalers`]).
//! * No request waits for others: answers name their flow schema and priority level, which are not enforced.
//! * Metrics are those of requests, watches, admission, webhooks, stored objects, authentication, the build and the process: there are
//!   none of etcd, of caches and of work queues.
//! * Policies take effect with the next request. With [`Controllers::type_checking`], the names of types in `status.typeChecking`, as in
//!   `Deployment1.spec`, have a small number, where a real controller writes the time.
//! * Usage of ResourceQuotas is counted only with [`Controllers::quotas`], as with a real API server alone; what admission
//!   charges a quota is written into the store, and no webhook sees it.
//! * Events are not forgotten after an hour.
//! * Objects may be nested 127 levels deep, where a real server takes 10,000.
//! * Servers that share a cluster by [`Builder::shared_storage`] each have one API server's address in the Service `kubernetes`: that of the
//!   first. Two that allocate an address of a Service at the same moment may allocate the same one. Lists at a revision
//!   from before a server has started are answered with 410. Objects do not expire.
//! * History is kept for as long as there is room, unless [`Builder::compaction_interval`] says otherwise.
//! * Tables of kinds that are served on demand, and of StorageVersionMigrations, have the columns of any object.
//! * An audit log has no event `RequestReceived`, and no annotations about how long each part of the server took.
//! * Connections are upgraded over HTTP/1.1 alone: those of watches, and those of `exec`, `attach` and `portforward` to WebSockets and SPDY/3.1;
//!   and those to aggregated API servers, as they say.
//! * A command in a container ends with the container's run and with the client; sessions have no idle timeout.
//! * Aggregated API servers are called where webhooks are: on loopback addresses, unless remote webhooks are allowed. Each request has a
//!   connection of its own. Their documents of OpenAPI v3 are served, and not merged into that of v2. Groups of
//!   CustomResourceDefinitions have no APIServices. The garbage collector does not see aggregated resources.
//!
//! Modules that are hidden from this page are the server's own parts and no interface to rely on.
//!
#![doc = include_str!("../DIFFERENCES.md")]

pub mod admission;
pub mod audit;
mod authentication_config;
mod authority;
mod import;
mod in_process;
mod kubernetes_service;
mod listen;
mod reviews;
mod seed;
mod server;
mod service;

pub use import::{ImportError, import};
#[doc(hidden)]
pub use kubewright_apiextensions::structural;
pub use kubewright_apimachinery::field::FieldError;
pub use kubewright_apimachinery::meta::GroupVersionKind;
pub use kubewright_apimachinery::version::{GIT_VERSION, KubernetesVersion, UnknownVersion};
#[doc(hidden)]
pub use kubewright_auth::sec1;
pub use kubewright_auth::{
    Authority, AuthorityError, AuthorizationMode, ServiceAccountTokens, TokenKeyError,
};
pub use kubewright_controllers::{Container, Controllers, Program, Workloads};
#[doc(hidden)]
pub use kubewright_endpoints::openapi;
pub use kubewright_endpoints::{Body, RequestInfo};
#[cfg(feature = "etcd")]
pub use kubewright_etcd::{EtcdBackend, EtcdOptions};
pub use kubewright_kubelet::PodHandlers;
#[doc(hidden)]
pub use kubewright_kubelet::Unanswered;
pub use kubewright_kubelet::streaming::{
    Output, PortForward, Session, Stdin, Terminal, TerminalSize,
};
#[cfg(feature = "file")]
pub use kubewright_storage::FileBackend;
pub use kubewright_storage::{
    Backend, BackendError, Contents, SharedBackend, Snapshot, SnapshotError, Write,
};
pub use listen::{ListenError, Listening, SecureServing};
pub use server::{ApiServer, Builder};
pub use service::ApiService;
