//! An API server of one kind that can be told to fail: it keeps its history, so that tests can hold an informer to it.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::service_fn;

use crate::sync::{Mutex, locked};

/// The server. Clones are the same one.
#[derive(Clone)]
pub(super) struct Server {
    state: Arc<Mutex<State>>,
    version: watch::Sender<u64>,
    ends: watch::Sender<u64>,
}

struct State {
    objects: BTreeMap<String, Value>,
    history: Vec<(u64, &'static str, Value)>,
    requests: Vec<String>,
    faults: VecDeque<Fault>,
}

/// What goes wrong with one request.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// Nothing.
    None,
    /// There is no connection.
    Unreachable,
    /// An answer that is no success, with seconds to stay away.
    Status(StatusCode, Value, Option<u32>),
    /// A line that is an error, instead of anything else.
    Error(Value),
    /// The body ends, or breaks, after so many bytes.
    Cut(usize, End),
    /// These lines come first.
    Say(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Clean,
    Broken,
    Silent,
}

type Chunk = Result<Frame<Bytes>, io::Error>;
type Chunks = BoxStream<'static, Chunk>;

impl Server {
    pub(super) fn new() -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                objects: BTreeMap::new(),
                history: Vec::new(),
                requests: Vec::new(),
                faults: VecDeque::new(),
            })),
            version: watch::Sender::new(1),
            ends: watch::Sender::new(0),
        }
    }

    pub(super) fn client(&self) -> Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.answer(&request) }
        });
        Client::new(service, "default")
    }

    pub(super) fn with(names: impl IntoIterator<Item = impl ToString>) -> Self {
        let server = Self::new();
        for name in names {
            server.set(&name.to_string());
        }
        server
    }

    /// Creates an object, or changes it.
    pub(super) fn set(&self, name: &str) {
        self.change(|state, version| {
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"namespace": "blue", "name": name, "uid": name,
                    "resourceVersion": version.to_string(), "managedFields": [{"manager": "a"}]},
            });
            let known = state.objects.insert(name.to_owned(), object.clone());
            let kind = if known.is_some() { "MODIFIED" } else { "ADDED" };
            (kind, object)
        });
    }

    pub(super) fn delete(&self, name: &str) {
        self.change(|state, version| {
            let mut object = state.objects.remove(name).unwrap();
            object["metadata"]["resourceVersion"] = version.to_string().into();
            ("DELETED", object)
        });
    }

    /// Lets the version go on, as changes of other kinds do, and tells the watches.
    pub(super) fn bookmark(&self) {
        self.change(|_, version| {
            let version = version.to_string();
            (
                "BOOKMARK",
                json!({"kind": "ConfigMap", "metadata": {"resourceVersion": version}}),
            )
        });
    }

    fn change(&self, change: impl FnOnce(&mut State, u64) -> (&'static str, Value)) {
        self.version.send_modify(|version| {
            *version += 1;
            let mut state = locked(self.state.lock());
            let (kind, object) = change(&mut state, *version);
            state.history.push((*version, kind, object));
        });
    }

    /// Ends all watches, and returns the version that they have got to.
    pub(super) fn end_watches(&self) -> u64 {
        self.ends.send_modify(|ends| *ends += 1);
        *self.version.borrow()
    }

    /// The next requests go wrong like this, one after the other.
    pub(super) fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        locked(self.state.lock()).faults.extend(faults);
    }

    /// Nothing goes wrong any more.
    pub(super) fn forgive(&self) {
        locked(self.state.lock()).faults.clear();
    }

    /// The requests since the last call, as `list`, `page`, `stream` or `watch VERSION`.
    pub(super) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut locked(self.state.lock()).requests)
    }

    pub(super) fn versions(&self) -> BTreeMap<String, String> {
        let state = locked(self.state.lock());
        let version = |object: &Value| {
            object["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        state
            .objects
            .iter()
            .map(|(name, object)| (name.clone(), version(object)))
            .collect()
    }

    fn answer(&self, request: &Request<Body>) -> io::Result<Response<StreamBody<Chunks>>> {
        assert_eq!(request.uri().path(), "/api/v1/configmaps");
        let query: BTreeMap<String, String> = request
            .uri()
            .query()
            .unwrap_or_default()
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let asked = |name: &str| query.get(name).filter(|value| !value.is_empty()).cloned();
        let mut state = locked(self.state.lock());
        let fault = state.faults.pop_front().unwrap_or(Fault::None);
        let body = if asked("watch").is_none() {
            let token = asked("continue");
            let kind = if token.is_some() { "page" } else { "list" };
            state.requests.push(kind.to_owned());
            whole(&state.page(token.as_deref(), asked("limit"), *self.version.borrow()))
        } else if asked("sendInitialEvents").is_some() {
            state.requests.push("stream".to_owned());
            let version = *self.version.borrow();
            stream::iter(state.initial(version))
                .chain(self.live(version))
                .boxed()
        } else {
            let since = asked("resourceVersion").unwrap();
            state.requests.push(format!("watch {since}"));
            self.live(since.parse().unwrap())
        };
        match fault {
            Fault::None => Ok(ok(body)),
            Fault::Unreachable => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
            Fault::Status(code, said, seconds) => Ok(status(code, &said, seconds)),
            Fault::Error(said) => Ok(ok(whole(&json!({"type": "ERROR", "object": said})))),
            Fault::Cut(bytes, end) => Ok(ok(cut(body, bytes, end))),
            Fault::Say(line) => Ok(ok(whole_text(line).chain(body).boxed())),
        }
    }

    /// What has happened since, and what happens.
    fn live(&self, since: u64) -> Chunks {
        let state = Arc::clone(&self.state);
        let mut ends = self.ends.subscribe();
        let end = Box::pin(async move { drop(ends.changed().await) });
        let live = stream::unfold(
            (since, self.version.subscribe()),
            move |(since, mut versions)| {
                let state = Arc::clone(&state);
                async move {
                    versions.wait_for(|version| *version > since).await.ok()?;
                    let news: Vec<(u64, String)> = locked(state.lock())
                        .history
                        .iter()
                        .filter(|(version, ..)| *version > since)
                        .map(|(version, kind, object)| (*version, line(kind, object)))
                        .collect();
                    let since = news.last()?.0;
                    let text: String = news.into_iter().map(|(_, line)| line).collect();
                    Some((data(text), (since, versions)))
                }
            },
        );
        live.take_until(end).boxed()
    }
}

impl State {
    fn initial(&self, version: u64) -> Vec<Chunk> {
        let end = json!({"kind": "ConfigMap", "metadata": {"resourceVersion": version.to_string(),
            "annotations": {"k8s.io/initial-events-end": "true"}}});
        let objects = self.objects.values().map(|object| line("ADDED", object));
        objects.chain([line("BOOKMARK", &end)]).map(data).collect()
    }

    fn page(&self, after: Option<&str>, limit: Option<String>, version: u64) -> Value {
        let limit = limit.unwrap().parse().unwrap();
        let left: Vec<_> = self
            .objects
            .iter()
            .filter(|(name, _)| after.is_none_or(|after| name.as_str() > after))
            .collect();
        let items: Vec<&Value> = left.iter().take(limit).map(|(_, object)| *object).collect();
        let token = (left.len() > limit).then(|| left[limit - 1].0);
        json!({"metadata": {"resourceVersion": version.to_string(), "continue": token}, "items": items})
    }
}

fn line(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": kind, "object": object}))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "a chunk of a body may be an error, and others are"
)]
fn data(text: String) -> Chunk {
    Chunk::Ok(Frame::data(Bytes::from(text)))
}

