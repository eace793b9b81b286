//! The admission chain: what may change or refuse a request between decoding and storing.
//!
//! A handler builds [`Attributes`], calls [`Chain::mutate`] once the object is decoded and defaulted, and
//! [`Chain::validate`] with the object as it is about to be stored. Both read what they need through [`Cluster`] and
//! leave warnings and audit annotations in [`Notes`].

mod attributes;
mod chain;
mod cluster;
mod notes;
mod observer;
mod plugins;
mod webhook;

#[cfg(test)]
mod tests;

pub use attributes::{Attributes, Operation, User};
pub use chain::{Chain, ChainBuilder};
pub use cluster::Cluster;
pub use notes::Notes;
pub use observer::{Call, Observer, Verdict};
pub(crate) use plugins::Enabled;
pub use plugins::{AdmissionPlugin, UnknownAdmissionPlugin};
pub(crate) use plugins::{refuse, refuse_new};
pub(crate) use webhook::{
    CONVERSION, Envelope, NoClient, Opened, Reach, Reply, ReviewVersion, Target, go_word,
};
pub use webhook::{ClientCertificate, ClientCertificateError, ServiceTable};
