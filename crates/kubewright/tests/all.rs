//! What holds for every example.

#![cfg(test)]

mod defaults_page;
mod deployments;
