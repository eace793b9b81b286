//! Takes down what each WhiteList comes to, in its status, and tells of those that it refuses.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::controller::{self, Context, Error};
use kubewright::prelude::*;
use serde_json::json;

use crate::api::{Offender, WhiteList, WhiteListStatus};
use crate::judge::Judge;

/// Writes the status of WhiteLists. No other writer does, and a Deployment that the status does not list is not deleted.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) judge: Judge,
    pub(crate) deployments: Cached<Deployment>,
    /// The lists as they are stored: the cache may not have the last status yet that this controller wrote.
    pub(crate) stored: Reader<WhiteList>,
    pub(crate) statuses: StatusWriter<WhiteList>,
    pub(crate) events: Recorder,
}

impl Record {
    /// Looks at a list again when a Deployment of its namespace or another list has changed, but not for a status.
    pub(crate) fn controller(self, scope: &controller::Scope) -> Controller<WhiteList> {
        let lists = self.judge.lists.clone();
        let beside = related(move |list: &WhiteList| {
            lists.references_in(list.namespace().as_deref().unwrap_or_default())
        });
        let lists = self.judge.lists.clone();
        let above = related(move |deployment: &Deployment| {
            lists.references_in(deployment.namespace().as_deref().unwrap_or_default())
        });
        Controller::new("record", self)
            .within(scope.clone())
            .filter(Predicate::generation_changed())
            .watch(
                beside
                    .within(scope.clone())
                    .filter(Predicate::generation_changed()),
            )
            .watch(
                above
                    .within(scope.clone())
                    .filter(Predicate::generation_changed()),
            )
    }

    /// Tells of a Deployment that is refused for the first time.
    async fn report(&self, deployment: &Deployment, sentence: String) -> Result<(), Error> {
        tracing::info!(
            deployment = %ObjectRef::of(deployment), offence = sentence,
            "Found! Illegal container image!"
        );
        self.events
            .warning(deployment, "IllegalImage", sentence)
            .await?;
        Ok(())
    }
}

impl Reconcile<WhiteList> for Record {
    async fn reconcile(&self, list: Arc<WhiteList>, _: Context) -> Result<Action, Error> {
        let (name, namespace) = (list.name_any(), list.namespace().unwrap_or_default());
        let lists = self.judge.lists(&namespace).await?;
        let deployments = self.deployments.list_in(&namespace).await?;
        let mut offences = Vec::new();
        for deployment in &deployments {
            if let Some(offence) = self.judge.offence_of(&lists, deployment)
                && offence.missing_in.contains(&name)
            {
                offences.push((deployment, offence));
            }
        }
        let mut before = list.status.clone().unwrap_or_default();
        let is_known = |(deployment, _): &(&Deployment, _)| {
            before.knows(deployment.uid().as_deref().unwrap_or_default())
        };
        if !offences.iter().all(is_known) {
            let stored = self.stored.get(ObjectRef::of(&*list)).await?;
            before = stored.and_then(|list| list.status).unwrap_or_default();
        }

        let mut now = WhiteListStatus {
            images: list.spec.images.iter().map(|image| image.tags.len()).sum(),
            checked: deployments.len(),
            offenders: Vec::new(),
            ..before.clone()
        };
        for (deployment, offence) in offences {
            let offender = Offender {
                name: deployment.name_any(),
                uid: deployment.uid().unwrap_or_default(),
                container: offence.container.clone(),
                image: offence.image.clone(),
            };
            if !before.knows(&offender.uid) {
                // One list tells for all that refuse it.
                if offence.missing_in.first() == Some(&name) {
                    self.report(deployment, offence.to_string()).await?;
                }
                now.refused += 1;
                now.last_offender = Some(offender.clone());
            }
            now.offenders.push(offender);
        }
        if list.status.as_ref() != Some(&now) {
            self.statuses
                .merge(ObjectRef::of(&*list), &json!(now))
                .await?;
        }
        Ok(Action::await_change())
    }
}

impl WhiteListStatus {
    /// Whether a Deployment is among the offenders.
    pub(crate) fn knows(&self, uid: &str) -> bool {
        self.offenders.iter().any(|offender| offender.uid == uid)
    }
}
