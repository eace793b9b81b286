//! One session of `exec` or `attach`, from its streams to its exit code.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures::future::{BoxFuture, join3, pending};
use futures::stream::BoxStream;
use futures::{FutureExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::watch;
use tokio::time::{Duration, Instant, timeout, timeout_at};

use super::connection::{Connection, Event, Gone, Outbox, Sent};
use super::negotiate::{Negotiated, Transport};
use super::outcome::{KILLED, Outcome, Verb};
use super::session::{Output, Session, Stdin, Terminal, TerminalSize};

/// What runs in a session.
pub type Run = Box<dyn FnOnce(Session) -> BoxFuture<'static, Outcome> + Send>;

/// A request for a command in a container.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the API server makes it of a request"
)]
pub struct RemoteCommand {
    /// The protocol.
    pub negotiated: Negotiated,
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The name of the container.
    pub container: String,
    /// The command; none for a client that attaches.
    pub command: Option<Vec<String>>,
    /// The streams that the client asks for.
    pub streams: Wanted,
}

/// Which streams a client asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the options of the API")]
#[expect(clippy::struct_excessive_bools, reason = "the options of the API")]
pub struct Wanted {
    /// Standard input.
    pub stdin: bool,
    /// Standard output.
    pub stdout: bool,
    /// Standard error; none with a terminal.
    pub stderr: bool,
    /// A terminal.
    pub tty: bool,
}

/// Why a session ends before its command, or its client, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the server that serves a session knows"
)]
pub enum Interruption {
    /// The container has ended, and its commands with it.
    ContainerEnded,
    /// The server is stopped.
    ServerStopped,
}

/// How a session ends.
enum End {
    /// The client receives how the command has ended.
    Outcome(Outcome),
    /// The client receives no more.
    Stopped,
    ClientGone,
}

/// The number of each stream on its connection.
#[derive(Clone, Copy, Debug, Default)]
struct Streams {
    stdin: Option<u32>,
    stdout: Option<u32>,
    stderr: Option<u32>,
    error: Option<u32>,
    resize: Option<u32>,
}

/// The events of a client, those first that came before all streams were open.
struct Events {
    early: VecDeque<Event>,
    next: BoxStream<'static, Event>,
}

/// The ends of a session's streams that lead to the client.
struct Near {
    stdin: Option<DuplexStream>,
    stdout: DuplexStream,
    stderr: DuplexStream,
    sizes: Option<watch::Sender<Option<TerminalSize>>>,
}

/// How much waits between a handler and the connection.
const WAITING: usize = 32 << 10;

/// How long a client has to open its streams.
const OPENING: Duration = Duration::from_secs(30);

/// How long a client has to close its side after the end.
pub(super) const CLOSING: Duration = Duration::from_secs(5);

