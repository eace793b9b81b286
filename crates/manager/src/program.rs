//! A program that can be run, in this process or as one of its own.

mod roles;

use std::fmt;
use std::net::SocketAddr;

use kube::Client;
use kubewright_certificates::{AnySource, CertificateSource, TrustBundle};
use kubewright_manifests::{Endpoint, ManifestError, Manifests, OwnMetric, policies};
use kubewright_server::{ClientCheck, Drain, Readiness};
use kubewright_webhook::KubernetesVersion;

use crate::background::Background;
use crate::diagnostics::{self, Addresses, Diagnostics};
use crate::error::StartError;
use crate::logging::Log;
use crate::opening::Opening;
use crate::recorder::Recorder;
use crate::serving::{Serving, Started, manifests};
use crate::tls::Tls;
use crate::trust::{EventRecorder, targets};
use crate::{App, Needs, task};

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
    listen: Addresses,
    recorder: Option<Recorder>,
    log: Option<Log>,
    tls: Tls,
}

impl Program {
    /// Calls the function that makes the program, with [`Needs`] for its handles. Reads no file and opens no connection.
    ///
    /// ```
    #[doc = include_str!("policy.md")]
    /// let program = Program::new(app);
    /// assert_eq!(program.app().name(), "policy");
    /// ```
    pub fn new(app: impl FnOnce(&mut Needs) -> App) -> Self {
        let mut needs = Needs::default();
        let mut app = app(&mut needs);
        for controller in app.controllers() {
            needs.controls(controller);
            if let Some(lease) = controller.sharding_lease() {
                needs.elects(&lease);
            }
        }
        for controller in std::mem::take(&mut needs.controllers) {
            app = app.controller(controller);
        }
        if let Some(election) = app.election() {
            needs.elects(election);
        }
        needs.log_levels(&app);
        if app.secures_metrics().is_some() {
            for rule in diagnostics::rules() {
                needs.upkeep.grant(None, rule);
            }
        }
        Self {
            app,
            needs,
            drain: Drain::default(),
            client: None,
            listen: Addresses::default(),
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

    /// Serves `/metrics` on this address, over plain HTTP unless the program [secures its metrics](App::secure_metrics), and `/healthz`, `/livez` and `/readyz` unless they have
    /// [an address of their own](Self::health_probe_bind_address). The server starts before everything else and stops last.
    /// The server of the webhooks answers probes in any case. Default: the program serves no metrics.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    #[doc = include_str!("get.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let program = Program::new(|_| App::new("worker")).metrics_bind_address(([127, 0, 0, 1], 0));
    /// let started = program.start().await?;
    /// let address = started.metrics_addr().unwrap();
    /// assert!(get(address, "/metrics").await?.contains("application/openmetrics-text"));
    /// assert!(get(address, "/livez").await?.ends_with("ok"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn metrics_bind_address(mut self, listen: impl Into<SocketAddr>) -> Self {
        self.listen.metrics = Some(listen.into());
        self
    }

    /// Serves `/healthz`, `/livez` and `/readyz` over plain HTTP on this address. Default: the address of
    /// [the metrics](Self::metrics_bind_address).
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    #[doc = include_str!("get.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let program = Program::new(|_| App::new("worker")).health_probe_bind_address(([127, 0, 0, 1], 0));
    /// let started = program.start().await?;
    /// let address = started.health_probe_addr().unwrap();
    /// assert!(get(address, "/readyz").await?.contains("[-]caches failed"), "the program does not run yet");
    /// assert!(get(address, "/metrics").await?.starts_with("HTTP/1.1 404"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn health_probe_bind_address(mut self, listen: impl Into<SocketAddr>) -> Self {
        self.listen.health_probes = Some(listen.into());
        self
    }

