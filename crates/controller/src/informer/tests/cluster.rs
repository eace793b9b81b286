//! An API server of ConfigMaps for simulations: it keeps every version, answers late, loses responses, ends watches, forgets its
//! history, lags behind like a bad replica and goes back to a backup, all by one random number generator.

use std::collections::BTreeMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tower::service_fn;

use crate::sync::{Mutex, locked};

/// The API server. Clones are the same one.
#[derive(Clone)]
pub(super) struct Cluster {
    state: Arc<Mutex<State>>,
    /// Wakes the watches, always in the same order.
    moved: Arc<Notify>,
}

pub(super) struct State {
    pub(super) random: fastrand::Rng,
    pub(super) has_faults: bool,
    pub(super) log: Vec<Change>,
    objects: BTreeMap<String, Value>,
    revision: u64,
    compacted: u64,
    /// Watches of an earlier era have ended.
    era: u64,
    /// The version and the era that watches have been woken for.
    told: (u64, u64),
    uids: u64,
    stale: BTreeMap<String, u32>,
    /// What each actor's last request has come to.
    applied: BTreeMap<usize, (String, u64)>,
    at_lists: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// One write.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) revision: u64,
    pub(super) old: Option<Value>,
    pub(super) new: Option<Value>,
}

type Chunk = Result<Frame<Bytes>, io::Error>;
type Chunks = BoxStream<'static, Chunk>;

/// Whether an object is in the scope of a query.
pub(super) fn selects(labels: &str, object: &Value) -> bool {
    labels.is_empty() || object["metadata"]["labels"]["on"] == "yes"
}

