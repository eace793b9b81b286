//! Manifests: what a check finds in each, beside what `kubectl apply --dry-run=server` says on a real server with the same
//! definitions and policies.

mod gadget;
mod said;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt as _, stream};
use kubewright_apimachinery::yaml;
use kubewright_apiserver::KubernetesVersion;
use kubewright_check::{Checker, Role, Source};
use kubewright_testing::ControlPlane;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use self::said::Said;
use crate::generate::kinds;
use crate::generate::random::Random;

/// What both clusters have.
const CONTEXT: &str = include_str!("manifests/context.yaml");

/// A manifest that the policies of the context refuse as soon as they apply.
const PROBE: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: probe}, spec: {replicas: 99, selector: {matchLabels: {a: b}}, \
                     template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}";

/// How long a real server may take until policies apply.
const POLICIES: Duration = Duration::from_secs(60);

/// One manifest in so many is of the kind that the context defines.
const GADGETS: usize = 10;

/// How many processes of kubectl run at a time.
const AT_A_TIME: usize = 4;

/// One manifest of which the two say different things.
#[derive(Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The number of the manifest.
    pub number: u64,
    /// Its text.
    pub manifest: String,
    /// What kubectl says.
    pub kubectl: Said,
    /// What the check finds.
    pub check: Said,
}

/// What a comparison showed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Comparison {
    /// How many manifests both accept.
    pub accepted: usize,
    /// How many manifests both refuse, in the same words.
    pub refused: usize,
    /// The manifests of which they say different things.
    pub differences: Vec<Difference>,
    /// How long kubectl took for all of them, and how long the checks took.
    pub seconds: (f64, f64),
}

/// Compares these manifests, a text each, on servers of a version.
///
/// # Errors
/// The real server does not start, there is no kubectl, or the context does not come to apply.
pub async fn compare(
    manifests: &[(u64, String)],
    version: KubernetesVersion,
    mut progress: impl FnMut(usize),
) -> Result<Comparison> {
    let real = RealCluster::start(version).await?;
    let mut comparison = Comparison::default();
    let start = Instant::now();
    let mut of_kubectl = Vec::new();
    let asked = manifests
        .iter()
        .map(|(number, text)| real.apply(*number, text));
    let mut asked = stream::iter(asked).buffered(AT_A_TIME);
    while let Some(said) = asked.next().await {
        of_kubectl.push(said?);
        progress(of_kubectl.len());
    }
    comparison.seconds.0 = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for ((number, text), kubectl) in manifests.iter().zip(of_kubectl) {
        let check = check(text, version).await?;
        if check != kubectl {
            comparison.differences.push(Difference {
                number: *number,
                manifest: text.clone(),
                kubectl,
                check,
            });
        } else if check.accepted {
            comparison.accepted += 1;
        } else {
            comparison.refused += 1;
        }
    }
    comparison.seconds.1 = start.elapsed().as_secs_f64();
    Ok(comparison)
}

/// Random manifests: good ones, and ones that are changed in one field, of built-in kinds and of the context's.
pub fn generated(seed: u64, count: u64) -> impl Iterator<Item = (u64, String)> {
    (0..count).map(move |number| {
        let mut random = Random::of_case("manifests", seed, number);
        let object = match random.one_in(GADGETS) {
            true => gadget::gadget(&mut random),
            false => kinds::manifest(&mut random),
        };
        (number, yaml::to_string(&object).replace("{ns}", "default"))
    })
}

async fn check(text: &str, version: KubernetesVersion) -> Result<Said> {
    let source = |name: &str, text: &str| Source {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let report = Checker::new()
        .kubernetes(version)
        .source(Ok(source("context.yaml", CONTEXT)), Role::Cluster)
        .source(Ok(source("manifest.yaml", text)), Role::Manifests)
        .run()
        .await?;
    Ok(Said::of_report(&report, "manifest.yaml"))
}

/// A real cluster with the context, and a kubectl for it.
struct RealCluster {
    _plane: ControlPlane,
    folder: TempDir,
    kubeconfig: PathBuf,
}

impl RealCluster {
    async fn start(version: KubernetesVersion) -> Result<Self> {
        let mut plane = ControlPlane::builder();
        if version != KubernetesVersion::default() {
            plane = plane.flag(format!("--emulated-version={version}"));
        }
        let plane = plane.start().await.context("start a real API server")?;
        let folder = TempDir::new()?;
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, plane.kubeconfig())?;
        let real = Self {
            _plane: plane,
            folder,
            kubeconfig,
        };
        let context = real.folder.path().join("context.yaml");
        std::fs::write(&context, CONTEXT)?;
        let output = real.kubectl(&["apply"], &context).await?;
        ensure!(
            output.status.success(),
            "kubectl cannot apply the context: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let probe = real.folder.path().join("probe.yaml");
        std::fs::write(&probe, PROBE)?;
        let start = Instant::now();
        while real
            .kubectl(&["apply", "--dry-run=server"], &probe)
            .await?
            .status
            .success()
        {
            ensure!(
                start.elapsed() < POLICIES,
                "the policies do not apply after {} s",
                POLICIES.as_secs()
            );
            sleep(Duration::from_millis(200)).await;
        }
        Ok(real)
    }

    async fn apply(&self, number: u64, text: &str) -> Result<Said> {
        let path = self.folder.path().join(format!("{number}.yaml"));
        std::fs::write(&path, text)?;
        let output = self.kubectl(&["apply", "--dry-run=server"], &path).await?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        Ok(Said::by_kubectl(
            output.status.success(),
            &stderr,
            &path.display().to_string(),
        ))
    }

    async fn kubectl(&self, arguments: &[&str], file: &Path) -> Result<std::process::Output> {
        Command::new("kubectl")
            .args(arguments)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(self.folder.path().join("cache"))
            .arg("--filename")
            .arg(file)
            .stdin(Stdio::null())
            .output()
            .await
            .context("run kubectl")
    }
}
