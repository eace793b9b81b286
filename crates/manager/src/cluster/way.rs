//! The way to the API server of another cluster: its handles have one client, whatever the credentials are at the moment.

use std::sync::Arc;

use kube::Client;
use kube::client::Body;
use tokio::sync::watch;
use tower::BoxError;

/// Where requests go at the moment; nowhere: they fail.
pub(super) struct Way(watch::Sender<Option<Client>>);

/// A request was not sent.
#[derive(Debug, thiserror::Error)]
#[error("the program has no kubeconfig of the cluster `{0}` any more")]
struct NoKubeconfig(Arc<str>);

impl Way {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Has every request from now on go by this client. Those that are under way come to their end.
    pub(super) fn lead(&self, client: Option<Client>) {
        self.0.send_replace(client);
    }

    /// A client whose requests go where the way leads when they are sent.
    pub(super) fn client(&self, cluster: &Arc<str>, namespace: &str) -> Client {
        let (clients, cluster) = (self.0.subscribe(), Arc::clone(cluster));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (client, cluster) = (clients.borrow().clone(), Arc::clone(&cluster));
            async move {
                let client = client.ok_or(NoKubeconfig(cluster))?;
                client.send(request).await.map_err(BoxError::from)
            }
        });
        Client::new(service, namespace)
    }
}
