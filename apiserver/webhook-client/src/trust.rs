//! Whom a client trusts, with Go's words for why it does not.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use kubewright_apimachinery::go_text::quoted;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore,
    SignatureScheme,
};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use super::certificate::ClientCertificate;

/// The TLS settings for a `caBundle`; an empty one trusts what the system trusts. The certificate is shown to servers that ask
/// for one.
pub(super) fn client_config(
    ca_bundle: &[u8],
    http2: bool,
    certificate: Option<&ClientCertificate>,
) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Verifier::new(ca_bundle, &provider)?);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has suites for TLS 1.2 and 1.3");
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match certificate {
        Some(certificate) => builder.with_client_cert_resolver(certificate.resolver()),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = if http2 {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    } else {
        vec![b"http/1.1".to_vec()]
    };
    Ok(config)
}

/// TLS settings that trust any certificate and show this one.
pub(super) fn trusting_any(certificate: &ClientCertificate) -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(TrustingAny(provider.clone()));
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has suites for TLS 1.2 and 1.3");
    let mut config = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(certificate.resolver());
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Trusts every certificate, and still checks that the server has its key.
#[derive(Debug)]
struct TrustingAny(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustingAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The text of a failed verification, as it stands behind `tls: failed to verify certificate: `.
#[derive(Debug)]
pub(super) struct Distrust(String);

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Distrust {}

/// Checks as webpki does, but also trusts a server certificate that is itself in the bundle, as Go does.
#[derive(Debug)]
struct Verifier {
    inner: Option<Arc<WebPkiServerVerifier>>,
    bundle: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn new(ca_bundle: &[u8], provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let bundle = if ca_bundle.is_empty() {
            rustls_native_certs::load_native_certs().certs
        } else {
            certificates(ca_bundle)?
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(bundle.iter().cloned());
        let inner =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .ok();
        Ok(Self {
            inner,
            bundle,
            provider: Arc::clone(provider),
        })
    }

    /// What Go says, in its order: the time, the name, the authority.
    fn why(&self, leaf: &CertificateDer<'_>, name: &ServerName<'_>, now: UnixTime) -> String {
        let Ok((_, certificate)) = X509Certificate::from_der(leaf) else {
            return "x509: malformed certificate".to_owned();
        };
        if let Some(why) = outside_validity(&certificate, now) {
            return why;
        }
        if !has_name(leaf, name) {
            return wrong_name(&certificate, name);
        }
        let candidate = self.bundle.iter().find_map(|root| {
            let (_, root) = X509Certificate::from_der(root).ok()?;
            (root.subject().as_raw() == certificate.issuer().as_raw()).then(|| hint(&root))
        });
        let hint = candidate.unwrap_or_default();
        format!("x509: certificate signed by unknown authority{hint}")
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let by_chain = self.inner.as_ref().is_some_and(|inner| {
            inner
                .verify_server_cert(leaf, intermediates, name, ocsp, now)
                .is_ok()
        });
        let itself = || {
            self.bundle
                .iter()
                .any(|trusted| trusted.as_ref() == leaf.as_ref())
                && has_name(leaf, name)
                && X509Certificate::from_der(leaf)
                    .is_ok_and(|(_, certificate)| outside_validity(&certificate, now).is_none())
        };
        if by_chain || itself() {
            return Ok(ServerCertVerified::assertion());
        }
        let why = Arc::new(Distrust(self.why(leaf, name, now)));
        Err(Error::InvalidCertificate(CertificateError::Other(
            OtherError(why),
        )))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let unable = |why: &str| format!("unable to load root certificates: {why}");
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let parsable =
        |certificate: &CertificateDer<'_>| X509Certificate::from_der(certificate).is_ok();
    match found {
        Ok(found) if found.iter().any(parsable) => Ok(found),
        Ok(found) if !found.is_empty() => Err(unable(
            "failed to parse certificate: x509: malformed certificate",
        )),
        _ if pem.windows(5).any(|window| window == b"-----") => {
            Err(unable("no valid certificate authority data seen"))
        }
        _ => Err(unable("unable to parse bytes as PEM block")),
    }
}

fn has_name(leaf: &CertificateDer<'_>, name: &ServerName<'_>) -> bool {
    ParsedCertificate::try_from(leaf).is_ok_and(|leaf| verify_server_name(&leaf, name).is_ok())
}

fn outside_validity(certificate: &X509Certificate<'_>, now: UnixTime) -> Option<String> {
    let now = i64::try_from(now.as_secs()).ok()?;
    let validity = certificate.validity();
    let (from, until) = (
        validity.not_before.timestamp(),
        validity.not_after.timestamp(),
    );
    let shown = |seconds: i64| {
        Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |at| at.to_string())
    };
    let (word, limit) = match now {
        now if now < from => ("before", from),
        now if now > until => ("after", until),
        _ => return None,
    };
    let (now, limit) = (shown(now), shown(limit));
    Some(format!(
        "x509: certificate has expired or is not yet valid: current time {now} is {word} {limit}"
    ))
}

fn wrong_name(certificate: &X509Certificate<'_>, name: &ServerName<'_>) -> String {
    let wanted = name.to_str();
    let Ok(Some(names)) = certificate.subject_alternative_name() else {
        return "x509: certificate relies on legacy Common Name field, use SANs instead".to_owned();
    };
    let names = names.value.general_names.iter();
    let is_address = matches!(name, ServerName::IpAddress(_));
    let valid: Vec<String> = if is_address {
        names.filter_map(address).collect()
    } else {
        names.filter_map(dns_name).collect()
    };
    match (valid.is_empty(), is_address) {
        (false, _) => format!(
            "x509: certificate is valid for {}, not {wanted}",
            valid.join(", ")
        ),
        (true, true) => format!(
            "x509: cannot validate certificate for {wanted} because it doesn't contain any IP SANs"
        ),
        (true, false) => {
            format!("x509: certificate is not valid for any names, but wanted to match {wanted}")
        }
    }
}

fn dns_name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    }
}

fn address(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => Some(std::net::IpAddr::from(<[u8; 4]>::try_from(*bytes).ok()?).to_string()),
            16 => Some(std::net::IpAddr::from(<[u8; 16]>::try_from(*bytes).ok()?).to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// A certificate of the bundle has the issuer's name but did not sign this one: an old `caBundle`, most likely.
fn hint(root: &X509Certificate<'_>) -> String {
    let is_rsa = matches!(
        root.public_key().parsed(),
        Ok(x509_parser::public_key::PublicKey::RSA(_))
    );
    let why = if is_rsa {
        "crypto/rsa: verification error"
    } else {
        "x509: ECDSA verification failure"
    };
    let mut names = root
        .subject()
        .iter_common_name()
        .chain(root.subject().iter_organization());
    let name = names.find_map(|name| name.as_str().ok()).map_or_else(
        || format!("serial:{}", root.tbs_certificate.serial),
        str::to_owned,
    );
    let (why, name) = (quoted(why), quoted(&name));
    format!(
        " (possibly because of {why} while trying to verify candidate authority certificate {name})"
    )
}
