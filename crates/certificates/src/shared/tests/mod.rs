//! The rotation, as rules in every order and as replicas beside an API server.

mod harness;
mod losses;
mod model;
mod rotations;
#[cfg(feature = "rsa")]
mod rsa;
mod starts;
mod texts;
mod times;
mod world;
