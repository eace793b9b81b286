#![doc = include_str!("../README.md")]
//!
//! # What is in it
//!
//! [`Server`] takes a [`tower::Service`], which answers requests, and a
//! [`CertificateSource`](kubewright_certificates::CertificateSource), which supplies certificates. It speaks HTTP/1.1 and HTTP/2
//! over TLS, limits and times out everything that clients send ([`Limits`]), serves a new certificate from the next handshake on,
//! and shuts down without losing a request ([`Drain`]).
//!
//! With [`ClientCheck`], it also verifies the certificates of its clients.

mod accept;
mod body;
mod budget;
mod call;
mod clients;
mod connection;
mod counters;
mod crowd;
mod diagnostics;
mod drain;
mod error;
mod frames;
mod health;
mod layer;
mod limited;
mod limits;
mod live;
mod memory;
mod meter;
mod place;
mod readiness;
mod reply;
mod run;
mod server;
mod shared;
mod tls;
mod watchdog;

pub use body::{Body, BodyError};
pub use clients::ClientCheck;
pub use counters::{Counters, Counts};
pub use diagnostics::{Access, AccessRequest, BoundDiagnostics, DiagnosticsServer};
pub use drain::Drain;
pub use error::{BindError, RunError};
pub use layer::{LimitLayer, Limited};
pub use limits::Limits;
pub use live::LiveIdentity;
pub use memory::memory_limit;
pub use readiness::{Condition, Readiness};
pub use server::{Bound, Server};
