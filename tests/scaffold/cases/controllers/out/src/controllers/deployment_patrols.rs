//! Reconciles every Deployment with a team label: creates a Patrol for it. Replace this example with your own logic.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::controller::{Context, Error};
use kubewright::prelude::*;

use crate::api::police::v1::{Patrol, PatrolSpec};

/// Reconciles an object after a change of it or of its Patrol. The handles are its permissions.
pub(crate) fn controller(needs: &mut Needs) -> Controller<Deployment> {
    let reconciler = DeploymentPatrolsReconciler {
        patrols: needs.create_or_update(),
    };
    Controller::new("deployment-patrols", reconciler).watch(owned::<Patrol>())
}

struct DeploymentPatrolsReconciler {
    patrols: CreateOrUpdate<Patrol>,
}

impl Reconcile<Deployment> for DeploymentPatrolsReconciler {
    async fn reconcile(&self, object: Arc<Deployment>, cx: Context) -> Result<Action, Error> {
        // Without this, every Deployment of the cluster would get a Patrol.
        if !object.labels().contains_key("example.com/team") {
            return Ok(Action::await_change());
        }
        // Created if it is missing, updated if it differs, deleted with its owner.
        let patrol = patrol(&object);
        cx.create_or_update(&self.patrols, patrol).await?;
        Ok(Action::await_change())
    }
}

/// Returns the desired Patrol of an object.
fn patrol(object: &Deployment) -> Patrol {
    let name = format!("{}-deployment-patrols", object.name_any());
    Patrol::new(&name, PatrolSpec::default())
}
