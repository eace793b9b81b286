//! Manifests: what a check finds in each, beside what `kubectl apply --dry-run=server` says on a real server with the same
//! definitions and policies.

mod broken;
mod gadget;
mod said;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use futures::{StreamExt as _, stream};
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_apimachinery::yaml;
use kubewright_apiserver::KubernetesVersion;
use kubewright_check::{Checker, Role, Source};
use kubewright_testing::ControlPlane;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

pub use self::said::Said;
use crate::generate::kinds;
use crate::generate::random::Random;

/// What both clusters have.
const CONTEXT: &str = include_str!("manifests/context.yaml");

/// A manifest that a policy of the context refuses as soon as it applies.
const REFUSED: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: probe}
spec:
  replicas: 99
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}
";

/// A manifest that a policy of the context warns of, and that another one changes, as soon as they apply.
const WARNED_OF_AND_CHANGED: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: probe}
";

/// How long a real server may take until policies apply.
const POLICIES: Duration = Duration::from_mins(1);

/// One manifest in so many is of the kind that the context defines.
const GADGETS: usize = 10;

/// How often kubectl is asked again about a manifest: the API server goes through maps in an order that changes.
const AGAIN: usize = 20;

/// Of the others, one in so many is of the folders.
const OF_FOLDERS: usize = 3;

/// Of those in folders, one in so many is as it is.
const WHOLE: usize = 4;

/// What the API server says of a node port that it cannot allocate. A dry run allocates none, and so accepts it.
const OUT_OF_RANGE: &str = "provided port is not in the valid range";

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
        let mut kubectl = kubectl;
        let mut again = 0;
        while check != kubectl && check.is_in_another_order(&kubectl) && again < AGAIN {
            kubectl = real.apply(*number, text).await?;
            again += 1;
        }
        if check != kubectl && check.error.contains(OUT_OF_RANGE) {
            kubectl = real.create(*number, text).await?;
        }
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

/// Random manifests: good ones, and ones that are changed in one field, of built-in kinds, of the context's and of `folders`.
pub fn generated(seed: u64, count: u64, folders: &[Value]) -> impl Iterator<Item = (u64, String)> {
    (0..count).map(move |number| {
        let mut random = Random::of_case("manifests", seed, number);
        let object = if random.one_in(GADGETS) {
            gadget::gadget(&mut random)
        } else if !folders.is_empty() && random.one_in(OF_FOLDERS) {
            let mut object = random.one_of(folders);
            if !random.one_in(WHOLE) {
                broken::in_one_field(&mut random, &mut object);
                in_default_namespace(&mut object);
            }
            object
        } else {
            kinds::manifest(&mut random)
        };
        (number, yaml::to_string(&object).replace("{ns}", "default"))
    })
}

/// The objects of all manifests in a folder, in the namespace `default`: the cluster has no other.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn objects_in(folder: &Path) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    let (files, unreadable) = kubewright_check::files(folder);
    ensure!(unreadable.is_empty(), "cannot read {unreadable:?}");
    for file in files {
        let text = std::fs::read_to_string(&file);
        let text = text.with_context(|| format!("read {}", file.display()))?;
        for document in text.split("\n---") {
            let parsed = yaml::parse(document.as_bytes());
            let mut object = parsed
                .map_err(|error| anyhow!("read {}: {error}", file.display()))?
                .value;
            in_default_namespace(&mut object);
            if !object.text("kind").is_empty() {
                objects.push(object);
            }
        }
    }
    Ok(objects)
}

/// The real cluster has no other namespaces, and a check makes those that manifests name.
fn in_default_namespace(object: &mut Value) {
    if let Some(metadata) = object.existing("metadata")
        && metadata.get("namespace").is_some_and(Value::is_string)
    {
        metadata.put("namespace", "default");
    }
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
        let service_account = "--enable-admission-plugins=ServiceAccount";
        let mut plane = ControlPlane::builder().flag(service_account);
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
        let start = Instant::now();
        loop {
            let refused = real.probe("refused", REFUSED).await?;
            let other = real.probe("warned", WARNED_OF_AND_CHANGED).await?;
            let warned = String::from_utf8_lossy(&other.stderr).contains("add the label app");
            let changed = String::from_utf8_lossy(&other.stdout).contains("owner: policy");
            if !refused.status.success() && warned && changed {
                break;
            }
            ensure!(
                start.elapsed() < POLICIES,
                "the policies do not apply after {} s: kubectl says {} and {}, and writes {}",
                POLICIES.as_secs(),
                String::from_utf8_lossy(&refused.stderr),
                String::from_utf8_lossy(&other.stderr),
                String::from_utf8_lossy(&other.stdout)
            );
            sleep(Duration::from_millis(200)).await;
        }
        Ok(real)
    }

    async fn probe(&self, name: &str, manifest: &str) -> Result<std::process::Output> {
        let path = self.folder.path().join(name).with_extension("yaml");
        std::fs::write(&path, manifest)?;
        let apply = ["apply", "--dry-run=server", "--output=yaml"];
        self.kubectl(&apply, &path).await
    }

    async fn apply(&self, number: u64, text: &str) -> Result<Said> {
        self.said(&["apply", "--dry-run=server"], number, text)
            .await
    }

    /// As [`Self::apply`], for good if the API server accepts it.
    async fn create(&self, number: u64, text: &str) -> Result<Said> {
        self.said(&["apply"], number, text).await
    }

    async fn said(&self, arguments: &[&str], number: u64, text: &str) -> Result<Said> {
        let path = self.folder.path().join(format!("{number}.yaml"));
        std::fs::write(&path, text)?;
        let output = self.kubectl(arguments, &path).await?;
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
