//! Making a connection: address, TCP, TLS, each with its time limit.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::fault::{self, Ends};
use super::target::is_loopback;
use super::witness::{Memory, Witness};

const DIAL: Duration = Duration::from_secs(30);
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The other side of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) host: String,
    pub(super) port: u16,
    /// Where a service is; the name of a URL is looked up.
    pub(super) address: Option<SocketAddr>,
    /// The name that the certificate must have.
    pub(super) server_name: String,
}

/// A stream with what was read from it lately.
pub(super) type Stream = Witness<TlsStream<Witness<TcpStream>>>;

/// A connection on which nothing was sent yet.
pub(super) struct Connected {
    pub(super) stream: Stream,
    pub(super) memory: Memory,
    pub(super) ends: Ends,
    pub(super) http2: bool,
    /// A second handle on the socket, to look at it without reading.
    pub(super) socket: std::net::TcpStream,
}

impl Place {
    /// Connects. The error is Go's text.
    pub(super) async fn connect(
        &self,
        tls: &Arc<ClientConfig>,
        remote: bool,
    ) -> Result<Connected, String> {
        let (tcp, peer) = self.dial(remote).await?;
        let (tcp, socket) = doubled(tcp).map_err(|error| fault::dial(peer, &error))?;
        let local = tcp
            .local_addr()
            .map_err(|error| fault::dial(peer, &error))?;
        let ends = Ends { local, peer };
        let _ = tcp.set_nodelay(true);
        let name = ServerName::try_from(self.server_name.clone())
            .map_err(|_| format!("tls: invalid server name {}", self.server_name))?;
        let (tcp, seen) = Witness::new(tcp);
        let handshake = TlsConnector::from(Arc::clone(tls)).connect(name, tcp);
        let tls = match timeout(HANDSHAKE, handshake).await {
            Err(_) => return Err("net/http: TLS handshake timeout".to_owned()),
            Ok(Err(error)) => return Err(fault::handshake(&error, ends, &seen)),
            Ok(Ok(tls)) => tls,
        };
        let http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
        let (stream, memory) = Witness::new(tls);
        Ok(Connected {
            stream,
            memory,
            ends,
            http2,
            socket,
        })
    }

    async fn dial(&self, remote: bool) -> Result<(TcpStream, SocketAddr), String> {
        let mut first = None;
        for address in self.addresses(remote).await? {
            let why = match timeout(DIAL, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok((stream, address)),
                Ok(Err(error)) => fault::dial(address, &error),
                Err(_) => format!("dial tcp {address}: i/o timeout"),
            };
            first.get_or_insert(why);
        }
        Err(first.unwrap_or_else(|| format!("dial tcp: lookup {}: no such host", self.host)))
    }

    async fn addresses(&self, remote: bool) -> Result<Vec<SocketAddr>, String> {
        if let Some(address) = self.address {
            return Ok(vec![address]);
        }
        let (host, port) = (self.host.as_str(), self.port);
        if !remote && !is_loopback(host) {
            return Err(format!(
                "this server calls webhooks on loopback addresses only, and {host} is none; allow remote webhooks to call it"
            ));
        }
        let found = tokio::net::lookup_host((host, port)).await;
        let found = found.map_err(|_| format!("dial tcp: lookup {host}: no such host"))?;
        Ok(found.collect())
    }
}

fn doubled(tcp: TcpStream) -> io::Result<(TcpStream, std::net::TcpStream)> {
    let tcp = tcp.into_std()?;
    let second = tcp.try_clone()?;
    Ok((TcpStream::from_std(tcp)?, second))
}
