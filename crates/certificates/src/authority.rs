//! A certificate authority that signs for servers and clients.

use std::fmt;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::OffsetDateTime;

use crate::identity::from_unix;
use crate::keys::Keys;
use crate::{CertificateError, Identity, TrustBundle, names, pem};

/// How long an authority lives unless told otherwise: ten years.
const AUTHORITY_LIFETIME: Duration = Duration::from_hours(10 * 365 * 24);

/// Clocks of a cluster disagree: a certificate that starts an hour ago is believed by those that run late.
pub(crate) const BACK_DATED: Duration = Duration::from_hours(1);

/// A certificate authority: it signs certificates for servers and clients with its own ECDSA P-256 key.
///
/// # Example: PEM files for a webhook outside the cluster
///
/// ```
/// use std::time::Duration;
/// use kubewright_certificates::Authority;
///
/// let authority = Authority::new("my own authority")?;
/// let server = authority.sign_server(["localhost", "127.0.0.1"], Duration::from_hours(30 * 24))?;
/// let (tls_crt, tls_key, ca_crt) = (server.certificate_pem(), server.key_pem(), authority.certificate_pem());
/// assert!(tls_crt.starts_with("-----BEGIN CERTIFICATE-----"));
/// assert!(tls_key.starts_with("-----BEGIN PRIVATE KEY-----"));
/// assert_eq!(authority.trust().to_pem(), ca_crt);
/// # Ok::<(), kubewright_certificates::CertificateError>(())
/// ```
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    not_after: SystemTime,
}

/// A signed certificate and its private key.
pub struct Issued {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
    trust: TrustBundle,
}

impl Authority {
    /// Makes an authority that lives for ten years.
    ///
    /// # Errors
    ///
    /// When the name cannot stand in a certificate, or the system gives no random bytes.
    pub fn new(common_name: &str) -> Result<Self, CertificateError> {
        Self::living_for(common_name, AUTHORITY_LIFETIME)
    }

    /// Makes an authority with a lifetime of one's own.
    ///
    /// # Errors
    ///
    /// When the name cannot stand in a certificate, or the system gives no random bytes.
    pub fn living_for(common_name: &str, lifetime: Duration) -> Result<Self, CertificateError> {
        let key = Keys::default().make()?;
        Self::starting_at(SystemTime::now(), None, common_name, lifetime, key)
    }

