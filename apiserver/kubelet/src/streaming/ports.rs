//! One session of `portforward`: connections to ports, each with a stream of its own and one for an error.

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::{BoxFuture, join, pending};
use futures::stream::{BoxStream, FuturesUnordered};
use tokio::io::{
    AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::command::{CLOSING, Interruption, header};
use super::connection::{Connection, Event, Gone, Outbox, Sent};
use super::negotiate::{Negotiated, Transport};

/// Connects a stream to a port until the port's side has ended; an error is shown to the client.
pub type Connect =
    Arc<dyn Fn(u16, DuplexStream) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// A request for ports of a pod.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the API server makes it of a request"
)]
pub struct ForwardedPorts {
    /// The protocol.
    pub negotiated: Negotiated,
    /// The ports that the request names. Clients by SPDY name them with each connection.
    pub ports: Vec<u16>,
}

/// The two streams of one connection to a port.
struct Pair {
    port: u16,
    data: u32,
    error: u32,
    pipe: ReadHalf<DuplexStream>,
    far: DuplexStream,
}

/// The streams that the client has opened.
#[derive(Default)]
struct Opened {
    /// Those whose other stream is still to come, by request.
    halves: HashMap<String, Half>,
    /// Where the data of each stream go.
    pipes: HashMap<u32, WriteHalf<DuplexStream>>,
}

#[derive(Clone, Copy, Debug)]
struct Half {
    stream: u32,
    is_data: bool,
}

/// How many bytes wait between a port and the connection.
const WAITING: usize = 64 << 10;

/// How many connections wait to be served.
const PAIRS: usize = 16;

/// The most connections that are served at a time; the client waits with more.
const MOST: usize = 128;

impl ForwardedPorts {
    /// Serves connections until the client is gone or the pod has ended.
    ///
    /// # Cancel safety
    /// Dropping the future ends all connections.
    pub async fn serve<S>(
        self,
        stream: S,
        connect: Connect,
        interrupted: impl Future<Output = Interruption> + Send,
    ) where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let connection = match self.negotiated.open(stream).await {
            Ok(connection) => connection,
            Err(error) => {
                tracing::debug!(%error, "a connection cannot be served");
                return;
            }
        };
        let Connection {
            events,
            outbox,
            writer,
        } = connection;
        let mut events = events;
        let (sender, pairs) = mpsc::channel(PAIRS);
        let talk = async {
            let received = async {
                if matches!(self.negotiated.transport, Transport::WebSocket(_)) {
                    self.by_number(&mut events, sender, &outbox).await;
                } else {
                    by_header(&mut events, sender, &outbox).await;
                }
            };
            tokio::select! {
                () = received => return,
                () = serve_all(pairs, &outbox, &connect) => {}
                _ = interrupted => {}
            }
            if outbox.send(Sent::Close).await.is_ok() {
                let gone = async { while events.next().await.is_some() {} };
                drop(timeout(CLOSING, gone).await);
            }
        };
        tokio::select! {
            () = talk => {}
            // The writer is done before the client has closed its side.
            () = async { writer.await; pending().await } => {}
        }
    }

    /// Opens the ports of the request, each with two streams of fixed numbers, and passes on what the client sends.
    async fn by_number(
        &self,
        events: &mut BoxStream<'static, Event>,
        sender: mpsc::Sender<Pair>,
        outbox: &Outbox,
    ) {
        let mut opened = Opened::default();
        for (at, port) in (0..).zip(&self.ports) {
            let (data, error) = (2 * at, 2 * at + 1);
            for stream in [data, error] {
                let port = port.to_le_bytes().to_vec();
                if outbox.data(stream, port).await.is_err() {
                    return;
                }
            }
            let pair = opened.pair(*port, data, error);
            if sender.send(pair).await.is_err() {
                return;
            }
        }
        // No other port follows.
        drop(sender);
        while let Some(event) = events.next().await {
            opened.pass_on(event).await;
        }
    }
}

