//! A program that can be run, in this process or as one of its own.

use std::fmt;
use std::net::SocketAddr;

use kube::Client;
use kubewright_certificates::{CertificateSource, SharedSource, TrustBundle};
use kubewright_controller::ElectionError;
use kubewright_manifests::{
    Endpoint, ManifestError, Manifests, Permissions, PolicyRule, WebhookConfigurations,
};
use kubewright_server::{BindError, Bound, ClientCheck, Drain, Readiness};
use kubewright_webhook::{DeclarationError, Webhooks};

use crate::background::Background;
use crate::logging::Log;
use crate::opening::Opening;
use crate::recorder::Recorder;
use crate::tasks::Panicked;
use crate::tls::Tls;
use crate::traces::Continued;
use crate::trust::{Target, Teller};
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
    recorder: Option<Recorder>,
    log: Option<Log>,
    tls: Tls,
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
    /// The program was to be served with an authority of its own, and has none.
    #[error("cannot serve without a certificate: the program has no authority of its own")]
    NoAuthority,
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
    /// A part of the program has panicked before it could serve.
    #[error("cannot go on: {0} has panicked")]
    Panicked(&'static str),
}

/// Why a program did not end as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The server could not stop cleanly.
    #[error(transparent)]
    Server(#[from] kubewright_server::RunError),
    /// A part of the program has panicked, such as its caches or its controllers, so that it could not go on. It was stopped
    /// as if it had been told to: calls were answered to the end.
    #[error("cannot go on: {0} has panicked")]
    Panicked(&'static str),
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
            recorder: None,
            log: None,
            tls: Tls::default(),
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

    /// Keeps every review that is answered.
    pub(crate) fn recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Answers only clients that prove who they are; every client unless set.
    ///
    /// Conversions are answered for every client: API servers show their certificate to admission webhooks only.
    pub fn clients(mut self, check: ClientCheck) -> Self {
        self.tls.clients = Some(check);
        self
    }

    /// Accepts TLS 1.2 too; only TLS 1.3 unless told so.
    pub fn accept_tls12(mut self) -> Self {
        self.tls.accepts_tls12 = true;
        self
    }

    /// Sets the client by which the program reaches the cluster.
    pub fn client(mut self, client: Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the name of the webhook configurations, as [`App::configuration`] does: for a cluster where they cannot have the
    /// name that the program gives them.
    pub fn configuration(mut self, name: impl Into<String>) -> Self {
        self.app = self.app.configuration(name);
        self
    }

    /// Has the certificates of the program's own authority also stand for these DNS names and IP addresses: for a place where
    /// it is reached on another way than in a cluster.
    pub fn reached_as(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        if let Some(authority) = self.app.authority().cloned() {
            self.app = self.app.certificates(authority.also_for(names));
        }
        self
    }

    pub(crate) fn map_app(mut self, change: impl FnOnce(App) -> App) -> Self {
        self.app = change(self.app);
        self
    }

    /// Returns whether the program works with objects of a cluster, and so needs a client.
    pub fn needs_client(&self) -> bool {
        !self.granted().is_empty()
    }

    /// Whether it needs one when it is given its certificate.
    pub(crate) fn needs_client_besides_authority(&self) -> bool {
        !self.needs.permissions.is_empty() || !self.needs.upkeep.is_empty() || self.publishes()
    }

    fn publishes(&self) -> bool {
        self.app.publish().is_some() && !Target::all_of(&self.app).is_empty()
    }

    /// Writes the definitions of the custom resources that the program works with, each with all its versions. How the versions
    /// are converted depends on where the program is reached, and is written by [`Self::manifests`] and [`Self::deployment`].
    #[must_use]
    pub fn crds(&self) -> Manifests {
        let mut crds = self.app.crds().to_vec();
        for conversion in self.app.hooks().conversions() {
            let name = conversion.definition["metadata"]["name"].clone();
            let mut known = crds.iter_mut();
            match known.find(|crd| crd["metadata"]["name"] == name) {
                Some(crd) => *crd = conversion.definition,
                None => crds.push(conversion.definition),
            }
        }
        crds.into_iter().collect()
    }

    /// Writes the roles that grant what the program asked for, and nothing else.
    #[must_use]
    pub fn permissions(&self) -> Manifests {
        self.granted().manifests(self.app.name())
    }

    /// Writes the bindings that give the roles of [`Self::permissions`] to a service account.
    #[must_use]
    pub fn bindings(&self, namespace: &str, service_account: &str) -> Manifests {
        let permissions = self.granted();
        permissions.bindings(self.app.name(), namespace, service_account)
    }

    /// Writes the part of [`Self::permissions`] that leader election and the rotation of certificates use from time to time:
    /// no single test can make a program use all of it.
    #[must_use]
    pub fn upkeep_permissions(&self) -> Manifests {
        self.upkeep().manifests(self.app.name())
    }

    /// What the handles may do, and what upkeep takes.
    pub(crate) fn granted(&self) -> Permissions {
        let mut permissions = self.needs.permissions.clone();
        permissions.add(self.upkeep());
        permissions
    }

    fn upkeep(&self) -> Permissions {
        let mut permissions = self.needs.upkeep.clone();
        if self.app.publish().is_some() || self.app.authority().is_some() {
            for target in Target::all_of(&self.app) {
                permissions.grant(None, target.rule());
            }
        }
        if let Some(authority) = self.app.authority() {
            let secret = |verbs: &[&str]| PolicyRule::new("", "secrets", verbs.to_vec());
            let kept = secret(&["get", "watch", "update"]).named(authority.secret());
            let told = PolicyRule::new("events.k8s.io", "events", ["create"]);
            if !authority.expects_secret() {
                permissions.grant_in_own_namespace(secret(&["create"]));
            }
            for rule in [kept, told] {
                permissions.grant_in_own_namespace(rule);
            }
        }
        permissions
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
        self,
        listen: impl Into<SocketAddr>,
        certificates: C,
    ) -> Result<Serving<C>, StartError> {
        self.app.hooks().check()?;
        let publish = self.app.publish().filter(|_| self.publishes()).cloned();
        let needs_client = self.needs_client_besides_authority();
        let mut opening = self.open(needs_client).await?;
        let publishing = publish.map(|publish| (publish, opening.publishing(&Teller::silent())));
        let mut serving = opening.bind(listen.into(), certificates).await?;
        if let Some((publish, publishing)) = publishing {
            let identity = serving.bound.identity();
            publishing.follow(publish, identity, serving.background.others());
        }
        Ok(serving)
    }

    /// Loads what the program asked for, has its own authority sign a certificate and opens the port. See
    /// [`App::certificates`].
    ///
    /// # Errors
    ///
    /// As for [`bind`](Self::bind), and when the program has no authority of its own. One that cannot sign yet, as when the API
    /// server is away, is waited for.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened; the program is gone with it.
    pub async fn bind_with_authority(
        self,
        listen: impl Into<SocketAddr>,
    ) -> Result<Serving<SharedSource>, StartError> {
        self.app.hooks().check()?;
        let authority = self.app.authority().cloned();
        let authority = authority.ok_or(StartError::NoAuthority)?;
        let mut opening = self.open(true).await?;
        let (source, board) = opening.rotate(&authority);
        let serving = opening.bind(listen.into(), source).await?;
        board.serves(serving.bound.identity());
        Ok(serving)
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
        let needs_client = self.needs_client_besides_authority();
        let background = self.background(&readiness, needs_client).await?;
        Ok(Started {
            background,
            readiness,
        })
    }

    async fn open(mut self, needs_client: bool) -> Result<Opening, StartError> {
        let (app, drain, tls) = (self.app.clone(), self.drain, std::mem::take(&mut self.tls));
        let readiness = app.readiness();
        let background = self.background(&readiness, needs_client).await?;
        Ok(Opening {
            app,
            drain,
            readiness,
            background,
            tls,
            status: None,
        })
    }

    async fn background(
        mut self,
        readiness: &Readiness,
        needs_client: bool,
    ) -> Result<Background, StartError> {
        if let Some(election) = self.app.election() {
            election.check()?;
        }
        let watch = Watch::start(&self.app, readiness, self.monitor, self.recorder);
        let watch = watch.await.map_err(StartError::Monitor)?;
        if needs_client && self.client.is_none() {
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
    pub(crate) app: App,
    pub(crate) background: Background,
    pub(crate) bound: Bound<Continued<Webhooks>, C>,
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
    /// # Errors
    ///
    /// When a part of the program has panicked. The rest was stopped then, as if `shutdown` had resolved.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the program at once, reconciles at hand included.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let mut running = self.background.run();
        running.begin();
        let broken = tokio::select! {
            () = shutdown => None,
            panicked = running.broken() => Some(panicked),
        };
        running.stop_controllers(1).await;
        broken.map_or(Ok(()), |Panicked(part)| Err(RunError::Panicked(part)))
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
    /// trust that its certificate needs. A program with an authority of its own publishes that itself, so that it stands in no
    /// manifest.
    ///
    /// # Errors
    ///
    /// When the API server would not accept a name.
    pub fn manifests(&self, endpoint: Endpoint) -> Result<Manifests, ManifestError> {
        let trust = self.app.authority().is_none().then(|| self.trust());
        manifests(&self.app, endpoint, trust.as_ref())
    }

    /// Returns whether calls should be sent here: the server serves, and the caches are complete.
    pub fn readiness(&self) -> Readiness {
        self.bound.readiness()
    }

    /// Serves until `shutdown` resolves and the calls and reconciles at hand are done.
    ///
    /// # Errors
    ///
    /// When calls were still in flight at the end of the grace, or a part of the program has panicked. The rest was stopped
    /// then, as if `shutdown` had resolved.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the program at once, without an answer to the calls in flight.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        let mut running = self.background.run();
        let mut broken = None;
        let stopped = async {
            // This is looked at as soon as calls are served.
            running.begin();
            tokio::select! {
                () = shutdown => {}
                panicked = running.broken() => broken = Some(panicked),
            }
            // What the last reconciles write may concern these webhooks, so that calls are answered meanwhile.
            running.stop_controllers(2).await
        };
        let ended = self.bound.run_since(stopped).await;
        match broken {
            Some(Panicked(part)) => Err(RunError::Panicked(part)),
            None => Ok(ended?),
        }
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
