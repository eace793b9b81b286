//! The review protocol and grafting, as other crates use them.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "what goes wrong here is a failed test"
)]

mod corpus;
mod fuzz;
mod graft_laws;
mod model;
mod pods;
mod reference;
mod reviews;
