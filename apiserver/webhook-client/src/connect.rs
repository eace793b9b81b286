//! Making a connection: address, TCP, TLS, each with its time limit.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::fault::{self, Ends};
use super::target::is_loopback;
use super::witness::{Memory, Witness};

/// How long the addresses of a host have together.
const DIAL: Duration = Duration::from_secs(30);
/// How long each of them has at least, as long as anything is left: Go divides the time evenly above this.
const DIAL_EACH: Duration = Duration::from_secs(2);
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
        let first = dial(&self.addresses(remote).await?).await?;
        first.ok_or_else(|| format!("dial tcp: lookup {}: no such host", self.host))
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

/// Connects to the first of the addresses that answers; the error is that of the first one.
async fn dial(addresses: &[SocketAddr]) -> Result<Option<(TcpStream, SocketAddr)>, String> {
    let mut first = Ok(None);
    let end = Instant::now() + DIAL;
    for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let time = end.saturating_duration_since(Instant::now());
        let share = time / u32::try_from(left).unwrap_or(u32::MAX);
        let time = share.max(DIAL_EACH).min(time);
        let why = match timeout(time, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(Some((stream, *address))),
            Ok(Err(error)) => fault::dial(*address, &error),
            Err(_) => format!("dial tcp {address}: i/o timeout"),
        };
        first = first.and(Err(why));
    }
    first
}

fn doubled(tcp: TcpStream) -> io::Result<(TcpStream, std::net::TcpStream)> {
    let tcp = tcp.into_std()?;
    let second = tcp.try_clone()?;
    Ok((TcpStream::from_std(tcp)?, second))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// A listener whose accept queue is full: further connections wait.
    fn full() -> (TcpListener, Vec<std::net::TcpStream>, SocketAddr) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let wait = Duration::from_millis(300);
        let mut queue = Vec::new();
        while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, wait) {
            queue.push(stream);
        }
        (listener, queue, address)
    }

    /// Runs with a paused clock that advances by a second whenever no other task can run.
    async fn in_steps<F: Future>(future: F) -> (F::Output, Duration) {
        // A paused clock does not go on by itself while a blocking task runs.
        let (end, ended) = mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || ended.recv());
        let begin = Instant::now();
        let mut future = std::pin::pin!(future);
        loop {
            tokio::select! {
                biased;
                output = &mut future => {
                    drop(end);
                    return (output, Instant::now() - begin);
                }
                () = tokio::time::advance(Duration::from_secs(1)) => {}
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a13_dialling_is_given_up_after_thirty_seconds_whatever_the_number_of_addresses() {
        let (_first, _queue, address) = full();
        let why = format!("dial tcp {address}: i/o timeout");
        let (one, time) = in_steps(dial(&[address])).await;
        assert_eq!(one.unwrap_err(), why);
        assert_eq!(time, DIAL);
        let (three, time) = in_steps(dial(&[address; 3])).await;
        assert_eq!(three.unwrap_err(), why);
        assert_eq!(time, DIAL);
    }

    #[tokio::test(start_paused = true)]
    async fn a13_an_address_that_does_not_answer_leaves_time_for_the_next_one() {
        let (_full, _queue, address) = full();
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let next = free.local_addr().unwrap();
        let (found, time) = in_steps(dial(&[address, next])).await;
        let (_, found) = found.unwrap().unwrap();
        assert_eq!(found, next);
        assert!(time >= DIAL / 2 && time < DIAL, "{time:?}");
    }
}
