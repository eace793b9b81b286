//! etcd as the backend of a store.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use kubewright_storage::{BackendError, Committed, Feed, Loaded, RevisionFuture, SharedBackend};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Duration;

use crate::client::Client;
use crate::compactor::compact_every;
use crate::connect::Members;
use crate::grpc::CallError;
use crate::log::{self, Keys};
use crate::message::{Compare, Then};
use crate::options::EtcdOptions;

/// Keeps the objects of API servers in etcd, for all of them.
///
/// It has a thread of its own for the connection, so that a store may wait for it on any thread.
#[derive(Debug)]
pub struct EtcdBackend {
    client: Arc<Client>,
    keys: Keys,
    runtime: Handle,
    revisions: mpsc::UnboundedSender<oneshot::Sender<Result<u64, CallError>>>,
    /// Its drop ends the thread.
    _running: oneshot::Sender<()>,
}

impl EtcdBackend {
    /// Connects to etcd.
    ///
    /// # Errors
    /// An option is invalid, or no server answers.
    pub fn connect(options: EtcdOptions) -> Result<Self, BackendError> {
        let client = Arc::new(Client::new(Members::new(&options)?));
        let starting = |cause| BackendError::new("starting the client of etcd", cause);
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(starting)?;
        let handle = runtime.handle().clone();
        let (running, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("etcd".to_owned());
        let run = move || {
            // It ends with an error: the other end is dropped.
            let _ = runtime.block_on(stopped);
        };
        thread.spawn(run).map_err(starting)?;
        let EtcdOptions {
            servers, prefix, ..
        } = options;
        let keys = Keys::new(&prefix);
        let (revisions, asked) = mpsc::unbounded_channel();
        let backend = Self {
            client: client.clone(),
            keys: keys.clone(),
            runtime: handle,
            revisions,
            _running: running,
        };
        backend
            .runtime
            .spawn(answer_revisions(client.clone(), keys.clone(), asked));
        let first = async move { client.range(&keys.nothing()).await.map(drop) };
        backend.wait(first).map_err(|cause| {
            BackendError::new(
                format!("connecting to etcd at {}", servers.join(",")),
                cause,
            )
        })?;
        Ok(backend)
    }

    /// Runs a call on the thread of the connection, and waits for its outcome.
    fn wait<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, CallError>> + Send + 'static,
    ) -> Result<T, CallError> {
        let (answer, answered) = sync_channel(1);
        self.runtime.spawn(async move {
            // The caller waits.
            let _ = answer.send(call.await);
        });
        let is_over = |_| Err(CallError::Lost("the client has ended".to_owned()));
        answered.recv().unwrap_or_else(is_over)
    }
}

impl SharedBackend for EtcdBackend {
    fn load(&self) -> Result<Loaded, BackendError> {
        let (client, keys) = (self.client.clone(), self.keys.clone());
        self.wait(async move { log::load(&client, &keys).await })
            .map_err(|cause| BackendError::new("reading the objects in etcd", cause))
    }

    fn follow(&self, after: u64, feed: Feed) {
        let follow = log::follow(self.client.clone(), self.keys.clone(), after, feed);
        self.runtime.spawn(follow);
    }

    fn commit(
        &self,
        key: &str,
        expected: Option<u64>,
        value: Option<&[u8]>,
    ) -> Result<Committed, BackendError> {
        let client = self.client.clone();
        let (key, value) = (self.keys.of(key), value.map(<[u8]>::to_vec));
        let call = async move {
            let compare = Compare::ModRevision(expected.unwrap_or_default());
            let then = value.as_deref().map_or(Then::Delete, Then::Put);
            client.txn(&key, compare, then).await
        };
        let outcome = self
            .wait(call)
            .map_err(|cause| BackendError::new("writing to etcd", cause))?;
        Ok(if outcome.succeeded {
            Committed::At(outcome.revision)
        } else {
            // Revisions beyond the last change of the key need not be in the log.
            Committed::Raced(
                outcome
                    .found
                    .map_or(outcome.revision, |found| found.mod_revision),
            )
        })
    }

    fn revision(&self) -> RevisionFuture {
        let (answer, answered) = oneshot::channel();
        let is_asked = self.revisions.send(answer).is_ok();
        Box::pin(async move {
            let reading = |cause| BackendError::new("reading the revision of etcd", cause);
            let is_over = || CallError::Lost("the client has ended".to_owned());
            if !is_asked {
                return Err(reading(is_over()));
            }
            let answer = answered.await.unwrap_or_else(|_| Err(is_over()));
            answer.map_err(reading)
        })
    }

    fn request_progress(&self) {
        self.client.request_progress();
    }

    fn compact_every(&self, interval: Duration, feed: Feed) {
        let compact = compact_every(self.client.clone(), interval, feed);
        self.runtime.spawn(compact);
    }
}

/// Answers all that ask while one question is under way by the next one.
async fn answer_revisions(
    client: Arc<Client>,
    keys: Keys,
    mut asked: mpsc::UnboundedReceiver<oneshot::Sender<Result<u64, CallError>>>,
) {
    while let Some(first) = asked.recv().await {
        let mut waiting = vec![first];
        while let Ok(next) = asked.try_recv() {
            waiting.push(next);
        }
        let answer = client.range(&keys.nothing()).await;
        let answer = answer.map(|response| response.revision);
        for client in waiting {
            // A caller that has given up needs no answer.
            let _ = client.send(answer.clone());
        }
    }
}
