//! Tokens of browsers, which cannot set a header of a WebSocket: the token is one of the protocols that it names.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{CONNECTION, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue};
use kubewright_apimachinery::status::{Result, Status};

/// What the protocol that is a token begins with.
const BEARER: &str = "base64url.bearer.authorization.k8s.io.";

/// Whether a client asks for a WebSocket.
pub fn is_websocket(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(UPGRADE);
    let websocket = upgrade.is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"websocket"));
    let mut connection = headers.get_all(CONNECTION).iter();
    websocket
        && connection.any(|it| {
            it.as_bytes()
                .to_ascii_lowercase()
                .windows(7)
                .any(|it| it == b"upgrade")
        })
}

/// The protocols that a client names, without its token.
pub fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    all(headers).filter(|protocol| !protocol.starts_with(BEARER))
}

/// Takes the token out of the protocols, for a request that is passed on.
pub fn remove_token(headers: &mut HeaderMap) {
    if !all(headers).any(|protocol| protocol.starts_with(BEARER)) {
        return;
    }
    let kept: Vec<&str> = protocols(headers).collect();
    let kept = HeaderValue::try_from(kept.join(", ")).ok();
    headers.remove(SEC_WEBSOCKET_PROTOCOL);
    if let Some(kept) = kept.filter(|kept| !kept.is_empty()) {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, kept);
    }
}

/// The token among the protocols of a request for a WebSocket.
///
/// # Errors
/// 401 for several tokens, for one that cannot be read, and for one without a protocol beside it that could be chosen.
pub(super) fn token(headers: &HeaderMap) -> Result<Option<String>> {
    if !is_websocket(headers) {
        return Ok(None);
    }
    let mut tokens = all(headers).filter_map(|protocol| protocol.strip_prefix(BEARER));
    let Some(token) = tokens.next().filter(|token| !token.is_empty()) else {
        return Ok(None);
    };
    let decoded = URL_SAFE_NO_PAD.decode(token).ok();
    let decoded = decoded.and_then(|token| String::from_utf8(token).ok());
    let alone = protocols(headers).next().is_none();
    match decoded {
        Some(token) if tokens.next().is_none() && !alone => Ok(Some(token)),
        _ => Err(Status::unauthorized()),
    }
}

fn all(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|protocol| !protocol.is_empty())
}
