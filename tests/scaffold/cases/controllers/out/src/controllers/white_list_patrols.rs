//! Reconciles every WhiteList: creates a Patrol for it. Replace this example with your own logic.

use std::sync::Arc;

use kubewright::controller::{Context, Error};
use kubewright::prelude::*;

use crate::api::police::v1::WhiteList;
use crate::api::police::v1::{Patrol, PatrolSpec};

/// Reconciles an object after a change of it or of its Patrol. The handles are its permissions.
pub(crate) fn controller(needs: &mut Needs) -> Controller<WhiteList> {
    let reconciler = WhiteListPatrolsReconciler {
        patrols: needs.create_or_update(),
    };
    Controller::new("white-list-patrols", reconciler)
        .filter(Predicate::generation_changed())
        .watch(owned::<Patrol>())
}

struct WhiteListPatrolsReconciler {
    patrols: CreateOrUpdate<Patrol>,
}

impl Reconcile<WhiteList> for WhiteListPatrolsReconciler {
    async fn reconcile(&self, object: Arc<WhiteList>, cx: Context) -> Result<Action, Error> {
        // Created if it is missing, updated if it differs, deleted with its owner.
        let patrol = patrol(&object);
        cx.create_or_update(&self.patrols, patrol).await?;
        Ok(Action::await_change())
    }
}

/// Returns the desired Patrol of an object.
fn patrol(object: &WhiteList) -> Patrol {
    let name = format!("{}-white-list-patrols", object.name_any());
    Patrol::new(&name, PatrolSpec::default())
}
