//! How the `caBundle` of a program with a given certificate is set.

use std::sync::Arc;

/// How a program that is given its certificate has others know by which authority to know it.
#[derive(Clone, Debug)]
pub(crate) enum Publish {
    /// What the certificate needs is written into every bundle.
    Trust,
    /// cert-manager does, for this certificate.
    InjectedFrom(Arc<str>),
}