    pub(crate) fn starting_at(
        now: SystemTime,
        organization: Option<&str>,
        common_name: &str,
        lifetime: Duration,
        key: KeyPair,
    ) -> Result<Self, CertificateError> {
        let not_after = whole_seconds(now + lifetime);
        let mut params = params(now, not_after);
        if let Some(organization) = organization {
            params
                .distinguished_name
                .push(DnType::OrganizationName, organization);
        }
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let certificate = params
            .self_signed(&key)
            .map_err(|error| CertificateError::make("authority's certificate", error))?
            .der()
            .clone();
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate,
            not_after,
        })
    }

    /// Reads an authority back from the PEM text of its certificate and its key.
    ///
    /// # Errors
    ///
    /// When a text cannot be read, the key is not the certificate's, or the certificate is not an authority's.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, CertificateError> {
        let certificate =
            pem::certificates(certificate.as_bytes(), "authority's certificate")?.swap_remove(0);
        let key = KeyPair::try_from(&pem::private_key(key.as_bytes())?).map_err(|source| {
            CertificateError::UnusableKey {
                source: source.into(),
            }
        })?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).map_err(|source| {
            CertificateError::MalformedCertificate {
                source: source.into(),
            }
        })?;
        if !parsed.is_ca() {
            return Err(CertificateError::NotAnAuthority);
        }
        if parsed.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
            return Err(CertificateError::KeyMismatch);
        }
        let not_after = from_unix(parsed.validity().not_after.timestamp());
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|source| {
            CertificateError::MalformedCertificate {
                source: source.into(),
            }
        })?;
        Ok(Self {
            issuer,
            certificate,
            not_after,
        })
    }

    /// The authority's certificate as PEM text: what clients must trust.
    pub fn certificate_pem(&self) -> String {
        self.trust().to_pem()
    }

    /// The authority's private key as PEM text. Whoever has it can be any server.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// What clients must trust to believe what this authority signs.
    pub fn trust(&self) -> TrustBundle {
        TrustBundle::of(vec![self.certificate.clone()])
    }

    /// When the authority expires, and with it everything it has signed.
    pub fn expires(&self) -> SystemTime {
        self.not_after
    }

    /// Signs a certificate for a server that is reached under these DNS names and IP addresses.
    ///
    /// It is valid from an hour ago, for `lifetime` from now, and never longer than the authority itself.
    ///
    /// # Errors
    ///
    /// When there is no name, a name is neither a DNS name nor an IP address, or the authority has expired.
    pub fn sign_server(
        &self,
        names: impl IntoIterator<Item = impl Into<String>>,
        lifetime: Duration,
    ) -> Result<Issued, CertificateError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let key = Keys::default().make()?;
        self.sign_server_at(SystemTime::now(), &names, lifetime, key)
    }

    pub(crate) fn sign_server_at(
        &self,
        now: SystemTime,
        names: &[String],
        lifetime: Duration,
        key: KeyPair,
    ) -> Result<Issued, CertificateError> {
        let mut params = self.leaf(now, lifetime)?;
        params.subject_alt_names = names::parse(names)?;
        // RFC 5280 allows a common name of 64 characters; clients read only the alternative names.
        if let Some(name) = names.iter().find(|name| name.len() <= 64) {
            params
                .distinguished_name
                .push(DnType::CommonName, name.as_str());
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params, key)
    }

    /// Signs a client certificate. Kubernetes reads its common name as the user and its organization as the user's group.
    ///
    /// # Errors
    ///
    /// When a name cannot stand in a certificate, or the authority has expired.
    pub fn sign_client(
        &self,
        user: &str,
        group: &str,
        lifetime: Duration,
    ) -> Result<Issued, CertificateError> {
        let mut params = self.leaf(SystemTime::now(), lifetime)?;
        params.distinguished_name.push(DnType::CommonName, user);
        params
            .distinguished_name
            .push(DnType::OrganizationName, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params, Keys::default().make()?)
    }

    fn leaf(
        &self,
        now: SystemTime,
        lifetime: Duration,
    ) -> Result<CertificateParams, CertificateError> {
        if self.not_after <= now {
            return Err(CertificateError::AuthorityExpired);
        }
        let mut params = params(now, whole_seconds(now + lifetime).min(self.not_after));
        params.use_authority_key_identifier_extension = true;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        Ok(params)
    }

    fn sign(&self, params: &CertificateParams, key: KeyPair) -> Result<Issued, CertificateError> {
        let certificate = params
            .signed_by(&key, &self.issuer)
            .map_err(|error| CertificateError::make("certificate", error))?;
        Ok(Issued {
            chain: vec![certificate.der().clone()],
            key,
            trust: self.trust(),
        })
    }
}

impl Issued {
    /// The certificate as PEM text.
    pub fn certificate_pem(&self) -> String {
        TrustBundle::of(self.chain.clone()).to_pem()
    }

    /// The private key as PEM text.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// The certificate as an identity to serve, with its authority as the trust.
    ///
    /// # Errors
    ///
    /// When TLS cannot use the key.
    pub fn identity(&self) -> Result<Identity, CertificateError> {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        Identity::from_der(self.chain.clone(), key, Some(self.trust.clone()))
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Authority")
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Issued {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Issued").finish_non_exhaustive()
    }
}

fn params(now: SystemTime, not_after: SystemTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.not_before = to_date(now - BACK_DATED);
    params.not_after = to_date(not_after);
    params
}

/// The last whole second that is not later: a certificate's dates have no fractions.
fn whole_seconds(time: SystemTime) -> SystemTime {
    from_unix(unix(time))
}

fn unix(time: SystemTime) -> i64 {
    let after = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(after.as_secs()).unwrap_or(i64::MAX)
}

fn to_date(time: SystemTime) -> OffsetDateTime {
    /// The last second of the year 9999, where the dates of certificates end.
    const END: i64 = 253_402_300_799;
    OffsetDateTime::from_unix_timestamp(unix(time).min(END)).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}
