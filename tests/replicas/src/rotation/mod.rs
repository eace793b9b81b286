//! Certificates that are rotated under load: replicas behind a Service, an API server that calls them, and no call lost.

mod calls;
mod secret;
mod service;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kubewright_testing::{Server, TestCluster, unique};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::Ending;
use crate::process::{Replica, output};
use calls::Calls;
pub use calls::{ANSWER, Lost};
pub use secret::Phase;
use secret::Story;
use service::Service;

/// The Secret that the replicas share.
pub const SECRET: &str = "rotation-certs";
/// The webhook configuration that leads to them.
pub const CONFIGURATION: &str = "rotation.example.com";
/// How many replicas there are.
const REPLICAS: usize = 3;

/// Replicas of a webhook that look after their certificates themselves, and calls of them without end.
#[derive(Debug)]
pub struct Trial {
    program: PathBuf,
    kubeconfig: tempfile::NamedTempFile,
    settle: Duration,
    replicas: Vec<Replica>,
    started: usize,
    service: Service,
    calls: Calls,
    cluster: TestCluster,
}

/// What has become of the calls.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// How many were answered.
    pub answered: usize,
    /// Those that failed.
    pub lost: Vec<Lost>,
}

impl Trial {
    /// Starts the replicas on an API server, and calls of them: so many at a time, with a pause between two.
    ///
    /// # Errors
    ///
    /// When a replica does not start, or the API server does not come to call them.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends what has been started.
    pub async fn start(
        program: &Path,
        server: Server,
        at_once: usize,
        pause: Duration,
    ) -> Result<Self> {
        let builder = TestCluster::builder().on(server);
        let cluster = match server {
            Server::Embedded => builder.listen().start().await,
            _ => builder.start().await,
        };
        let cluster = cluster.new_namespace(&unique("rotation"), &[]).await;
        let kubeconfig = tempfile::NamedTempFile::new()?;
        std::fs::write(
            kubeconfig.path(),
            in_namespace(&cluster.kubeconfig(), cluster.namespace())?,
        )?;
        let service = Service::start().await?;
        let mut trial = Self {
            program: program.to_owned(),
            kubeconfig,
            settle: match server {
                // It goes by what is written as soon as it is.
                Server::Embedded => Duration::from_millis(50),
                // It goes by what its watches tell it.
                _ => Duration::from_secs(2),
            },
            replicas: Vec::new(),
            started: 0,
            service,
            calls: Calls::none(),
            cluster,
        };
        trial.install().await?;
        for _ in 0..REPLICAS {
            trial.add_replica().await?;
        }
        trial.service.is_ready(REPLICAS).await?;
        trial.calls = Calls::start(&trial.cluster, at_once, pause).await?;
        Ok(trial)
    }

    /// Rotates the authority, and waits until another one signs.
    ///
    /// # Errors
    ///
    /// When that takes too long.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the rotation to the replicas.
    pub async fn rotate(&mut self) -> Result<()> {
        let before = self.ask_for_rotation().await?;
        self.reaches(|story| story.generation > before.generation)
            .await
    }

    /// Rotates the authority, kills a replica as soon as the rotation comes to a phase, and starts another.
    ///
    /// # Errors
    ///
    /// When the rotation does not come to its end, or no replica can be killed or started.
    ///
    /// # Cancel safety
    ///
    /// As for [`rotate`](Self::rotate); a replica may be missing.
    pub async fn rotate_and_kill(&mut self, phase: Phase) -> Result<()> {
        let before = self.ask_for_rotation().await?;
        self.reaches(|story| story.has_come_to(phase, &before))
            .await?;
        let place = self.started % self.replicas.len();
        let victim = self.replicas.remove(place);
        let name = victim.name().to_owned();
        let begun = Instant::now();
        victim.end(Ending::Killed).await?;
        self.service.remove(&name);
        // The ends of its connections are passed on by the Service.
        self.calls.excuse_cut(begun, Instant::now() + NOTICED);
        self.add_replica().await?;
        self.reaches(|story| story.generation > before.generation)
            .await?;
        self.service.is_ready(REPLICAS).await
    }

    /// Deletes the Secret, and waits until the replicas have restored its state: the first replica to create it may know an
    /// earlier state, which a replica with a later one corrects.
    ///
    /// # Errors
    ///
    /// When the Secret does not come back, or has another state.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the Secret to the replicas.
    pub async fn delete_secret(&mut self) -> Result<()> {
        let before = self.story().await.context("there is no Secret")?;
        self.cluster.delete::<Secret>(SECRET).await.expect_allowed();
        self.reaches(|story| story.generation >= before.generation)
            .await
    }

    /// Takes what has to be trusted out of the webhook configuration, and waits until it is there again.
    ///
    /// # Errors
    ///
    /// When it does not come back.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the configuration to the replicas.
    pub async fn wipe_bundle(&mut self) -> Result<()> {
        let begun = Instant::now();
        let wiped = json!([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]);
        self.patch_configuration(&wiped).await?;
        let restored = async {
            while !self.is_trusted().await? {
                sleep(Duration::from_millis(2)).await;
            }
            Ok::<_, anyhow::Error>(())
        };
        timeout(TIMEOUT, restored)
            .await
            .context("the bundle was not put back")??;
        // Without a trusted CA, no replica can answer the API server. A real one takes a moment to notice either change.
        self.calls.excuse_all(begun, Instant::now() + self.settle);
        Ok(())
    }

