//! What clients must trust to believe a server.

use rustls_pki_types::CertificateDer;

use crate::{CertificateError, pem};

/// The authorities that a client must trust to believe a server's certificate.
///
/// An empty bundle says that the client's own roots are enough: the certificate comes from a public authority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustBundle {
    certificates: Vec<CertificateDer<'static>>,
}

impl TrustBundle {
    /// Reads a bundle from PEM text with one certificate or more.
    ///
    /// # Errors
    ///
    /// When the text is not PEM or holds no certificate.
    pub fn from_pem(text: impl AsRef<[u8]>) -> Result<Self, CertificateError> {
        let certificates = pem::certificates(text.as_ref(), "trust bundle")?;
        for certificate in &certificates {
            x509_parser::parse_x509_certificate(certificate).map_err(|source| {
                CertificateError::MalformedCertificate {
                    source: source.into(),
                }
            })?;
        }
        Ok(Self { certificates })
    }

    pub(crate) fn of(certificates: Vec<CertificateDer<'static>>) -> Self {
        Self { certificates }
    }

    /// The authorities' certificates.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// Whether clients need nothing but their own roots.
    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }

    /// This bundle and the authorities of `other` that it does not hold yet.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut certificates = self.certificates.clone();
        for certificate in &other.certificates {
            if !certificates.contains(certificate) {
                certificates.push(certificate.clone());
            }
        }
        Self { certificates }
    }

    /// The bundle as PEM text.
    pub fn to_pem(&self) -> String {
        let mut text = String::new();
        for certificate in &self.certificates {
            pem::write(pem::CERTIFICATE, certificate, &mut text);
        }
        text
    }

    /// The bundle as the `caBundle` of a webhook configuration in YAML or JSON: PEM text in base64.
    pub fn to_ca_bundle(&self) -> String {
        pem::base64(&self.to_pem())
    }
}
