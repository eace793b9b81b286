//! A key of a ConfigMap as configuration, read through the API and followed while the program runs.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kubewright_controller::{
    Backoff, Cached, Changes, Connection, Informers, Reader, RequestError, Scope,
};
use serde::Deserialize;
use tokio::time::sleep;

use crate::configuration::{BoxFuture, ConfigurationError, Followed, Seen, Source, State};
use crate::sentence::sentence;

/// The ConfigMap and the key that hold a configuration.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Default: the program's own namespace.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) key: String,
}

/// A key of a ConfigMap as the source of a [`Live`](crate::Live) value.
pub(crate) struct Key<T> {
    place: Place,
    source: Source<T>,
}

/// What matters of a ConfigMap.
#[derive(Default, Deserialize)]
struct Content {
    data: Option<BTreeMap<String, String>>,
}

impl Place {
    fn namespace<'a>(&'a self, client: &'a Client) -> &'a str {
        let said = self.namespace.as_deref();
        said.unwrap_or_else(|| client.default_namespace())
    }

    fn seen(&self, data: Option<BTreeMap<String, String>>) -> Seen {
        let text = data.and_then(|mut data| data.remove(&self.key));
        text.map_or(Seen::Missing, |text| Seen::Content(text.into_bytes()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ConfigMap ")?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, "{namespace}/")?;
        }
        write!(formatter, "{}, key {}", self.name, self.key)
    }
}

impl<T> Key<T> {
    pub(crate) fn new(place: Place, source: Source<T>) -> Self {
        Self { place, source }
    }

    async fn read(&self, client: &Client) -> Result<Seen, ConfigurationError> {
        let connection = Connection::new();
        connection.open(client.clone(), "");
        let maps: Reader<ConfigMap> = Reader::new(&connection, Scope::all());
        let at = (self.place.namespace(client), self.place.name.as_str());
        let mut failures = 0;
        loop {
            match maps.get(at).await {
                Ok(map) => return Ok(self.place.seen(map.and_then(|map| map.data))),
                // What the roles do not grant does not pass by waiting, and a rollout should stop there.
                Err(error) if is_final(&error) => return Err(self.unreadable(error)),
                Err(error) => {
                    failures += 1;
                    if u32::is_power_of_two(failures) {
                        let cause = sentence(&error);
                        tracing::warn!(
                            place = self.source.place(),
                            cause,
                            failures,
                            "cannot read the configuration; trying again"
                        );
                    }
                    sleep(BACKOFF.pause(failures)).await;
                }
            }
        }
    }

    async fn follow_changes(mut self, client: Client) {
        let namespace = self.place.namespace(&client).to_owned();
        let scope = Scope::all()
            .in_namespace(&namespace)
            .named(&self.place.name);
        let informers = Informers::new();
        let maps = Cached::<ConfigMap>::new(&informers, scope).decode_as::<Content>();
        let changes = maps.follow((namespace.as_str(), self.place.name.as_str()));
        tokio::select! {
            () = informers.run(client) => {}
            () = self.take(changes) => {}
        }
    }

    async fn take(&mut self, mut changes: Changes<ConfigMap, Content>) {
        loop {
            match changes.next().await {
                Ok(map) => {
                    let seen = self.place.seen(map.and_then(|map| map.data));
                    self.source.take(seen);
                }
                Err(error) => self.source.cannot_read(&self.unreadable(error)),
            }
        }
    }

    fn unreadable(&self, source: impl Error + Send + Sync + 'static) -> ConfigurationError {
        ConfigurationError::Read {
            place: self.source.place().to_owned(),
            source: source.into(),
        }
    }
}

impl<T: Send + Sync + 'static> Followed for Key<T> {
    fn load<'a>(
        &'a mut self,
        client: Option<&'a Client>,
    ) -> BoxFuture<'a, Result<(), ConfigurationError>> {
        Box::pin(async move {
            let client = client.expect("a program that asks for a ConfigMap is given a client");
            let seen = self.read(client).await?;
            self.source.begin(seen)
        })
    }

    fn follow(self: Box<Self>, client: Option<Client>) -> BoxFuture<'static, ()> {
        let client = client.expect("a program that asks for a ConfigMap is given a client");
        Box::pin(self.follow_changes(client))
    }

    fn state(&self) -> Arc<State> {
        self.source.state()
    }
}

fn is_final(error: &RequestError) -> bool {
    let status = error.status();
    status.is_some_and(|status| status.code < 500 && status.code != 429)
}

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(4));
