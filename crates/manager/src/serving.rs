//! A program that has loaded its configuration and serves, or runs its controllers, until shutdown.

use std::fmt;
use std::net::SocketAddr;

use kubewright_certificates::TrustBundle;
use kubewright_manifests::{Endpoint, ManifestError, Manifests, WebhookConfigurations, policies};
use kubewright_server::{Bound, Readiness};
use kubewright_webhook::Webhooks;

use crate::App;
use crate::background::Background;
use crate::diagnostics::Diagnostics;
use crate::error::RunError;
use crate::parts::Panicked;
use crate::traces::Continued;

/// A program that listens. Connections wait until [`run`](Self::run) is called. [`Program::bind`](crate::Program::bind) returns it.
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
/// let program = Program::new(app).drain(Drain::default().propagation(Duration::ZERO));
/// let serving = program.bind(([127, 0, 0, 1], 0), SelfSigned::for_names(["127.0.0.1"])).await?;
/// let readiness = serving.readiness();
/// assert!(!readiness.is_ready());
///
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let running = tokio::spawn(serving.run(async { drop(stopped.await) }));
/// while !readiness.is_ready() {
///     tokio::task::yield_now().await;
/// }
/// drop(stop);
/// running.await??;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Serving {
    pub(crate) app: App,
    pub(crate) background: Background,
    pub(crate) bound: Bound<Continued<Webhooks>>,
}

/// A program without webhooks that has loaded its configuration. [`Program::start`](crate::Program::start) returns it.
///
/// ```
/// use kubewright_manager::{App, Program};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let started = Program::new(|_| App::new("worker")).start().await?;
/// let readiness = started.readiness();
/// assert!(readiness.conditions().contains(&("caches".to_owned(), false)));
///
/// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// let running = tokio::spawn(started.run(async { drop(stopped.await) }));
/// while !readiness.is_ready() {
///     tokio::task::yield_now().await;
/// }
/// drop(stop);
/// running.await??;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct Started {
    pub(crate) background: Background,
    pub(crate) readiness: Readiness,
}

impl Started {
    /// Returns the address of the metrics endpoint, if the program serves it.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    #[doc = include_str!("get.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let program = Program::new(|_| App::new("worker")).metrics_bind_address(([127, 0, 0, 1], 0));
    /// let started = program.start().await?;
    /// let metrics = get(started.metrics_addr().unwrap(), "/metrics").await?;
    /// assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.background.diagnostics().addresses().metrics
    }

    /// Returns the address of the health probes, if the program serves them over plain HTTP.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    #[doc = include_str!("get.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let program = Program::new(|_| App::new("worker")).health_probe_bind_address(([127, 0, 0, 1], 0));
    /// let started = program.start().await?;
    /// assert_eq!(started.metrics_addr(), None);
    /// let response = get(started.health_probe_addr().unwrap(), "/livez").await?;
    /// assert!(response.ends_with("ok"), "{response}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn health_probe_addr(&self) -> Option<SocketAddr> {
        self.background.diagnostics().addresses().health_probes
    }

    pub(crate) fn diagnostics(&self) -> &Diagnostics {
        self.background.diagnostics()
    }

    /// Returns the readiness: whether all caches have synced.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let started = Program::new(|_| App::new("worker")).start().await?;
    /// let readiness = started.readiness();
    /// assert!(!readiness.is_ready(), "the program does not run yet");
    /// # Ok(())
    /// # }
    /// ```
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    /// Runs until `shutdown` resolves and the reconciles in progress are done.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let started = Program::new(|_| App::new("worker")).start().await?;
    /// let readiness = started.readiness();
    /// let shutdown = async {
    ///     while !readiness.is_ready() {
    ///         tokio::task::yield_now().await;
    ///     }
    /// };
    /// started.run(shutdown).await?;
    /// assert!(!readiness.is_ready(), "a program that has stopped is not ready");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When a component of the program panicked; the others were shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the program at once and cancels the reconciles in progress.
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

