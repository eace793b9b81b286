//! The certificates of clients: asked for in the handshake, verified once it is complete.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::error::{ListenError, tls};

/// Which client certificates are trusted.
#[derive(Debug)]
pub(super) struct Clients {
    authorities: Vec<CertificateDer<'static>>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Clients {
    /// Trusts the certificates that these authorities have signed.
    pub(super) fn of(
        authorities: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, ListenError> {
        let mut roots = RootCertStore::empty();
        for authority in &authorities {
            roots.add(authority.clone()).map_err(tls)?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .allow_unauthenticated()
            .build()
            .map_err(|error| ListenError::Tls(Box::new(error)))?;
        Ok(Self {
            authorities,
            verifier,
        })
    }

    /// The certificate of a client, if it is trusted.
    pub(super) fn verified<'c>(
        &self,
        chain: &'c [CertificateDer<'static>],
    ) -> Option<&'c CertificateDer<'static>> {
        let (own, others) = chain.split_first()?;
        if self.authorities.contains(own) {
            return is_for_clients(own).then_some(own);
        }
        match self
            .verifier
            .verify_client_cert(own, others, UnixTime::now())
        {
            Ok(_) => Some(own),
            Err(error) => {
                tracing::debug!(%error, "a client's certificate is not trusted");
                None
            }
        }
    }
}

/// Whether a certificate that is trusted as it is may be a client's: Go takes a chain of one, which webpki does not.
fn is_for_clients(certificate: &CertificateDer<'_>) -> bool {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else {
        return false;
    };
    let usage = certificate.extended_key_usage();
    let allowed = match usage {
        Ok(Some(usage)) => usage.value.any || usage.value.client_auth,
        Ok(None) => true,
        Err(_) => false,
    };
    allowed && certificate.validity().is_valid()
}

/// Completes the handshake with every client that has the key of its certificate: an authority that is not trusted is the
/// business of authentication, which answers 401 or goes by a token, as a Go server does.
impl ClientCertVerifier for Clients {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.verifier.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
