//! Reconciles every WhiteList: creates a Deployment for it. Replace this example with your own logic.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::controller::{Context, Error};
use kubewright::prelude::*;
use serde_json::json;

use crate::api::police::v1::WhiteList;

/// Reconciles an object after a change of it or of its Deployment. The handles are its permissions.
pub(crate) fn controller(needs: &mut Needs) -> Controller<WhiteList> {
    let reconciler = ServersReconciler {
        deployments: needs.create_or_update(),
    };
    Controller::new("servers", reconciler)
        .filter(Predicate::generation_changed())
        .watch(owned::<Deployment>())
}

struct ServersReconciler {
    deployments: CreateOrUpdate<Deployment>,
}

impl Reconcile<WhiteList> for ServersReconciler {
    async fn reconcile(&self, object: Arc<WhiteList>, cx: Context) -> Result<Action, Error> {
        // Created if it is missing, updated if it differs, deleted with its owner.
        let deployment = deployment(&object)?;
        cx.create_or_update(&self.deployments, deployment).await?;
        Ok(Action::await_change())
    }
}

/// Returns the desired Deployment of an object.
fn deployment(object: &WhiteList) -> Result<Deployment, Error> {
    let deployment = serde_json::from_value(json!({
        "metadata": {
            "name": format!("{}-servers", object.name_any()),
        },
        "spec": {
            "selector": {
                "matchLabels": {
                    "app": "web"
                }
            },
            "template": {
                "metadata": {
                    "labels": {
                        "app": "web"
                    }
                },
                "spec": {
                    "containers": [
                        {
                            "image": "nginx:1.29",
                            "name": "web"
                        }
                    ]
                }
            }
        }
    }))?;
    Ok(deployment)
}
