//! What holds for every example.

#![cfg(test)]

mod deployments;
