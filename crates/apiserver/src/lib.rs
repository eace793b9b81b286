//! An embedded Kubernetes API server for tests and development.

mod access;
pub mod admission;
pub mod cel;
mod cluster;
mod discovery;
pub mod field;
pub mod kinds;
mod listen;
pub mod openapi;
pub mod patch;
pub mod protobuf;
mod rest;
pub mod schema;
mod seed;
pub mod selector;
mod server;
pub mod status;
mod store;
mod watch;

pub use listen::{ListenError, Listening};
pub use rest::body::Body;
pub use server::{ApiServer, ApiService, Builder};
