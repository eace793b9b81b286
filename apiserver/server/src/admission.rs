//! The admission chain: what may change or refuse a request between decoding and storing.
//!
//! A handler builds [`Attributes`], calls [`Chain::mutate`] once the object is decoded and defaulted, and
//! [`Chain::validate`] with the object as it is about to be stored. Both read what they need through [`Cluster`] and
//! leave warnings and audit annotations in [`Notes`].

pub use crate::reviews::{AdmissionRequest, UnknownResource, WebhookReview};
pub use kubewright_admission::{
    AdmissionPlugin, Attributes, Call, Chain, ChainBuilder, ClientCertificate,
    ClientCertificateError, Cluster, DetachedWebhooks, ExpressionCoverage, Notes, Observer,
    Operation, ServiceTable, UnknownAdmissionPlugin, User, Verdict, pod_security,
};
