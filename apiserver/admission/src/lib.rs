#![doc = include_str!("../README.md")]

mod attributes;
mod chain;
mod cluster;
mod expressions;
mod forms;
mod head;
mod kinds;
mod level;
mod matching;
mod notes;
mod observer;
mod plugins;
mod policy;
mod reinvocation;
mod webhook;

#[cfg(test)]
mod tests;

/// The configuration of the plugin PodSecurity.
pub mod pod_security {
    pub use kubewright_pod_security::{
        Configuration, Exemptions, Level, LevelVersion, Policy, Version,
    };
}

pub use attributes::{Attributes, Operation};
pub use chain::{Chain, ChainBuilder};
pub use cluster::Cluster;
pub use kubewright_apimachinery::user::User;
pub use kubewright_webhook_client::{ClientCertificate, ClientCertificateError, ServiceTable};
pub use level::Level;
pub use notes::Notes;
pub use observer::{Call, Observer, Verdict};
pub use plugins::{AdmissionPlugin, Enabled, UnknownAdmissionPlugin};
pub use policy::ExpressionCoverage;
pub use webhook::{DetachedWebhooks, Ended, Measured, Meter};
