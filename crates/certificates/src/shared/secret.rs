//! The one Secret: read live, written by compare-and-swap, watched.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures::{Stream, TryStreamExt as _};
use http::StatusCode;
use http::header::DATE;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::client::Body;
use kube::core::params::{GetParams, PostParams, WatchParams};
use kube::core::{PartialObjectMeta, Request as Requests, Status, WatchEvent};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::record::Record;

/// The name under which the API server knows who writes.
pub(crate) const FIELD_MANAGER: &str = "kubewright";

/// How long an answer may take. It is part of what [`skew`](crate::Timing::skew) is for.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a watch lasts. Another one follows, with a look at the Secret: so it is polled, too.
const WATCH: Duration = Duration::from_secs(290);

const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The Secret, in its namespace.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Why a request to the API server failed. It contains the API server's message only if that quotes no values.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another client has written the Secret first.
    Conflict,
    Forbidden(String),
    Other(String),
}

/// What was read, and when by the API server's clock.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) record: Option<Record>,
    pub(crate) server_time: Option<SystemTime>,
}

/// That something may have changed, until it was looked at.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    changed: Notify,
    is_there: AtomicBool,
    /// The version that this replica knows already, from what it has read or written.
    known: Mutex<String>,
}

impl Place {
    pub(crate) async fn read(&self) -> Result<Read, Failure> {
        let request = self.requests().get(&self.name, &GetParams::default());
        let answer = self.ask(request).await?;
        let server_time = answer.server_time;
        let record = match answer.secret()? {
            Ok(secret) => Some(Record::of(secret)),
            Err(status) if status.code == 404 => None,
            Err(status) => return Err(Failure::of(&status)),
        };
        Ok(Read {
            record,
            server_time,
        })
    }

    /// Writes a record where it was read from: it must not have changed since, or must still not be there.
    pub(crate) async fn write(&self, record: &Record) -> Result<Record, Failure> {
        let parameters = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let body = serde_json::to_vec(record.as_secret())
            .map_err(|_| Failure::Other("the Secret cannot be written as JSON".to_owned()))?;
        let request = if record.version().is_empty() {
            self.requests().create(&parameters, body)
        } else {
            self.requests().replace(&self.name, &parameters, body)
        };
        match self.ask(request).await?.secret()? {
            Ok(secret) => Ok(Record::of(secret)),
            // It was deleted meanwhile.
            Err(status) if status.code == 404 && !record.version().is_empty() => {
                Err(Failure::Conflict)
            }
            Err(status) => Err(Failure::of(&status)),
        }
    }