fn whole(value: &Value) -> Chunks {
    stream::iter([data(format!("{value}\n"))]).boxed()
}

fn whole_text(text: &'static str) -> Chunks {
    stream::iter([data(text.to_owned())]).boxed()
}

fn cut(body: Chunks, bytes: usize, end: End) -> Chunks {
    let head = stream::unfold((body, bytes), |(mut body, left)| async move {
        if left == 0 {
            return None;
        }
        let mut data = body.next().await?.unwrap().into_data().unwrap();
        data.truncate(left);
        let left = left - data.len();
        Some((Ok(Frame::data(data)), (body, left)))
    });
    match end {
        End::Clean => head.boxed(),
        End::Broken => {
            let broken = Err(io::Error::from(io::ErrorKind::ConnectionReset));
            head.chain(stream::iter([broken])).boxed()
        }
        End::Silent => head.chain(stream::pending()).boxed(),
    }
}

fn ok(body: Chunks) -> Response<StreamBody<Chunks>> {
    Response::new(StreamBody::new(body))
}

fn status(code: StatusCode, said: &Value, seconds: Option<u32>) -> Response<StreamBody<Chunks>> {
    let mut answer = ok(whole(said));
    *answer.status_mut() = code;
    if let Some(seconds) = seconds {
        answer.headers_mut().insert("retry-after", seconds.into());
    }
    answer
}
