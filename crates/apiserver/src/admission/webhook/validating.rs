//! Validating webhooks: all that match are chosen first, then called at the same time and all awaited.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kubewright_apimachinery::status::{Result, Status};
use tokio::time::Instant;

use super::answer::Sort;
use super::call::{self, Failure, Prepared};
use super::client::Reach;
use super::configuration::Hook;
use super::forms::Forms;
use super::select::{self, Invocation};
use super::{Webhooks, observe};
use crate::admission::attributes::Attributes;
use crate::admission::cluster::Cluster;
use crate::admission::notes::Notes;

const FAILED_OPEN: &str = "failed-open.validating.webhook.admission.k8s.io";

/// Calls every matching webhook; of several errors the first to arrive is the answer.
pub(super) async fn dispatch(
    webhooks: &Webhooks,
    hooks: &[Arc<Hook>],
    cluster: &dyn Cluster,
    attributes: &Attributes,
    notes: &Notes,
) -> Result<()> {
    let chosen = choose(webhooks.reach(cluster), hooks, attributes).await?;
    if chosen.is_empty() {
        return Ok(());
    }
    if Instant::now() >= attributes.deadline {
        return Err(Status::timeout(
            "request did not complete within requested timeout",
        ));
    }
    let mut calls: FuturesUnordered<_> = chosen
        .into_iter()
        .enumerate()
        .map(|(index, chosen)| chosen.ask(webhooks, cluster, attributes, notes, index))
        .collect();
    let mut first = Ok(());
    while let Some(answer) = calls.next().await {
        first = first.and(answer);
    }
    first
}

struct Chosen {
    invocation: Invocation,
    prepared: std::result::Result<Prepared, Failure>,
}

async fn choose(
    reach: Reach<'_>,
    hooks: &[Arc<Hook>],
    attributes: &Attributes,
) -> Result<Vec<Chosen>> {
    let cluster = reach.cluster;
    let mut forms = Forms::default();
    let mut chosen = Vec::new();
    for hook in hooks {
        let Some(invocation) = select::select(hook, cluster, attributes)? else {
            continue;
        };
        let form = forms.of(reach, attributes, &invocation).await;
        let mut form = form.map_err(Status::into_internal)?;
        if !hook
            .conditions
            .hold(cluster, attributes, &invocation, &form)?
        {
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

impl Chosen {
    async fn ask(
        self,
        webhooks: &Webhooks,
        cluster: &dyn Cluster,
        attributes: &Attributes,
        notes: &Notes,
        index: usize,
    ) -> Result<()> {
        let hook = &self.invocation.hook;
        let seen = observe::Seen {
            hook,
            mutating: false,
            again: false,
            request: attributes,
            started: Instant::now(),
        };
        let (client, deadline) = (&webhooks.client, attributes.deadline);
        let answer = match self.prepared {
            Ok(prepared) => {
                call::call(
                    client,
                    cluster,
                    prepared,
                    Sort::Validating,
                    &self.invocation,
                    deadline,
                    notes,
                )
                .await
            }
            Err(failure) => Err(failure),
        };
        if let Some(observer) = &webhooks.observer {
            match &answer {
                Ok(answer) => seen.allowed(&**observer, answer, None),
                Err(failure) => seen.failed(&**observer, failure),
            }
        }
        match answer {
            Ok(_) => Ok(()),
            Err(Failure::Call(_)) if hook.ignore_failure => {
                tracing::warn!(webhook = %hook.id, "a webhook failed, and its failure policy lets the request pass");
                notes.annotate(
                    &format!("{FAILED_OPEN}/round_0_index_{index}"),
                    hook.name.as_str(),
                );
                Ok(())
            }
            Err(failure) => Err(failure.into_status(&hook.name)),
        }
    }
}
