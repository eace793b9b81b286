//! Reconciles every WhiteList: creates a ConfigMap for it. Replace this example with your own logic.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::controller::{Context, Error};
use kubewright::prelude::*;

use crate::api::police::v1::WhiteList;

/// Reconciles an object after a change of it or of its ConfigMap. The handles are its permissions.
pub(crate) fn controller(needs: &mut Needs) -> Controller<WhiteList> {
    let reconciler = WhiteListReconciler {
        config_maps: needs.create_or_update(),
        statuses: needs.status_writer(),
    };
    Controller::new("white-lists", reconciler)
        .filter(Predicate::generation_changed())
        .watch(owned::<ConfigMap>())
}

struct WhiteListReconciler {
    config_maps: CreateOrUpdate<ConfigMap>,
    statuses: StatusWriter<WhiteList>,
}

impl Reconcile<WhiteList> for WhiteListReconciler {
    async fn reconcile(&self, object: Arc<WhiteList>, cx: Context) -> Result<Action, Error> {
        // Created if it is missing, updated if it differs, deleted with its owner.
        let config_map = config_map(&object);
        let message = format!("ConfigMap {} is up to date", config_map.name_any());
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
fn config_map(object: &WhiteList) -> ConfigMap {
    let mut config_map = ConfigMap::default();
    config_map.metadata.name = Some(format!("{}-white-list", object.name_any()));
    config_map.data = Some(BTreeMap::from([("for".to_owned(), object.name_any())]));
    config_map
}
