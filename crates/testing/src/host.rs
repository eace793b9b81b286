//! The API server behind a test cluster.

use std::env;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use kube::Client;
use kubewright_apiserver::admission::AdmissionPlugin;
use kubewright_apiserver::{ApiServer, Controllers, KubernetesVersion, Listening, Snapshot};
use serde_json::Value;
use tower::Layer as _;

use crate::apply::apply;
use crate::fail;
use crate::faults::WayLayer;
use crate::outcome::Outcome;
use crate::server::Server;
use crate::shared::Shared;
use crate::user::{acting_as, known_by_token};
use crate::witness::WitnessLayer;

/// An API server, or a part of one.
#[derive(Debug)]
pub(crate) enum Host {
    Embedded {
        server: ApiServer,
        listening: Option<Listening>,
    },
    Shared(Box<Shared>),
}

/// What is set about an embedded API server.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) version: KubernetesVersion,
    pub(crate) controllers: Controllers,
    pub(crate) plugins: Vec<AdmissionPlugin>,
    pub(crate) write_latency: Duration,
    pub(crate) snapshot: Option<Snapshot>,
}

impl Host {
    pub(crate) async fn start(
        server: Server,
        listen: bool,
        Settings {
            version,
            controllers,
            plugins,
            write_latency,
            snapshot,
        }: Settings,
    ) -> Self {
        match server {
            Server::Embedded => {
                // As on a real API server, so that a test that passes here passes there.
                let mut builder = ApiServer::builder()
                    .emulated_version(version)
                    .controllers(controllers)
                    .enable_admission_plugins(plugins)
                    .rbac()
                    .write_latency(write_latency);
                if let Some(snapshot) = snapshot {
                    builder = builder.snapshot(snapshot);
                }
                let server = builder.start();
                let listening = if listen {
                    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                    match server.listen(address).await {
                        Ok(listening) => Some(listening),
                        Err(error) => fail(format_args!("the test cluster cannot listen: {error}")),
                    }
                } else {
                    None
                };
                Self::Embedded { server, listening }
            }
            Server::Real | Server::Existing if version != KubernetesVersion::default() => {
                fail(format_args!(
                    "only the embedded API server emulates Kubernetes {version}: build the test cluster with `.on(Server::Embedded)`"
                ))
            }
            Server::Real if controllers != Controllers::none() => fail(format_args!(
                "a real API server alone has no controllers: build the test cluster with `.on(Server::Embedded)`"
            )),
            Server::Real if !plugins.is_empty() => fail(format_args!(
                "the real API server of the tests has the admission plugins that envtest gives it: build the test cluster with `.on(Server::Embedded)`"
            )),
            Server::Real | Server::Existing if snapshot.is_some() => fail(format_args!(
                "only the embedded API server starts with a snapshot: build the test cluster with `.on(Server::Embedded)`"
            )),
            Server::Real => Self::Shared(Box::new(Shared::real().await)),
            Server::Existing => Self::Shared(Box::new(Shared::existing().await)),
        }
    }

    /// Every object, if the API server is embedded.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        match self {
            Self::Embedded { server, .. } => Some(server.snapshot()),
            Self::Shared(_) => None,
        }
    }

    /// A client with all permissions, or with those of a user.
    pub(crate) fn client(&self, user: Option<(&str, &[&str])>) -> Client {
        match (self, user) {
            (Self::Embedded { server, .. }, None) => {
                Client::new(server.service(), DEFAULT_NAMESPACE)
            }
            (Self::Embedded { server, .. }, Some((name, groups))) => {
                Client::new(acting_as(server.service(), name, groups), DEFAULT_NAMESPACE)
            }
            (Self::Shared(shared), None) => shared.client(),
            (Self::Shared(shared), Some((name, groups))) => shared.client_as(name, groups),
        }
    }

    /// A client that is known by the token of a service account, and witnessed; faults befall it.
    pub(crate) fn client_of_account(
        &self,
        token: &str,
        way: &WayLayer,
        witness: &WitnessLayer,
    ) -> Client {
        match self {
            Self::Embedded { server, .. } => {
                let service = way.layer(known_by_token(server.service(), token));
                Client::new(witness.layer(service), DEFAULT_NAMESPACE)
            }
            Self::Shared(shared) => shared.client_of_account(token, way, witness),
        }
    }

    /// A client with all permissions that faults befall.
    pub(crate) fn client_under_test(&self, way: &WayLayer) -> Client {
        match self {
            Self::Embedded { server, .. } => {
                Client::new(way.layer(server.service()), DEFAULT_NAMESPACE)
            }
            Self::Shared(shared) => shared.client_under_test(way),
        }
    }

    /// A role or a binding under a name that no other test cluster uses, where others can see it.
    pub(crate) fn renamed(&self, object: &Value) -> Value {
        match self {
            Self::Embedded { .. } => object.clone(),
            Self::Shared(shared) => shared.isolation().renamed(object),
        }
    }

    /// Removes an object of a program's account with the cluster, where it would stay.
    pub(crate) fn remove_later(&self, object: &Value) {
        if let Self::Shared(shared) = self {
            shared.remove_access_later(object);
        }
    }

    /// The namespace of objects that name none.
    pub(crate) fn namespace(&self) -> String {
        match self {
            Self::Embedded { .. } => DEFAULT_NAMESPACE.to_owned(),
            Self::Shared(shared) => shared.namespace(),
        }
    }

    /// The name that a webhook configuration has here, if it is another.
    pub(crate) fn configuration(&self, name: &str) -> Option<String> {
        match self {
            Self::Embedded { .. } => None,
            Self::Shared(shared) => Some(shared.isolation().own(name)),
        }
    }

    /// Installs a webhook configuration.
    pub(crate) async fn install(&self, client: &Client, configuration: &Value) {
        match self {
            Self::Embedded { .. } => {
                Outcome::new(apply(client, DEFAULT_NAMESPACE, configuration).await)
                    .expect_allowed();
            }
            Self::Shared(shared) => shared.install(configuration).await,
        }
    }

    /// Waits until the webhooks of a configuration that was installed are called.
    pub(crate) async fn called(&self, configuration: &Value) {
        if let Self::Shared(shared) = self {
            shared.called(configuration).await;
        }
    }

    /// Changes an object so that it belongs to the test cluster, where that has to be said.
    pub(crate) fn mark(&self, object: &mut Value) {
        if let Self::Shared(shared) = self {
            shared.isolation().mark(object);
        }
    }

    #[track_caller]
    pub(crate) fn kubeconfig(&self) -> String {
        match self {
            Self::Embedded {
                listening: Some(listening),
                ..
            } => listening.kubeconfig(),
            Self::Embedded { .. } => fail(format_args!(
                "the cluster has no socket: build it with `.listen()`"
            )),
            Self::Shared(shared) => shared.kubeconfig().to_owned(),
        }
    }
}

/// The address that webhooks under test listen on, and are called at.
pub(crate) fn webhook_address(server: Server) -> IpAddr {
    match (server, env::var(ADDRESS)) {
        (Server::Existing, Ok(address)) => address.parse().unwrap_or_else(|_| {
            fail(format_args!(
                "{ADDRESS} is {address:?}, which is no IP address"
            ))
        }),
        _ => Ipv4Addr::LOCALHOST.into(),
    }
}

const ADDRESS: &str = "KUBEWRIGHT_TEST_ADDRESS";
const DEFAULT_NAMESPACE: &str = "default";
