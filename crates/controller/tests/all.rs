//! Controllers on an API server, and models of what they are built from.

#![cfg(test)]

mod controllers;
mod elections;
mod events;
mod faults;
mod models;
mod statuses;
