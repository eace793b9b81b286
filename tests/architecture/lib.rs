//! The rules of ARCHITECTURE.md and CONTRIBUTING.md, as tests.

#![cfg(test)]

mod cycles;
mod edges;
mod kubebuilder;
mod programs;
mod prose;
mod sources;
mod tree;
