//! Runs tests: each on a server of its own, with the policies and what the test names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_apiserver::admission::Chain;
use kubewright_apiserver::audit::{Audit, Event};
use kubewright_apiserver::{ApiServer, KubernetesVersion, Snapshot};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::beside;
use super::coverage::{Condition, Coverage};
use super::expectation::Observed;
use super::file::{Operation, PolicyTest, Subject, Test};
use crate::cluster::{Cluster, Request};
use crate::manifest::{self, Manifest};
use crate::source::{Source, files};

const GROUP: &str = "admissionregistration.k8s.io/";

/// What came of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The name of the test.
    pub name: String,
    /// Whether it passed.
    pub verdict: Verdict,
}

/// Whether a test passed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a test passes, fails or cannot be run"
)]
pub enum Verdict {
    /// Everything is as expected.
    Passed,
    /// What is not as expected, a sentence each.
    Failed(Vec<String>),
    /// Why the test cannot be run.
    NotRun(String),
}

/// What came of the tests of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The tests.
    pub outcomes: Vec<Outcome>,
    /// The conditions of the policies' expressions, and which values they had.
    pub conditions: Vec<Condition>,
}

/// Runs the tests of a file.
///
/// # Errors
/// What the tests share cannot be read, or the API server refuses it.
///
/// # Cancel safety
/// Dropping the future leaves nothing behind.
pub async fn run(tests: &PolicyTest, version: KubernetesVersion) -> Result<Report, String> {
    let shared = Shared::new(tests, version).await?;
    let (mut outcomes, mut coverage) = (Vec::new(), Coverage::default());
    for test in &tests.tests {
        let verdict = match shared.request(test, &mut coverage).await {
            Ok(observed) => match test.expect.differences(&observed) {
                differences if differences.is_empty() => Verdict::Passed,
                differences => Verdict::Failed(differences),
            },
            Err(why) => Verdict::NotRun(why),
        };
        outcomes.push(Outcome {
            name: test.name.clone(),
            verdict,
        });
    }
    Ok(Report {
        outcomes,
        conditions: coverage.conditions(&shared.policies),
    })
}

/// What the tests of a file share.
struct Shared<'a> {
    tests: &'a PolicyTest,
    version: KubernetesVersion,
    /// The cluster without the policies: they judge no object that a test has before.
    before: Snapshot,
    policies: Vec<Value>,
    bindings: Vec<Value>,
}

impl<'a> Shared<'a> {
    async fn new(tests: &'a PolicyTest, version: KubernetesVersion) -> Result<Self, String> {
        let (mut policies, mut bindings) = (Vec::new(), Vec::new());
        let mut objects = Vec::new();
        for object in read_all(&tests.path, &tests.policies)? {
            let (api_version, kind) = (object.text("apiVersion"), object.text("kind"));
            if api_version.starts_with("kyverno.io/")
                || api_version.starts_with("policies.kyverno.io/")
            {
                return Err(format!(
                    "{kind} {} is a policy of Kyverno's own; only the policies of Kubernetes, \
                     ValidatingAdmissionPolicy and MutatingAdmissionPolicy, can be tested",
                    meta_text(&object, "name")
                ));
            }
            match kind {
                _ if !api_version.starts_with(GROUP) => objects.push(object),
                kind if kind.ends_with("AdmissionPolicy") => policies.push(object),
                kind if kind.ends_with("AdmissionPolicyBinding") => bindings.push(object),
                _ => objects.push(object),
            }
        }
        objects.extend(read_all(&tests.path, &tests.definitions)?);
        objects.extend(read_all(&tests.path, &tests.objects)?);
        objects.sort_by_key(|object| match object.text("kind") {
            "Namespace" => 0,
            "CustomResourceDefinition" => 1,
            _ => 2,
        });
        let server = ApiServer::builder().emulated_version(version).start();
        let mut cluster = Cluster::new(server, Vec::new());
        for object in objects {
            create(&mut cluster, object).await?;
        }
        let before = cluster.snapshot();
        cluster.stop();
        Ok(Self {
            tests,
            version,
            before,
            policies,
            bindings,
        })
    }

    /// Sends the request of a test.
    async fn request(&self, test: &Test, coverage: &mut Coverage) -> Result<Observed, String> {
        let heard = Arc::new(Mutex::new(BTreeMap::new()));
        let audit = Audit::to({
            let heard = heard.clone();
            move |event: &Event| *heard.lock() = event.annotations().clone()
        });
        let server = ApiServer::builder()
            .emulated_version(self.version)
            .snapshot(self.before.clone())
            .audit(audit)
            .admission(Chain::builder().policy_coverage())
            .start();
        let mut cluster = Cluster::new(server, Vec::new());
        let observed = self.ask(test, &mut cluster).await.map(|mut observed| {
            observed.audit_annotations = std::mem::take(&mut *heard.lock());
            observed
        });
        coverage.add(cluster.policy_coverage());
        cluster.stop();
        observed
    }

