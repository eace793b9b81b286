//! What a server proves: a key, its certificate chain and the trust that clients need.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::{CertificateError, TrustBundle, pem};

/// What a server proves, and what clients must trust to believe it.
///
/// The key and the chain are parsed and checked against each other once, when the identity is made; a handshake only
/// uses them. Cloning is cheap.
#[derive(Clone)]
pub struct Identity {
    certified: Arc<CertifiedKey>,
    trust: TrustBundle,
    not_before: SystemTime,
    not_after: SystemTime,
}

impl Identity {
    /// Reads an identity from PEM text: the chain with the server's own certificate first, and its private key.
    ///
    /// Without `trust`, clients are taken to need the last certificate of the chain if that one is self-signed, and
    /// nothing but their own roots otherwise.
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

    /// What clients must trust to believe this identity.
    pub fn trust(&self) -> &TrustBundle {
        &self.trust
    }

    /// The chain as it is sent to clients, the server's own certificate first.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.certified.cert
    }

    /// The parsed key and chain as rustls serves them.
    pub fn certified_key(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }

    /// When the server's certificate becomes valid.
    pub fn not_before(&self) -> SystemTime {
        self.not_before
    }

    /// When the server's certificate expires.
    pub fn expires(&self) -> SystemTime {
        self.not_after
    }

    /// Whether clients with this clock believe the certificate's dates.
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
