//! The types of a kind on a test cluster, and expressions that do not fit them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use kube::client::Body;
use kubewright_manager::Needs;
use kubewright_policy::{Mistake, Policy, Schema, Typed};
use kubewright_webhook::Object;
use serde_json::Value;

use crate::{TestCluster, fail};

/// Asserts that the expressions of a policy fit the types of its kind, and of its parameters, as a cluster serves them.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_policy::Policy;
/// use kubewright_testing::{TestCluster, type_check};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let policy = Policy::<Pod>::validating("images")
///     .rule("object.spec.containers.all(c, !c.image.endsWith(':latest'))", "name a version");
/// type_check(&TestCluster::start().await, |_| policy).await;
/// # });
/// ```
///
/// # Panics
///
/// If there is a mistake: the message has its place in the Rust source, with the part of the expression below it.
pub async fn type_check<K: Object, R>(
    cluster: &TestCluster,
    policy: impl FnOnce(&mut Needs) -> Policy<K, R>,
) where
    K::DynamicType: Default,
{
    checked(cluster, &policy(&mut Needs::default())).await;
}

/// Checks the types of a policy; answers the schema of its kind.
pub(super) async fn checked<K: Object, R>(cluster: &TestCluster, policy: &Policy<K, R>) -> Schema
where
    K::DynamicType: Default,
{
    let of = K::DynamicType::default();
    let kind = K::kind(&of);
    let Some(schema) = schema(cluster, &K::api_version(&of), &kind).await else {
        fail(format_args!(
            "the test cluster has no schema of the kind {kind}: define it with `.crd::<{kind}>()`"
        ));
    };
    let mut typed = Typed::object(schema.clone());
    if let Some((api_version, kind)) = policy.param_kind() {
        match self::schema(cluster, api_version, kind).await {
            Some(schema) => typed = typed.params(schema),
            None => fail(format_args!(
                "the test cluster has no schema of the kind {kind} of the parameters: define it with `.crd::<{kind}>()`"
            )),
        }
    }
    let mistakes = policy.check(&typed);
    if !mistakes.is_empty() {
        let shown: Vec<String> = mistakes.iter().map(shown).collect();
        fail(format_args!(
            "the policy `{}` does not fit the kind {kind}:\n{}",
            policy.name(),
            shown.join("\n")
        ));
    }
    schema
}

/// The schema of a kind as the cluster serves it.
async fn schema(cluster: &TestCluster, api_version: &str, kind: &str) -> Option<Schema> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let path = match group {
        "" => format!("/openapi/v3/api/{version}"),
        group => format!("/openapi/v3/apis/{group}/{version}"),
    };
    let request = http::Request::get(path)
        .header("accept", "application/json")
        .body(Body::empty())
        .ok()?;
    let response = cluster.client().send(request).await.ok()?;
    let body = response.into_body().collect_bytes().await.ok()?;
    let document: Value = serde_json::from_slice(&body).ok()?;
    Schema::of_openapi(&document, group, version, kind)
}

/// A mistake at its place in the source, if that is here: tests run where they were built.
fn shown(mistake: &Mistake) -> String {
    let text =
        source_of(Path::new(mistake.at.file())).and_then(|path| fs::read_to_string(path).ok());
    match text {
        Some(text) => mistake.shown_in(&text),
        None => mistake.to_string(),
    }
}

/// The file of a source that the compiler named: from the folder of the package, or of its workspace.
fn source_of(file: &Path) -> Option<PathBuf> {
    if file.is_absolute() {
        return Some(file.to_owned());
    }
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let mut folders = package.ancestors();
    folders
        .find(|folder| folder.join(file).is_file())
        .map(|folder| folder.join(file))
}
