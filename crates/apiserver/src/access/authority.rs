//! The server's own certificate authority: its serving certificate and the admin's client certificate.

use std::net::IpAddr;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use thiserror::Error;
use time::OffsetDateTime;

/// A certificate authority that lives as long as the server.
#[derive(Debug)]
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    admin_certificate_pem: String,
    admin_key_pem: String,
}

/// A certificate with its key.
#[derive(Debug)]
pub(crate) struct ServingCertificate {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

/// Why a certificate could not be made.
#[derive(Debug, Error)]
#[error("cannot make the API server's certificates")]
pub(crate) struct AuthorityError(#[from] rcgen::Error);

impl Authority {
    /// Makes the authority and the admin's certificate.
    pub(crate) fn new() -> Result<Self, AuthorityError> {
        let mut params = params("kubewright-apiserver-ca", &[])?;
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

        let user = super::admin();
        let groups: Vec<&str> = user
            .groups
            .iter()
            .map(String::as_str)
            .filter(|group| *group != super::AUTHENTICATED)
            .collect();
        let mut admin = self::params(&user.username, &groups)?;
        admin.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let admin_key = KeyPair::generate()?;
        let admin_certificate = admin.signed_by(&admin_key, &issuer)?;
        Ok(Self {
            issuer,
            certificate: certificate.der().clone(),
            certificate_pem,
            admin_certificate_pem: admin_certificate.pem(),
            admin_key_pem: admin_key.serialize_pem(),
        })
    }

    /// Makes a serving certificate for the names of the API server and an address.
    pub(crate) fn serving(&self, address: IpAddr) -> Result<ServingCertificate, AuthorityError> {
        const NAMES: [&str; 5] = [
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        let mut params = params("kube-apiserver", &[])?;
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

    /// The authority's certificate, which clients trust and which signs the admin's.
    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The same as PEM.
    pub(crate) fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The admin's client certificate and key as PEM.
    pub(crate) fn admin_pem(&self) -> (&str, &str) {
        (&self.admin_certificate_pem, &self.admin_key_pem)
    }
}

fn params(common_name: &str, organizations: &[&str]) -> Result<CertificateParams, AuthorityError> {
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
    params.not_after = at(now + YEAR);
    Ok(params)
}
