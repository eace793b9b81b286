//! The webhooks under test, served over HTTPS as they are in a cluster.

use std::net::{Ipv4Addr, SocketAddr};

use kubewright_certificates::SelfSigned;
use kubewright_manifests::{Endpoint, Manifests, WebhookConfigurations};
use kubewright_server::Server;
use kubewright_webhook::Webhooks;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::fail;

/// Webhooks behind a socket of their own. They stop when this is dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    manifests: Manifests,
    task: JoinHandle<()>,
    _stop: oneshot::Sender<()>,
}

impl Serving {
    /// Serves on a free port of the loopback interface, with a certificate made on the spot.
    pub(crate) async fn start(webhooks: Webhooks) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let certificates = SelfSigned::for_names(["127.0.0.1"]);
        let server = match Server::new(webhooks.clone(), certificates)
            .listen(address)
            .bind()
            .await
        {
            Ok(server) => server,
            Err(error) => fail(format_args!("the webhooks cannot be served: {error}")),
        };
        let url = format!("https://{}", server.local_addr());
        let endpoint = match Endpoint::url(&url) {
            Ok(endpoint) => endpoint,
            Err(error) => fail(format_args!("{url} is no endpoint: {error}")),
        };
        let configurations = WebhookConfigurations::new("under-test", &webhooks, endpoint)
            .trusting(server.trust().to_pem());
        let manifests = match configurations.build() {
            Ok(manifests) => manifests,
            Err(error) => fail(format_args!("the webhooks cannot be declared: {error}")),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            // A dropped sender is the request to stop.
            let _ = server.run(async move { drop(stopped.await) }).await;
        });
        Self {
            manifests,
            task,
            _stop: stop,
        }
    }

    /// The webhook configurations that lead here.
    pub(crate) fn configurations(&self) -> &[Value] {
        self.manifests.objects()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}
