//! The protocol of a session: what a client names, and what of it is spoken here.

use std::io;

use http::header::{CONNECTION, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};

use super::connection::Connection;
use super::outcome::Form;
use super::spdy;
use super::tunnel::tunnel;
use super::websocket::{self, Channels};

/// The header that names the protocols inside of SPDY.
pub const STREAM_PROTOCOL: &str = "x-stream-protocol-version";

/// The header that names those that would have been spoken.
pub const ACCEPTED_PROTOCOLS: &str = "x-accepted-stream-protocol-versions";

/// A protocol that both sides speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// What the connection becomes: `websocket` or `SPDY/3.1`.
    pub(super) transport: Transport,
    /// The name of the protocol inside; empty if the client names none.
    pub(super) name: &'static str,
}

/// How streams are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    WebSocket(Channels),
    Spdy,
    /// SPDY inside of a WebSocket.
    Tunnel,
}

/// Why a connection cannot be upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the parts of an answer")]
pub struct Refusal {
    /// The status code.
    pub status: StatusCode,
    /// The body, as plain text.
    pub message: String,
    /// The protocols that are spoken, if the client has named others.
    pub accepted: &'static [&'static str],
}

/// The protocols of `exec` and `attach` over WebSocket, in the words of the kubelet; the first is for clients that name none.
const COMMANDS_BY_WEBSOCKET: &[&str] = &[
    "",
    "channel.k8s.io",
    "base64.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "v5.channel.k8s.io",
];
const COMMANDS_BY_SPDY: &[&str] = &[
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
];
const PORTS_BY_WEBSOCKET: &[&str] = &["", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"];
const PORTS_BY_SPDY: &[&str] = &["portforward.k8s.io"];
const TUNNELLED_PORTS: &str = "SPDY/3.1+portforward.k8s.io";

impl Negotiated {
    /// The value of the header `Upgrade` of the answer.
    pub fn upgrade(&self) -> &'static str {
        match self.transport {
            Transport::Spdy => "SPDY/3.1",
            Transport::WebSocket(_) | Transport::Tunnel => "websocket",
        }
    }

    /// The name of the protocol inside; empty if the client names none.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether clients name a port with each connection, and not in their request.
    pub fn names_ports(&self) -> bool {
        !matches!(self.transport, Transport::WebSocket(_))
    }

    /// Chooses the protocol of a command.
    ///
    /// # Errors
    /// The request asks for no upgrade that is known, or names other protocols.
    pub fn command(headers: &HeaderMap) -> Result<Self, Refusal> {
        if is_upgrade(headers, "websocket") {
            return by_websocket(headers, COMMANDS_BY_WEBSOCKET);
        }
        by_spdy(headers, COMMANDS_BY_SPDY)
    }

    /// Chooses the protocol of forwarded ports.
    ///
    /// # Errors
    /// The request asks for no upgrade that is known, or names other protocols.
    pub fn ports(headers: &HeaderMap) -> Result<Self, Refusal> {
        if !is_upgrade(headers, "websocket") {
            return by_spdy(headers, PORTS_BY_SPDY);
        }
        if named(headers, SEC_WEBSOCKET_PROTOCOL.as_str()).any(|name| name == TUNNELLED_PORTS) {
            return Ok(Self {
                transport: Transport::Tunnel,
                name: TUNNELLED_PORTS,
            });
        }
        by_websocket(headers, PORTS_BY_WEBSOCKET)
    }

    /// Serves a connection that was upgraded.
    ///
    /// # Errors
    /// The compression of headers cannot begin.
    pub(super) async fn open<S>(&self, stream: S) -> io::Result<Connection>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        match self.transport {
            Transport::WebSocket(channels) => Ok(websocket::connection(stream, channels).await),
            Transport::Spdy => spdy::connection(stream),
            Transport::Tunnel => {
                let (inner, carried) = tunnel(stream).await;
                let mut connection = spdy::connection(inner)?;
                let writer = connection.writer;
                connection.writer = Box::pin(async {
                    futures::future::join(writer, carried).await;
                });
                Ok(connection)
            }
        }
    }

    /// How the error channel says how a command ended.
    pub(super) fn form(&self) -> Form {
        if self.name.starts_with("v4.") || self.name.starts_with("v5.") {
            Form::Status
        } else {
            Form::Text
        }
    }

    /// Whether a client by SPDY opens a stream for sizes of its terminal.
    pub(super) fn resizes(&self) -> bool {
        !matches!(self.name, "channel.k8s.io" | "v2.channel.k8s.io")
    }
}

