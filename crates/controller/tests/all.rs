//! Controllers on an API server, and models of what they are built from.

#![cfg(test)]

mod controllers;
mod elections;
mod faults;
mod models;
mod statuses;
