//! The audit log: one event for every request, as a real kube-apiserver writes it under a policy of one rule.

pub use kubewright_endpoints::audit::{Audit, Event, Level, Stage};