/// Passes on what the client sends on the connections that it opens, each by two streams with a request's number in their headers.
async fn by_header(
    events: &mut BoxStream<'static, Event>,
    sender: mpsc::Sender<Pair>,
    outbox: &Outbox,
) {
    let mut opened = Opened::default();
    while let Some(event) = events.next().await {
        let Event::Opened { stream, headers } = event else {
            opened.pass_on(event).await;
            continue;
        };
        let Some((request, port, half)) = half(stream, &headers) else {
            if outbox.send(Sent::Reset { stream }).await.is_err() {
                return;
            }
            continue;
        };
        if outbox.send(Sent::Reply { stream }).await.is_err() {
            return;
        }
        match opened.halves.remove(&request) {
            Some(other) if other.is_data != half.is_data => {
                let (data, error) = if half.is_data {
                    (half.stream, other.stream)
                } else {
                    (other.stream, half.stream)
                };
                let pair = opened.pair(port, data, error);
                if sender.send(pair).await.is_err() {
                    return;
                }
            }
            _ if opened.halves.len() >= MOST => return,
            _ => {
                opened.halves.insert(request, half);
            }
        }
    }
}

/// What the headers of a new stream say; none if they are not of a forwarded port.
fn half(stream: u32, headers: &[(String, String)]) -> Option<(String, u16, Half)> {
    let port: u16 = header(headers, "port")?.parse().ok()?;
    let is_data = match header(headers, "streamtype")? {
        "data" => true,
        "error" => false,
        _ => return None,
    };
    let request = match header(headers, "requestid") {
        Some(request) => request.to_owned(),
        // Old clients open the stream for the error first, and the other one next.
        None if is_data => stream.checked_sub(2)?.to_string(),
        None => stream.to_string(),
    };
    (port != 0).then_some((request, port, Half { stream, is_data }))
}

impl Opened {
    fn pair(&mut self, port: u16, data: u32, error: u32) -> Pair {
        let (near, far) = duplex(WAITING);
        let (pipe, write) = split(near);
        self.pipes.insert(data, write);
        Pair {
            port,
            data,
            error,
            pipe,
            far,
        }
    }

    async fn pass_on(&mut self, event: Event) {
        match event {
            Event::Data { stream, bytes } => {
                if let Some(pipe) = self.pipes.get_mut(&stream)
                    && pipe.write_all(&bytes).await.is_err()
                {
                    self.pipes.remove(&stream);
                }
            }
            Event::Ended { stream } => {
                if let Some(mut pipe) = self.pipes.remove(&stream) {
                    // The port may be done already.
                    drop(pipe.shutdown().await);
                }
                self.halves
                    .retain(|_, half| half.stream != stream || !half.is_data);
            }
            Event::Opened { .. } => {}
        }
    }
}

/// Serves all connections, until there are none and none follows.
async fn serve_all(mut pairs: mpsc::Receiver<Pair>, outbox: &Outbox, connect: &Connect) {
    let mut running = FuturesUnordered::new();
    let mut more = true;
    while more || !running.is_empty() {
        tokio::select! {
            pair = pairs.recv(), if more && running.len() < MOST => match pair {
                Some(pair) => running.push(pair.serve(outbox, connect)),
                None => more = false,
            },
            Some(served) = running.next(), if !running.is_empty() => {
                if served.is_err() {
                    return;
                }
            }
        }
    }
}

impl Pair {
    /// Serves one connection until the port's side has ended.
    async fn serve(self, outbox: &Outbox, connect: &Connect) -> Result<(), Gone> {
        let Self {
            port,
            data,
            error,
            pipe,
            far,
        } = self;
        let (connected, copied) = join(connect(port, far), outbox.copy(data, pipe)).await;
        copied?;
        if let Err(why) = connected {
            outbox.data(error, why.into_bytes()).await?;
        }
        outbox.end(data).await?;
        outbox.end(error).await
    }
}
