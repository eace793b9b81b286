//! An embedded Kubernetes API server for tests and development.
//!
//! It speaks the API of Kubernetes v1.36: every built-in kind with its defaults, its validation and its error texts,
//! watches, patches, discovery, OpenAPI, and the whole admission webhook chain. Objects live in memory; a server starts
//! in milliseconds and leaves nothing behind.
//!
//! # Example: one server, asked in process and over HTTPS
//!
//! ```
//! use kubewright_apiserver::ApiServer;
//! use tower::ServiceExt as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::start();
//!
//! // A tower service: `kube::Client::new(server.service(), "default")` needs no socket.
//! let request = http::Request::get("/api/v1/namespaces/default").body(String::new())?;
//! let answer = server.service().oneshot(request).await?;
//! assert_eq!(answer.status(), 200);
//!
//! // HTTPS with an authority of its own, for kubectl and everything else.
//! let listening = server.listen(([127, 0, 0, 1], 0)).await?;
//! assert!(listening.kubeconfig().contains(&listening.url()));
//! listening.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What answers 501
//!
//! What this server does not do is refused with `501 NotImplemented` and a sentence, never accepted without effect:
//!
//! | Request | Instead |
//! |---|---|
//! | CBOR bodies and answers | JSON |
//! | converting custom resources by a webhook | the conversion strategy `None` |
//! | creating an APIService, or changing one so that it names a service | nothing: no aggregation |
//! | creating ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their bindings | admission webhooks |
//! | `exec`, `attach`, `portforward`, `proxy` (admission sees the CONNECT first; a pod without a node answers as the real server does) | nothing: there are no containers |
//! | `pods/log` of a pod on a node | nothing: there are no containers |
//! | `/metrics`, `/logs` | nothing |
//!
//! # What differs without a word
//!
//! * Every authenticated user may do everything: roles and bindings are stored and not gone by, unless the server is built
//!   with [`Builder::rbac`].
//! * ClusterRoles with an aggregation rule, such as `view`, have the rules that are written into them: gathering the rules
//!   of others is the work of a controller that there is not.
//! * There are no controllers unless [`Controllers`] are asked for, as in a control plane of kube-apiserver and etcd
//!   alone; and then not all of them: no endpoints but the server's own, CronJobs, ReplicationControllers, autoscalers, disruption budgets or
//!   volumes.
//! * ResourceQuotas and LimitRanges are not enforced, Events not forgotten after an hour.
//! * Objects may be nested 127 levels deep, where a real server takes 10,000.
//! * History is kept for as long as there is room, unless [`Builder::compaction_interval`] says otherwise.
//! * An audit log has no event `RequestReceived`, and no annotations about how long each part of the server took.
//! * WebSockets are for watches over HTTP/1.1 alone.
//!
//! Modules that are hidden from this page are the server's own parts and no interface to rely on.
//!
#![doc = include_str!("../DIFFERENCES.md")]

mod access;
pub mod admission;
pub mod audit;
mod cluster;
mod controllers;
mod custom;
mod definitions;
mod discovery;
mod endpoints;
pub mod kinds;
mod listen;
mod managers;
#[doc(hidden)]
pub mod openapi;
mod rest;
mod seed;
mod server;
#[doc(hidden)]
pub mod structural;
mod watch;

#[doc(hidden)]
pub use access::sec1;
pub use access::{AuthorizationMode, ServiceAccountTokens, TokenKeyError};
pub use controllers::{Controllers, Workloads};
pub use discovery::GIT_VERSION;
pub use kubewright_apimachinery::field::FieldError;
pub use kubewright_apimachinery::meta::GroupVersionKind;
pub use listen::{ListenError, Listening, SecureServing};
pub use rest::body::Body;
pub use rest::target::RequestInfo;
pub use server::{ApiServer, ApiService, Builder};