    /// Keeps every review that is answered.
    pub(crate) fn recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Answers only clients that authenticate with a certificate. Default: every client.
    ///
    /// The webhook server still answers conversions for every client: API servers show their certificate to admission webhooks only.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, SelfSigned};
    /// use kubewright_server::ClientCheck;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let api_servers = Authority::new("api-servers")?;
    /// let program = Program::new(app).clients(ClientCheck::by_authorities(api_servers.trust()));
    /// let serving = program.bind(([127, 0, 0, 1], 0), SelfSigned::for_names(["127.0.0.1"])).await?;
    ///
    /// // A client without a certificate.
    /// let mut config = kube::Config::new(format!("https://{}", serving.local_addr()).parse()?);
    /// let trusted = serving.trust();
    /// config.root_cert = Some(trusted.certificates().iter().map(|certificate| certificate.to_vec()).collect());
    /// let client = kube::Client::try_from(config)?;
    ///
    /// let running = tokio::spawn(serving.run(std::future::pending()));
    /// let response = client.send(http::Request::post("/lenient").body(kube::client::Body::empty())?).await?;
    /// assert_eq!(response.status(), 403);
    /// # Ok(())
    /// # }
    /// ```
    pub fn clients(mut self, check: ClientCheck) -> Self {
        self.tls.clients = Some(check);
        self
    }

    /// Accepts TLS 1.2 beside TLS 1.3. Default: TLS 1.3 alone.
    pub fn accept_tls12(mut self) -> Self {
        self.tls.accepts_tls12 = true;
        self
    }

    /// Sets the client for the cluster, which the handles and the controllers use.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::Client;
    /// use kubewright_controller::Reader;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let api_server = tower::service_fn(async |_: http::Request<kube::client::Body>| {
    ///     let pods = json!({"kind": "PodList", "metadata": {}, "items": [{"metadata": {"name": "web"}}]});
    ///     Ok::<_, std::convert::Infallible>(http::Response::new(pods.to_string()))
    /// });
    ///
    /// let mut pods: Option<Reader<Pod>> = None;
    /// let program = Program::new(|needs| {
    ///     pods = Some(needs.reader());
    ///     App::new("census")
    /// });
    /// let started = program.client(Client::new(api_server, "default")).start().await?;
    /// let running = tokio::spawn(started.run(std::future::pending()));
    /// assert_eq!(pods.unwrap().list().await?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn client(mut self, client: Client) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the name of the webhook configurations, as [`App::webhook_configuration_name`] does: for a cluster in which the name that
    /// the program sets is taken.
    ///
    /// ```
    #[doc = include_str!("policy.md")]
    /// let program = Program::new(app).webhook_configuration_name("policy-of-blue");
    /// assert_eq!(program.app().configuration_name(), "policy-of-blue");
    /// ```
    pub fn webhook_configuration_name(mut self, name: impl Into<String>) -> Self {
        self.app = self.app.webhook_configuration_name(name);
        self
    }

    /// Adds these DNS names and IP addresses to the certificates that the program's own authority signs: for a program that clients
    /// reach by other names than those of its Service.
    ///
    /// ```
    /// use kubewright_certificates::SharedAuthority;
    /// use kubewright_manager::{App, Program};
    ///
    /// let authority = SharedAuthority::in_secret("policy-certs").for_service("policy");
    /// let program = Program::new(|_| App::new("policy").certificates(authority)).reached_as(["10.0.0.7"]);
    /// let names = program.app().authority().unwrap().names("blue");
    /// assert!(names.contains(&"policy.blue.svc".to_owned()));
    /// assert!(names.contains(&"10.0.0.7".to_owned()));
    /// ```
    pub fn reached_as(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        if let Some(authority) = self.app.authority().cloned() {
            self.app = self.app.certificates(authority.also_for(names));
        }
        self
    }

    /// Supports clusters of this version, if one is given.
    pub(crate) fn for_kubernetes(self, oldest: Option<KubernetesVersion>) -> Self {
        match oldest {
            Some(oldest) => self.map_app(|app| app.kubernetes(oldest)),
            None => self,
        }
    }

