//! Keeps a ConfigMap for every Patrol: an example, to be replaced by what your program is for.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::api::police::v1::Patrol;

/// Looks at an object when it or its ConfigMap has changed. What it asks `needs` for is what it may do.
pub(crate) fn controller(needs: &mut Needs) -> Controller<Patrol> {
    let reconciler = PatrolReconciler {
        config_maps: needs.keeper(),
        statuses: needs.status_writer(),
    };
    Controller::new("patrols", reconciler)
        .when(Changed::generation())
        .watch(owned::<ConfigMap>())
}

struct PatrolReconciler {
    config_maps: Keeper<ConfigMap>,
    statuses: StatusWriter<Patrol>,
}

impl Reconcile<Patrol> for PatrolReconciler {
    async fn reconcile(&self, object: Arc<Patrol>, cx: Context) -> Result<Action, Error> {
        // Made if it is missing, put back if it has been changed, deleted with its owner.
        cx.keep(&self.config_maps, config_map(&object)).await?;

        // Written if it says something else, and only over what was read. After an error it is about an earlier generation.
        let mut status = object.status.clone().unwrap_or_default();
        status.observed_generation = object.metadata.generation;
        let ready = cx.condition("Ready", true, "Kept", "its ConfigMap is as it is to be");
        set_condition(&mut status.conditions, ready);
        self.statuses.keep(&object, &status).await?;
        Ok(Action::await_change())
    }
}

/// The ConfigMap of an object, as it is to be.
fn config_map(object: &Patrol) -> ConfigMap {
    let mut config_map = ConfigMap::default();
    config_map.metadata.name = Some(format!("{}-patrol", object.name_any()));
    config_map.data = Some(BTreeMap::from([("for".to_owned(), object.name_any())]));
    config_map
}
