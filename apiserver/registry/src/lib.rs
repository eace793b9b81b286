#![doc = include_str!("../README.md")]

mod admissionregistration;
mod apiregistration;
mod apps;
mod autoscaling;
mod batch;
mod behavior;
mod certificates;
mod column;
mod columns;
mod conversion;
mod coordination;
mod core;
mod defaults;
mod discovery;
mod dra;
mod emulation;
mod events;
mod fields;
mod flowcontrol;
mod generation;
mod groups;
mod metadata;
mod networking;
mod node;
pub mod pod_gates;
pub mod pod_secrets;
mod policy;
mod quality_of_service;
mod rbac;
mod registry;
mod resource;
pub mod scale;
mod scheduling;
mod served;
pub mod services;
mod storage;
mod strategy;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unspecific;
mod warnings;

pub use behavior::{Behavior, Propagation};
pub use column::Column;
pub use columns::duration;
pub use conversion::convert;
pub use emulation::emulated;
pub use registry::{Group, GroupVersion, Registry, Strategies, Versions, by_stability};
pub use resource::{Resource, Subresource, Verb};
pub use served::{Served, Snapshot};
pub use strategy::{Creation, Findings, Strategy};
