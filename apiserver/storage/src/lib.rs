#![doc = include_str!("../README.md")]

mod backend;
mod compaction;
mod event;
mod follower;
mod initial;
mod object;
mod store;
mod table;
mod watcher;

#[cfg(feature = "file")]
pub use backend::FileBackend;
pub use backend::{Backend, BackendError, Contents};
pub use compaction::compact_every;
pub use event::{Change, Event, line};
pub use follower::{Follower, Snapshot};
pub use initial::InitialObjects;
pub use object::{Draft, Object, ReadBack};
pub use store::{At, CommitError, FIRST_REVISION, Listed, OutOfRange, Raced, Store};
pub use table::Limits;
pub use watcher::Watcher;
