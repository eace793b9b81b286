//! The rotation, as rules in every order and as replicas beside an API server.

mod harness;
mod losses;
mod model;
mod rotations;
mod starts;
mod texts;
mod times;
mod world;
