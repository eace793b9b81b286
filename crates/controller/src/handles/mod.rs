//! Handles on the cluster: each can do what its type says, and nothing else.

mod applier;
mod cached;
mod connection;
mod finalizer;
mod reader;
mod recorder;
mod request;
mod writer;

pub use applier::Applier;
pub use cached::{Cached, ReadError};
pub use connection::Connection;
pub use finalizer::{Finalizer, Life};
pub use reader::Reader;
pub use recorder::Recorder;
pub use request::RequestError;
pub(crate) use request::ask;
pub use writer::{Deleter, StatusWriter, Writer};
