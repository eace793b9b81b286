//! The whitelist controller beside an API server.

#![cfg(test)]

mod cluster;
mod log;
mod manifests;
