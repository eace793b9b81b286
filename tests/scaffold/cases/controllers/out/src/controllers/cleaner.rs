//! Reconciles every WhiteList: creates a ConfigMap for it. Replace this example with your own logic.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::controller::{Context, Error};
use kubewright::prelude::*;

use crate::api::police::v1::WhiteList;

/// Reconciles an object after a change of it or of its ConfigMap. The handles are its permissions.
pub(crate) fn controller(needs: &mut Needs) -> Controller<WhiteList> {
    let reconciler = CleanerReconciler {
        config_maps: needs.create_or_update(),
    };
    Controller::new("cleaner", reconciler)
        .filter(Predicate::generation_changed())
        .watch(owned::<ConfigMap>())
}

struct CleanerReconciler {
    config_maps: CreateOrUpdate<ConfigMap>,
}

impl Reconcile<WhiteList> for CleanerReconciler {
    async fn reconcile(&self, object: Arc<WhiteList>, cx: Context) -> Result<Action, Error> {
        // Created if it is missing, updated if it differs, deleted with its owner.
        let config_map = config_map(&object);
        cx.create_or_update(&self.config_maps, config_map).await?;
        Ok(Action::await_change())
    }
}

/// Returns the desired ConfigMap of an object.
fn config_map(object: &WhiteList) -> ConfigMap {
    let mut config_map = ConfigMap::default();
    config_map.metadata.name = Some(format!("{}-cleaner", object.name_any()));
    config_map.data = Some(BTreeMap::from([("for".to_owned(), object.name_any())]));
    config_map
}
