//! Connections that become something else: the handshake of WebSockets, and bytes that are passed on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::UPGRADE;
use http::{HeaderMap, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use kubewright_kubelet::streaming::is_upgrade_request;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use tokio::sync::watch;

use crate::body::Body;
use crate::rest::answer;

/// Whether a client asks for its connection to become something that it names.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE) && is_upgrade_request(headers)
}

/// The answer of the real server where a connection cannot become something else, as those of HTTP/2.
pub(crate) fn no_connection() -> Response<Body> {
    let why = "unable to upgrade: unable to hijack response";
    answer::text(StatusCode::INTERNAL_SERVER_ERROR, why)
}

/// Passes bytes both ways until one side closes, or the server stops.
pub(crate) async fn join(
    client: OnUpgrade,
    service: OnUpgrade,
    mut stopped: watch::Receiver<bool>,
) {
    let joined = async {
        let (client, service) = tokio::try_join!(client, service).ok()?;
        let (mut client, mut service) = (TokioIo::new(client), TokioIo::new(service));
        tokio::io::copy_bidirectional(&mut client, &mut service)
            .await
            .ok()
    };
    tokio::select! {
        _ = joined => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}

/// The value of `Sec-WebSocket-Accept` for a key (RFC 6455, 4.2.2).
pub(crate) fn accept_key(key: &[u8]) -> String {
    let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    digest.update(key);
    digest.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_answered_as_in_the_example_of_the_rfc() {
        let accept = accept_key(b"dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
