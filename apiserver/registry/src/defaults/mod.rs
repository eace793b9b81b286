//! Versioned defaults: what the API server fills in after decoding and after every change by a webhook.
//!
//! Beside the defaulting functions of Kubernetes' own types, this also writes what Go's encoder always writes: parts
//! that are structs and not pointers (`resources: {}`, `status: {}`), and counters without `omitempty`.

pub(crate) mod devices;
pub(crate) mod image;
pub(crate) mod pod;
pub(crate) mod shared;

#[cfg(test)]
mod tests;
pub(crate) mod volumes;
pub(crate) mod workloads;
