//! Go's words for what goes wrong on a connection.

use std::error::Error as _;
use std::io;
use std::net::SocketAddr;

use kubewright_apimachinery::go_text::quoted;
use rustls::{AlertDescription, CertificateError};

use super::trust::Distrust;
use super::witness::Memory;

/// The deadline of the call has passed.
pub(super) const DEADLINE: &str = "context deadline exceeded";

/// The two ends of a connection, as Go shows them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
}

impl Ends {
    fn failed(self, operation: &str, kind: io::ErrorKind) -> String {
        let Self { local, peer } = self;
        format!(
            "{operation} tcp {local}->{peer}: {operation}: {}",
            errno(kind)
        )
    }
}

/// `dial tcp <address>: connect: connection refused`.
pub(super) fn dial(address: SocketAddr, error: &io::Error) -> String {
    format!("dial tcp {address}: connect: {}", errno(error.kind()))
}

fn errno(kind: io::ErrorKind) -> String {
    let word = match kind {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset by peer",
        io::ErrorKind::ConnectionAborted => "software caused connection abort",
        io::ErrorKind::BrokenPipe => "broken pipe",
        io::ErrorKind::HostUnreachable => "no route to host",
        io::ErrorKind::NetworkUnreachable => "network is unreachable",
        io::ErrorKind::TimedOut => "connection timed out",
        other => return other.to_string(),
    };
    word.to_owned()
}

/// A TLS handshake that failed; `memory` has the first bytes that the server sent.
pub(super) fn handshake(error: &io::Error, ends: Ends, memory: &Memory) -> String {
    let Some(error) = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
            kind => {
                let operation = memory.failed().map_or("read", |(operation, _)| operation);
                ends.failed(operation, kind)
            }
        };
    };
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => {
            let why = other.0.downcast_ref::<Distrust>().map(ToString::to_string);
            let why = why.unwrap_or_else(|| other.to_string());
            format!("tls: failed to verify certificate: {why}")
        }
        rustls::Error::AlertReceived(alert) => format!("remote error: tls: {}", alert_word(*alert)),
        rustls::Error::InvalidMessage(_) => {
            if memory.start().starts_with(b"HTTP/") {
                "http: server gave HTTP response to HTTPS client".to_owned()
            } else {
                "tls: first record does not look like a TLS handshake".to_owned()
            }
        }
        rustls::Error::PeerIncompatible(_) => {
            let version = selected_version(&memory.start());
            format!("tls: server selected unsupported protocol version {version:x}")
        }
        other => format!("tls: {other}"),
    }
}

/// The version in a server's first message, behind the headers of its record and of itself.
fn selected_version(start: &[u8]) -> u16 {
    match start.get(9..11) {
        Some(&[high, low]) => u16::from_be_bytes([high, low]),
        _ => 0,
    }
}

fn alert_word(alert: AlertDescription) -> String {
    let word = match alert {
        AlertDescription::UnexpectedMessage => "unexpected message",
        AlertDescription::HandshakeFailure => "handshake failure",
        AlertDescription::BadCertificate => "bad certificate",
        AlertDescription::UnsupportedCertificate => "unsupported certificate",
        AlertDescription::CertificateRevoked => "revoked certificate",
        AlertDescription::CertificateExpired => "expired certificate",
        AlertDescription::CertificateUnknown => "unknown certificate",
        AlertDescription::UnknownCA => "unknown certificate authority",
        AlertDescription::AccessDenied => "access denied",
        AlertDescription::DecodeError => "error decoding message",
        AlertDescription::DecryptError => "error decrypting message",
        AlertDescription::ProtocolVersion => "protocol version not supported",
        AlertDescription::InsufficientSecurity => "insufficient security level",
        AlertDescription::InternalError => "internal error",
        AlertDescription::UnrecognisedName => "unrecognized name",
        AlertDescription::CertificateRequired => "certificate required",
        AlertDescription::NoApplicationProtocol => "no application protocol",
        other => return format!("alert({})", u8::from(other)),
    };
    word.to_owned()
}

/// An HTTP/1.1 exchange that ended before its head was read; `memory` has what was read of the answer.
pub(super) fn exchange(error: &hyper::Error, ends: Ends, memory: &Memory) -> String {
    let start = memory.start();
    if error.is_parse() {
        return format!(
            "net/http: HTTP/1.x transport connection broken: {}",
            malformed(&start)
        );
    }
    if let Some((operation, kind)) = memory.failed()
        && kind != io::ErrorKind::UnexpectedEof
    {
        return ends.failed(operation, kind);
    }
    if start.is_empty() {
        return "EOF".to_owned();
    }
    "net/http: HTTP/1.x transport connection broken: unexpected EOF".to_owned()
}

fn malformed(start: &[u8]) -> String {
    let text = String::from_utf8_lossy(start);
    let mut lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
    let first = lines.next().unwrap_or_default();
    let Some((version, status)) = first.split_once(' ') else {
        return format!("malformed HTTP response {}", quoted(first));
    };
    let code = status.trim_start().split(' ').next().unwrap_or_default();
    if code.len() != 3 || code.parse::<u16>().is_err() {
        return format!("malformed HTTP status code {}", quoted(code));
    }
    if !matches!(version, "HTTP/1.0" | "HTTP/1.1") {
        return format!("malformed HTTP version {}", quoted(version));
    }
    let header = lines
        .take_while(|line| !line.is_empty())
        .find(|line| !line.contains(':'));
    format!("malformed MIME header line: {}", header.unwrap_or_default())
}

/// A body that was cut off or is not well formed.
pub(super) fn body(why: &str) -> String {
    format!("unexpected error when reading response body. Please retry. Original error: {why}")
}

/// Why a body ended early.
pub(super) fn broken_body(error: &hyper::Error, ends: Ends, memory: &Memory) -> String {
    if let Some((operation, kind)) = memory.failed()
        && kind != io::ErrorKind::UnexpectedEof
    {
        return ends.failed(operation, kind);
    }
    let is_cut = error.is_incomplete_message()
        || error
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>())
            .is_some_and(|source| source.kind() == io::ErrorKind::UnexpectedEof);
    if is_cut {
        "unexpected EOF".to_owned()
    } else {
        error.to_string()
    }
}
