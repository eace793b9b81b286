//! Certificates from files that somebody else writes: a mounted Secret, cert-manager, an operator's hand.

mod follow;
mod snapshot;
mod trust;
mod watch;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use follow::Follow;
use snapshot::Layout;
pub use trust::TrustFile;

use crate::{CertificateError, CertificateSource, Identity};

/// The names of a Secret of type `kubernetes.io/tls`, as cert-manager writes it.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const TRUST: &str = "ca.crt";

/// A source that reads `tls.crt`, `tls.key` and, if it is there, `ca.crt` from a directory, and follows their changes.
///
/// It follows the way in which the kubelet swaps a mounted Secret (`..data` is renamed to point at a new directory),
/// files that are renamed over others, written in place, deleted and made again, and files that appear only later. A
/// half-written file, a certificate without its key or a key of another certificate never replaces a good pair: the
/// old one stays in use until the files are whole again.
///
/// Changes are seen through file events; a slow poll finds those that a file system does not report.
pub struct Files {
    follow: Follow<Layout>,
}

impl Files {
    /// Reads the files of a directory, which may also appear later.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self {
            follow: Follow::of(Layout {
                dir: dir.into(),
                certificate: CERTIFICATE.into(),
                key: KEY.into(),
                trust: TRUST.into(),
            }),
        }
    }

    /// Sets the name of the file with the certificate chain; `tls.crt` unless set.
    pub fn certificate(mut self, name: impl Into<PathBuf>) -> Self {
        self.follow.place.certificate = name.into();
        self
    }

    /// Sets the name of the file with the private key; `tls.key` unless set.
    pub fn key(mut self, name: impl Into<PathBuf>) -> Self {
        self.follow.place.key = name.into();
        self
    }

    /// Sets the name of the file with the authorities that clients must trust; `ca.crt` unless set.
    pub fn trust(mut self, name: impl Into<PathBuf>) -> Self {
        self.follow.place.trust = name.into();
        self
    }

    /// Sets how often the files are read when no event says that they have changed; every ten seconds unless set.
    pub fn poll_every(mut self, poll: Duration) -> Self {
        self.follow.poll = poll;
        self
    }
}

impl CertificateSource for Files {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        Ok(self.follow.next().await)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Files")
            .field("layout", &self.follow.place)
            .finish_non_exhaustive()
    }
}
