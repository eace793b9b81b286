//! The rotation, as rules in every order and as replicas beside an API server.

mod harness;
mod losses;
mod model;
mod records;
mod rotations;
#[cfg(feature = "rsa")]
mod rsa;
mod starts;
mod times;
mod world;
