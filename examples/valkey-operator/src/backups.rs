//! Backups, each made by a Job whose name says what it is for, so that none is made twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Container, PersistentVolumeClaimVolumeSource, PodSpec, PodTemplateSpec, Volume, VolumeMount,
};
use kubewright::Cron;
use kubewright::controller::{Context, Error, Scope};
use kubewright::prelude::*;

use crate::api::v1::{Backup, Valkey};
use crate::instances::{as_valkey, image, password, restricted};
use crate::names;

pub(crate) struct Backups {
    jobs: Cached<Job>,
    kept: CreateOrUpdate<Job>,
    deleter: Deleter<Job>,
}

/// What has become of the backups.
#[derive(Default)]
pub(crate) struct Overview {
    /// The time for which the last complete one was made.
    pub(crate) last: Option<Timestamp>,
    /// The last one that ended, if it failed.
    pub(crate) failed: Option<String>,
    /// The time of the next one.
    pub(crate) next: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    Running,
}

impl Backups {
    pub(crate) fn new(needs: &mut Needs, own: &Scope) -> Self {
        Self {
            jobs: needs.within(own.clone()).cached(),
            kept: needs.within(own.clone()).create_or_update(),
            deleter: needs.within(own.clone()).deleter(),
        }
    }

    /// Makes the backup that is due by the schedule, and deletes Jobs that are no longer kept.
    pub(crate) async fn keep(&self, valkey: &Arc<Valkey>, cx: &Context) -> Result<Overview, Error> {
        let Some(backup) = &valkey.spec.backup else {
            return Ok(Overview::default());
        };
        let cron: Cron = backup.schedule.parse().map_err(Error::terminal)?;
        let mut jobs = self.list(valkey).await?;
        let is_running = jobs
            .iter()
            .any(|(_, _, outcome)| *outcome == Outcome::Running);
        let newest = jobs.last().map(|(time, ..)| *time);
        let created = valkey.metadata.creation_timestamp.as_ref();
        let since = newest
            .or(created.map(|created| created.0))
            .unwrap_or(cx.now());
        // No Job is begun beside another one, and a time that passes meanwhile is not made up for twice.
        if let Some(due) = latest(&cron, since, cx.now())
            && !is_running
        {
            let name = format!("{}-backup-{}", valkey.name_any(), due.as_second() / 60);
            self.make(valkey, cx, backup, name, due).await?;
        }
        let last = |wanted| jobs.iter().rfind(|(_, _, outcome)| *outcome == wanted);
        let (good, bad) = (last(Outcome::Succeeded), last(Outcome::Failed));
        let failed = bad.filter(|bad| good.is_none_or(|good| good.0 < bad.0));
        let overview = Overview {
            last: good.map(|(time, ..)| *time),
            failed: failed.map(|(_, job, _)| job.name_any()),
            next: cron.next_after(cx.now()),
        };
        jobs.retain(|(_, _, outcome)| *outcome != Outcome::Running);
        let keep = usize::try_from(backup.keep).unwrap_or(1);
        for (_, job, _) in jobs.iter().rev().skip(keep) {
            self.deleter.delete(job).await?;
        }
        Ok(overview)
    }

    /// Makes a backup for an occasion, such as `final`, and says what has become of it.
    pub(crate) async fn once(
        &self,
        valkey: &Arc<Valkey>,
        cx: &Context,
        backup: &Backup,
        occasion: &str,
    ) -> Result<Outcome, Error> {
        let name = format!("{}-backup-{occasion}", valkey.name_any());
        let namespace = valkey.namespace().unwrap_or_default();
        if let Some(job) = self.jobs.get((&*namespace, &*name)).await? {
            return Ok(outcome(&job));
        }
        self.make(valkey, cx, backup, name, cx.now()).await?;
        Ok(Outcome::Running)
    }

    /// The Jobs of a Valkey, by the times for which they were made.
    async fn list(&self, valkey: &Valkey) -> Result<Vec<(Timestamp, Job, Outcome)>, Error> {
        let namespace = valkey.namespace().unwrap_or_default();
        let jobs = self.jobs.list_in(&namespace).await?.into_iter();
        let mut own: Vec<_> = jobs
            .filter(|job| job.labels().get(names::VALKEY) == Some(&valkey.name_any()))
            .filter_map(|job| {
                let time = job.annotations().get(TIME)?.parse().ok()?;
                let outcome = outcome(&job);
                Some((time, job, outcome))
            })
            .collect();
        own.sort_by_key(|(time, ..)| *time);
        Ok(own)
    }

