//! Reconciles every Cluster: creates a ConfigMap for it. Replace this example with your own logic.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::controller::{Context, Error};
use kubewright::prelude::*;

use crate::api::ship::v1::Cluster;

/// Reconciles an object after a change of it or of its ConfigMap. The handles are its permissions.
pub(crate) fn controller(needs: &mut Needs) -> Controller<Cluster> {
    let reconciler = ClusterConfigMapsReconciler {
        config_maps: needs.create_or_update(),
    };
    Controller::new("cluster-config-maps", reconciler)
        .filter(Predicate::generation_changed())
        .watch(owned::<ConfigMap>())
}

struct ClusterConfigMapsReconciler {
    config_maps: CreateOrUpdate<ConfigMap>,
}

impl Reconcile<Cluster> for ClusterConfigMapsReconciler {
    async fn reconcile(&self, object: Arc<Cluster>, cx: Context) -> Result<Action, Error> {
        // Created if it is missing, updated if it differs, deleted with its owner.
        let config_map = config_map(&object);
        cx.create_or_update(&self.config_maps, config_map).await?;
        Ok(Action::await_change())
    }
}

/// Returns the desired ConfigMap of an object.
fn config_map(object: &Cluster) -> ConfigMap {
    let mut config_map = ConfigMap::default();
    config_map.metadata.name = Some(format!("{}-cluster-config-maps", object.name_any()));
    // A Cluster has no namespace, and a ConfigMap needs one.
    config_map.metadata.namespace = Some("default".to_owned());
    config_map.data = Some(BTreeMap::from([("for".to_owned(), object.name_any())]));
    config_map
}