    pub(crate) fn map_app(mut self, change: impl FnOnce(App) -> App) -> Self {
        self.app = change(self.app);
        self
    }

    /// Returns whether the program works with objects of a cluster, and so needs [a client](Self::client).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::Cached;
    /// use kubewright_manager::{App, Program};
    ///
    /// assert!(!Program::new(|_| App::new("worker")).needs_client());
    /// let program = Program::new(|needs| {
    ///     let pods: Cached<Pod> = needs.cached();
    ///     App::new("census")
    /// });
    /// assert!(program.needs_client());
    /// ```
    pub fn needs_client(&self) -> bool {
        !self.granted().is_empty()
    }

    /// Whether it needs one when it is given its certificate.
    pub(crate) fn needs_client_besides_authority(&self) -> bool {
        !self.needs.permissions.is_empty() || !self.needs.upkeep.is_empty() || self.publishes()
    }

    fn publishes(&self) -> bool {
        self.app.publish().is_some() && !targets(&self.app).is_empty()
    }

    /// Returns the definitions of the custom resources that the program works with, each with all its versions. Their
    /// conversion depends on the program's endpoint: [`Self::manifests`] and [`Self::deployment`] add it.
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

    /// Makes the policies of the program that API servers evaluate, each with its binding.
    ///
    /// ```
    #[doc = include_str!("policy.md")]
    /// assert!(Program::new(app).policies()?.objects().is_empty(), "its hooks are webhooks");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When an API server would not accept one of them.
    pub fn policies(&self) -> Result<Manifests, ManifestError> {
        policies(self.app.hooks(), self.app.prefix())
    }

    pub(crate) fn registered_metrics(&self) -> &[OwnMetric] {
        self.needs.metrics.registered()
    }

    pub(crate) fn follows_configuration(&self) -> bool {
        !self.needs.configuration.is_empty()
    }

    /// Sets how the program shuts down. Default: [`Drain::default`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::Drain;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // By default a program waits five seconds until the endpoints of its Service have propagated; a test has none.
    /// let program = Program::new(app).drain(Drain::default().propagation(Duration::ZERO));
    /// let serving = program.bind(([127, 0, 0, 1], 0), SelfSigned::for_names(["127.0.0.1"])).await?;
    /// tokio::time::timeout(Duration::from_secs(4), serving.run(async {})).await??;
    /// # Ok(())
    /// # }
    /// ```
    pub fn drain(mut self, drain: Drain) -> Self {
        self.drain = drain;
        self
    }

    /// Returns the [`App`] that the program's function has returned.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|_| App::new("worker"));
    /// assert!(!program.app().has_webhooks(), "it is started without a server");
    /// ```
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Returns the webhook configurations, for an API server that reaches the program at `endpoint` and trusts the
    /// CA certificates in `trust`, or those of its own machine if there are none.
    ///
    /// ```
    /// use kubewright_manifests::Endpoint;
    #[doc = include_str!("policy.md")]
    ///
    /// let manifests = Program::new(app).manifests(Endpoint::service("blue/policy")?, None)?;
    /// let webhook = &manifests.objects()[0]["webhooks"][0];
    /// assert_eq!(webhook["clientConfig"]["service"]["namespace"], "blue");
    /// assert_eq!(webhook["name"], "lenient.policy.example.com");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// Loads the configuration, waits for the first certificate and opens the port.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_manager::StartError;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let certificates = || SelfSigned::for_names(["127.0.0.1"]);
    /// let first = Program::new(app).bind(([127, 0, 0, 1], 0), certificates()).await?;
    /// let second = Program::new(app).bind(first.local_addr(), certificates()).await;
    /// assert!(matches!(second, Err(StartError::Server(_))), "the port is taken");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When no API server would accept the declaration of a webhook, a configuration file is invalid, the program
    /// [needs a client](Self::needs_client) and has none, the port cannot be opened, or the certificate is invalid.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the port and drops the program.
    pub async fn bind(
        self,
        listen: impl Into<SocketAddr>,
        certificates: impl CertificateSource,
    ) -> Result<Serving, StartError> {
        let certificates = AnySource::new(certificates);
        self.bind_any(listen.into(), certificates).await
    }

