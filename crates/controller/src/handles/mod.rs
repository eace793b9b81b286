//! Handles on the cluster: each can do what its type says, and nothing else.

mod applier;
mod cached;
mod connection;
mod reader;
mod request;
mod writer;

pub use applier::Applier;
pub use cached::{Cached, ReadError};
pub use connection::Connection;
pub use reader::Reader;
pub use request::RequestError;
pub use writer::{Deleter, StatusWriter, Writer};
