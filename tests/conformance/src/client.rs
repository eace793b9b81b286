//! One HTTP/2 connection to an API server, with answers as they came.

use std::io::Read as _;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_apimachinery::protobuf;
use rustls::pki_types::ServerName;
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::server::Server;

/// Longer than any deadline that a case can set on the server's side.
const TIMEOUT: Duration = Duration::from_secs(45);

/// How long a watch may keep silent before the case goes on without the events that are missing.
const SILENCE: Duration = Duration::from_secs(5);

/// How long a server is left alone that is not ready yet.
const PAUSE: Duration = Duration::from_millis(100);

/// How a real server refuses lists and watches of a kind while it reads the objects into its cache (KEP 4568). Each of
/// its clients asks again, and so do we: when it is ready depends on the machine, not on what the case is about.
const UNREADY: &str = "storage is (re)initializing";

/// The largest answer that is read; the largest of a real server, its OpenAPI document, has about four.
const LARGEST: usize = 64 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Client {
    server: Server,
    sender: SendRequest<Full<Bytes>>,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What was answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: Bytes,
}

impl Client {
    pub(crate) async fn connect(server: &Server) -> Result<Self> {
        let (host, port) = server
            .authority
            .rsplit_once(':')
            .context("the URL names no port")?;
        let stream = TcpStream::connect((host, port.parse()?)).await;
        let stream = stream.with_context(|| format!("connect to {}", server.authority))?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(host.to_owned())?;
        let stream = TlsConnector::from(server.tls.clone())
            .connect(name, stream)
            .await;
        let stream = TokioIo::new(stream.context("shake hands with the API server")?);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
        tokio::spawn(connection);
        Ok(Self {
            server: server.clone(),
            sender,
        })
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(crate) async fn send(&self, ask: Ask) -> Result<Answer> {
        let what = format!("{} {}", ask.method, ask.path);
        match timeout(TIMEOUT, prepared(|| self.answer(&ask))).await {
            Ok(answer) => answer.with_context(|| what),
            Err(_) => bail!("{what}: no answer within {TIMEOUT:?}"),
        }
    }

    async fn answer(&self, ask: &Ask) -> Result<Answer> {
        let (parts, body) = self.start(ask).await?.into_parts();
        let body = http_body_util::Limited::new(body, LARGEST).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
        let body = match parts.headers.get("content-encoding") {
            Some(encoding) if encoding == "gzip" => unzipped(&body)?,
            _ => body,
        };
        Ok(Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: read(&body),
            text: body,
        })
    }

    /// Opens a watch. An answer that is no stream comes back whole.
    pub(crate) async fn watch(&self, ask: Ask) -> Result<Watch> {
        let opened = async {
            loop {
                let response = self.start(&ask).await?;
                if response.status() != StatusCode::TOO_MANY_REQUESTS {
                    break Ok::<_, anyhow::Error>(response);
                }
                sleep(PAUSE).await;
            }
        };
        let (parts, body) = timeout(TIMEOUT, opened).await??.into_parts();
        Ok(Watch {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
            unread: Vec::new(),
        })
    }

    async fn start(&self, ask: &Ask) -> Result<http::Response<Incoming>> {
        let uri = format!("https://{}{}", self.server.authority, ask.path);
        let mut request = Request::builder().method(ask.method.as_str()).uri(uri);
        let token = format!("Bearer {}", self.server.token);
        if !ask.headers.iter().any(|(name, _)| name == "authorization") {
            request = request.header("authorization", token);
        }
        for (name, value) in &ask.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(ask.body.clone())))?;
        let mut sender = self.sender.clone();
        sender.ready().await?;
        Ok(sender.send_request(request).await?)
    }
}

/// The answer of a server that has got ready for the question.
async fn prepared<F: Future<Output = Result<Answer>>>(ask: impl Fn() -> F) -> Result<Answer> {
    loop {
        let answer = ask().await?;
        if !answer.is_unready() {
            return Ok(answer);
        }
        sleep(PAUSE).await;
    }
}

/// An open watch.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    unread: Vec<u8>,
}

