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

/// A signed certificate and its private key, as returned by [`Authority::sign_server`] and [`Authority::sign_client`].
///
/// ```
/// use kubewright_certificates::{Authority, CertificateError, Identity};
/// use std::time::Duration;
///
/// let issued = Authority::new("ca")?.sign_server(["localhost"], Duration::from_hours(24))?;
/// // The PEM files and the identity in memory are the same certificate.
/// let read = Identity::from_pem(issued.certificate_pem(), issued.key_pem(), None)?;
/// assert_eq!(read.chain(), issued.identity()?.chain());
/// # Ok::<(), CertificateError>(())
/// ```
pub struct Issued {
    chain: Vec<CertificateDer<'static>>,
    key: KeyPair,
    trust: TrustBundle,
}

impl Authority {
    /// Creates an authority that is valid for ten years.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::{Duration, SystemTime};
    /// let authority = Authority::new("my own authority")?;
    /// assert!(authority.expires() > SystemTime::now() + Duration::from_hours(9 * 365 * 24));
    /// # Ok::<(), CertificateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the name cannot stand in a certificate, or the system gives no random bytes.
    pub fn new(common_name: &str) -> Result<Self, CertificateError> {
        Self::living_for(common_name, AUTHORITY_LIFETIME)
    }

    /// Creates an authority that is valid for `lifetime`.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::Duration;
    /// let authority = Authority::living_for("short-lived", Duration::from_hours(1))?;
    /// let issued = authority.sign_server(["localhost"], Duration::from_hours(24))?;
    /// // No certificate outlives its authority.
    /// assert_eq!(issued.identity()?.expires(), authority.expires());
    /// # Ok::<(), CertificateError>(())
    /// ```
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

    /// Parses an authority from the PEM of its certificate and its private key.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::Duration;
    /// let authority = Authority::new("ca")?;
    /// let stored = (authority.certificate_pem(), authority.key_pem());
    /// let restored = Authority::from_pem(&stored.0, &stored.1)?;
    /// assert_eq!(restored.trust(), authority.trust());
    ///
    /// let server = authority.sign_server(["localhost"], Duration::from_hours(24))?;
    /// let not_a_ca = Authority::from_pem(&server.certificate_pem(), &server.key_pem());
    /// assert!(matches!(not_a_ca, Err(CertificateError::NotAnAuthority)));
    /// # Ok::<(), CertificateError>(())
    /// ```
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

    /// Returns the certificate of the authority as PEM, for the trust store of clients.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError, TrustBundle};
    /// let authority = Authority::new("ca")?;
    /// assert_eq!(TrustBundle::from_pem(authority.certificate_pem())?, authority.trust());
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn certificate_pem(&self) -> String {
        self.trust().to_pem()
    }

    /// Returns the private key of the authority as PEM. Keep it secret: its owner can impersonate any server.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// let authority = Authority::new("ca")?;
    /// let restored = Authority::from_pem(&authority.certificate_pem(), &authority.key_pem())?;
    /// assert_eq!(restored.key_pem(), authority.key_pem());
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Returns the bundle that clients have to trust to verify the certificates of this authority.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::Duration;
    /// let authority = Authority::new("ca")?;
    /// let server = authority.sign_server(["localhost"], Duration::from_hours(24))?.identity()?;
    /// assert_eq!(server.trust(), &authority.trust());
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn trust(&self) -> TrustBundle {
        TrustBundle::of(vec![self.certificate.clone()])
    }

    /// Returns the time at which the authority expires, and with it every certificate that it has signed.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::{Duration, SystemTime};
    /// let authority = Authority::living_for("ca", Duration::from_hours(24))?;
    /// let left = authority.expires().duration_since(SystemTime::now()).unwrap();
    /// assert!(left > Duration::from_hours(23));
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn expires(&self) -> SystemTime {
        self.not_after
    }

    /// Signs a certificate for a server with these DNS names and IP addresses.
    ///
    /// It is valid from an hour ago, for `lifetime` from now, and never longer than the authority itself.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::Duration;
    /// let authority = Authority::new("ca")?;
    /// let day = Duration::from_hours(24);
    /// let names = ["policy.policy-system.svc", "127.0.0.1", "::1"];
    /// assert_eq!(authority.sign_server(names, day)?.identity()?.chain().len(), 1);
    ///
    /// let invalid = authority.sign_server(["not a name"], day).unwrap_err();
    /// assert!(matches!(invalid, CertificateError::InvalidName { name } if name == "not a name"));
    /// # Ok::<(), CertificateError>(())
    /// ```
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
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::Duration;
    /// let authority = Authority::new("api-server-clients")?;
    /// let jane = authority.sign_client("jane", "people", Duration::from_hours(24))?.identity()?;
    /// let (_, certificate) = x509_parser::parse_x509_certificate(&jane.chain()[0]).unwrap();
    /// assert_eq!(certificate.subject().to_string(), "CN=jane, O=people");
    /// # Ok::<(), CertificateError>(())
    /// ```
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
    /// Returns the certificate as PEM, as `tls.crt` of a Secret of type `kubernetes.io/tls`.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError, TrustBundle};
    /// # use std::time::Duration;
    /// let issued = Authority::new("ca")?.sign_server(["localhost"], Duration::from_hours(24))?;
    /// assert_eq!(TrustBundle::from_pem(issued.certificate_pem())?.certificates(), issued.identity()?.chain());
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn certificate_pem(&self) -> String {
        TrustBundle::of(self.chain.clone()).to_pem()
    }

    /// Returns the private key as PEM (PKCS #8), as `tls.key` of a Secret of type `kubernetes.io/tls`.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::Duration;
    /// let issued = Authority::new("ca")?.sign_server(["localhost"], Duration::from_hours(24))?;
    /// assert!(issued.key_pem().starts_with("-----BEGIN PRIVATE KEY-----"));
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// Returns the certificate as an [`Identity`], whose trust is the authority.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// # use std::time::{Duration, SystemTime};
    /// let authority = Authority::new("ca")?;
    /// let identity = authority.sign_server(["localhost"], Duration::from_hours(24))?.identity()?;
    /// assert!(identity.is_valid_at(SystemTime::now()));
    /// assert_eq!(identity.trust(), &authority.trust());
    /// # Ok::<(), CertificateError>(())
    /// ```
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
