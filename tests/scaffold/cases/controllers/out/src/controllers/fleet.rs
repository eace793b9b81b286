//! Reconciles every Cluster: creates a ConfigMap for it. Replace this example with your own logic.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::controller::{Context, Error};
use kubewright::prelude::*;

use crate::api::ship::v1::Cluster;

/// Reconciles an object after a change of it or of its ConfigMap. The handles are its permissions.
pub(crate) fn controller(needs: &mut Needs) -> Controller<Cluster> {
    let reconciler = FleetReconciler {
        config_maps: needs.create_or_update(),
        statuses: needs.status_writer(),
    };
    Controller::new("fleet", reconciler)
        .filter(Predicate::generation_changed())
        .watch(owned::<ConfigMap>())
}

struct FleetReconciler {
    config_maps: CreateOrUpdate<ConfigMap>,
    statuses: StatusWriter<Cluster>,
}

impl Reconcile<Cluster> for FleetReconciler {
    async fn reconcile(&self, object: Arc<Cluster>, cx: Context) -> Result<Action, Error> {
        // Created if it is missing, updated if it differs, deleted with its owner.
        let config_map = config_map(&object);
        let message = format!("ConfigMap default/{} is up to date", config_map.name_any());
        cx.create_or_update(&self.config_maps, config_map).await?;

        // Written only if it differs. After an error, observedGeneration stays behind.
        let mut status = object.status.clone().unwrap_or_default();
        status.observed_generation = object.metadata.generation;
        let ready = cx.condition("Ready", true, "Reconciled", &message);
        set_condition(&mut status.conditions, ready);
        self.statuses.update(&object, &status).await?;
        Ok(Action::await_change())
    }
}

/// Returns the desired ConfigMap of an object.
fn config_map(object: &Cluster) -> ConfigMap {
    let mut config_map = ConfigMap::default();
    config_map.metadata.name = Some(format!("{}-fleet", object.name_any()));
    // A Cluster has no namespace, and a ConfigMap needs one.
    config_map.metadata.namespace = Some("default".to_owned());
    config_map.data = Some(BTreeMap::from([("for".to_owned(), object.name_any())]));
    config_map
}