impl Serving {
    /// Returns the address of the webhook server, with the port that the system has chosen for port 0.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let certificates = SelfSigned::for_names(["127.0.0.1"]);
    /// let serving = Program::new(app).bind(([127, 0, 0, 1], 0), certificates).await?;
    /// let address = serving.local_addr();
    /// assert_ne!(address.port(), 0, "the system has chosen a port");
    /// assert!(tokio::net::TcpStream::connect(address).await.is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn local_addr(&self) -> SocketAddr {
        self.bound.local_addr()
    }

    /// Returns the address of the metrics endpoint, if the program serves it.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.background.diagnostics().addresses().metrics
    }

    /// Returns the address of the health probes, if the program serves them over plain HTTP.
    pub fn health_probe_addr(&self) -> Option<SocketAddr> {
        self.background.diagnostics().addresses().health_probes
    }

    pub(crate) fn diagnostics(&self) -> &Diagnostics {
        self.background.diagnostics()
    }

    /// Returns the CA certificates that clients have to trust.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let certificates = SelfSigned::for_names(["127.0.0.1"]);
    /// let serving = Program::new(app).bind(([127, 0, 0, 1], 0), certificates).await?;
    /// let mut config = kube::Config::new(format!("https://{}", serving.local_addr()).parse()?);
    /// let trusted = serving.trust();
    /// config.root_cert = Some(trusted.certificates().iter().map(|certificate| certificate.to_vec()).collect());
    /// let client = kube::Client::try_from(config)?;
    ///
    /// let running = tokio::spawn(serving.run(std::future::pending()));
    /// let request = http::Request::get("/livez").body(Vec::new())?;
    /// assert_eq!(client.request_text(request).await?, "ok");
    /// # Ok(())
    /// # }
    /// ```
    pub fn trust(&self) -> TrustBundle {
        self.bound.trust()
    }

    /// Returns the webhook configurations for an API server that reaches the program at `endpoint`, with the `caBundle` of its
    /// certificate. A program with its own CA sets the `caBundle` at run time, so that the manifests have none.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_manifests::Endpoint;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let certificates = SelfSigned::for_names(["127.0.0.1"]);
    /// let serving = Program::new(app).bind(([127, 0, 0, 1], 0), certificates).await?;
    /// let url = format!("https://{}", serving.local_addr());
    /// let manifests = serving.manifests(Endpoint::url(&url)?)?;
    /// let client_config = &manifests.objects()[0]["webhooks"][0]["clientConfig"];
    /// assert_eq!(client_config["caBundle"], serving.trust().to_ca_bundle());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the API server would reject a name.
    pub fn manifests(&self, endpoint: Endpoint) -> Result<Manifests, ManifestError> {
        let trust = self.app.authority().is_none().then(|| self.trust());
        manifests(&self.app, endpoint, trust.as_ref())
    }

    /// Returns the readiness: whether the server accepts requests and all caches have synced.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let certificates = SelfSigned::for_names(["127.0.0.1"]);
    /// let serving = Program::new(app).bind(([127, 0, 0, 1], 0), certificates).await?;
    /// let readiness = serving.readiness();
    /// assert!(readiness.conditions().contains(&("serving".to_owned(), false)));
    /// let running = tokio::spawn(serving.run(std::future::pending()));
    /// while !readiness.is_ready() {
    ///     tokio::task::yield_now().await;
    /// }
    /// running.abort();
    /// # Ok(())
    /// # }
    /// ```
    pub fn readiness(&self) -> Readiness {
        self.bound.readiness()
    }

    /// Serves until `shutdown` resolves and the in-flight requests and reconciles are done.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::Drain;
    /// use std::time::Duration;
    #[doc = include_str!("policy.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let program = Program::new(app).drain(Drain::default().propagation(Duration::ZERO));
    /// let serving = program.bind(([127, 0, 0, 1], 0), SelfSigned::for_names(["127.0.0.1"])).await?;
    /// let readiness = serving.readiness();
    /// let shutdown = async {
    ///     while !readiness.is_ready() {
    ///         tokio::task::yield_now().await;
    ///     }
    /// };
    /// serving.run(shutdown).await?;
    /// assert!(!readiness.is_ready(), "a program that has stopped is not ready");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When requests were still in flight at the end of the graceful shutdown timeout, or a component of the program panicked;
    /// the others were shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the program at once; in-flight requests get no response.
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

impl fmt::Debug for Serving {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Serving")
            .field("app", &self.app)
            .field("local_addr", &self.bound.local_addr())
            .finish_non_exhaustive()
    }
}

pub(crate) fn manifests(
    app: &App,
    endpoint: Endpoint,
    trust: Option<&TrustBundle>,
) -> Result<Manifests, ManifestError> {
    let configurations =
        WebhookConfigurations::new(app.configuration_name(), app.hooks(), endpoint);
    let configurations = match trust.filter(|trust| !trust.is_empty()) {
        Some(trust) => configurations.trusting(trust.to_pem()).build(),
        None => configurations.build(),
    };
    let policies = policies(app.hooks(), app.prefix())?;
    Ok(configurations?.into_iter().chain(policies).collect())
}
