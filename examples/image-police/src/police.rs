//! Deletes what was refused.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::controller::{self, Context, Error};
use kubewright::prelude::*;

use crate::api::WhiteList;
use crate::judge::Judge;

/// Deletes Deployments with illegal images.
#[derive(Debug)]
pub(crate) struct Police {
    pub(crate) judge: Judge,
    pub(crate) deleter: Deleter<Deployment>,
}

impl Police {
    /// Looks at a Deployment again when it or a list of its namespace has changed, and when a list has taken it down.
    pub(crate) fn controller(
        self,
        deployments: &Cached<Deployment>,
        scope: &controller::Scope,
    ) -> Controller<Deployment> {
        let deployments = deployments.clone();
        let held_to = related(move |list: &WhiteList| {
            deployments.references_in(list.namespace().as_deref().unwrap_or_default())
        });
        let refused_by = related(|list: &WhiteList| {
            let namespace = list.namespace().unwrap_or_default();
            let offenders = list.status.iter().flat_map(|status| &status.offenders);
            let references = offenders.map(|offender| (&*namespace, &*offender.name).into());
            references.collect::<Vec<_>>()
        });
        Controller::new("police", self)
            .within(scope.clone())
            .filter(Predicate::generation_changed())
            .watch(
                held_to
                    .within(scope.clone())
                    .filter(Predicate::generation_changed()),
            )
            .watch(refused_by.within(scope.clone()))
    }
}

impl Reconcile<Deployment> for Police {
    async fn reconcile(&self, deployment: Arc<Deployment>, _: Context) -> Result<Action, Error> {
        let namespace = deployment.namespace().unwrap_or_default();
        let lists = self.judge.lists(&namespace).await?;
        let Some(offence) = self.judge.offence_of(&lists, &deployment) else {
            return Ok(Action::await_change());
        };
        let uid = deployment.uid().unwrap_or_default();
        let is_taken_down = lists
            .iter()
            .filter(|list| offence.missing_in.contains(&list.name_any()))
            .all(|list| {
                list.status
                    .as_ref()
                    .is_some_and(|status| status.knows(&uid))
            });
        if is_taken_down {
            tracing::info!("Deleting Deployment {namespace}/{}", deployment.name_any());
            self.deleter.delete_unchanged(&deployment).await?;
        }
        // Otherwise the status of a list is about to change, which leads here again.
        Ok(Action::await_change())
    }
}
