//! The review protocol and grafting, as other crates use them.

mod graft_laws;
mod model;
mod pods;
mod reference;
mod reviews;