    /// Follows the Secret for ever, and says when there may be something new.
    pub(crate) async fn follow(&self, updates: &Updates) {
        let mut pause = SHORTEST_PAUSE;
        loop {
            match self.watch().await {
                Ok(events) => {
                    // What has happened before the watch began is nothing that it tells of.
                    updates.announce();
                    let mut events = std::pin::pin!(events);
                    let longest = WATCH + REQUEST_TIMEOUT;
                    let listening = async {
                        while let Ok(Some(event)) = events.try_next().await {
                            pause = SHORTEST_PAUSE;
                            match event {
                                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                                    updates.hears(object.metadata.resource_version.as_deref());
                                }
                                WatchEvent::Deleted(_) => updates.hears(None),
                                WatchEvent::Bookmark(_) => {}
                                WatchEvent::Error(_) => break,
                            }
                        }
                    };
                    // A connection that is dead and does not know it.
                    drop(timeout(longest, listening).await);
                    sleep(jittered(pause)).await;
                }
                Err(error) => {
                    tracing::debug!(secret = %self, %error, "cannot watch the Secret");
                    sleep(jittered(pause)).await;
                    // Without a watch it is polled.
                    updates.announce();
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn watch(
        &self,
    ) -> Result<
        impl Stream<Item = kube::Result<WatchEvent<PartialObjectMeta<Secret>>>> + use<>,
        Failure,
    > {
        let seconds = u32::try_from(WATCH.as_secs()).unwrap_or(u32::MAX);
        let parameters = WatchParams::default()
            .fields(&format!("metadata.name={}", self.name))
            .timeout(seconds);
        let request = self
            .requests()
            .watch_metadata(&parameters, "0")
            .map_err(|error| Failure::Other(error.to_string()))?;
        let watching = timeout(REQUEST_TIMEOUT, self.client.request_events(request));
        let events = watching.await.map_err(|_| Failure::late())?;
        events.map_err(|error| Failure::of_call(&error))
    }

    fn requests(&self) -> Requests {
        Requests::new(format!("/api/v1/namespaces/{}/secrets", self.namespace))
    }

    pub(super) async fn ask(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Answer, Failure> {
        let request = request.map_err(|error| Failure::Other(error.to_string()))?;
        let asking = async {
            let answer = self.client.send(request.map(Body::from)).await?;
            let (head, body) = answer.into_parts();
            let date = head.headers.get(DATE);
            Ok(Answer {
                status: head.status,
                server_time: date.and_then(|date| parse(date.to_str().ok()?)),
                body: body.collect_bytes().await?.to_vec(),
            })
        };
        timeout(REQUEST_TIMEOUT, asking)
            .await
            .map_err(|_| Failure::late())?
            .map_err(|error: kube::Error| Failure::of_call(&error))
    }
}

pub(super) struct Answer {
    status: StatusCode,
    server_time: Option<SystemTime>,
    body: Vec<u8>,
}

impl Answer {
    fn secret(self) -> Result<Result<Secret, Box<Status>>, Failure> {
        self.read("Secret")
    }

    /// Reads what was asked for, or why there is none.
    pub(super) fn read<T: DeserializeOwned>(
        self,
        what: &str,
    ) -> Result<Result<T, Box<Status>>, Failure> {
        if self.status.is_success() {
            let object = serde_json::from_slice(&self.body);
            return object
                .map(Ok)
                .map_err(|_| Failure::Other(format!("the answer is no {what}")));
        }
        let status = serde_json::from_slice(&self.body);
        Ok(Err(status.unwrap_or_else(|_| {
            Status::failure("", "")
                .with_code(self.status.as_u16())
                .boxed()
        })))
    }
}

impl Updates {
    /// Waits until there may be something new.
    pub(crate) async fn arrive(&self) {
        self.changed.notified().await;
        self.is_there.store(false, Ordering::Relaxed);
    }

    /// Whether there may be something new already.
    pub(crate) fn has_any(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    fn announce(&self) {
        self.is_there.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    pub(crate) fn knows(&self, version: &str) {
        version.clone_into(&mut self.lock());
    }

    fn hears(&self, version: Option<&str>) {
        if version.is_none_or(|version| *self.lock() != version) {
            self.announce();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, String> {
        self.known
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl From<Box<Status>> for Failure {
    fn from(status: Box<Status>) -> Self {
        Self::of(&status)
    }
}

impl Failure {
    fn of(status: &Status) -> Self {
        let Status {
            code,
            reason,
            message,
            ..
        } = status;
        match code {
            409 => Self::Conflict,
            401 | 403 => Self::Forbidden(message.clone()),
            // They quote what they refuse, which is a Secret.
            400 | 422 => Self::Other(format!("the API server answers {code} {reason}")),
            _ => Self::Other(format!("the API server answers {code} {reason}: {message}")),
        }
    }

    fn of_call(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::of(status),
            kube::Error::SerdeError(_) => Self::Other("the answer cannot be read".to_owned()),
            other => Self::Other(other.to_string()),
        }
    }

    fn late() -> Self {
        Self::Other(format!("no answer within {REQUEST_TIMEOUT:?}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => formatter.write_str("another replica wrote it in the meantime"),
            Self::Forbidden(why) | Self::Other(why) => formatter.write_str(why),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Between half of a pause and all of it: replicas that have lost an API server do not come back to it together.
pub(crate) fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.5 + fastrand::f64() / 2.0)
}

/// Reads the date of an answer, such as `Sun, 22 Nov 2026 08:00:00 GMT`.
fn parse(date: &str) -> Option<SystemTime> {
    let zoned = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date);
    zoned.ok().map(SystemTime::from)
}
