//! What a server proves: a key, its certificate chain and the trust that clients need.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::{CertificateError, TrustBundle, pem};

/// Private key and certificate chain of a server, with the CAs that its clients have to trust.
///
/// The key and the chain are parsed and checked against each other once, when the identity is made; a handshake only
/// uses them. Cloning is cheap.
///
/// ```
/// use kubewright_certificates::{Authority, CertificateError, Identity};
/// use std::time::Duration;
///
/// let authority = Authority::new("ca")?;
/// let server = authority.sign_server(["localhost"], Duration::from_hours(24))?;
/// let identity = Identity::from_pem(server.certificate_pem(), server.key_pem(), Some(authority.trust()))?;
/// assert_eq!(identity.chain().len(), 1);
///
/// let other = authority.sign_server(["localhost"], Duration::from_hours(24))?;
/// let mismatch = Identity::from_pem(server.certificate_pem(), other.key_pem(), None);
/// assert!(matches!(mismatch, Err(CertificateError::KeyMismatch)));
/// # Ok::<(), CertificateError>(())
/// ```
#[derive(Clone)]
pub struct Identity {
    certified: Arc<CertifiedKey>,
    trust: TrustBundle,
    not_before: SystemTime,
    not_after: SystemTime,
}

impl Identity {
    /// Parses an identity from PEM: the certificate chain, leaf certificate first, and its private key.
    ///
    /// Without `trust`, clients are taken to need the last certificate of the chain if that one is self-signed, and
    /// nothing but their own roots otherwise.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError, Identity};
    /// # use std::time::Duration;
    /// let authority = Authority::new("ca")?;
    /// let server = authority.sign_server(["localhost"], Duration::from_hours(24))?;
    /// // The chain may contain the CA, which is then what clients have to trust.
    /// let chain = server.certificate_pem() + &authority.certificate_pem();
    /// let identity = Identity::from_pem(chain, server.key_pem(), None)?;
    /// assert_eq!(identity.trust(), &authority.trust());
    /// # Ok::<(), CertificateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When a text is not PEM, holds no certificate or key, the key cannot be used for TLS, or the key does not belong
    /// to the first certificate.
    pub fn from_pem(
        chain: impl AsRef<[u8]>,
        key: impl AsRef<[u8]>,
        trust: Option<TrustBundle>,
    ) -> Result<Self, CertificateError> {
        let chain = pem::certificates(chain.as_ref(), "certificate chain")?;
        let key = pem::private_key(key.as_ref())?;
        Self::from_der(chain, key, trust)
    }

