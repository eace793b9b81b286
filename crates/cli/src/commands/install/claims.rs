//! What `deploy` and `install` may do to each object of a program, decided before anything is changed.

use k8s_openapi::api::core::v1::Pod;
use kube::Error;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::current::Cluster;
use crate::failure::{Failure, Outcome};
use crate::ownership::{Adopt, Installation, refusal};
use crate::ui::Ui;

/// An object of the program, and what a command may do about it.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    pub(super) object: &'a Value,
    /// The object as it is in the cluster.
    pub(super) stored: Option<Value>,
    pub(super) standing: Standing,
}

/// Whose an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Of this installation, or of none because it does not exist.
    Own,
    /// Of another owner, and named by `--adopt`.
    Adopted,
    /// Of another owner.
    Foreign,
}

/// Looks for every object in the cluster.
pub(super) async fn of<'a>(
    cluster: &Cluster,
    installation: &Installation,
    adopt: &Adopt,
    objects: impl IntoIterator<Item = &'a Value>,
) -> Outcome<Vec<Claim<'a>>> {
    let mut claims = Vec::new();
    for object in objects {
        let stored = cluster.find(object).await?;
        let standing = match &stored {
            None => Standing::Own,
            Some(stored) if installation.owns(stored) => Standing::Own,
            Some(_) if adopt.names(object) => Standing::Adopted,
            Some(_) => Standing::Foreign,
        };
        claims.push(Claim {
            object,
            stored,
            standing,
        });
    }
    Ok(claims)
}

/// Fails if an object has another owner. A namespace may have one: a program is deployed into it and leaves it as it is.
pub(super) fn hold(claims: &[Claim<'_>]) -> Outcome {
    let foreign = claims
        .iter()
        .filter(|claim| claim.standing == Standing::Foreign && claim.object["kind"] != "Namespace");
    let foreign: Vec<Value> = foreign.filter_map(|claim| claim.stored.clone()).collect();
    if foreign.is_empty() {
        return Ok(());
    }
    Err(refusal(&foreign))
}

/// Checks that the namespace of a Deployment, which another owner configures, admits its pods.
///
/// The API server decides, by a dry run: levels come from labels, from its own defaults and from exemptions.
pub(super) async fn check_pod_security(ui: &Ui, cluster: &Cluster, deployment: &Value) -> Outcome {
    let namespace = cluster.namespace_of(deployment);
    let template = &deployment["spec"]["template"];
    let mut spec = template["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        // The account is created with the program.
        spec.remove("serviceAccountName");
    }
    spec["automountServiceAccountToken"] = false.into();
    let pod = json!({
        "metadata": {"generateName": "kubewright-", "labels": template["metadata"]["labels"]},
        "spec": spec,
    });
    let pod: Pod = serde_json::from_value(pod)?;
    let pods: Api<Pod> = Api::namespaced(cluster.client().clone(), namespace);
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    match pods.create(&dry_run, &pod).await {
        Err(Error::Api(status)) if status.message.contains("violates PodSecurity") => {
            let why = status.message;
            Err(Failure::new(format!(
                "the namespace {namespace} does not admit the pods of the program: {why}"
            ))
            .hint(format!(
                "deploy into another namespace, or change the label pod-security.kubernetes.io/enforce of {namespace}"
            )))
        }
        Err(error) => {
            ui.note(format!(
                "cannot tell whether the namespace {namespace} admits the pods of the program: {error}"
            ));
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}