impl RemoteCommand {
    /// Serves a session until the command, the client or the container has ended.
    ///
    /// # Cancel safety
    /// Dropping the future ends the connection.
    pub async fn serve<S>(
        self,
        stream: S,
        run: Run,
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
        let mut events = Events {
            early: VecDeque::new(),
            next: events,
        };
        let talk = async {
            let Some(streams) = self.open(&mut events, &outbox).await else {
                return;
            };
            let end = self.run(streams, &mut events, &outbox, run, interrupted);
            let closed = match end.await {
                End::Outcome(outcome) => self.finish(streams, &outbox, &outcome).await,
                End::Stopped => outbox.send(Sent::Close).await,
                End::ClientGone => Err(Gone),
            };
            if closed.is_ok() {
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

    fn verb(&self) -> Verb {
        match self.command {
            Some(_) => Verb::Exec,
            None => Verb::Attach,
        }
    }

    /// Waits until the client has opened its streams.
    async fn open(&self, events: &mut Events, outbox: &Outbox) -> Option<Streams> {
        let Wanted {
            stdin,
            stdout,
            stderr,
            tty,
        } = self.streams;
        if matches!(self.negotiated.transport, Transport::WebSocket(_)) {
            let streams = Streams {
                stdin: stdin.then_some(0),
                stdout: stdout.then_some(1),
                stderr: stderr.then_some(2),
                error: Some(3),
                resize: tty.then_some(4),
            };
            // An empty message says that the session has begun.
            let first = streams.stdout.or(streams.stderr).or(streams.error)?;
            outbox.data(first, Bytes::new()).await.ok()?;
            return Some(streams);
        }
        let resizes = tty && self.negotiated.resizes();
        let expected = 1 + [stdin, stdout, stderr, resizes]
            .into_iter()
            .map(usize::from)
            .sum::<usize>();
        let deadline = Instant::now() + OPENING;
        let mut streams = Streams::default();
        while streams.count() < expected {
            match timeout_at(deadline, events.next.next()).await.ok()?? {
                Event::Opened { stream, headers } => {
                    let sent = match streams.slot(&headers) {
                        Some(slot) => {
                            *slot = Some(stream);
                            Sent::Reply { stream }
                        }
                        None => Sent::Reset { stream },
                    };
                    outbox.send(sent).await.ok()?;
                }
                other => {
                    /// No client that is known sends any.
                    const MOST: usize = 16;
                    events.early.push_back(other);
                    if events.early.len() > MOST {
                        return None;
                    }
                }
            }
        }
        Some(streams)
    }

    /// Runs the command to its end.
    async fn run(
        &self,
        streams: Streams,
        events: &mut Events,
        outbox: &Outbox,
        run: Run,
        interrupted: impl Future<Output = Interruption>,
    ) -> End {
        let (session, near) = self.session(streams);
        let Near {
            stdin,
            stdout,
            stderr,
            sizes,
        } = near;
        let stderr_shown = if self.streams.tty {
            streams.stdout
        } else {
            streams.stderr
        };
        let work = async {
            let running = AssertUnwindSafe(async { run(session).await }).catch_unwind();
            let (outcome, shown, errors) = join3(
                running,
                show(outbox, streams.stdout, stdout),
                show(outbox, stderr_shown, stderr),
            )
            .await;
            shown.and(errors).ok()?;
            Some(outcome.unwrap_or_else(|panic| Outcome::Failed(describe(&*panic))))
        };
        tokio::select! {
            outcome = work => outcome.map_or(End::ClientGone, End::Outcome),
            () = receive(events, streams, stdin, sizes, outbox) => End::ClientGone,
            interruption = interrupted => match interruption {
                Interruption::ContainerEnded => End::Outcome(Outcome::Exit(KILLED)),
                Interruption::ServerStopped => End::Stopped,
            },
        }
    }

    fn session(&self, streams: Streams) -> (Session, Near) {
        let (near_stdin, stdin) = duplex(WAITING);
        let (near_stdout, stdout) = duplex(WAITING);
        let (near_stderr, stderr) = duplex(WAITING);
        let (sizes, terminal) = watch::channel(None);
        let session = Session {
            namespace: self.namespace.clone(),
            pod: self.pod.clone(),
            container: self.container.clone(),
            command: self.command.clone().unwrap_or_default(),
            tty: self.streams.tty,
            stdin: Stdin(stdin),
            stdout: Output(stdout),
            stderr: Output(stderr),
            terminal: Terminal(terminal),
        };
        let near = Near {
            stdin: streams.stdin.map(|_| near_stdin),
            stdout: near_stdout,
            stderr: near_stderr,
            sizes: streams.resize.map(|_| sizes),
        };
        (session, near)
    }

    /// Says how the command has ended, and ends all streams.
    async fn finish(
        &self,
        streams: Streams,
        outbox: &Outbox,
        outcome: &Outcome,
    ) -> Result<(), Gone> {
        let command = self.command.as_deref().unwrap_or_default();
        let outcome = match outcome {
            // Only an exec has an exit code.
            Outcome::Exit(_) if self.command.is_none() => &Outcome::Exit(0),
            outcome => outcome,
        };
        let written = outcome.write(self.negotiated.form(), self.verb(), command);
        for stream in [streams.stdout, streams.stderr, streams.stdin]
            .into_iter()
            .flatten()
        {
            outbox.end(stream).await?;
        }
        if let Some(stream) = streams.error {
            if !written.is_empty() {
                outbox.data(stream, written).await?;
            }
            outbox.end(stream).await?;
        }
        outbox.send(Sent::Close).await
    }
}

impl Streams {
    fn count(&self) -> usize {
        let all = [
            self.stdin,
            self.stdout,
            self.stderr,
            self.error,
            self.resize,
        ];
        all.into_iter().flatten().count()
    }

    /// The stream that the headers of a new one name.
    fn slot(&mut self, headers: &[(String, String)]) -> Option<&mut Option<u32>> {
        match header(headers, "streamtype")? {
            "stdin" => Some(&mut self.stdin),
            "stdout" => Some(&mut self.stdout),
            "stderr" => Some(&mut self.stderr),
            "error" => Some(&mut self.error),
            "resize" => Some(&mut self.resize),
            _ => None,
        }
    }
}

impl Events {
    async fn next(&mut self) -> Option<Event> {
        match self.early.pop_front() {
            Some(event) => Some(event),
            None => self.next.next().await,
        }
    }
}

/// The value of a header of a stream.
pub(super) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut headers = headers.iter();
    let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// Passes on what the client sends, until it is gone.
async fn receive(
    events: &mut Events,
    streams: Streams,
    mut stdin: Option<DuplexStream>,
    sizes: Option<watch::Sender<Option<TerminalSize>>>,
    outbox: &Outbox,
) {
    while let Some(event) = events.next().await {
        match event {
            Event::Data { stream, bytes } if streams.stdin == Some(stream) => {
                if let Some(to) = &mut stdin
                    && to.write_all(&bytes).await.is_err()
                {
                    // The command reads no more; what follows has no reader.
                    stdin = None;
                }
            }
            Event::Ended { stream } if streams.stdin == Some(stream) => stdin = None,
            Event::Data { stream, bytes } if streams.resize == Some(stream) => {
                if let (Some(sizes), Some(size)) = (&sizes, size(&bytes)) {
                    sizes.send_replace(Some(size));
                }
            }
            Event::Opened { stream, .. } => {
                if outbox.send(Sent::Reset { stream }).await.is_err() {
                    return;
                }
            }
            Event::Data { .. } | Event::Ended { .. } => {}
        }
    }
}

/// The last size in a message.
fn size(message: &[u8]) -> Option<TerminalSize> {
    let sizes = serde_json::Deserializer::from_slice(message).into_iter::<Value>();
    let size = sizes.map_while(Result::ok).last()?;
    let number = |name: &str| u16::try_from(size[name].as_u64()?).ok();
    Some(TerminalSize {
        width: number("Width")?,
        height: number("Height")?,
    })
}

/// Passes on what a command writes, or discards it if the client did not ask for it.
async fn show(outbox: &Outbox, stream: Option<u32>, mut from: DuplexStream) -> Result<(), Gone> {
    if let Some(stream) = stream {
        return outbox.copy(stream, from).await;
    }
    // A pipe of this process does not break.
    drop(tokio::io::copy(&mut from, &mut tokio::io::sink()).await);
    Ok(())
}

fn describe(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!(
        "the handler panicked: {}",
        text.unwrap_or("without a message")
    )
}