    async fn bind_any(
        self,
        listen: SocketAddr,
        certificates: AnySource,
    ) -> Result<Serving, StartError> {
        self.app.hooks().check()?;
        let publish = self.app.publish().filter(|_| self.publishes()).cloned();
        let needs_client = self.needs_client_besides_authority();
        // On the heap: a future of the caller that holds this one would be as large for as long as it serves.
        let mut opening = Box::pin(self.open(needs_client)).await?;
        let publishing =
            publish.map(|publish| (publish, opening.publishing(&EventRecorder::discarding())));
        let mut serving = Box::pin(opening.bind(listen, certificates)).await?;
        if let Some((publish, publishing)) = publishing {
            let identity = serving.bound.identity();
            publishing.follow(publish, identity, serving.background.others());
        }
        Ok(serving)
    }

    /// Loads the configuration, lets the program's own authority sign a certificate and opens the port. See
    /// [`App::certificates`].
    ///
    /// ```
    /// use kubewright_manager::StartError;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let without = Program::new(app).bind_with_authority(([127, 0, 0, 1], 0)).await;
    /// assert!(matches!(without, Err(StartError::NoAuthority)), "App::certificates was not called");
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`bind`](Self::bind), and when the program has no authority of its own. If the authority cannot sign yet, as when
    /// the API server is unreachable, the future waits.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the port and drops the program.
    pub async fn bind_with_authority(
        self,
        listen: impl Into<SocketAddr>,
    ) -> Result<Serving, StartError> {
        self.app.hooks().check()?;
        let authority = self.app.authority().cloned();
        let authority = authority.ok_or(StartError::NoAuthority)?;
        let mut opening = Box::pin(self.open(true)).await?;
        let (source, trust) = opening.rotate(&authority);
        let serving = Box::pin(opening.bind(listen.into(), AnySource::new(source))).await?;
        trust.serves(serving.bound.identity());
        Ok(serving)
    }

    /// Loads the configuration of a program without webhooks.
    ///
    /// ```
    /// use kubewright_manager::StartError;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let started = Program::new(|_| App::new("worker")).start().await?;
    /// started.run(async {}).await?;
    ///
    /// let with_webhooks = Program::new(app).start().await;
    /// assert!(matches!(with_webhooks, Err(StartError::NoServer)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When a configuration file is invalid, the program [needs a client](Self::needs_client) and has none, or it has webhooks:
    /// those need [`bind`](Self::bind).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the program.
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
        for controller in self.app.controllers() {
            controller
                .sharding_lease()
                .map_or(Ok(()), |lease| lease.check())?;
        }
        task::check(self.app.tasks())?;
        if let Some(name) = self.needs.others.ambiguous() {
            return Err(StartError::Clusters(name));
        }
        if let Some(controller) = self.needs.others.sharded() {
            return Err(StartError::ShardedElsewhere(controller.name().to_owned()));
        }
        let own = std::mem::take(&mut self.needs.metrics).finish()?;
        if needs_client && self.client.is_none() {
            return Err(StartError::NoClient);
        }
        let (listen, recorder, client) = (self.listen, self.recorder, self.client.as_ref());
        let diagnostics = Diagnostics::start(&self.app, readiness, listen, recorder, own, client);
        let diagnostics = diagnostics.await?;
        self.client = self.client.map(|client| diagnostics.observe(client));
        for source in &mut self.needs.configuration {
            source.load(self.client.as_ref()).await?;
        }
        Ok(Background::new(
            &self.app,
            self.needs,
            self.client,
            self.drain,
            readiness,
            diagnostics,
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
