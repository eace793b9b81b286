//! One Lease on an API server: what is read from it and written to it, and what a watch tells of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::core::Request as Requests;
use kube::core::params::{GetParams, PostParams};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

use super::record::Record;
use crate::handles::ask;
use crate::informer::{Informers, Subscription};
use crate::{Kind, Scope};

/// Where a Lease is.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) client: Client,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

/// The Lease as the watch has last seen it; `None`: it is deleted.
pub(crate) struct Updates {
    pub(crate) latest: watch::Receiver<Option<Record>>,
    _subscription: Subscription,
}

/// Why the API server did not do what it was asked.
pub(crate) enum Failure {
    NotFound,
    /// The Lease is not in the state that was claimed.
    Outrun,
    Other(String),
}

impl Place {
    /// The record of the Lease before it exists.
    pub(crate) fn absent(&self) -> Record {
        Record::absent(&self.namespace, &self.name)
    }

    /// Follows the Lease as long as the informers run.
    pub(crate) fn updates(&self, informers: &Informers) -> Updates {
        let scope = Scope::all()
            .in_namespace(&*self.namespace)
            .named(&*self.name);
        let (sender, latest) = watch::channel(None);
        let subscription = informers
            .informer(Kind::of::<Lease>(), scope)
            .subscribe(move |delta| {
                let record = delta
                    .new
                    .as_ref()
                    .map(|entry| entry.decode().map(Record::of));
                match record.transpose() {
                    Ok(record) => drop(sender.send_replace(record)),
                    Err(error) => tracing::error!(%error, "cannot read the Lease"),
                }
            });
        Updates {
            latest,
            _subscription: subscription,
        }
    }

    pub(crate) async fn get(&self, patience: Duration) -> Result<Record, Failure> {
        let request = self.requests().get(&self.name, &GetParams::default());
        self.ask(request, patience).await
    }

    /// Creates the Lease, or replaces it if it is still in the state of the record.
    pub(crate) async fn store(
        &self,
        record: &Record,
        is_there: bool,
        patience: Duration,
    ) -> Result<Record, Failure> {
        let body = record.as_json().to_string().into_bytes();
        let parameters = PostParams::default();
        let request = if is_there {
            self.requests().replace(&self.name, &parameters, body)
        } else {
            self.requests().create(&parameters, body)
        };
        self.ask(request, patience).await
    }

    async fn ask(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
        patience: Duration,
    ) -> Result<Record, Failure> {
        match timeout(patience, ask::<Value>(&self.client, request)).await {
            Ok(Ok(lease)) => Ok(Record::of(lease)),
            Ok(Err(error)) => Err(Failure::of(&error)),
            Err(_) => Err(Failure::Other(format!("no answer within {patience:?}"))),
        }
    }

    fn requests(&self) -> Requests {
        Requests::new(Kind::of::<Lease>().path(Some(&self.namespace)))
    }
}

impl Failure {
    fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == StatusCode::NOT_FOUND => Self::NotFound,
            kube::Error::Api(status) if status.code == StatusCode::CONFLICT => Self::Outrun,
            other => Self::Other(other.to_string()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}