impl Watch {
    /// Reads events until `count` have arrived, the stream ends, or the server is silent for too long; adds an event that says so.
    pub(crate) async fn events(mut self, count: Option<usize>) -> Result<Vec<Value>> {
        if !(200..300).contains(&self.status) {
            let mut events = self.refusal().await?;
            events.truncate(count.unwrap_or(usize::MAX));
            return Ok(events);
        }
        let mut events = Vec::new();
        while count.is_none_or(|count| events.len() < count) {
            if let Some(event) = self.unread() {
                events.push(event);
                continue;
            }
            match timeout_at(Instant::now() + SILENCE, self.body.frame()).await {
                Ok(Some(frame)) => {
                    if let Ok(data) = frame?.into_data() {
                        self.unread.extend_from_slice(&data);
                        ensure!(self.unread.len() < LARGEST, "an event without end");
                    }
                }
                Ok(None) => {
                    if !self.unread.is_empty() {
                        events.push(read(&self.unread));
                    }
                    events.push("the stream ended".into());
                    break;
                }
                Err(_) => {
                    events.push("no more events came".into());
                    break;
                }
            }
        }
        Ok(events)
    }
}

impl Watch {
    /// The answer to a watch that is refused, which is one document on as many lines as the server likes.
    async fn refusal(self) -> Result<Vec<Value>> {
        let body = http_body_util::Limited::new(self.body, LARGEST).collect();
        let body = timeout(SILENCE, body)
            .await
            .context("read the refusal of a watch")?;
        let body = body.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
        Ok(vec![read(&body), "the stream ended".into()])
    }

    /// The next event, if all of it has come: a line, or a message with its length before it.
    fn unread(&mut self) -> Option<Value> {
        let kind = self.headers.get("content-type");
        if !kind.is_some_and(|kind| kind.as_bytes().starts_with(PROTOBUF)) {
            let end = self.unread.iter().position(|byte| *byte == b'\n')?;
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            return Some(read(&line));
        }
        let (length, rest) = self.unread.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let event = match protobuf::decode_event(rest.get(..length)?) {
            Ok((change, object)) => json!({ "type": change, "object": read(&object) }),
            Err(error) => error.to_string().into(),
        };
        self.unread.drain(..4 + length);
        Some(event)
    }
}

const PROTOBUF: &[u8] = b"application/vnd.kubernetes.protobuf";

impl Answer {
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn is_unready(&self) -> bool {
        let message = self.body["message"].as_str();
        self.status == 429 && message.is_some_and(|message| message.starts_with(UNREADY))
    }
}

/// The headers that are compared. Those that name the server, the moment or the connection say nothing about behaviour.
///
/// `others` are compared besides them.
pub(crate) fn compared(headers: &HeaderMap, others: &[String]) -> Map<String, Value> {
    const COMPARED: [&str; 10] = [
        "allow",
        "cache-control",
        "content-encoding",
        "content-type",
        "etag",
        "location",
        "retry-after",
        "vary",
        "warning",
        "x-content-type-options",
    ];
    let others = others.iter().map(String::as_str);
    COMPARED
        .into_iter()
        .chain(others)
        .filter_map(|name| {
            let values: Vec<&str> = headers
                .get_all(name)
                .iter()
                .flat_map(|value| value.to_str())
                .collect();
            match values[..] {
                [] => None,
                [one] => Some((name.to_owned(), one.into())),
                _ => Some((name.to_owned(), values.into())),
            }
        })
        .collect()
}

fn unzipped(body: &[u8]) -> Result<Bytes> {
    let mut plain = Vec::new();
    let mut reader = GzDecoder::new(body).take(LARGEST as u64);
    reader.read_to_end(&mut plain).context("unzip the answer")?;
    Ok(plain.into())
}

/// JSON where it is JSON, what a message says and whether the embedded server would write it so, else the text.
fn read(body: &[u8]) -> Value {
    if let Ok(message) = protobuf::decode_answer(body) {
        let same = protobuf::encode(&message) == body;
        return json!({ "message": message, "written alike": same });
    }
    serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn refused(message: &str) -> Answer {
        Answer {
            status: 429,
            headers: HeaderMap::new(),
            body: json!({ "message": message }),
            text: Bytes::new(),
        }
    }

    async fn asked(answers: &[Answer]) -> (Answer, usize) {
        let count = Cell::new(0);
        let answer = prepared(|| {
            count.set(count.get() + 1);
            std::future::ready(Ok(answers[count.get() - 1].clone()))
        });
        (answer.await.unwrap(), count.get())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_whose_cache_is_not_filled_yet_is_asked_again() {
        let unready = refused("storage is (re)initializing");
        let unready_why = refused("storage is (re)initializing: the first list failed");
        let ready = Answer {
            status: 200,
            ..refused("")
        };
        let (answer, count) = asked(&[unready, unready_why, ready]).await;
        assert_eq!((answer.status, count), (200, 3));
    }

    #[tokio::test]
    async fn any_other_answer_is_the_answer() {
        let (answer, count) = asked(&[refused("Cannot evict pod")]).await;
        assert_eq!((answer.status, count), (429, 1));
    }
}
