//! Certificate signing requests: what they ask for, and the certificates that the authority makes of them.

use rcgen::{
    CertificateSigningRequestParams, DnType, DnValue, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose, SanType,
};
use time::OffsetDateTime;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer as _;

use super::authority::{Authority, AuthorityError};

/// A certificate signing request whose signature is valid.
#[derive(Debug)]
pub struct SigningRequest {
    params: CertificateSigningRequestParams,
    /// The organizations of the subject.
    organizations: Vec<String>,
}

impl SigningRequest {
    /// Reads a request in PEM.
    ///
    /// # Errors
    /// The request is not valid, or has an extension that no certificate of this authority gets.
    pub fn from_pem(pem: &str) -> Result<Self, AuthorityError> {
        let params = CertificateSigningRequestParams::from_pem(pem)?;
        let invalid = || AuthorityError::Pem("request");
        let (_, block) = parse_x509_pem(pem.as_bytes()).map_err(|_| invalid())?;
        let (_, request) =
            X509CertificationRequest::from_der(&block.contents).map_err(|_| invalid())?;
        let subject = &request.certification_request_info.subject;
        let organizations = subject
            .iter_organization()
            .filter_map(|organization| organization.as_str().ok().map(str::to_owned))
            .collect();
        Ok(Self {
            params,
            organizations,
        })
    }

    /// The common name of the subject.
    pub fn common_name(&self) -> &str {
        let name = self
            .params
            .params
            .distinguished_name
            .get(&DnType::CommonName);
        match name {
            Some(DnValue::Utf8String(name)) => name,
            Some(DnValue::PrintableString(name)) => name.as_str(),
            _ => "",
        }
    }

    /// The organizations of the subject.
    pub fn organizations(&self) -> &[String] {
        &self.organizations
    }

    /// How many alternative names the request has: DNS names, addresses, email addresses and URIs.
    pub fn alternative_names(&self) -> [usize; 4] {
        let names = &self.params.params.subject_alt_names;
        let count = |is: fn(&SanType) -> bool| names.iter().filter(|name| is(name)).count();
        [
            count(|name| matches!(name, SanType::DnsName(_))),
            count(|name| matches!(name, SanType::IpAddress(_))),
            count(|name| matches!(name, SanType::Rfc822Name(_))),
            count(|name| matches!(name, SanType::URI(_))),
        ]
    }
}

impl Authority {
    /// Signs a request: a certificate in PEM with these usages, named as in `certificates.k8s.io`, and between two times in seconds
    /// since 1970.
    ///
    /// # Errors
    /// A usage is unknown, or the subject has several organizations.
    pub fn sign(
        &self,
        request: SigningRequest,
        usages: &[&str],
        (not_before, not_after): (i64, i64),
    ) -> Result<String, AuthorityError> {
        if request.organizations.len() > 1 {
            return Err(AuthorityError::Organizations);
        }
        let mut params = request.params;
        let certificate = &mut params.params;
        certificate.key_usages = Vec::new();
        certificate.extended_key_usages = Vec::new();
        certificate.is_ca = IsCa::ExplicitNoCa;
        for usage in usages {
            if let Some(usage) = key_usage(usage) {
                certificate.key_usages.push(usage);
            } else if let Some(usage) = extended_key_usage(usage) {
                certificate.extended_key_usages.push(usage);
            } else {
                return Err(AuthorityError::Usage((*usage).to_owned()));
            }
        }
        let at = |second| {
            OffsetDateTime::from_unix_timestamp(second).unwrap_or(OffsetDateTime::UNIX_EPOCH)
        };
        certificate.not_before = at(not_before);
        certificate.not_after = at(not_after);
        Ok(params.signed_by(self.issuer())?.pem())
    }
}

fn key_usage(name: &str) -> Option<KeyUsagePurpose> {
    Some(match name {
        "signing" | "digital signature" => KeyUsagePurpose::DigitalSignature,
        "content commitment" => KeyUsagePurpose::ContentCommitment,
        "key encipherment" => KeyUsagePurpose::KeyEncipherment,
        "key agreement" => KeyUsagePurpose::KeyAgreement,
        "data encipherment" => KeyUsagePurpose::DataEncipherment,
        "cert sign" => KeyUsagePurpose::KeyCertSign,
        "crl sign" => KeyUsagePurpose::CrlSign,
        "encipher only" => KeyUsagePurpose::EncipherOnly,
        "decipher only" => KeyUsagePurpose::DecipherOnly,
        _ => return None,
    })
}

fn extended_key_usage(name: &str) -> Option<ExtendedKeyUsagePurpose> {
    Some(match name {
        "any" => ExtendedKeyUsagePurpose::Any,
        "server auth" => ExtendedKeyUsagePurpose::ServerAuth,
        "client auth" => ExtendedKeyUsagePurpose::ClientAuth,
        "code signing" => ExtendedKeyUsagePurpose::CodeSigning,
        "email protection" | "s/mime" => ExtendedKeyUsagePurpose::EmailProtection,
        "timestamping" => ExtendedKeyUsagePurpose::TimeStamping,
        "ocsp signing" => ExtendedKeyUsagePurpose::OcspSigning,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, KeyPair};
    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject as _;
    use x509_parser::prelude::X509Certificate;

    use super::*;

    #[test]
    fn a_certificate_has_the_subject_of_its_request_and_the_usages_of_its_signer() {
        let mut params = CertificateParams::new(vec!["node".to_owned()]).unwrap();
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CommonName, "system:node:n");
        subject.push(DnType::OrganizationName, "system:nodes");
        params.distinguished_name = subject;
        let key = KeyPair::generate().unwrap();
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        let request = SigningRequest::from_pem(&pem).unwrap();
        assert_eq!(request.common_name(), "system:node:n");
        assert_eq!(request.organizations(), ["system:nodes"]);
        assert_eq!(request.alternative_names(), [1, 0, 0, 0]);
        let authority = Authority::new().unwrap();
        let usages = ["digital signature", "server auth"];
        let signed = authority.sign(request, &usages, (0, 3600)).unwrap();
        let der = CertificateDer::from_pem_slice(signed.as_bytes()).unwrap();
        let (_, certificate) = X509Certificate::from_der(&der).unwrap();
        let common_name = certificate.subject().iter_common_name().next().unwrap();
        assert_eq!(common_name.as_str().unwrap(), "system:node:n");
        assert!(
            certificate
                .extended_key_usage()
                .unwrap()
                .unwrap()
                .value
                .server_auth
        );
        assert_eq!(certificate.validity().not_after.timestamp(), 3600);
        let (_, authority) = X509Certificate::from_der(authority.certificate()).unwrap();
        assert!(
            certificate
                .verify_signature(Some(authority.public_key()))
                .is_ok()
        );
        assert!(SigningRequest::from_pem("no request").is_err());
    }
}
