#![doc = include_str!("../README.md")]

mod backend;
mod blocking;
mod compaction;
#[cfg(feature = "conformance")]
pub mod conformance;
mod event;
mod follower;
mod group;
mod initial;
mod object;
mod shared;
mod snapshot;
mod state;
mod store;
mod table;
mod watcher;

#[cfg(feature = "file")]
pub use backend::FileBackend;
pub use backend::{Backend, BackendError, Contents, Write};
pub use compaction::compact_every;
pub use event::{Change, Event, line};
pub use follower::{Everything, Follower};
pub use initial::InitialObjects;
pub use object::{Draft, Labels, Object, ReadBack};
pub use shared::{Committed, Entry, Feed, Loaded, RevisionFuture, SharedBackend};
pub use snapshot::{Snapshot, SnapshotError};
pub use state::{CommitError, FIRST_REVISION, Raced};
pub use store::{At, Listed, OutOfRange, Store};
pub use table::Limits;
pub use watcher::Watcher;
