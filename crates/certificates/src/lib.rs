#![doc = include_str!("../README.md")]
//!
//! # What is in it
//!
//! A server authenticates with an [`Identity`]: a private key, a certificate chain, and the [`TrustBundle`] by which its
//! clients verify the chain. Identities come from a [`CertificateSource`], which is a sequence: a server serves the first
//! one from the start, and each later one replaces the one before it.
//!
//! * [`Files`] reads a mounted Secret and follows every way in which its files can change.
#![cfg_attr(
    feature = "shared",
    doc = " * [`SharedAuthority`] keeps an authority in a Secret, with which every replica of a program signs for itself."
)]
//! * [`SelfSigned`] makes an authority and a certificate in memory: for one process, tests and first steps.
//! * [`Authority`] signs certificates by hand, with everything as PEM.
//!
//! Clients may have to authenticate in the same way: [`ClientTrust`] verifies their certificates, and [`TrustFile`] follows
//! the file with the CA certificates that sign for them.

mod authority;
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
mod verify;

pub use authority::{Authority, Issued};
pub use clients::{ClientError, ClientTrust};
pub use error::CertificateError;
pub use files::{Files, TrustFile};
pub use identity::Identity;
pub use self_signed::SelfSigned;
#[cfg(feature = "shared")]
pub use shared::{
    Fingerprint, Phase, Publication, Rotation, RotationEvent, SharedAuthority, SharedSource,
    Status, Timing, Trust,
};
pub use source::{AnySource, CertificateSource};
pub use trust::TrustBundle;
