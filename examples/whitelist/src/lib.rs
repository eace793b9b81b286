//! Keeps a Deployment for every WhiteList: the first controller that one writes.

#![expect(
    clippy::exhaustive_structs,
    reason = "users of a custom resource write down all of its fields"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::CustomResource;
use kubewright::controller::{Context, Error};
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a WhiteList asks for: nothing yet, as a scaffolder leaves it.
#[derive(Clone, Debug, Default, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "police.foo.bar",
    version = "v1beta1",
    kind = "WhiteList",
    plural = "whitelists",
    doc = "Asks for a Deployment of nginx.",
    namespaced
)]
pub struct WhiteListSpec {
    /// An example of a field: write here what you like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// Defines the program.
pub fn app(needs: &mut Needs) -> App {
    let whitelists = WhiteLists {
        deployments: needs.create_or_update(),
    };
    App::new("whitelist")
        .version(env!("CARGO_PKG_VERSION"))
        .crd::<WhiteList>()
        .controller(Controller::new("whitelists", whitelists).watch(owned::<Deployment>()))
        .install(Install::in_namespace("whitelist").image("kubewright.example/whitelist"))
}

struct WhiteLists {
    deployments: CreateOrUpdate<Deployment>,
}

impl Reconcile<WhiteList> for WhiteLists {
    async fn reconcile(&self, list: Arc<WhiteList>, cx: Context) -> Result<Action, Error> {
        let name = format!("{}-deployment", list.name_any());
        let kept = cx
            .create_or_update(&self.deployments, deployment(&name))
            .await?;
        let namespace = list.namespace().unwrap_or_default();
        match kept {
            OperationResult::Created => tracing::info!("Creating Deployment {namespace}/{name}"),
            OperationResult::Updated => tracing::info!("Updating Deployment {namespace}/{name}"),
            OperationResult::Unchanged => {}
        }
        Ok(Action::await_change())
    }
}

/// The desired Deployment of this name.
fn deployment(name: &str) -> Deployment {
    let labels = BTreeMap::from([("deployment".to_owned(), name.to_owned())]);
    let container = Container {
        name: "nginx".to_owned(),
        image: Some("nginx".to_owned()),
        ..Container::default()
    };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels.clone()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            containers: vec![container],
            ..PodSpec::default()
        }),
    };
    Deployment {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels.clone()),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            selector: LabelSelector {
                match_labels: Some(labels),
                ..LabelSelector::default()
            },
            template,
            ..DeploymentSpec::default()
        },
        ..Deployment::default()
    }
}
