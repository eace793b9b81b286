//! What can go wrong between a certificate's bytes and a served identity.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// The reason why a certificate, private key or trust bundle cannot be read, created or used.
///
/// ```
/// use kubewright_certificates::{Authority, CertificateError, TrustBundle};
///
/// let error = TrustBundle::from_pem("hello").unwrap_err();
/// assert_eq!(error.to_string(), "there is no trust bundle in the PEM text");
///
/// let no_names: [&str; 0] = [];
/// let error = Authority::new("ca")?.sign_server(no_names, std::time::Duration::from_hours(1)).unwrap_err();
/// assert!(matches!(error, CertificateError::NoNames));
/// # Ok::<(), CertificateError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file is missing or unreadable.
    #[error("cannot read {}", path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// Why it could not be read.
        source: io::Error,
    },
    /// The text is not PEM, or ends in the middle of a block.
    #[error("cannot read the PEM blocks of the {what}")]
    MalformedPem {
        /// Which document it was.
        what: &'static str,
        /// What is wrong with the text.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The PEM text holds no block of the kind that was looked for.
    #[error("there is no {what} in the PEM text")]
    NothingFound {
        /// What was looked for.
        what: &'static str,
    },
    /// A certificate's bytes are not an X.509 certificate.
    #[error("cannot read the certificate")]
    MalformedCertificate {
        /// What is wrong with the bytes.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The private key is of a kind that TLS cannot use here, or it is damaged.
    #[error("cannot use the private key")]
    UnusableKey {
        /// What is wrong with the key.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The private key belongs to another certificate.
    #[error("the private key does not belong to the certificate")]
    KeyMismatch,
    /// A name is neither a DNS name nor an IP address.
    #[error(
        "cannot make a certificate for {name:?}, which is neither a DNS name nor an IP address"
    )]
    InvalidName {
        /// The name as it was given.
        name: String,
    },
    /// No client would trust a server certificate without names.
    #[error("cannot make a certificate for a server without a name")]
    NoNames,
    /// The authority's own certificate has expired, so no client would trust what it signs.
    #[error("cannot sign with an authority that has expired")]
    AuthorityExpired,
    /// The certificate does not belong to a CA.
    #[error("cannot sign with a certificate that is not an authority's")]
    NotAnAuthority,
    /// Making a key or signing a certificate failed.
    #[error("cannot make the {what}")]
    Make {
        /// What was to be made.
        what: &'static str,
        /// Why it failed.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A source of one's own has failed.
    #[error("cannot get the next certificate")]
    Source {
        /// Why it failed.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl CertificateError {
    pub(crate) fn make(what: &'static str, source: rcgen::Error) -> Self {
        Self::Make {
            what,
            source: source.into(),
        }
    }
}
