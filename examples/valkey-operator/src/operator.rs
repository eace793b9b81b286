//! The controller: what is done for a Valkey, in which order.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kubewright::controller::finalizer::Event;
use kubewright::controller::{Context, Error, Scope};
use kubewright::prelude::*;

use crate::api::v1::{Valkey, ValkeyStatus};
use crate::backups::{Backups, Outcome, Overview};
use crate::instances::{Instances, Observed, PATIENCE, Revision};
use crate::meters::Meters;
use crate::passwords::Passwords;
use crate::settings::Settings;
use crate::{names, report};

pub(crate) struct Operator {
    pub(crate) finalizer: Finalizer<Valkey>,
    pub(crate) statuses: StatusWriter<Valkey>,
    pub(crate) events: Recorder,
    pub(crate) passwords: Passwords,
    pub(crate) settings: Settings,
    pub(crate) instances: Instances,
    pub(crate) backups: Backups,
    pub(crate) meters: Meters,
}

impl Operator {
    pub(crate) fn controller(self, scope: &Scope, own: &Scope) -> Controller<Valkey> {
        let of_pod = related(|pod: &Pod| {
            let valkey = pod.labels().get(names::VALKEY);
            valkey.map(|name| (&*pod.namespace().unwrap_or_default(), &**name).into())
        });
        Controller::new("valkeys", self)
            .within(scope.clone())
            .filter(Predicate::generation_changed().or(Predicate::annotations_changed()))
            .watch(owned::<StatefulSet>().within(own.clone()))
            .watch(owned::<Service>().within(own.clone()))
            .watch(owned::<ConfigMap>().within(own.clone()))
            .watch(owned::<Secret>().within(own.clone()))
            .watch(owned::<PodDisruptionBudget>().within(own.clone()))
            .watch(owned::<Job>().within(own.clone()))
            .watch(of_pod.within(own.clone()))
            .fair_between_namespaces()
            .concurrency(4)
    }

    async fn keep(&self, valkey: &Arc<Valkey>, cx: &Context) -> Result<Action, Error> {
        let observed = self.instances.observe(valkey).await?;
        let accepts = |revision| observed.all(|instance| instance.passwords == revision);
        let passwords = self.passwords.keep(valkey, cx, accepts).await?;
        self.settings.keep(valkey, cx).await?;
        let backups = self.backups.keep(valkey, cx).await?;
        let revision = Revision {
            version: self.version(valkey, cx, &observed).await?,
            passwords: passwords.revision,
        };
        self.instances
            .keep(valkey, cx, &revision, &observed)
            .await?;
        if passwords.is_rotated {
            self.meters.rotations.inc();
            let note =
                "clients find another password in the Secret; the old one is accepted for an hour";
            self.events
                .normal(&**valkey, "PasswordRotated", note)
                .await?;
        }
        let status = report::status(valkey, cx, &observed, &revision, &backups);
        self.tell(valkey, &status, &backups).await?;
        self.statuses.update(valkey, &status).await?;
        // A replica that does not become ready changes nothing, so that only the time leads here again.
        let is_at_rest = observed.all(|instance| *instance == revision);
        let patience = (!is_at_rest)
            .then(|| cx.now().checked_add(PATIENCE).ok())
            .flatten();
        let times = [passwords.next, backups.next, patience];
        Ok(await_first(times, cx.now()))
    }

    /// The version to install: not another one before the backup that has to come first is complete.
    async fn version(
        &self,
        valkey: &Arc<Valkey>,
        cx: &Context,
        observed: &Observed,
    ) -> Result<String, Error> {
        let wanted = &valkey.spec.version;
        let running = valkey
            .status
            .as_ref()
            .and_then(|status| status.version.as_ref());
        let backup = valkey
            .spec
            .backup
            .as_ref()
            .filter(|backup| backup.before_upgrade);
        let (Some(running), Some(backup)) = (running.filter(|running| *running != wanted), backup)
        else {
            return Ok(wanted.clone());
        };
        // Kubernetes may have deleted the Job since then.
        if observed.any(|instance| instance.version == *wanted) {
            return Ok(wanted.clone());
        }
        let occasion = format!("before-{}", wanted.replace('.', "-"));
        match self.backups.once(valkey, cx, backup, &occasion).await? {
            Outcome::Succeeded => Ok(wanted.clone()),
            Outcome::Running | Outcome::Failed => Ok(running.clone()),
        }
    }

    /// Tells what is another now than the status says.
    async fn tell(
        &self,
        valkey: &Valkey,
        now: &ValkeyStatus,
        backups: &Overview,
    ) -> Result<(), Error> {
        let before = valkey.status.clone().unwrap_or_default();
        if let (Some(old), Some(new)) = (&before.version, &now.version)
            && old != new
        {
            self.meters.upgrades.inc();
            let note = format!("every instance runs version {new}, and no longer {old}");
            self.events.normal(valkey, "Upgraded", note).await?;
        }
        if before.last_backup != now.last_backup {
            self.meters.backups.with_label_values(["succeeded"]).inc();
        }
        let says_failed = |status: &ValkeyStatus| {
            let mut conditions = status.conditions.iter();
            let found = conditions.find(|condition| condition.reason == "BackupFailed");
            found.map(|condition| condition.message.clone())
        };
        if let (Some(job), failed) = (&backups.failed, says_failed(now))
            && failed != says_failed(&before)
        {
            self.meters.backups.with_label_values(["failed"]).inc();
            let note = format!("the Job {job} has failed");
            self.events.warning(valkey, "BackupFailed", note).await?;
        }
        Ok(())
    }

    async fn clean_up(&self, valkey: &Arc<Valkey>, cx: &Context) -> Result<Action, Error> {
        let backup = valkey
            .spec
            .backup
            .as_ref()
            .filter(|backup| backup.before_deletion);
        let is_skipped = valkey.annotations().contains_key(SKIP);
        let Some(backup) = backup.filter(|_| !is_skipped) else {
            return Ok(Action::await_change());
        };
        match self.backups.once(valkey, cx, backup, "final").await? {
            Outcome::Succeeded => Ok(Action::await_change()),
            Outcome::Running => Err(Error::retry("the final backup is not complete")),
            Outcome::Failed => {
                let note = format!(
                    "the final backup has failed: delete its Job to try again, or annotate the Valkey with {SKIP}"
                );
                self.events
                    .warning(&**valkey, "BackupFailed", &*note)
                    .await?;
                Err(Error::retry(note))
            }
        }
    }
}

impl Reconcile<Valkey> for Operator {
    async fn reconcile(&self, valkey: Arc<Valkey>, cx: Context) -> Result<Action, Error> {
        let reconcile = async |event| match event {
            Event::Apply(valkey) => self.keep(&valkey, &cx).await,
            Event::Cleanup(valkey) => self.clean_up(&valkey, &cx).await,
        };
        self.finalizer.run(valkey, reconcile).await
    }
}

fn await_first(times: [Option<Timestamp>; 3], now: Timestamp) -> Action {
    let Some(first) = times.into_iter().flatten().min() else {
        return Action::await_change();
    };
    let wait = first
        .duration_since(now)
        .max(jiff::SignedDuration::from_secs(1));
    Action::requeue_after(wait.unsigned_abs())
}

/// Lets a Valkey be deleted without its final backup.
const SKIP: &str = "valkey.example.com/skip-final-backup";
