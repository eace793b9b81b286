//! Mutating webhooks: one after the other, each on what the one before it left.

use std::sync::Arc;

use kubewright_apimachinery::status::{Result, Status};
use kubewright_webhook_client::Reach;
use tokio::time::Instant;

use super::annotations::Annotator;
use super::answer::{Answer, Sort};
use super::call::{self, Failure};
use super::configuration::Hook;
use super::meter::Meter;
use super::observe;
use super::patch::{self, Patched};
use super::select::{self, Invocation};
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::forms::Forms;
use crate::kinds::name_kind;
use crate::notes::Notes;
use crate::observer::Observer;
use crate::reinvocation::Reinvocation;

/// One request on its way through the mutating webhooks of one round.
pub(super) struct Dispatch<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) observer: Option<&'a dyn Observer>,
    pub(super) meter: Option<&'a dyn Meter>,
    pub(super) cluster: &'a dyn Cluster,
    pub(super) attributes: &'a mut Attributes,
    pub(super) notes: &'a Notes,
    pub(super) reinvocation: &'a mut Reinvocation,
    pub(super) forms: Forms,
}

/// What a call led to.
struct Effect {
    answer: Answer,
    patched: Option<Patched>,
}

impl Dispatch<'_> {
    pub(super) async fn run(mut self, hooks: &[Arc<Hook>]) -> Result<()> {
        for (index, hook) in hooks.iter().enumerate() {
            if let Some(invocation) = self.select(hook).await? {
                self.visit(&invocation, index).await?;
            }
        }
        if self.reinvocation.was_patched() {
            name_kind(&self.attributes.kind, &mut self.attributes.object);
        }
        Ok(())
    }

    async fn select(&mut self, hook: &Arc<Hook>) -> Result<Option<Invocation>> {
        let Some(invocation) = select::select(hook, self.cluster, self.attributes)? else {
            return Ok(None);
        };
        if !hook.conditions.is_empty() {
            let form = self
                .forms
                .of(self.reach, self.attributes, &invocation.matched, true)
                .await;
            let form = form.map_err(twice_internal)?;
            let holds = select::conditions_hold(self.cluster, self.attributes, &invocation, &form)?;
            if !holds {
                return Ok(None);
            }
        }
        Ok(Some(invocation).filter(|_| self.reinvocation.webhooks.calls(&hook.id)))
    }

    async fn visit(&mut self, invocation: &Invocation, index: usize) -> Result<()> {
        let hook = &invocation.hook;
        let started = Instant::now();
        let outcome = self.call(invocation, index).await;
        let changed =
            matches!(&outcome, Ok(Effect { patched: Some(patched), .. }) if patched.changed);
        self.annotator(hook, index).called(changed);
        self.reinvocation
            .webhooks
            .called(&hook.id, changed, hook.if_needed);
        self.show(invocation, &outcome, started);
        let Err(failure) = outcome else {
            return Ok(());
        };
        if !(hook.ignore_failure && matches!(failure, Failure::Call { .. })) {
            return Err(failure.into_status(&hook.name));
        }
        tracing::warn!(webhook = %hook.id, "a webhook failed, and its failure policy lets the request pass");
        self.annotator(hook, index).failed_open();
        if Instant::now() >= self.attributes.deadline {
            return Err(Status::timeout(
                "request did not complete within requested timeout",
            ));
        }
        Ok(())
    }

    async fn call(
        &mut self,
        invocation: &Invocation,
        index: usize,
    ) -> std::result::Result<Effect, Failure> {
        let reach = self.reach;
        let form = self
            .forms
            .of(
                reach,
                self.attributes,
                &invocation.matched,
                !invocation.hook.conditions.is_empty(),
            )
            .await;
        let mut form = form.map_err(|why| Failure::Refused(twice_internal(why)))?;
        let prepared = call::prepare(self.attributes, invocation, &mut form)?;
        let answer = call::call(
            reach,
            prepared,
            Sort::Mutating,
            invocation,
            self.attributes.deadline,
            self.notes,
        )
        .await?;
        let patch = patch::read(&answer)?;
        let Some(patch) = patch else {
            return Ok(Effect {
                answer,
                patched: None,
            });
        };
        let keep = self.observer.is_some();
        let patched = patch::apply(
            &patch,
            self.attributes,
            invocation,
            &mut self.forms,
            self.reinvocation,
            reach,
            keep,
        )
        .await?;
        self.annotator(&invocation.hook, index)
            .patched(&answer.patch);
        Ok(Effect {
            answer,
            patched: Some(patched),
        })
    }

    fn annotator<'a>(&'a self, hook: &'a Hook, index: usize) -> Annotator<'a> {
        Annotator {
            notes: self.notes,
            hook,
            round: self.reinvocation.webhooks.round(),
            index,
        }
    }

    fn show(
        &self,
        invocation: &Invocation,
        outcome: &std::result::Result<Effect, Failure>,
        started: Instant,
    ) {
        let seen = observe::Seen {
            hook: &invocation.hook,
            mutating: true,
            again: self.reinvocation.webhooks.round() > 0,
            request: self.attributes,
            started,
        };
        seen.measure(self.meter, outcome.as_ref().err());
        let Some(observer) = self.observer else {
            return;
        };
        match outcome {
            Ok(Effect { answer, patched }) => {
                let before = patched.as_ref().and_then(|patched| patched.before.as_ref());
                seen.allowed(observer, answer, before);
            }
            Err(failure) => seen.failed(observer, failure),
        }
    }
}

/// The real server wraps an object that cannot be converted for a mutating webhook twice.
fn twice_internal(why: Status) -> Status {
    why.into_internal().into_internal()
}
