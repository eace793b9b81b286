//! The API server as its clients see it.

mod cluster;

mod creates;
mod deletes;
mod discovery;
mod lists;
mod namespaces;
mod negotiation;
mod objects;
mod patches;
mod reviews;
mod subresources;
mod tables;
mod updates;
mod watches;
