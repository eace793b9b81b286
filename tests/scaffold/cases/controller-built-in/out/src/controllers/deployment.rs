//! Reconciles every Deployment with a team label: creates a ConfigMap for it. Replace this example with your own logic.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::controller::{Context, Error};
use kubewright::prelude::*;

/// Reconciles an object after a change of it or of its ConfigMap. The handles are its permissions.
pub(crate) fn controller(needs: &mut Needs) -> Controller<Deployment> {
    let reconciler = DeploymentReconciler {
        config_maps: needs.create_or_update(),
    };
    Controller::new("deployments", reconciler).watch(owned::<ConfigMap>())
}

struct DeploymentReconciler {
    config_maps: CreateOrUpdate<ConfigMap>,
}

impl Reconcile<Deployment> for DeploymentReconciler {
    async fn reconcile(&self, object: Arc<Deployment>, cx: Context) -> Result<Action, Error> {
        // Without this, every Deployment of the cluster would get a ConfigMap.
        if !object.labels().contains_key("example.com/team") {
            return Ok(Action::await_change());
        }
        // Created if it is missing, updated if it differs, deleted with its owner.
        let config_map = config_map(&object);
        cx.create_or_update(&self.config_maps, config_map).await?;
        Ok(Action::await_change())
    }
}

/// Returns the desired ConfigMap of an object.
fn config_map(object: &Deployment) -> ConfigMap {
    let mut config_map = ConfigMap::default();
    config_map.metadata.name = Some(format!("{}-deployment", object.name_any()));
    config_map.data = Some(BTreeMap::from([("for".to_owned(), object.name_any())]));
    config_map
}
