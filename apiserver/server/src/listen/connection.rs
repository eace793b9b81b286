//! One connection: the handshake, who the client proves to be, and its requests.

use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use kubewright_apimachinery::user::{AUTHENTICATED, User};
use kubewright_auth::Caller;
use kubewright_endpoints::Shared;
use ring::digest::{SHA256, digest};
use rustls_pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Duration;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::Door;
use super::frames::Guarded;
use crate::service::ApiService;

/// Serves a connection until it is closed.
pub(super) async fn serve(
    shared: Arc<Shared>,
    socket: TcpStream,
    Door { acceptor, clients }: Door,
    mut stop: watch::Receiver<bool>,
) {
    const HANDSHAKE: Duration = Duration::from_secs(10);
    // Small answers must not wait for the client's acknowledgement of the last ones.
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "cannot switch off Nagle's algorithm");
    }
    let address = socket.peer_addr().ok().map(|address| address.ip());
    let stream = tokio::select! {
        shaken = tokio::time::timeout(HANDSHAKE, acceptor.accept(socket)) => match shaken {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                return;
            }
            Err(_) => return,
        },
        _ = stop.changed() => return,
    };
    let shown = stream.get_ref().1.peer_certificates();
    let verified = shown.map(|chain| clients.verified(chain));
    let caller = Caller {
        user: verified.flatten().and_then(user),
        distrusted: verified == Some(None),
        address,
        stopped: stop.clone(),
    };
    let service = TowerToHyperService::new(ApiService::for_caller(shared, caller));
    let server = builder();
    let mut connection =
        pin!(server.serve_connection_with_upgrades(TokioIo::new(Guarded::new(stream)), service));
    let mut stopping = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(error, "a connection ended with an error");
                }
                return;
            }
            _ = stop.changed(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    // hyper counts an idle connection as one that waits for headers, so this is an idle limit too.
    const HEADERS: Duration = Duration::from_mins(2);
    // Go's server allows 250 streams by default; the real API server lowers that to 100.
    const STREAMS: u32 = 100;
    const MIB: u32 = 1 << 20;
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(MIB)
        .initial_connection_window_size(4 * MIB);
    builder
}

/// The user whom a client certificate names: CN is the name, each O a group, and its digest is the credential.
fn user(der: &CertificateDer<'_>) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let username = subject.iter_common_name().next()?.as_str().ok()?;
    let mut groups: Vec<String> = subject
        .iter_organization()
        .filter_map(|name| name.as_str().ok())
        .map(str::to_owned)
        .collect();
    groups.push(AUTHENTICATED.to_owned());
    Some(User {
        username: username.to_owned(),
        groups,
        extra: [(CREDENTIAL_ID.to_owned(), vec![credential_id(der)])].into(),
        ..User::default()
    })
}

fn credential_id(der: &[u8]) -> String {
    let mut id = "X509SHA256=".to_owned();
    for byte in digest(&SHA256, der).as_ref() {
        // A text always takes what is written to it.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

/// Under which name a user's extra values say which credential they came with.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
