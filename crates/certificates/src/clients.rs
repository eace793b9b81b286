//! The clients that a server accepts, by their certificates.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls_pki_types::{CertificateDer, UnixTime};

use crate::{CertificateError, TrustBundle};

/// The authorities that sign for clients, and the names of the clients that may call.
///
/// A client is believed if an authority has signed its certificate for clients and the certificate is valid now. With
/// names, it must also have one of them as its common name, and no other: what `--requestheader-allowed-names` is for a
/// Kubernetes API server. Without names, every client of the authorities may call.
///
/// # Example
///
/// ```
/// use kubewright_certificates::{Authority, ClientError, ClientTrust};
/// use std::time::{Duration, SystemTime};
///
/// let authority = Authority::new("api-server-clients")?;
/// let trust = ClientTrust::new(&authority.trust(), ["kube-apiserver"])?;
///
/// let day = Duration::from_hours(24);
/// let jane = authority.sign_client("jane", "people", day)?.identity()?;
/// let refusal = trust.verify(jane.chain(), SystemTime::now()).unwrap_err();
/// assert_eq!(refusal.to_string(), r#"the client "jane" is not one of those that may call"#);
/// # Ok::<(), kubewright_certificates::CertificateError>(())
/// ```
#[derive(Clone)]
pub struct ClientTrust {
    verifier: Arc<dyn ClientCertVerifier>,
    names: BTreeSet<String>,
}

/// Why a client is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The client has shown no certificate.
    #[error("the client has shown no certificate")]
    NoCertificate,
    /// The client's certificate is no proof.
    #[error("the client's certificate is not believed: {why}")]
    NotVerified {
        /// What is wrong with it.
        why: String,
    },
    /// The client has proved who it is, and may not call.
    #[error("the client {} is not one of those that may call", shown(name))]
    NotAllowed {
        /// Its common name; empty if it has none, or several.
        name: String,
    },
}

impl ClientTrust {
    /// Accepts clients with a certificate of these authorities and one of these common names.
    ///
    /// # Errors
    ///
    /// When there is no authority, or the certificate of one cannot be used.
    pub fn new(
        authorities: &TrustBundle,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, CertificateError> {
        let mut roots = RootCertStore::empty();
        for authority in authorities.certificates() {
            roots.add(authority.clone()).map_err(malformed)?;
        }
        if roots.is_empty() {
            return Err(CertificateError::NothingFound {
                what: "authority of clients",
            });
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(malformed)?;
        Ok(Self {
            verifier,
            names: names.into_iter().map(Into::into).collect(),
        })
    }

    /// Verifies the chain that a client presents, leaf certificate first, and returns the common name of the client, which is
    /// empty if its certificate has none.
    ///
    /// The TLS handshake proves that the client has the key of the certificate; this method does not check it.
    ///
    /// # Errors
    ///
    /// When the chain is not verified at this time, or the name of the client is not allowed.
    pub fn verify(
        &self,
        chain: &[CertificateDer<'_>],
        now: SystemTime,
    ) -> Result<String, ClientError> {
        let (own, intermediates) = chain.split_first().ok_or(ClientError::NoCertificate)?;
        let since_epoch = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        self.verifier
            .verify_client_cert(own, intermediates, UnixTime::since_unix_epoch(since_epoch))
            .map_err(|error| ClientError::NotVerified { why: why(&error) })?;
        let name = common_name(own);
        // Who has no name has none of the names, even if one of them was left empty by mistake.
        if self.names.is_empty() || !name.is_empty() && self.names.contains(&name) {
            Ok(name)
        } else {
            Err(ClientError::NotAllowed { name })
        }
    }
}

impl fmt::Debug for ClientTrust {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientTrust")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

fn malformed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CertificateError {
    CertificateError::MalformedCertificate {
        source: source.into(),
    }
}

/// The only common name of a certificate. Readers differ in which of several they take, so that several are none.
fn common_name(certificate: &CertificateDer<'_>) -> String {
    let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else {
        return String::new();
    };
    let mut names = parsed.subject().iter_common_name();
    match (names.next(), names.next()) {
        (Some(name), None) => name.as_str().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// A name from a certificate as it may stand in a text: in quotes, with escapes, and not endless.
fn shown(name: &str) -> String {
    const LONGEST: usize = 200;
    let cut: String = name.chars().take(LONGEST).collect();
    format!("{cut:?}")
}

/// What is wrong, in the words of those who run API servers; rustls' words for the rest.
fn why(error: &rustls::Error) -> String {
    use rustls::CertificateError as Wrong;
    let rustls::Error::InvalidCertificate(wrong) = error else {
        return error.to_string();
    };
    let known = match wrong {
        Wrong::Expired | Wrong::ExpiredContext { .. } => "it has expired",
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => "it is not valid yet",
        Wrong::UnknownIssuer => "it was signed by an authority that is not trusted",
        Wrong::BadSignature => "its signature is wrong",
        Wrong::InvalidPurpose | Wrong::InvalidPurposeContext { .. } => "it is not for clients",
        _ => return error.to_string(),
    };
    known.to_owned()
}
