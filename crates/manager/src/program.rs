//! A program that can be run, in this process or as one of its own.

use std::fmt;
use std::net::SocketAddr;

use kube::Client;
use kubewright_certificates::{CertificateSource, SharedSource, TrustBundle};
use kubewright_manifests::{Endpoint, ManifestError, Manifests, Permissions, PolicyRule};
use kubewright_server::{ClientCheck, Drain, Readiness};

use crate::background::Background;
use crate::error::StartError;
use crate::logging::Log;
use crate::opening::Opening;
use crate::recorder::Recorder;
use crate::serving::{Serving, Started, manifests};
use crate::tls::Tls;
use crate::trust::{Target, Teller};
use crate::watch::Watch;
use crate::{App, Needs};

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

impl fmt::Debug for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Program")
            .field("app", &self.app)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}