    async fn make(
        &self,
        valkey: &Arc<Valkey>,
        cx: &Context,
        backup: &Backup,
        name: String,
        time: Timestamp,
    ) -> Result<(), Error> {
        let version = valkey
            .status
            .as_ref()
            .and_then(|status| status.version.as_ref());
        let version = version.unwrap_or(&valkey.spec.version);
        let job = job(&valkey.name_any(), version, backup, name, time);
        cx.create_or_update(&self.kept, job).await?;
        Ok(())
    }
}

/// The last time of a schedule after one time and up to another. After a long outage, earlier times than a month ago do not count.
fn latest(cron: &Cron, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
    let month = until
        .checked_sub(SignedDuration::from_hours(24 * 31))
        .ok()?;
    let mut latest = None;
    let mut time = cron.next_after(after.max(month))?;
    while time <= until {
        latest = Some(time);
        time = cron.next_after(time)?;
    }
    latest
}

fn outcome(job: &Job) -> Outcome {
    let conditions = job
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let has = |name: &str| {
        conditions.is_some_and(|conditions| {
            let mut conditions = conditions.iter();
            conditions.any(|condition| condition.type_ == name && condition.status == "True")
        })
    };
    match (has("Complete"), has("Failed")) {
        (true, _) => Outcome::Succeeded,
        (false, true) => Outcome::Failed,
        (false, false) => Outcome::Running,
    }
}

fn job(valkey: &str, version: &str, backup: &Backup, name: String, time: Timestamp) -> Job {
    let file = format!("/backups/{valkey}-{}.rdb", time.as_second());
    let keep = backup.keep + 1;
    let script = format!(
        "valkey-cli -h {valkey} --rdb {file}.part && mv {file}.part {file} && \
         ls -t /backups/{valkey}-*.rdb | tail -n +{keep} | xargs -r rm --"
    );
    let container = Container {
        name: "backup".to_owned(),
        image: Some(image(version)),
        command: Some(vec!["sh".to_owned(), "-ec".to_owned(), script]),
        env: Some(vec![password(valkey, "REDISCLI_AUTH")]),
        security_context: Some(restricted()),
        volume_mounts: Some(vec![VolumeMount {
            name: "backups".to_owned(),
            mount_path: "/backups".to_owned(),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    };
    let claim = PersistentVolumeClaimVolumeSource {
        claim_name: backup.claim.clone(),
        read_only: None,
    };
    let mut pod = names::metadata(String::new(), valkey, "backup");
    pod.name = None;
    let mut metadata = names::metadata(name, valkey, "backup");
    metadata.annotations = Some(BTreeMap::from([(TIME.to_owned(), time.to_string())]));
    Job {
        metadata,
        spec: Some(JobSpec {
            backoff_limit: Some(2),
            active_deadline_seconds: Some(3600),
            template: PodTemplateSpec {
                metadata: Some(pod),
                spec: Some(PodSpec {
                    containers: vec![container],
                    restart_policy: Some("Never".to_owned()),
                    automount_service_account_token: Some(false),
                    security_context: Some(as_valkey()),
                    volumes: Some(vec![Volume {
                        name: "backups".to_owned(),
                        persistent_volume_claim: Some(claim),
                        ..Volume::default()
                    }]),
                    ..PodSpec::default()
                }),
            },
            ..JobSpec::default()
        }),
        ..Job::default()
    }
}

const TIME: &str = "valkey.example.com/time";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_times_that_have_passed_the_last_one_counts() {
        let cron: Cron = "0 * * * *".parse().unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let begin = at("2026-03-01T00:00:00Z");
        for (until, expected) in [
            ("2026-03-01T00:59:59Z", None),
            ("2026-03-01T01:00:00Z", Some("2026-03-01T01:00:00Z")),
            ("2026-03-01T05:30:00Z", Some("2026-03-01T05:00:00Z")),
            ("2026-09-01T05:30:00Z", Some("2026-09-01T05:00:00Z")),
        ] {
            assert_eq!(latest(&cron, begin, at(until)), expected.map(at), "{until}");
        }
    }
}
