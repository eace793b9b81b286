//! A program that can be run, in this process or as one of its own.

use std::fmt;
use std::net::SocketAddr;

use kube::Client;
use kubewright_certificates::{CertificateSource, TrustBundle};
use kubewright_controller::ElectionError;
use kubewright_manifests::{Endpoint, ManifestError, Manifests, WebhookConfigurations};
use kubewright_server::{BindError, Bound, ClientCheck, Drain, Readiness, RunError, Server};
use kubewright_webhook::{DeclarationError, Webhooks};

use crate::background::Background;
use crate::logging::Log;
use crate::traces::Continued;
use crate::watch::Watch;
use crate::{App, ConfigurationError, Needs};

/// A program with its handles: it can be served, or its manifests can be written.
///
/// # Example: a whole program inside a test
///
/// ```
/// use kubewright_certificates::SelfSigned;
/// use kubewright_manager::{App, Needs, Program};
/// use kubewright_server::Drain;
/// use kubewright_webhook::Webhooks;
/// use std::time::Duration;
///
/// fn app(_: &mut Needs) -> App {
///     App::new("policy").webhooks(Webhooks::new("policy.example.com"))
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let program = Program::new(app).drain(Drain::default().propagation(Duration::ZERO));
/// let serving = program.bind(([127, 0, 0, 1], 0), SelfSigned::for_names(["127.0.0.1"])).await?;
/// assert_ne!(serving.local_addr().port(), 0);
/// # let shutdown = async {};
/// serving.run(shutdown).await?; // returns when all calls are answered
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[must_use]
pub struct Program {
    app: App,
    needs: Needs,
    drain: Drain,
    client: Option<Client>,
    monitor: Option<SocketAddr>,
    log: Option<Log>,
    clients: Option<ClientCheck>,
}

