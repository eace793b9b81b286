//! What clients must trust to believe a server.

use rustls_pki_types::CertificateDer;

use crate::{CertificateError, pem};

/// The CA certificates that a client has to trust to verify a server.
///
/// An empty bundle says that the client's own roots are enough: the certificate comes from a public authority.
///
/// ```
/// use kubewright_certificates::{Authority, CertificateError, TrustBundle};
///
/// let (old, new) = (Authority::new("old")?.trust(), Authority::new("new")?.trust());
/// // During a rotation clients trust both.
/// let both = old.and(&new);
/// assert!(both.includes(&old) && both.includes(&new));
/// assert_eq!(TrustBundle::from_pem(both.to_pem())?, both);
/// # Ok::<(), CertificateError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustBundle {
    certificates: Vec<CertificateDer<'static>>,
}

impl TrustBundle {
    /// Parses a bundle from PEM with at least one certificate.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError, TrustBundle};
    /// let pem = Authority::new("one")?.certificate_pem() + &Authority::new("two")?.certificate_pem();
    /// assert_eq!(TrustBundle::from_pem(pem)?.certificates().len(), 2);
    /// assert!(matches!(TrustBundle::from_pem(""), Err(CertificateError::NothingFound { .. })));
    /// # Ok::<(), CertificateError>(())
    /// ```
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

    /// Returns the CA certificates in DER, in the order of the bundle.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, CertificateError};
    /// use rustls::RootCertStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let trust = Authority::new("ca")?.trust();
    /// let mut roots = RootCertStore::empty();
    /// for certificate in trust.certificates() {
    ///     roots.add(certificate.clone())?;
    /// }
    /// assert_eq!(roots.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// Returns whether the bundle contains no CA: the roots of the clients are sufficient.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError, Identity, TrustBundle};
    /// # use std::time::Duration;
    /// let issued = Authority::new("public CA")?.sign_server(["example.com"], Duration::from_hours(24))?;
    /// // Neither a bundle nor a self-signed certificate at the end of the chain.
    /// let identity = Identity::from_pem(issued.certificate_pem(), issued.key_pem(), None)?;
    /// assert!(identity.trust().is_empty());
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }

    /// Returns this bundle with those CAs of `other` appended that it does not contain.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// let (old, new) = (Authority::new("old")?.trust(), Authority::new("new")?.trust());
    /// let both = old.and(&new);
    /// assert_eq!(both.certificates(), [old.certificates(), new.certificates()].concat());
    /// assert_eq!(both.and(&new), both);
    /// # Ok::<(), CertificateError>(())
    /// ```
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

    /// Returns the bundle as PEM, one block for each CA.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// let both = Authority::new("old")?.trust().and(&Authority::new("new")?.trust());
    /// assert_eq!(both.to_pem().matches("-----BEGIN CERTIFICATE-----").count(), 2);
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn to_pem(&self) -> String {
        let mut text = String::new();
        for certificate in &self.certificates {
            pem::write(pem::CERTIFICATE, certificate, &mut text);
        }
        text
    }

    /// Returns the bundle as the `caBundle` of a webhook configuration in YAML or JSON: PEM in base64.
    ///
    /// ```
    /// use base64::{Engine as _, engine::general_purpose::STANDARD};
    /// use kubewright_certificates::Authority;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let trust = Authority::new("ca")?.trust();
    /// let yaml = format!("clientConfig:\n  caBundle: {}", trust.to_ca_bundle());
    /// let (_, bundle) = yaml.split_once("caBundle: ").unwrap();
    /// assert_eq!(STANDARD.decode(bundle)?, trust.to_pem().into_bytes());
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_ca_bundle(&self) -> String {
        pem::base64(&self.to_pem())
    }
}
