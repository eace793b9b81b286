//! Handles on the cluster: each can do what its type says, and nothing else.

mod answer;
mod applier;
mod cached;
mod changes;
mod connection;
mod create_or_update;
pub mod finalizer;
mod index;
mod kind_of;
mod reader;
mod recorder;
mod request;
mod status;
mod undecodable;
mod writer;

pub use applier::Applier;
pub use cached::{Cached, ReadError};
pub use changes::{AllChanges, Changes};
pub use connection::Connection;
pub use create_or_update::{CreateOrUpdate, OperationResult};
pub use finalizer::Finalizer;
pub use index::{Index, UniqueIndex};
pub use reader::Reader;
pub use recorder::Recorder;
pub use request::RequestError;
pub(crate) use request::ask;
pub use status::StatusWriter;
pub(crate) use undecodable::Undecodable;
pub use writer::{Deleter, Writer};
