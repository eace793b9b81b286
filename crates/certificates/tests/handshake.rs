//! Verifies an identity as a strict client does, without a socket.

use std::sync::Arc;

use kubewright_certificates::{Identity, TrustBundle};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::{ServerName, UnixTime};

/// Verifies `identity` under `name` now, for a client that trusts `trust`.
pub(crate) fn verify(
    identity: &Identity,
    trust: &TrustBundle,
    name: &str,
) -> Result<(), rustls::Error> {
    verify_at(identity, trust, name, UnixTime::now())
}

pub(crate) fn verify_at(
    identity: &Identity,
    trust: &TrustBundle,
    name: &str,
    now: UnixTime,
) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    for certificate in trust.certificates() {
        roots.add(certificate.clone())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .expect("there is a root");
    let name = ServerName::try_from(name.to_owned()).expect("a valid name");
    let chain = identity.chain();
    verifier
        .verify_server_cert(&chain[0], &chain[1..], &name, &[], now)
        .map(drop)
}