impl Cluster {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                random: fastrand::Rng::with_seed(seed),
                has_faults: true,
                log: Vec::new(),
                objects: BTreeMap::new(),
                revision: 1,
                compacted: 0,
                era: 0,
                told: (1, 0),
                uids: 0,
                stale: BTreeMap::new(),
                applied: BTreeMap::new(),
                at_lists: None,
            })),
            moved: Arc::default(),
        }
    }

    pub(super) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = locked(self.state.lock());
        let result = act(&mut state);
        let moment = (state.revision, state.era);
        if std::mem::replace(&mut state.told, moment) != moment {
            self.moved.notify_waiters();
        }
        result
    }

    pub(super) async fn pause(&self, most: u64) {
        let pause = self.with(|state| state.random.u64(..=most));
        sleep(Duration::from_millis(pause)).await;
    }

    /// Calls a function whenever a list is answered.
    pub(super) fn at_lists(&self, call: impl Fn() + Send + Sync + 'static) {
        self.with(|state| state.at_lists = Some(Arc::new(call)));
    }

    pub(super) fn client(&self, actor: usize) -> Client {
        let cluster = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move { cluster.answer(actor, request).await }
        });
        Client::new(service, "default")
    }

    async fn answer(
        &self,
        actor: usize,
        request: Request<Body>,
    ) -> io::Result<Response<StreamBody<Chunks>>> {
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await.map_err(io::Error::other)?;
        self.pause(20).await;
        if self.with(|state| state.fails(20)) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        if head.method == Method::GET {
            let query = head.uri.query().unwrap_or_default();
            return Ok(self.read(query).await);
        }
        let (code, answer) = self.with(|state| {
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let kind = head.headers.get("content-type");
            let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
            state.write(actor, &head.method, head.uri.path(), kind, &body)
        });
        self.pause(20).await;
        if self.with(|state| state.fails(20)) {
            // The response is lost, and what it is about is done.
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let mut response = Response::new(StreamBody::new(whole(answer.to_string())));
        *response.status_mut() = code.try_into().map_err(io::Error::other)?;
        Ok(response)
    }

    async fn read(&self, query: &str) -> Response<StreamBody<Chunks>> {
        let asked = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let mut values = pairs.filter(|(known, _)| *known == name);
            values
                .next()
                .map(|(_, value)| value.to_owned())
                .unwrap_or_default()
        };
        let (labels, since) = (asked("labelSelector"), asked("resourceVersion"));
        let seconds: u64 = asked("timeoutSeconds").parse().unwrap_or_default();
        let end = Instant::now() + Duration::from_secs(seconds);
        let body = if asked("watch").is_empty() {
            let is_check = asked("limit") == "1";
            let (revision, objects) = self.with(|state| state.list(&labels, is_check));
            whole(json!({"metadata": {"resourceVersion": revision}, "items": objects}).to_string())
        } else if asked("sendInitialEvents").is_empty() {
            let since: u64 = since.parse().unwrap_or_default();
            if self.with(|state| since < state.compacted) {
                let gone = json!({"code": 410, "reason": "Expired"}).to_string();
                let mut response = Response::new(StreamBody::new(whole(gone)));
                *response.status_mut() = http::StatusCode::GONE;
                return response;
            }
            self.live(labels, since, end)
        } else {
            let (revision, objects) = self.with(|state| state.list(&labels, false));
            let from: u64 = revision.parse().unwrap_or_default();
            let bookmark = json!({"metadata": {"resourceVersion": revision,
                "annotations": {"k8s.io/initial-events-end": "true"}}});
            let lines = objects.iter().map(|object| line("ADDED", object));
            let lines: String = lines.chain([line("BOOKMARK", &bookmark)]).collect();
            let cluster = self.clone();
            let first = stream::once(async move {
                cluster.pause(15).await;
                cluster.with(|state| state.lists());
                data(lines)
            });
            first.chain(self.live(labels, from, end)).boxed()
        };
        self.pause(15).await;
        self.with(|state| state.lists());
        Response::new(StreamBody::new(body))
    }

    /// Waits until there is something later, or the watches of an era have ended.
    async fn moves(&self, since: u64, era: u64) {
        loop {
            let mut moved = pin!(self.moved.notified());
            moved.as_mut().enable();
            if self.with(|state| state.revision > since || state.era != era) {
                return;
            }
            moved.await;
        }
    }

    /// What has happened since, sooner or later.
    fn live(&self, labels: String, since: u64, end: Instant) -> Chunks {
        let era = self.with(|state| state.era);
        let lag = self.with(|state| [2, 30, 200][state.random.usize(..3)]);
        let start = (self.clone(), since, labels);
        let live = stream::unfold(start, move |(cluster, since, labels)| async move {
            let moves = cluster.moves(since, era);
            let idle = timeout(Duration::from_secs(30), moves).await.is_err();
            cluster.pause(lag).await;
            if Instant::now() >= end {
                return None;
            }
            let (chunk, since) = cluster.with(|state| state.news(&labels, since, era, idle))?;
            Some((chunk, (cluster, since, labels)))
        });
        live.boxed()
    }
}

impl State {
    fn fails(&mut self, of: u32) -> bool {
        self.has_faults && self.random.u32(..of) == 0
    }

    fn lists(&self) {
        if let Some(call) = &self.at_lists {
            call();
        }
    }

    /// The next lines of a watch; `None`: it ends.
    fn news(&mut self, labels: &str, since: u64, era: u64, idle: bool) -> Option<(Chunk, u64)> {
        if self.era != era {
            return None;
        }
        if self.fails(12) {
            let is_clean = self.random.bool();
            return (!is_clean).then(|| (Err(io::ErrorKind::ConnectionReset.into()), since));
        }
        let all = self
            .log
            .iter()
            .filter(|change| change.revision > since)
            .count();
        let count = if self.has_faults {
            self.random.usize(0..=all)
        } else {
            all
        };
        let mut position = since;
        let mut lines = String::new();
        for change in self
            .log
            .iter()
            .filter(|change| change.revision > since)
            .take(count)
        {
            position = change.revision;
            let is_in = |object: &&Value| selects(labels, object);
            let (old, new) = (
                change.old.as_ref().filter(is_in),
                change.new.as_ref().filter(is_in),
            );
            let shown = match (old, new) {
                (None, Some(new)) => line("ADDED", new),
                (Some(_), Some(new)) => line("MODIFIED", new),
                (Some(old), None) => {
                    let mut old = old.clone();
                    old["metadata"]["resourceVersion"] = change.revision.to_string().into();
                    line("DELETED", &old)
                }
                (None, None) => continue,
            };
            lines.push_str(&shown);
        }
        if count == all {
            position = self.revision;
        }
        if idle || self.random.u8(..4) == 0 {
            let metadata = json!({"metadata": {"resourceVersion": position.to_string()}});
            lines.push_str(&line("BOOKMARK", &metadata));
        }
        Some((data(lines), position))
    }

