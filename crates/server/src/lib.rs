//! An HTTPS listener for any tower service, with live certificates and a drain that loses nothing.
//!
//! [`Server`] takes two things: what to answer (any [`tower::Service`]) and who to be (a
//! [`CertificateSource`](kubewright_certificates::CertificateSource)). It speaks HTTP/1.1 and HTTP/2 over TLS, has a limit and a
//! deadline for everything that comes from outside ([`Limits`]), serves a new certificate from the next handshake on,
//! and stops without losing a call ([`Drain`]).
//!
//! [`ClientCheck`] has it ask clients for a certificate, too.
//!
//! # Example: serve, then stop
//!
//! ```
//! use std::convert::Infallible;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use hyper::body::Bytes;
//! use kubewright_certificates::SelfSigned;
//! use kubewright_server::{Body, Drain, Server};
//! use std::time::Duration;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let hello = tower::service_fn(async |_request: Request<Body>| {
//!     Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"hello"))))
//! });
//! let server = Server::new(hello, SelfSigned::for_names(["localhost"]))
//!     .listen(([127, 0, 0, 1], 0))
//!     .drain(Drain::default().propagation(Duration::ZERO))
//!     .bind()
//!     .await?;
//! println!("serving on {}", server.local_addr());
//! # let shutdown = async {};
//! server.run(shutdown).await?; // returns when all calls are answered
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod accept;
mod body;
mod call;
mod clients;
mod connection;
mod counters;
mod crowd;
mod drain;
mod error;
mod frames;
mod health;
mod limits;
mod live;
mod memory;
mod meter;
mod monitor;
mod place;
mod readiness;
mod reply;
mod run;
mod server;
mod shared;
mod watchdog;

pub use body::{Body, BodyError};
pub use clients::ClientCheck;
pub use counters::{Counters, Counts};
pub use drain::Drain;
pub use error::{BindError, RunError};
pub use limits::Limits;
pub use live::LiveIdentity;
pub use memory::memory_limit;
pub use monitor::{BoundMonitor, Monitor};
pub use readiness::{Condition, Readiness};
pub use server::{Bound, Server};
