//! TLS as the servers of a program speak it.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;

use crate::LiveIdentity;
use crate::clients::Ask;

/// The oldest version of TLS that is accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OldestTls {
    Tls12,
    Tls13,
}

/// Accepts handshakes with the identity that is served at the time. `protocols` are those of ALPN, the preferred one first.
pub(crate) fn acceptor(
    live: &LiveIdentity,
    oldest: OldestTls,
    asks_clients: bool,
    protocols: &[&str],
) -> Result<TlsAcceptor, rustls::Error> {
    let versions: &[&rustls::SupportedProtocolVersion] = match oldest {
        OldestTls::Tls13 => &[&rustls::version::TLS13],
        OldestTls::Tls12 => &[&rustls::version::TLS13, &rustls::version::TLS12],
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)?;
    let builder = if asks_clients {
        builder.with_client_cert_verifier(Arc::new(Ask::with(provider)))
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_cert_resolver(Arc::new(live.clone()));
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    // API servers keep their connections and do not resume sessions: tickets would be one more message for nothing.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    Ok(TlsAcceptor::from(Arc::new(config)))
}
