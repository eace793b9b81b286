//! Validating webhooks: all that match are chosen first, then called at the same time and all awaited.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_webhook_client::Reach;
use tokio::time::Instant;

use super::answer::Sort;
use super::call::{self, Failure, Prepared};
use super::configuration::Hook;
use super::meter::Meter;
use super::observe;
use super::select::{self, Invocation};
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::forms::Forms;
use crate::notes::Notes;
use crate::observer::Observer;

const FAILED_OPEN: &str = "failed-open.validating.webhook.admission.k8s.io";

/// One request on its way through the validating webhooks.
pub(super) struct Dispatch<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) observer: Option<&'a dyn Observer>,
    pub(super) meter: Option<&'a dyn Meter>,
    pub(super) cluster: &'a dyn Cluster,
    pub(super) attributes: &'a Attributes,
    pub(super) notes: &'a Notes,
}

struct Chosen {
    invocation: Invocation,
    prepared: std::result::Result<Prepared, Failure>,
}

impl Dispatch<'_> {
    /// Calls every matching webhook; of several errors the first to arrive is the answer.
    pub(super) async fn run(&self, hooks: &[Arc<Hook>]) -> Result<()> {
        let chosen = self.choose(hooks).await?;
        if chosen.is_empty() {
            return Ok(());
        }
        if Instant::now() >= self.attributes.deadline {
            return Err(Status::timeout(
                "request did not complete within requested timeout",
            ));
        }
        let mut calls: FuturesUnordered<_> = chosen
            .into_iter()
            .enumerate()
            .map(|(index, chosen)| self.ask(chosen, index))
            .collect();
        let mut first = Ok(());
        while let Some(answer) = calls.next().await {
            first = first.and(answer);
        }
        first
    }

    async fn choose(&self, hooks: &[Arc<Hook>]) -> Result<Vec<Chosen>> {
        let (cluster, attributes) = (self.cluster, self.attributes);
        let mut forms = Forms::default();
        let mut chosen = Vec::new();
        for hook in hooks {
            let Some(invocation) = select::select(hook, cluster, attributes)? else {
                continue;
            };
            let form = forms
                .of(
                    self.reach,
                    attributes,
                    &invocation.matched,
                    !hook.conditions.is_empty(),
                )
                .await;
            let mut form = form.map_err(Status::into_internal)?;
            if !select::conditions_hold(cluster, attributes, &invocation, &form)? {
                continue;
            }
            let prepared = call::prepare(attributes, &invocation, &mut form);
            chosen.push(Chosen {
                invocation,
                prepared,
            });
        }
        Ok(chosen)
    }

    async fn ask(&self, chosen: Chosen, index: usize) -> Result<()> {
        let hook = &chosen.invocation.hook;
        let seen = observe::Seen {
            hook,
            mutating: false,
            again: false,
            request: self.attributes,
            started: Instant::now(),
        };
        let answer = match chosen.prepared {
            Ok(prepared) => {
                call::call(
                    self.reach,
                    prepared,
                    Sort::Validating,
                    &chosen.invocation,
                    self.attributes.deadline,
                    self.notes,
                )
                .await
            }
            Err(failure) => Err(failure),
        };
        seen.measure(self.meter, answer.as_ref().err());
        if let Some(observer) = self.observer {
            match &answer {
                Ok(answer) => seen.allowed(observer, answer, None),
                Err(failure) => seen.failed(observer, failure),
            }
        }
        match answer {
            Ok(_) => Ok(()),
            Err(Failure::Call { .. }) if hook.ignore_failure => {
                tracing::warn!(webhook = %hook.id, "a webhook failed, and its failure policy lets the request pass");
                self.notes.annotate(
                    &format!("{FAILED_OPEN}/round_0_index_{index}"),
                    hook.name.as_str(),
                );
                Ok(())
            }
            Err(failure) => Err(failure.into_status(&hook.name)),
        }
    }
}