    /// A list, which may come from a replica that lags behind, though not so often that the API server must be another one.
    fn list(&mut self, labels: &str, is_check: bool) -> (String, Vec<Value>) {
        let mut revision = self.revision;
        let is_stale = self.fails(4);
        self.stale.entry(labels.to_owned()).or_default();
        // A check of the version names no labels: it may be that of any cache.
        let caches = self.stale.iter_mut();
        let caches = caches.filter(|(known, _)| is_check || *known == labels);
        let stale: Vec<_> = caches.map(|(_, stale)| stale).collect();
        if is_stale && stale.iter().all(|stale| **stale < 2) {
            for stale in stale {
                *stale += 1;
            }
            revision = revision.saturating_sub(self.random.u64(..6)).max(1);
        }
        let mut objects = BTreeMap::new();
        for change in self.log.iter().filter(|change| change.revision <= revision) {
            objects.insert(&change.name, change.new.clone());
        }
        let objects = objects.into_values().flatten();
        let objects = objects.filter(|object| selects(labels, object)).collect();
        (revision.to_string(), objects)
    }

    pub(super) fn objects(&self) -> &BTreeMap<String, Value> {
        &self.objects
    }

    /// What the last request of an actor has come to: the object, and the version by which it was so.
    pub(super) fn take_applied(&mut self, actor: usize) -> Option<(String, u64)> {
        self.applied.remove(&actor)
    }

    /// Everything before is forgotten, so that watches from then on are refused.
    pub(super) fn compact(&mut self) {
        self.compacted = self.revision.saturating_sub(self.random.u64(..4));
    }

    pub(super) fn end_watches(&mut self) {
        self.era += 1;
    }

    /// Goes back to what was stored a while ago. Versions are given a second time.
    pub(super) fn restore(&mut self) {
        let back = self.random.u64(1..12);
        self.revision = self.revision.saturating_sub(back).max(1);
        self.log.retain(|change| change.revision <= self.revision);
        self.objects.clear();
        for change in &self.log {
            match &change.new {
                Some(object) => self.objects.insert(change.name.clone(), object.clone()),
                None => self.objects.remove(&change.name),
            };
        }
        self.compacted = 0;
        self.era += 1;
    }

    /// Stores a state of an object, and returns the version.
    pub(super) fn store(&mut self, name: &str, new: Option<Value>) -> u64 {
        self.revision += 1;
        let new = new.map(|mut object| {
            object["metadata"]["resourceVersion"] = self.revision.to_string().into();
            object
        });
        let old = match &new {
            Some(object) => self.objects.insert(name.to_owned(), object.clone()),
            None => self.objects.remove(name),
        };
        self.log.push(Change {
            name: name.to_owned(),
            revision: self.revision,
            old,
            new,
        });
        self.revision
    }

    pub(super) fn create(&mut self, name: &str, mut object: Value) -> Value {
        self.uids += 1;
        object["metadata"]["uid"] = format!("uid-{}", self.uids).into();
        object["metadata"]["namespace"] = "default".into();
        self.store(name, Some(object));
        self.objects[name].clone()
    }