    async fn ask(&self, test: &Test, cluster: &mut Cluster) -> Result<Observed, String> {
        for object in &test.objects {
            create(cluster, self.subject(object)?).await?;
        }
        let old = test
            .old_object
            .as_ref()
            .map(|old| self.subject(old))
            .transpose()?;
        let new = test
            .object
            .as_ref()
            .map(|new| self.subject(new))
            .transpose()?;
        let object = new.or_else(|| old.clone()).ok_or("it has no object")?;
        let mut manifest = Manifest::of(object);
        let kind = cluster
            .kind(&manifest)
            .await
            .ok_or_else(|| no_kind(&manifest.object))?;
        if kind.namespaced {
            manifest.default_namespace();
            cluster
                .namespace(manifest.namespace(), &test.namespace_labels)
                .await;
        }
        if let Some(old) = old {
            let created = create(cluster, old).await;
            let created = created.map_err(|why| format!("the old object: {why}"))?;
            if meta_text(&manifest.object, "resourceVersion").is_empty()
                && let Some(metadata) = manifest.object.part("metadata")
            {
                metadata.put("resourceVersion", meta_text(&created, "resourceVersion"));
            }
        }
        for policy in self.applied(test)? {
            create(cluster, policy).await?;
        }
        let request = match test.operation() {
            Operation::Create => Request::Create,
            Operation::Update => Request::Update,
            Operation::Delete => Request::Delete,
        };
        if let Some(user) = &test.user {
            cluster.impersonate(&user.name, &user.groups)?;
        }
        let answer = cluster
            .request(request, &manifest, &kind, &test.subresource)
            .await;
        Ok(Observed {
            allowed: answer.status.is_success(),
            body: answer.body,
            warnings: answer.warnings,
            audit_annotations: BTreeMap::new(),
        })
    }

    /// The policies that apply in a test, and their bindings.
    fn applied(&self, test: &Test) -> Result<Vec<Value>, String> {
        let applies = |name: &str| test.only.as_deref().is_none_or(|only| only == name);
        let of_test = |policy: &&Value| applies(meta_text(policy, "name"));
        let policies: Vec<&Value> = self.policies.iter().filter(of_test).collect();
        if let Some(only) = &test.only
            && policies.is_empty()
        {
            return Err(format!("no policy has the name {only}"));
        }
        let mut all = Vec::new();
        let mut bound = BTreeSet::new();
        for binding in &self.bindings {
            let policy = binding.at("spec").text("policyName");
            if !applies(policy) {
                continue;
            }
            bound.insert((binding.text("kind"), policy.to_owned()));
            let mut binding = binding.clone();
            if test.only.is_some()
                && binding.text("kind").starts_with("Validating")
                && let Some(spec) = binding.part("spec")
            {
                spec.put("validationActions", json!(["Deny"]));
            }
            all.push(binding);
        }
        for policy in policies {
            let kind = format!("{}Binding", policy.text("kind"));
            let name = meta_text(policy, "name");
            if !bound.contains(&(kind.as_str(), name.to_owned())) {
                all.push(binding(policy.text("apiVersion"), &kind, name));
            }
            all.insert(0, policy.clone());
        }
        Ok(all)
    }

    /// The object that a test names.
    fn subject(&self, subject: &Subject) -> Result<Value, String> {
        let named = match subject {
            Subject::Inline(object) => return Ok(object.clone()),
            Subject::File(named) => named,
        };
        let (file, of) = named.split_once('#').unwrap_or((named, ""));
        let mut objects = read_all(&self.tests.path, &[PathBuf::from(file)])?;
        if of.is_empty() {
            return match objects.len() {
                1 => Ok(objects.remove(0)),
                count => Err(format!(
                    "{file} has {count} objects: say which, as {file}#KIND/NAME"
                )),
            };
        }
        let is_it = |object: &Value| {
            of.split_once('/').is_some_and(|(kind, name)| {
                object.text("kind") == kind && meta_text(object, "name") == name
            })
        };
        let found = objects.into_iter().find(is_it);
        found.ok_or_else(|| format!("{file} has no {of}"))
    }
}

/// A binding of a policy to everything that it matches.
fn binding(api_version: &str, kind: &str, policy: &str) -> Value {
    let mut spec = json!({ "policyName": policy });
    if kind.starts_with("Validating") {
        spec.put("validationActions", json!(["Deny"]));
    }
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": policy }, "spec": spec })
}

/// Creates an object, in a namespace that is there.
async fn create(cluster: &mut Cluster, object: Value) -> Result<Value, String> {
    let mut manifest = Manifest::of(object);
    let kind = cluster
        .kind(&manifest)
        .await
        .ok_or_else(|| no_kind(&manifest.object))?;
    if kind.namespaced {
        manifest.default_namespace();
        cluster
            .namespace(manifest.namespace(), &BTreeMap::new())
            .await;
    }
    let answer = cluster.request(Request::Keep, &manifest, &kind, "").await;
    if !answer.status.is_success() {
        let message = answer.body.text("message");
        return Err(format!("{} is refused: {message}", manifest.reference()));
    }
    if manifest.kind() == "CustomResourceDefinition" {
        cluster.rediscover();
    }
    Ok(answer.body)
}

fn no_kind(object: &Value) -> String {
    format!(
        "no matches for kind {:?} in version {:?}: name its CustomResourceDefinition under definitions",
        object.text("kind"),
        object.text("apiVersion")
    )
}

/// All objects of files and folders.
fn read_all(file: &Path, named: &[PathBuf]) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for path in named {
        let (found, unreadable) = files(&beside(file, path));
        let mut sources = found.iter().map(|file| Source::read(file));
        let sources: Vec<Source> = match unreadable.into_iter().next() {
            Some(unreadable) => Err(unreadable),
            None => sources.by_ref().collect(),
        }
        .map_err(|unreadable| format!("cannot read {}: {}", unreadable.name, unreadable.why))?;
        for source in sources {
            let (manifests, others) = manifest::read(0, &source);
            if let Some(other) = others.first() {
                return Err(format!("{}: {}", source.name, other.why));
            }
            all.extend(manifests.into_iter().map(|manifest| manifest.object));
        }
    }
    Ok(all)
}
