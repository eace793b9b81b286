//! Keeps a ConfigMap for every Ticket with a team: an example, to be replaced by what your program is for.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::api::example_org::v1::Ticket;

/// Looks at an object when it or its ConfigMap has changed. What it asks `needs` for is what it may do.
pub(crate) fn controller(needs: &mut Needs) -> Controller<Ticket> {
    let reconciler = TicketReconciler {
        config_maps: needs.keeper(),
    };
    Controller::new("tickets", reconciler).watch(owned::<ConfigMap>())
}

struct TicketReconciler {
    config_maps: Keeper<ConfigMap>,
}

impl Reconcile<Ticket> for TicketReconciler {
    async fn reconcile(&self, object: Arc<Ticket>, cx: Context) -> Result<Action, Error> {
        // Without this, every Ticket of the cluster would have one.
        if !object.labels().contains_key("example.com/team") {
            return Ok(Action::await_change());
        }
        // Made if it is missing, put back if it has been changed, deleted with its owner.
        cx.keep(&self.config_maps, config_map(&object)).await?;
        Ok(Action::await_change())
    }
}

/// The ConfigMap of an object, as it is to be.
fn config_map(object: &Ticket) -> ConfigMap {
    let mut config_map = ConfigMap::default();
    config_map.metadata.name = Some(format!("{}-ticket", object.name_any()));
    config_map.data = Some(BTreeMap::from([("for".to_owned(), object.name_any())]));
    config_map
}
