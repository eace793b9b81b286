//! What the API server shows to webhooks that ask who calls.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

/// A client certificate and its key: what a kubeconfig of the admission configuration holds of a real API server.
#[derive(Clone)]
pub struct ClientCertificate(Arc<CertifiedKey>);

/// A client certificate that TLS cannot use.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the client certificate")]
pub struct ClientCertificateError(#[source] Box<dyn Error + Send + Sync>);

impl ClientCertificate {
    /// Reads both from PEM text, the certificate with those of its authorities that webhooks may need.
    ///
    /// # Errors
    /// A text is not PEM, or the key is not the certificate's.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, ClientCertificateError> {
        fn unusable(error: impl Into<Box<dyn Error + Send + Sync>>) -> ClientCertificateError {
            ClientCertificateError(error.into())
        }
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(unusable)?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(unusable)?;
        let certified =
            CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(unusable)?;
        Ok(Self(Arc::new(certified)))
    }

    pub(super) fn resolver(&self) -> Arc<SingleCertAndKey> {
        Arc::new(SingleCertAndKey::from(Arc::clone(&self.0)))
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}
