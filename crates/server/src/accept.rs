//! Accepts connections, and retries after a delay when the system has run out of a resource.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Duration, Instant};

use crate::Counters;
use crate::counters::Counter;

const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
/// Clients in the listener's queue are accepted within a second after the shortage has ended.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How many connections may wait to be accepted, as far as the system allows it. A client beyond that tries again after a
/// second, which is as long as a probe waits.
const QUEUE: u32 = 4096;

/// Opens a port.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // A program that starts again finds its port free, as with `TcpListener::bind`.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(QUEUE)
}

/// A listener that pauses, longer and longer, while accepting fails.
#[derive(Debug)]
pub(crate) struct Acceptor {
    listener: TcpListener,
    counters: Counters,
    pause: Duration,
    paused_until: Option<Instant>,
}

impl Acceptor {
    pub(crate) fn new(listener: TcpListener, counters: Counters) -> Self {
        Self {
            listener,
            counters,
            pause: SHORTEST_PAUSE,
            paused_until: None,
        }
    }

    /// Waits for the next connection. Dropping the future loses none.
    pub(crate) async fn accept(&mut self) -> (TcpStream, IpAddr) {
        loop {
            if let Some(moment) = self.paused_until {
                tokio::time::sleep_until(moment).await;
                self.paused_until = None;
            }
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    self.pause = SHORTEST_PAUSE;
                    return (stream, from.ip());
                }
                Err(error) => self.fail(&error),
            }
        }
    }

    /// Closes the listener and returns those who were in its queue.
    pub(crate) fn close(self) -> Vec<TcpStream> {
        let mut queue = Vec::new();
        // The system's own answer counts here, not what the runtime has last heard of it.
        if let Ok(listener) = self.listener.into_std() {
            while let Ok((stream, _)) = listener.accept() {
                if stream.set_nonblocking(true).is_ok()
                    && let Ok(stream) = TcpStream::from_std(stream)
                {
                    queue.push(stream);
                }
            }
        }
        queue
    }

    fn fail(&mut self, error: &io::Error) {
        if concerns_one_client(error) {
            return;
        }
        self.counters.count(Counter::accept_failures);
        if self.pause == SHORTEST_PAUSE {
            tracing::warn!(%error, "cannot accept connections; trying again");
        }
        self.paused_until = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

/// Whether the error is about a client that has gone already, and says nothing about the next one.
fn concerns_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