/// Why a program does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A webhook would never be called as it is declared.
    #[error("cannot serve the webhooks")]
    Webhooks(#[from] DeclarationError),
    /// A configuration file, or a key of a ConfigMap, cannot be used.
    #[error("cannot use the configuration")]
    Configuration(#[from] ConfigurationError),
    /// The times of the election would make two leaders at once, or none.
    #[error("cannot stand for election")]
    Election(#[from] ElectionError),
    /// The program works with objects of a cluster and has no client.
    #[error("cannot reach the cluster: the program was given no client")]
    NoClient,
    /// The program has webhooks and was started without a server.
    #[error(
        "cannot serve the webhooks: the program was started without an address and a certificate"
    )]
    NoServer,
    /// The address for probes and metrics cannot be listened on.
    #[error("cannot answer probes")]
    Monitor(#[source] BindError),
    /// The server cannot listen, or has no certificate to serve.
    #[error("cannot start the server")]
    Server(#[from] BindError),
}

impl Program {
    /// Makes the program's handles and takes what it is made of. Nothing is read or opened yet.
    pub fn new(app: impl FnOnce(&mut Needs) -> App) -> Self {
        let mut needs = Needs::default();
        let app = app(&mut needs);
        for controller in app.controllers() {
            for (kind, scope) in controller.watched() {
                needs.watches(&kind, &scope);
            }
        }
        if let Some(election) = app.election() {
            needs.elects(election);
        }
        needs.log_levels(&app);
        Self {
            app,
            needs,
            drain: Drain::default(),
            client: None,
            monitor: None,
            log: None,
            clients: None,
        }
    }

    /// Has the level of this log follow what the program asked for.
    pub(crate) fn log(mut self, log: Option<Log>) -> Self {
        self.log = log;
        self
    }

    /// Answers probes and tells metrics by plain HTTP at this address, from before anything else begins until all has ended:
    /// `/healthz`, `/livez`, `/readyz` and `/metrics`. Without it, probes are answered where webhooks are, if there are any.
    pub fn monitor(mut self, listen: impl Into<SocketAddr>) -> Self {
        self.monitor = Some(listen.into());
        self
    }

    /// Answers only clients that prove who they are; every client unless set.
    ///
    /// Conversions are answered for every client: API servers show their certificate to admission webhooks only.
    pub fn clients(mut self, check: ClientCheck) -> Self {
        self.clients = Some(check);
        self
    }

    /// Sets the client by which the program reaches the cluster.
    pub fn client(mut self, client: Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Returns whether the program works with objects of a cluster, and so needs a client.
    pub fn needs_client(&self) -> bool {
        !self.needs.permissions.is_empty()
    }

    /// Writes the definitions of the custom resources that the program works with.
    #[must_use]
    pub fn crds(&self) -> Manifests {
        self.app.crds().iter().cloned().collect()
    }

    /// Writes the roles that grant what the program asked for, and nothing else.
    #[must_use]
    pub fn permissions(&self) -> Manifests {
        self.needs.permissions.manifests(self.app.name())
    }

    /// Writes the bindings that give the roles of [`Self::permissions`] to a service account.
    #[must_use]
    pub fn bindings(&self, namespace: &str, service_account: &str) -> Manifests {
        let permissions = &self.needs.permissions;
        permissions.bindings(self.app.name(), namespace, service_account)
    }

    /// Sets how the program stops.
    pub fn drain(mut self, drain: Drain) -> Self {
        self.drain = drain;
        self
    }

    /// Returns what the program is made of.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Writes the program's manifests, for an API server that reaches it at `endpoint` and trusts
    /// the certificates in `trust`, or its own machine's without them.
    ///
    /// # Errors
    ///
    /// When the API server would not accept a webhook, a name or the certificates.
    pub fn manifests(
        &self,
        endpoint: Endpoint,
        trust: Option<&TrustBundle>,
    ) -> Result<Manifests, ManifestError> {
        manifests(&self.app, endpoint, trust)
    }

    /// Loads what the program asked for, waits for the first certificate and opens the port.
    ///
    /// # Errors
    ///
    /// When a webhook is declared in a way that no API server accepts, a configuration file
    /// cannot be used, there is no client and one is needed, the port cannot be opened, or the
    /// certificate cannot be served.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened; the program is gone with it.
    pub async fn bind<C: CertificateSource>(
        mut self,
        listen: impl Into<SocketAddr>,
        certificates: C,
    ) -> Result<Serving<C>, StartError> {
        self.app.hooks().check()?;
        let (app, drain, clients) = (self.app.clone(), self.drain, self.clients.take());
        let readiness = app.readiness();
        let background = self.background(&readiness).await?;
        let server = Server::new(Continued(app.hooks().clone()), certificates)
            .readiness(readiness)
            .liveness(app.liveness());
        let server = match clients {
            Some(check) => server.clients(check.except_at(conversion_paths(&app))),
            None => server,
        };
        let bound = server.listen(listen).drain(drain).bind().await?;
        let metrics = background.metrics();
        metrics.server(bound.counters(), bound.identity());
        Ok(Serving {
            app,
            background,
            bound,
        })
    }

    /// Loads what a program without webhooks asked for.
    ///
    /// # Errors
    ///
    /// When a configuration file cannot be used, there is no client and one is needed, or the
    /// program has webhooks, for which it has to be [bound](Self::bind).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the program.
    pub async fn start(self) -> Result<Started, StartError> {
        if self.app.has_webhooks() {
            return Err(StartError::NoServer);
        }
        let readiness = self.app.readiness();
        let background = self.background(&readiness).await?;
        Ok(Started {
            background,
            readiness,
        })
    }

    async fn background(mut self, readiness: &Readiness) -> Result<Background, StartError> {
        if let Some(election) = self.app.election() {
            election.check()?;
        }
        let watch = Watch::start(&self.app, readiness, self.monitor);
        let watch = watch.await.map_err(StartError::Monitor)?;
        if self.needs_client() && self.client.is_none() {
            return Err(StartError::NoClient);
        }
        self.client = self.client.map(|client| watch.observe(client));
        for source in &mut self.needs.configuration {
            source.load(self.client.as_ref()).await?;
        }
        Ok(Background::new(
            &self.app,
            self.needs,
            self.client,
            self.drain,
            readiness,
            watch,
            self.log,
        ))
    }
}

/// A program whose port is open: calls wait until it runs.
#[must_use]
pub struct Serving<C> {
    app: App,
    background: Background,
    bound: Bound<Continued<Webhooks>, C>,
}

/// A program without webhooks that has loaded what it needs.
#[derive(Debug)]
#[must_use]
pub struct Started {
    background: Background,
    readiness: Readiness,
}

impl Started {
    /// Returns the address at which probes are answered, if there is one.
    pub fn monitor_addr(&self) -> Option<SocketAddr> {
        self.background.monitor_addr()
    }

    /// Returns whether everything that the program works with is complete.
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    /// Runs until `shutdown` resolves and the reconciles at hand are done.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the program at once, reconciles at hand included.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let mut running = self.background.run();
        running.begin();
        shutdown.await;
        running.stop_controllers(1).await;
    }
}

impl<C: CertificateSource> Serving<C> {
    /// Returns the address that it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.bound.local_addr()
    }

    /// Returns the address at which probes are answered by plain HTTP, if there is one.
    pub fn monitor_addr(&self) -> Option<SocketAddr> {
        self.background.monitor_addr()
    }

    /// Returns the certificates that clients must trust now.
    pub fn trust(&self) -> TrustBundle {
        self.bound.trust()
    }

    /// Writes the program's manifests, for an API server that reaches it at `endpoint`, with the
    /// trust that its certificate needs.
    ///
    /// # Errors
    ///
    /// When the API server would not accept a name.
    pub fn manifests(&self, endpoint: Endpoint) -> Result<Manifests, ManifestError> {
        manifests(&self.app, endpoint, Some(&self.trust()))
    }

    /// Returns whether calls should be sent here: the server serves, and the caches are complete.
    pub fn readiness(&self) -> Readiness {
        self.bound.readiness()
    }

    /// Serves until `shutdown` resolves and the calls and reconciles at hand are done.
    ///
    /// # Errors
    ///
    /// When calls were still in flight at the end of the grace.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the program at once, without an answer to the calls in flight.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let mut running = self.background.run();
        let stopped = async {
            // This is looked at as soon as calls are served.
            running.begin();
            shutdown.await;
            // What the last reconciles write may concern these webhooks, so that calls are answered meanwhile.
            running.stop_controllers(2).await
        };
        self.bound.run_since(stopped).await
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Program")
            .field("app", &self.app)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for Serving<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Serving")
            .field("app", &self.app)
            .field("local_addr", &self.bound.local_addr())
            .finish_non_exhaustive()
    }
}

fn conversion_paths(app: &App) -> Vec<String> {
    let conversions = app.hooks().conversions();
    conversions
        .into_iter()
        .map(|conversion| conversion.path)
        .collect()
}

fn manifests(
    app: &App,
    endpoint: Endpoint,
    trust: Option<&TrustBundle>,
) -> Result<Manifests, ManifestError> {
    let configurations =
        WebhookConfigurations::new(app.configuration_name(), app.hooks(), endpoint);
    match trust.filter(|trust| !trust.is_empty()) {
        Some(trust) => configurations.trusting(trust.to_pem()).build(),
        None => configurations.build(),
    }
}
