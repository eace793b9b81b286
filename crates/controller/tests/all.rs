//! Controllers on an API server, and models of what they are built from.

#![cfg(test)]

mod choices;
mod controllers;
mod dynamic;
mod elections;
mod events;
mod faults;
mod kinds;
mod metadata;
mod models;
mod ownership;
mod sharding;
mod statuses;
mod tasks;
mod triggers;
mod writes;
