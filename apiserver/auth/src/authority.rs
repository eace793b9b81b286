//! The server's own certificate authority: its serving certificate and the admin's client certificate.

use std::net::IpAddr;
use std::sync::OnceLock;

use jiff::Timestamp;
use kubewright_apimachinery::user::{AUTHENTICATED, MASTERS, User};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use thiserror::Error;
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::sec1;

/// The certificate authority of a server. It is made anew for each server, unless it is kept as PEM.
///
/// ```
/// use kubewright_auth::Authority;
///
/// let authority = Authority::new()?;
/// let kept = (authority.certificate_pem().to_owned(), authority.key_pem());
///
/// let again = Authority::from_pem(&kept.0, &kept.1)?;
/// assert_eq!(again.certificate(), authority.certificate());
/// # Ok::<(), kubewright_auth::AuthorityError>(())
/// ```
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    admin: OnceLock<ClientPem>,
}

/// A client certificate and its key as PEM.
#[derive(Debug)]
#[non_exhaustive]
pub struct ClientPem {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// A certificate with its key.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServingCertificate {
    /// The certificate and those that lead to the authority.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key.
    pub key: PrivateKeyDer<'static>,
}

/// Why a certificate could not be made, or an authority not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// The system has no random numbers, or a name does not fit into a certificate.
    #[error("cannot make the API server's certificates")]
    Make(#[from] rcgen::Error),
    /// What was kept is not PEM of this sort: `certificate` or `private key`.
    #[error("the {0} of the authority is not valid PEM")]
    Pem(&'static str),
    /// A usage that no certificate has.
    #[error("unrecognized usage values: {0:?}")]
    Usage(String),
    /// A subject of a request has several organizations, of which a certificate would keep one.
    #[error("a subject with several organizations is not signed")]
    Organizations,
    /// The certificate is of another key: what the authority signs would not be trusted.
    #[error("the private key is not the one of the authority's certificate")]
    OtherKey,
}

/// As kubeadm has it: clients trust the authority for as long as a cluster lives.
const AUTHORITY_YEARS: i64 = 10;

/// The user with all rights.
pub fn admin() -> User {
    User {
        username: "kubernetes-admin".to_owned(),
        groups: vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()],
        ..User::default()
    }
}

impl Authority {
    /// Makes the authority.
    ///
    /// # Errors
    /// The system has no random numbers, or a name does not fit into a certificate.
    pub fn new() -> Result<Self, AuthorityError> {
        Self::named("kubewright-apiserver-ca")
    }

    pub(super) fn named(name: &str) -> Result<Self, AuthorityError> {
        let mut params = params(name, &[], AUTHORITY_YEARS)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        let certificate_pem = certificate.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self {
            issuer,
            certificate: certificate.der().clone(),
            certificate_pem,
            admin: OnceLock::new(),
        })
    }

    /// Reads an authority that was kept: its certificate and its private key.
    ///
    /// # Errors
    /// They are not valid PEM, or do not belong together.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, AuthorityError> {
        let invalid = || AuthorityError::Pem("certificate");
        let key = KeyPair::from_pem(key).map_err(|_| AuthorityError::Pem("private key"))?;
        let der = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|_| invalid())?;
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| invalid())?;
        if *parsed.public_key().subject_public_key.data != *key.public_key_raw() {
            return Err(AuthorityError::OtherKey);
        }
        let issuer = Issuer::from_ca_cert_der(&der, key)?;
        Ok(Self {
            issuer,
            certificate: der,
            certificate_pem: certificate.to_owned(),
            admin: OnceLock::new(),
        })
    }

    /// The private key as PEM, to be kept where no other user reads it.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Makes a serving certificate for the names of the API server and an address.
    ///
    /// # Errors
    /// The system has no random numbers, or a name does not fit into a certificate.
    pub fn serving(&self, address: IpAddr) -> Result<ServingCertificate, AuthorityError> {
        const NAMES: [&str; 5] = [
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        let mut params = params("kube-apiserver", &[], 1)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        for name in NAMES {
            params
                .subject_alt_names
                .push(SanType::DnsName(name.try_into()?));
        }
        let mut addresses = vec![
            [127, 0, 0, 1].into(),
            IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        ];
        if !address.is_unspecified() && !addresses.contains(&address) {
            addresses.push(address);
        }
        let alternatives = addresses.into_iter().map(SanType::IpAddress);
        params.subject_alt_names.extend(alternatives);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(ServingCertificate {
            chain: vec![certificate.der().clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        })
    }

    pub(super) fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }

    /// The authority's certificate, which clients trust and which signs the admin's.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The same as PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The admin's client certificate, made when it is first asked for: a server that starts does not wait for it.
    ///
    /// # Errors
    /// The system has no random numbers, or a name does not fit into a certificate.
    pub fn admin(&self) -> Result<&ClientPem, AuthorityError> {
        if let Some(admin) = self.admin.get() {
            return Ok(admin);
        }
        let user = admin();
        let groups: Vec<&str> = user
            .groups
            .iter()
            .map(String::as_str)
            .filter(|group| *group != AUTHENTICATED)
            .collect();
        let made = self.client(&user.username, &groups)?;
        Ok(self.admin.get_or_init(|| made))
    }

    /// Makes a client certificate of a user in these groups.
    pub(super) fn client(&self, name: &str, groups: &[&str]) -> Result<ClientPem, AuthorityError> {
        let mut params = params(name, groups, 1)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(ClientPem {
            certificate: certificate.pem(),
            key: sec1::from_pkcs8(&key.serialize_pem()),
        })
    }
}

fn params(
    common_name: &str,
    organizations: &[&str],
    years: i64,
) -> Result<CertificateParams, AuthorityError> {
    const HOUR: i64 = 3600;
    const YEAR: i64 = 365 * 24 * HOUR;
    let mut params = CertificateParams::new(Vec::new())?;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, common_name);
    for organization in organizations {
        let name = DnValue::Utf8String((*organization).to_owned());
        subject.push(DnType::OrganizationName, name);
    }
    params.distinguished_name = subject;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let now = Timestamp::now().as_second();
    let at =
        |second| OffsetDateTime::from_unix_timestamp(second).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    params.not_before = at(now - HOUR);
    params.not_after = at(now + years * YEAR);
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_read_with_its_own_key_alone() {
        let (one, other) = (Authority::new().unwrap(), Authority::new().unwrap());
        let (certificate, key) = (one.certificate_pem(), one.key_pem());
        assert!(Authority::from_pem(certificate, &key).is_ok());
        let refused = |certificate: &str, key: &str| {
            let refused = Authority::from_pem(certificate, key).unwrap_err();
            refused.to_string()
        };
        assert_eq!(
            refused(certificate, &other.key_pem()),
            "the private key is not the one of the authority's certificate"
        );
        assert_eq!(
            refused("", &key),
            "the certificate of the authority is not valid PEM"
        );
        assert_eq!(
            refused(certificate, ""),
            "the private key of the authority is not valid PEM"
        );
    }
}
