//! The real kubectl against the embedded API server: what a person types, and what a person then reads.
//!
//! Every kubectl minor that the machine has runs every case. Without any, there is nothing to show and the tests say
//! so; in CI that is a failure.

#![cfg(test)]

mod access;
mod aggregated;
mod apply;
mod change;
mod custom;
mod exec;
mod machine;
mod read;
mod samples;
mod session;
mod trees;
mod workloads;
