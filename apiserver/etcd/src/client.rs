//! A client of etcd: ranges, transactions, compactions and a watch.

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Duration, timeout};

use crate::connect::Members;
use crate::grpc::{CallError, Responses};
use crate::message::{
    Compare, Range, RangeResponse, Then, TxnResponse, WatchResponse, compact, progress, txn, watch,
};
use crate::wire::Malformed;

/// etcd gives up a request after seven seconds by itself.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Client {
    members: Members,
    /// The requests of the watch, while there is one.
    watching: Mutex<Option<mpsc::UnboundedSender<Vec<u8>>>>,
}

/// A watch that has begun.
#[derive(Debug)]
pub(crate) struct Watching(Responses);

impl Client {
    pub(crate) fn new(members: Members) -> Self {
        Self {
            members,
            watching: Mutex::default(),
        }
    }

    pub(crate) async fn range(&self, range: &Range<'_>) -> Result<RangeResponse, CallError> {
        let response = self.call("/etcdserverpb.KV/Range", range.encode()).await?;
        RangeResponse::decode(&response).map_err(CallError::from)
    }

    pub(crate) async fn txn(
        &self,
        key: &[u8],
        compare: Compare,
        then: Then<'_>,
    ) -> Result<TxnResponse, CallError> {
        let message = txn(key, compare, then);
        let response = self.call("/etcdserverpb.KV/Txn", message).await?;
        TxnResponse::decode(&response).map_err(CallError::from)
    }

    pub(crate) async fn compact(&self, revision: u64) -> Result<(), CallError> {
        let call = self.call("/etcdserverpb.KV/Compact", compact(revision));
        call.await.map(drop)
    }

    pub(crate) async fn watch(
        &self,
        key: &[u8],
        end: &[u8],
        start_revision: u64,
    ) -> Result<Watching, CallError> {
        let channel = self.members.channel().await?;
        let (requests, receiver) = mpsc::unbounded_channel();
        // The receiver is at the other end: it is sent with the call.
        let _ = requests.send(watch(key, end, start_revision));
        let responses = channel
            .stream("/etcdserverpb.Watch/Watch", receiver)
            .await?;
        *self.watching.lock() = Some(requests);
        Ok(Watching(responses))
    }

    /// Asks the watch, if there is one, how far it has come.
    pub(crate) fn request_progress(&self) {
        if let Some(requests) = &*self.watching.lock() {
            // A watch that has ended begins anew, and asks for nothing.
            let _ = requests.send(progress());
        }
    }

    async fn call(&self, path: &str, message: Vec<u8>) -> Result<Bytes, CallError> {
        let call = async {
            let channel = self.members.channel().await?;
            match channel.unary(path, message.clone()).await {
                // The connection ended while it was idle.
                Err(CallError::NotSent(_)) => {
                    self.members.channel().await?.unary(path, message).await
                }
                outcome => outcome,
            }
        };
        let out_of_time = || CallError::Lost("etcd did not answer in time".to_owned());
        let answered = timeout(CALL_TIMEOUT, call).await;
        answered.unwrap_or_else(|_| Err(out_of_time()))
    }
}

impl Watching {
    /// Returns the next response; none when the stream has ended.
    pub(crate) async fn next(&mut self) -> Result<Option<WatchResponse>, CallError> {
        let Some(message) = self.0.next().await? else {
            return Ok(None);
        };
        Ok(Some(WatchResponse::decode(&message)?))
    }
}

impl From<Malformed> for CallError {
    fn from(_: Malformed) -> Self {
        Self::Lost("a response is malformed".to_owned())
    }
}
