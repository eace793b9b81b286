//! Identities, trust bundles and where they come from.
//!
//! A server proves who it is with an [`Identity`]: a private key, a certificate chain, and the [`TrustBundle`] that its
//! clients need to believe the chain. Identities come from a [`CertificateSource`], which is a sequence: the first one
//! is served from the start, each later one replaces the one before it.
//!
//! * [`Files`] reads a mounted Secret and follows every way in which its files can change.
#![cfg_attr(
    feature = "shared",
    doc = " * [`SharedAuthority`] keeps an authority in a Secret, with which every replica of a program signs for itself."
)]
//! * [`SelfSigned`] makes an authority and a certificate in memory: for one process, tests and first steps.
//! * [`Authority`] signs certificates by hand, with everything as PEM.
//!
//! Clients prove who they are in the same way, if they are asked to: [`ClientTrust`] says which of them are believed, and
//! [`TrustFile`] follows the file with the authorities that sign for them.
//!
//! # Example: a certificate for a Service
//!
//! ```
//! use kubewright_certificates::{CertificateSource, SelfSigned};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let mut source = SelfSigned::for_service("policy", "policy-system");
//! let identity = source.next().await?;
//! // What belongs into a webhook configuration, so that the API server believes this certificate.
//! let ca_bundle = identity.trust().to_ca_bundle();
//! # assert!(ca_bundle.starts_with("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"));
//! # Ok::<(), kubewright_certificates::CertificateError>(())
//! # }).unwrap();
//! ```

mod authority;
mod belief;
mod clients;
mod error;
mod files;
mod identity;
mod keys;
mod merge;
mod names;
mod pem;
mod self_signed;
#[cfg(feature = "shared")]
mod shared;
mod source;
mod trust;

pub use authority::{Authority, Issued};
pub use clients::{ClientError, ClientTrust};
pub use error::CertificateError;
pub use files::{Files, TrustFile};
pub use identity::Identity;
pub use self_signed::SelfSigned;
#[cfg(feature = "shared")]
pub use shared::{
    Fingerprint, Happening, Phase, Publication, Rotation, SharedAuthority, SharedSource, Status,
    Timing, Trust,
};
pub use source::CertificateSource;
pub use trust::TrustBundle;
