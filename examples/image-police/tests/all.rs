//! image-police beside an API server.

#![cfg(test)]

mod admission;
mod deletion;
mod faults;
mod log;
mod manifests;
mod setting;
mod status;