    fn write(
        &mut self,
        actor: usize,
        method: &Method,
        path: &str,
        kind: &str,
        body: &Value,
    ) -> (u16, Value) {
        let path = path.trim_start_matches("/api/v1/namespaces/default/configmaps");
        let named = path.trim_start_matches('/').trim_end_matches("/status");
        let name = match named {
            "" => body["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            name => name.to_owned(),
        };
        let answer = self.change(method, kind, &name, body);
        let by = match &answer {
            // What is answered is as it has been since its version.
            (200 | 201, object) if object["kind"] != "Status" => {
                let version = object["metadata"]["resourceVersion"].as_str();
                let version = version.and_then(|version| version.parse().ok());
                let is_stored = self.objects.get(&name) == Some(object);
                version.filter(|_| is_stored).unwrap_or(self.revision)
            }
            // Gone is the object that was meant, and not every other one of its name.
            (404, _) => {
                let uid = &body["preconditions"]["uid"];
                let is_end = |change: &&Change| {
                    let old = change.old.as_ref().map(|old| &old["metadata"]["uid"]);
                    change.new.is_none() && old == Some(uid)
                };
                let end = self.log.iter().find(is_end);
                end.map_or(0, |end| end.revision)
            }
            _ => self.revision,
        };
        self.applied.insert(actor, (name, by));
        answer
    }

    fn change(&mut self, method: &Method, kind: &str, name: &str, body: &Value) -> (u16, Value) {
        let Some(old) = self.objects.get(name).cloned() else {
            let may_create = *method == Method::POST || kind.starts_with("application/apply");
            return if may_create {
                (201, self.create(name, body.clone()))
            } else {
                refusal(404, "NotFound")
            };
        };
        let mut new = old.clone();
        match (method.as_str(), kind) {
            ("POST", _) => return refusal(409, "AlreadyExists"),
            ("DELETE", _) => return self.delete(name, old, body),
            ("PUT", _) => {
                for field in ["data", "status"] {
                    new[field] = body[field].clone();
                }
                new["metadata"]["labels"] = body["metadata"]["labels"].clone();
            }
            (_, "application/json-patch+json") => {
                let patch = serde_json::from_value(body.clone());
                let patch: json_patch::Patch = patch.unwrap_or_default();
                if json_patch::patch(&mut new, &patch).is_err() {
                    return refusal(422, "Invalid");
                }
            }
            _ => json_patch::merge(&mut new, body),
        }
        let version = &body["metadata"]["resourceVersion"];
        if version.is_string() && *version != old["metadata"]["resourceVersion"] {
            return refusal(409, "Conflict");
        }
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        if new == old {
            return (200, old);
        }
        let is_going = !new["metadata"]["deletionTimestamp"].is_null();
        if is_going && !has_finalizers(&new) {
            self.store(name, None);
            return (200, new);
        }
        self.store(name, Some(new));
        (200, self.objects[name].clone())
    }

    fn delete(&mut self, name: &str, old: Value, options: &Value) -> (u16, Value) {
        let uid = &options["preconditions"]["uid"];
        if uid.is_string() && *uid != old["metadata"]["uid"] {
            return refusal(409, "Conflict");
        }
        if has_finalizers(&old) {
            if old["metadata"]["deletionTimestamp"].is_null() {
                let mut new = old;
                new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
                new["metadata"]["deletionGracePeriodSeconds"] = 0.into();
                self.store(name, Some(new));
            }
            return (200, self.objects[name].clone());
        }
        let revision = self.store(name, None);
        if self.random.bool() {
            let details = json!({"name": name, "uid": old["metadata"]["uid"]});
            return (
                200,
                json!({"kind": "Status", "status": "Success", "details": details}),
            );
        }
        // Some API servers answer with the version of the deletion, others with the one before.
        let mut old = old;
        if self.random.bool() {
            old["metadata"]["resourceVersion"] = revision.to_string().into();
        }
        (200, old)
    }
}

pub(super) fn has_finalizers(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|all| !all.is_empty())
}

fn refusal(code: u16, reason: &str) -> (u16, Value) {
    (
        code,
        json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": ""}),
    )
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

fn whole(text: String) -> Chunks {
    stream::iter([data(text)]).boxed()
}