fn by_websocket(headers: &HeaderMap, known: &[&'static str]) -> Result<Negotiated, Refusal> {
    /// What a token of a browser begins with, which is no protocol.
    const BEARER: &str = "base64url.bearer.authorization.k8s.io.";
    let mut names = named(headers, SEC_WEBSOCKET_PROTOCOL.as_str())
        .filter(|name| !name.starts_with(BEARER))
        .peekable();
    let name = match names.peek() {
        None => Some(""),
        Some(_) => names.find_map(|name| known.iter().find(|known| **known == name).copied()),
    };
    let name = name.ok_or_else(|| Refusal {
        status: StatusCode::FORBIDDEN,
        message: format!(
            "the requested protocols are not supported; supported: {}",
            known[1..].join(", ")
        ),
        accepted: &[],
    })?;
    let channels = Channels {
        base64: name.contains("base64"),
        close_signal: name.starts_with("v5."),
    };
    Ok(Negotiated {
        transport: Transport::WebSocket(channels),
        name,
    })
}

fn by_spdy(headers: &HeaderMap, known: &'static [&'static str]) -> Result<Negotiated, Refusal> {
    let refusal = |status, message| Refusal {
        status,
        message,
        accepted: &[],
    };
    if !is_upgrade(headers, "spdy/3.1") {
        let message = "unable to upgrade: missing upgrade headers in request".to_owned();
        return Err(refusal(StatusCode::BAD_REQUEST, message));
    }
    let names: Vec<&str> = named(headers, STREAM_PROTOCOL).collect();
    if names.is_empty() {
        let message = "unable to upgrade: X-Stream-Protocol-Version is required".to_owned();
        return Err(refusal(StatusCode::BAD_REQUEST, message));
    }
    let name = names
        .iter()
        .find_map(|name| known.iter().find(|known| *known == name));
    let Some(name) = name else {
        let message = format!(
            "unable to upgrade: unable to negotiate protocol: client supports [{}], server accepts [{}]",
            names.join(" "),
            known.join(" ")
        );
        return Err(Refusal {
            accepted: known,
            ..refusal(StatusCode::FORBIDDEN, message)
        });
    };
    Ok(Negotiated {
        transport: Transport::Spdy,
        name,
    })
}

/// Whether a request asks for a connection to be upgraded, to whatever.
pub fn is_upgrade_request(headers: &HeaderMap) -> bool {
    let mut connection = headers.get_all(CONNECTION).iter();
    connection.any(|value| contains(value.as_bytes(), b"upgrade"))
}

fn is_upgrade(headers: &HeaderMap, to: &str) -> bool {
    let mut upgrade = headers.get_all(UPGRADE).iter();
    is_upgrade_request(headers) && upgrade.any(|value| contains(value.as_bytes(), to.as_bytes()))
}

fn contains(value: &[u8], text: &[u8]) -> bool {
    let value = value.to_ascii_lowercase();
    value.windows(text.len()).any(|part| part == text)
}

fn named<'a>(headers: &'a HeaderMap, header: &str) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(header).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn websocket(protocols: &'static str) -> HeaderMap {
        headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-protocol", protocols),
        ])
    }

    #[test]
    fn the_first_protocol_that_is_spoken_is_chosen() {
        for (protocols, command, ports) in [
            (
                "v5.channel.k8s.io, v4.channel.k8s.io",
                Some("v5.channel.k8s.io"),
                Some("v4.channel.k8s.io"),
            ),
            ("v9.channel.k8s.io", None, None),
            ("", Some(""), Some("")),
            (
                "base64url.bearer.authorization.k8s.io.dG9rZW4, v4.base64.channel.k8s.io",
                Some("v4.base64.channel.k8s.io"),
                Some("v4.base64.channel.k8s.io"),
            ),
            ("SPDY/3.1+portforward.k8s.io", None, Some(TUNNELLED_PORTS)),
        ] {
            let headers = websocket(protocols);
            let name = |chosen: Result<Negotiated, _>| chosen.ok().map(|chosen| chosen.name);
            assert_eq!(name(Negotiated::command(&headers)), command, "{protocols}");
            assert_eq!(name(Negotiated::ports(&headers)), ports, "{protocols}");
        }
    }

    #[test]
    fn a_client_by_spdy_names_its_protocols_in_a_header_of_their_own() {
        let upgrade = [("connection", "Upgrade"), ("upgrade", "SPDY/3.1")];
        let refused = Negotiated::command(&headers(&upgrade)).unwrap_err();
        assert_eq!(
            (refused.status, refused.message.as_str()),
            (
                StatusCode::BAD_REQUEST,
                "unable to upgrade: X-Stream-Protocol-Version is required"
            )
        );
        let mut several = headers(&upgrade);
        for name in [
            "v5.channel.k8s.io",
            "v4.channel.k8s.io",
            "v3.channel.k8s.io",
        ] {
            several.append(STREAM_PROTOCOL, HeaderValue::from_static(name));
        }
        let chosen = Negotiated::command(&several).unwrap();
        assert_eq!(
            (chosen.upgrade(), chosen.name()),
            ("SPDY/3.1", "v4.channel.k8s.io")
        );
        let refused = Negotiated::ports(&several).unwrap_err();
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        assert_eq!(refused.accepted, ["portforward.k8s.io"]);
    }
}
