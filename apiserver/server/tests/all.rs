//! The API server as its clients see it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[cfg(test)]
mod admission;
mod aggregation;
mod audit;
mod cluster;

mod clients;
mod compared;
mod controllers;
mod creates;
mod definitions;
mod deletes;
mod depth;
mod discovery;
mod lists;
mod namespaces;
mod negotiation;
mod objects;
mod openapi;
mod patches;
mod refusals;
mod restarts;
mod reviews;
mod secure;
mod sessions;
mod sharing;
mod subresources;
mod tables;
mod updates;
mod watches;