    pub(crate) fn from_der(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        trust: Option<TrustBundle>,
    ) -> Result<Self, CertificateError> {
        let mut validity = None;
        let mut last_is_root = false;
        for certificate in &chain {
            let (_, parsed) =
                x509_parser::parse_x509_certificate(certificate).map_err(|source| {
                    CertificateError::MalformedCertificate {
                        source: source.into(),
                    }
                })?;
            let period = parsed.validity();
            validity.get_or_insert((
                from_unix(period.not_before.timestamp()),
                from_unix(period.not_after.timestamp()),
            ));
            last_is_root = parsed.issuer() == parsed.subject();
        }
        let Some((not_before, not_after)) = validity else {
            return Err(CertificateError::NothingFound {
                what: "certificate chain",
            });
        };
        let trust = trust.unwrap_or_else(|| {
            TrustBundle::of(
                chain
                    .last()
                    .filter(|_| last_is_root)
                    .cloned()
                    .into_iter()
                    .collect(),
            )
        });
        let certified =
            CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider()).map_err(
                |error| match error {
                    rustls::Error::InconsistentKeys(_) => CertificateError::KeyMismatch,
                    source => CertificateError::UnusableKey {
                        source: source.into(),
                    },
                },
            )?;
        Ok(Self {
            certified: Arc::new(certified),
            trust,
            not_before,
            not_after,
        })
    }

    pub(crate) fn trusting(self, trust: TrustBundle) -> Self {
        Self { trust, ..self }
    }

    /// Returns the CAs that clients have to trust to verify this identity.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::Duration;
    /// let authority = Authority::new("ca")?;
    /// let identity = authority.sign_server(["localhost"], Duration::from_hours(24))?.identity()?;
    /// assert_eq!(identity.trust().to_ca_bundle(), authority.trust().to_ca_bundle());
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn trust(&self) -> &TrustBundle {
        &self.trust
    }

    /// Returns the certificate chain as the server sends it, leaf certificate first.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError, TrustBundle};
    /// # use std::time::Duration;
    /// let server = Authority::new("ca")?.sign_server(["localhost"], Duration::from_hours(24))?;
    /// let leaf = TrustBundle::from_pem(server.certificate_pem())?;
    /// assert_eq!(server.identity()?.chain(), leaf.certificates());
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.certified.cert
    }

    /// Returns the parsed key and chain, for a `ServerConfig` or `ClientConfig` of rustls.
    ///
    /// ```
    /// use kubewright_certificates::{CertificateSource, SelfSigned};
    /// use rustls::{ServerConfig, crypto::ring::default_provider, sign::SingleCertAndKey};
    /// use std::sync::Arc;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let identity = SelfSigned::for_names(["localhost"]).next().await?;
    /// let resolver = SingleCertAndKey::from(identity.certified_key());
    /// let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
    ///     .with_safe_default_protocol_versions()?
    ///     .with_no_client_auth()
    ///     .with_cert_resolver(Arc::new(resolver));
    /// assert!(!config.cert_resolver.only_raw_public_keys());
    /// # Ok(())
    /// # }
    /// ```
    pub fn certified_key(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }

    /// Returns the time from which the leaf certificate is valid.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::{Duration, SystemTime};
    /// let server = Authority::new("ca")?.sign_server(["localhost"], Duration::from_hours(24))?;
    /// // Back-dated by an hour, so that clients whose clock is late accept it.
    /// assert!(server.identity()?.not_before() < SystemTime::now() - Duration::from_mins(59));
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn not_before(&self) -> SystemTime {
        self.not_before
    }

    /// Returns the time at which the leaf certificate expires.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::{Duration, SystemTime};
    /// let server = Authority::new("ca")?.sign_server(["localhost"], Duration::from_hours(24))?;
    /// let left = server.identity()?.expires().duration_since(SystemTime::now()).unwrap();
    /// assert!(left <= Duration::from_hours(24) && left > Duration::from_hours(23));
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn expires(&self) -> SystemTime {
        self.not_after
    }

    /// Returns the serial number of the leaf certificate, in hexadecimal.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::Duration;
    /// let authority = Authority::new("ca")?;
    /// let sign = || authority.sign_server(["localhost"], Duration::from_hours(24))?.identity();
    /// let (first, second) = (sign()?, sign()?);
    /// assert_ne!(first.serial_number(), second.serial_number());
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn serial_number(&self) -> String {
        let parsed = self
            .chain()
            .first()
            .map(|leaf| x509_parser::parse_x509_certificate(leaf));
        match parsed {
            Some(Ok((_, leaf))) => leaf.raw_serial_as_string(),
            // It was parsed when the identity was made.
            _ => String::new(),
        }
    }

    /// Returns whether the leaf certificate is valid at this time.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::{Duration, SystemTime};
    /// let identity = Authority::new("ca")?.sign_server(["localhost"], Duration::from_hours(24))?.identity()?;
    /// let now = SystemTime::now();
    /// assert!(identity.is_valid_at(now));
    /// assert!(!identity.is_valid_at(now + Duration::from_hours(25)));
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn is_valid_at(&self, now: SystemTime) -> bool {
        self.not_before <= now && now < self.not_after
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Identity")
            .field("certificates", &self.certified.cert.len())
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

pub(crate) fn from_unix(seconds: i64) -> SystemTime {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        SystemTime::UNIX_EPOCH - distance
    } else {
        SystemTime::UNIX_EPOCH + distance
    }
}
