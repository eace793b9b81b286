//! An API server that this process shares with others: real, and not ours to end.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use kube::client::ClientBuilder;
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};
use kube::{Client, Error};
use serde_json::{Value, json};

use crate::apply::apply;
use crate::fail;
use crate::faults::WayLayer;
use crate::isolation::Isolation;
use crate::outcome::Outcome;
use crate::policies;
use crate::policy_probe::Probe;
use crate::published::path_of;
use crate::witness::WitnessLayer;

/// One test cluster's part of a shared API server. What it has installed is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Shared {
    config: Config,
    kubeconfig: String,
    isolation: Isolation,
    /// The paths of what has to be removed.
    installed: Mutex<Vec<String>>,
    /// Whether the server outlives the tests, so that namespaces are worth removing.
    lasts: bool,
}

impl Shared {
    /// A part of the real control plane of this process.
    #[cfg(unix)]
    pub(crate) async fn real() -> Self {
        match crate::control_plane::shared_kubeconfig().await {
            Ok(kubeconfig) => Self::part_of(kubeconfig, false).await,
            Err(error) => fail(format_args!(
                "there is no real API server to test on: {}",
                Causes(&error)
            )),
        }
    }

    #[cfg(not(unix))]
    #[expect(
        clippy::unused_async,
        reason = "it is one where there are control planes"
    )]
    pub(crate) async fn real() -> Self {
        fail(format_args!(
            "a real API server can only be started on Unix"
        ))
    }

    /// A part of the cluster that the current context leads to.
    pub(crate) async fn existing() -> Self {
        let kubeconfig = Kubeconfig::read()
            .map_err(|error| error.to_string())
            .and_then(|read| serde_saphyr::to_string(&read).map_err(|error| error.to_string()));
        match kubeconfig {
            Ok(kubeconfig) => Self::part_of(kubeconfig, true).await,
            Err(error) => fail(format_args!(
                "the kubeconfig of the existing cluster cannot be read: {error}"
            )),
        }
    }

    async fn part_of(kubeconfig: String, lasts: bool) -> Self {
        let isolation = Isolation::new();
        let read = async {
            let kubeconfig = Kubeconfig::from_yaml(&kubeconfig)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await
        };
        let mut config = match read.await {
            Ok(config) => config,
            Err(error) => unusable(&error),
        };
        config.default_namespace = isolation.namespace();
        let shared = Self {
            config,
            kubeconfig,
            isolation,
            installed: Mutex::default(),
            lasts,
        };
        let name = shared.namespace();
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        shared.create_namespace(namespace).await;
        shared
    }

    pub(crate) fn namespace(&self) -> String {
        self.isolation.namespace()
    }

    pub(crate) fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    pub(crate) fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// A client of the user of the kubeconfig.
    pub(crate) fn client(&self) -> Client {
        client(self.config.clone())
    }

    /// A client that impersonates another user.
    pub(crate) fn client_as(&self, user: &str, groups: &[&str]) -> Client {
        let mut config = self.config.clone();
        config.auth_info.impersonate = Some(user.to_owned());
        config.auth_info.impersonate_groups =
            Some(groups.iter().map(|&group| group.to_owned()).collect());
        client(config)
    }

    /// A client of the user of the kubeconfig that faults befall.
    pub(crate) fn client_under_test(&self, way: &WayLayer) -> Client {
        match ClientBuilder::try_from(self.config.clone()) {
            Ok(builder) => builder.with_layer(way).build(),
            Err(error) => unusable(&error),
        }
    }

    /// A client that is known by the token of a service account, and witnessed; faults befall it.
    pub(crate) fn client_of_account(
        &self,
        token: &str,
        way: &WayLayer,
        witness: &WitnessLayer,
    ) -> Client {
        let mut config = self.config.clone();
        config.auth_info = AuthInfo {
            token: Some(token.to_owned().into()),
            ..AuthInfo::default()
        };
        match ClientBuilder::try_from(config) {
            Ok(builder) => builder.with_layer(way).with_layer(witness).build(),
            Err(error) => unusable(&error),
        }
    }

    /// Removes an object of a program's access that was created for this test cluster, where it would stay.
    pub(crate) fn remove_access_later(&self, object: &Value) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let group = "/apis/rbac.authorization.k8s.io/v1";
        let (namespace, name) = (text("namespace"), text("name"));
        let path = match object["kind"].as_str() {
            Some("Namespace") => format!("{NAMESPACES}/{name}"),
            Some("ClusterRole") => format!("{group}/clusterroles/{name}"),
            Some("ClusterRoleBinding") => format!("{group}/clusterrolebindings/{name}"),
            Some("Role") => format!("{group}/namespaces/{namespace}/roles/{name}"),
            Some("RoleBinding") => format!("{group}/namespaces/{namespace}/rolebindings/{name}"),
            // The account is in the test cluster's own namespace.
            _ => return,
        };
        if self.lasts {
            self.installed(path);
        }
    }

    /// Creates a namespace that belongs to this test cluster.
    pub(crate) async fn create_namespace(&self, mut namespace: Value) {
        self.isolation.mark(&mut namespace);
        let name = namespace["metadata"]["name"].as_str().unwrap_or_default();
        let request = http::Request::post(NAMESPACES).body(namespace.to_string().into_bytes());
        let created: Result<Value, Error> = match request {
            Ok(request) => self.client().request(request).await,
            Err(error) => Err(Error::HttpError(error)),
        };
        match created {
            Ok(_) => self.remove_namespace_later(name),
            Err(Error::Api(status)) if status.is_already_exists() => fail(format_args!(
                "the namespace `{name}` exists already: on an API server that tests share, each needs names of its own, \
                 such as `kubewright_testing::unique({name:?})`"
            )),
            Err(error) => fail(format_args!(
                "cannot create the namespace `{name}`: {error}"
            )),
        }
    }

    /// Removes a namespace that was created for this test cluster, where it would stay.
    pub(crate) fn remove_namespace_later(&self, name: &str) {
        if self.lasts {
            self.installed(format!("{NAMESPACES}/{name}"));
        }
    }

    /// Installs a webhook configuration for this test cluster alone.
    pub(crate) async fn install(&self, configuration: &Value) {
        let narrow = self.isolation.narrow(configuration);
        self.installed(path_of(&narrow));
        Outcome::new(apply(&self.client(), &self.namespace(), &narrow).await).expect_allowed();
    }

    /// Waits until the API server goes by a webhook configuration that was installed.
    pub(crate) async fn called(&self, configuration: &Value) {
        if policies::is_one(configuration) {
            if configuration["kind"]
                .as_str()
                .is_some_and(|kind| kind.ends_with("Binding"))
            {
                self.policies_evaluated(configuration).await;
            }
            return;
        }
        let webhooks = configuration["webhooks"].as_array();
        if webhooks.is_none_or(Vec::is_empty) {
            return;
        }
        let client = self.client();
        self.trust_probe(&client, configuration).await;
        self.probe(&client, configuration).await;
    }

    /// Has the probe's webhook trusted like those beside it, whose trust the program under test may have published itself.
    async fn trust_probe(&self, client: &Client, configuration: &Value) {
        let path = path_of(&self.isolation.narrow(configuration));
        let read = http::Request::get(&path).body(Vec::new());
        let trusted = async {
            let found: Value = client.request(read.map_err(Error::HttpError)?).await?;
            let Some((number, bundle)) = self.isolation.missing_trust(&found) else {
                return Ok(());
            };
            let place = format!("/webhooks/{number}/clientConfig/caBundle");
            let patch = json!([{"op": "add", "path": place, "value": bundle}]);
            let patch = http::Request::patch(&path)
                .header("content-type", "application/json-patch+json")
                .body(patch.to_string().into_bytes())
                .map_err(Error::HttpError)?;
            client.request::<Value>(patch).await.map(drop)
        };
        if let Err(error) = trusted.await {
            fail(format_args!("cannot have the probe trusted: {error}"));
        }
    }

    /// Sends a probe, in a dry run, until the webhook beside those of a configuration is called for it.
    async fn probe(&self, client: &Client, configuration: &Value) {
        let name = self.isolation.probe_name();
        let path = self.isolation.probe_path();
        let body = Isolation::probe(configuration).to_string();
        let deadline = Instant::now() + WEBHOOK_TIMEOUT;
        let mut pause = Duration::from_millis(2);
        loop {
            let request = match http::Request::post(&path).body(body.clone().into_bytes()) {
                Ok(request) => request,
                Err(error) => fail(format_args!("cannot make a probe: {error}")),
            };
            let answer = match client.request::<Value>(request).await {
                Ok(_) => "it does not call them".to_owned(),
                Err(Error::Api(status)) => status.message,
                Err(error) => error.to_string(),
            };
            // The program under test has answered, if only that it has no such webhook.
            if answer.contains(&name) && answer.contains("there is no webhook at") {
                return;
            }
            if Instant::now() >= deadline {
                fail(format_args!(
                    "the API server does not reach the webhooks under test within {WEBHOOK_TIMEOUT:?}: {answer}"
                ));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Waits until the API server evaluates the policies of a kind that were installed: it learns of them in their order, so that a
    /// later one shows it.
    async fn policies_evaluated(&self, binding: &Value) {
        let probe = Probe::beside(binding, &self.isolation);
        for object in &probe.objects {
            self.installed(path_of(object));
            Outcome::new(apply(&self.client(), &self.namespace(), object).await).expect_allowed();
        }
        let path = self.isolation.probe_path();
        probe.answered(&self.client(), &path, WEBHOOK_TIMEOUT).await;
    }

    fn installed(&self, path: String) {
        match self.installed.lock() {
            Ok(mut installed) => installed.push(path),
            Err(poisoned) => poisoned.into_inner().push(path),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let installed = match self.installed.get_mut() {
            Ok(installed) => std::mem::take(installed),
            Err(poisoned) => std::mem::take(poisoned.into_inner()),
        };
        if installed.is_empty() {
            return;
        }
        let config = self.config.clone();
        // The runtime of the test may be ending; this has one of its own, and a test is over when its traces are gone.
        let removal = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            if let Ok(runtime) = runtime {
                runtime.block_on(remove(config, installed));
            }
        });
        let _ = removal.join();
    }
}

/// Deletes the objects at these paths, as far as the API server can be reached. The test has its result already, and an object
/// that cannot be deleted does not change it.
async fn remove(config: Config, mut paths: Vec<String>) {
    // Configurations go first, so that nothing calls webhooks that end.
    paths.sort_by_key(|path| path.starts_with(NAMESPACES));
    let Ok(client) = Client::try_from(config) else {
        return;
    };
    let removal = async {
        for path in &paths {
            if let Ok(request) = http::Request::delete(path).body(Vec::new()) {
                let _ = client.request::<Value>(request).await;
            }
        }
    };
    let _ = tokio::time::timeout(WEBHOOK_TIMEOUT, removal).await;
}

fn client(config: Config) -> Client {
    match Client::try_from(config) {
        Ok(client) => client,
        Err(error) => unusable(&error),
    }
}

fn unusable(error: &dyn std::fmt::Display) -> ! {
    fail(format_args!("the kubeconfig cannot be used: {error}"))
}

/// An error with everything that led to it.
struct Causes<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// How long an API server may take to do what it was told.
const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
const NAMESPACES: &str = "/api/v1/namespaces";