    /// Waits until so many calls were made.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn has_called(&self, count: usize) {
        while self.calls.made() < count {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends everything, and tells what has become of the calls.
    ///
    /// # Errors
    ///
    /// When it does not settle: every replica ready, and no rotation under way.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the replicas.
    pub async fn verdict(mut self) -> Result<Verdict> {
        self.service.is_ready(REPLICAS).await?;
        self.reaches(|story| !story.is_under_way()).await?;
        let (answered, lost) = self.calls.end().await;
        self.replicas.clear();
        Ok(Verdict { answered, lost })
    }

    /// Installs the configuration as the program prints it, without anything to trust.
    async fn install(&self) -> Result<()> {
        let url = format!("https://{}", self.service.address());
        let printed = output(&self.program, &["manifests", "--url", &url]).await?;
        let mut configuration: Value =
            serde_json::to_value(serde_saphyr::from_str::<Value>(&printed)?)?;
        let here =
            json!({"matchLabels": {"kubernetes.io/metadata.name": self.cluster.namespace()}});
        configuration["webhooks"][0]["namespaceSelector"] = here;
        self.cluster.apply(&configuration).await.expect_allowed();
        Ok(())
    }

    async fn add_replica(&mut self) -> Result<()> {
        self.started += 1;
        let name = format!("replica-{}", self.started);
        let settle = self.settle.as_millis().to_string();
        let arguments = [
            "--listen",
            "127.0.0.1:0",
            "--metrics-bind-address",
            "127.0.0.1:0",
            "--settle",
            &settle,
            "--log-level",
            "error",
        ];
        let started = Replica::start(&self.program, &name, &arguments, self.kubeconfig.path());
        let (replica, [_metrics, probes, serves]) = started.await?;
        let address = |said: &str, before: &str| {
            let address = said.trim().strip_prefix(before);
            let address = address.and_then(|address| address.parse().ok());
            address.with_context(|| format!("{name} does not serve: it says {said:?}"))
        };
        self.service.add(
            &name,
            address(&serves, "serving webhooks on https://")?,
            address(&probes, "serving health probes on http://")?,
        );
        self.replicas.push(replica);
        Ok(())
    }

    async fn ask_for_rotation(&self) -> Result<Story> {
        let before = self.story().await.context("there is no Secret")?;
        let asked = json!({"metadata": {"annotations": {"kubewright.dev/rotate": "now"}}});
        self.cluster
            .merge::<Secret>(SECRET, &asked)
            .await
            .expect_allowed();
        Ok(before)
    }

    async fn story(&self) -> Option<Story> {
        Story::of(&self.cluster.get::<Secret>(SECRET).await?)
    }

    async fn reaches(&self, is_it: impl Fn(&Story) -> bool) -> Result<()> {
        let reached = async {
            while !self.story().await.is_some_and(|story| is_it(&story)) {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let reached = timeout(TIMEOUT, reached).await;
        let Err(late) = reached else { return Ok(()) };
        Err(late).with_context(|| "the rotation does not go on".to_owned())
    }

    /// Whether the configuration has the API server trust who signs now.
    async fn is_trusted(&self) -> Result<bool> {
        let secret = self.cluster.get::<Secret>(SECRET).await;
        let data = secret.and_then(|secret| secret.data).unwrap_or_default();
        let authority = data.get("ca.crt").context("there is no authority")?;
        let bundle = String::from_utf8(self.bundle().await?)?;
        Ok(bundle.contains(std::str::from_utf8(&authority.0)?.trim()))
    }

    async fn bundle(&self) -> Result<Vec<u8>> {
        let found: ValidatingWebhookConfiguration = self
            .cluster
            .get(CONFIGURATION)
            .await
            .context("there is no configuration")?;
        let webhooks = found.webhooks.unwrap_or_default();
        let bundle = webhooks.into_iter().next();
        let bundle = bundle.and_then(|webhook| webhook.client_config.ca_bundle);
        Ok(bundle.map(|bundle| bundle.0).unwrap_or_default())
    }

    async fn patch_configuration(&self, patch: &Value) -> Result<()> {
        let path = format!(
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{CONFIGURATION}"
        );
        let request = http::Request::patch(path)
            .header("content-type", "application/json-patch+json")
            .body(patch.to_string().into_bytes())?;
        let answer = self.cluster.send(request).await;
        ensure!(answer.status().is_success(), "{}", answer.status());
        Ok(())
    }
}

/// The same kubeconfig, whose requests go to a namespace: the one in which the program believes to be.
fn in_namespace(kubeconfig: &str, namespace: &str) -> Result<String> {
    let mut kubeconfig: Value = serde_saphyr::from_str(kubeconfig)?;
    let contexts = kubeconfig["contexts"].as_array_mut();
    for context in contexts.into_iter().flatten() {
        context["context"]["namespace"] = namespace.into();
    }
    Ok(kubeconfig.to_string())
}

/// Time after which every client of a killed replica has noticed its end.
const NOTICED: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_mins(1);
