//! CronJobs: Jobs at the times of a schedule.

mod schedule;

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use kubewright_apimachinery::time::seconds;
use serde_json::{Value, json};
use tokio::time::Duration;

use super::super::client::{CRON_JOBS, Failure, JOBS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, controlled_by, flag, list, map, text};
use super::super::queue::Next;
use super::super::recorder::Kind;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::jobs;
use super::status::condition;
use schedule::Schedule;

/// The CronJob controller.
#[derive(Debug)]
pub(crate) struct CronJobs;

const TABLE: &str = "cronjobs.batch";
const NAME: &str = "cronjob-controller";
const WHO: Who<'static> = Who::Controller(NAME);

/// The annotation of a Job with the time for which it was created.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

impl Controller for CronJobs {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE) {
            change.after.iter().for_each(|item| keys.add(item));
        } else if change.is_in(jobs::TABLE) {
            for job in [&change.before, &change.after].into_iter().flatten() {
                keys.add_controller_of(job, graph, TABLE);
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(item) => sync(cx, &item).await,
                None => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

/// A CronJob with its Jobs, as one reconcile sees and changes it.
struct CronJob<'a> {
    cx: &'a Context,
    object: Value,
    jobs: Vec<Arc<Item>>,
    now: Timestamp,
}

async fn sync(cx: &Context, item: &Item) -> Outcome {
    let object = item.object.value();
    let before = object["status"].clone();
    let mut cron = CronJob {
        cx,
        object,
        jobs: cx.look(|graph| graph.controlled(&item.meta.uid, jobs::TABLE)),
        now: cx.clock.now(),
    };
    cron.trim().await;
    cron.observe().await;
    let scheduled = cron.schedule().await;
    if cron.object["status"] != before {
        let client = &cx.client;
        client.update_status(WHO, &CRON_JOBS, &cron.object).await?;
    }
    Ok(scheduled?.map_or(Next::Done, Next::After))
}

/// The condition of a Job that is over: `Complete` or `Failed`.
fn finished(job: &Value) -> Option<&'static str> {
    let status = map(job, "/status");
    ["Complete", "Failed"].into_iter().find(|what| {
        condition(&status, what).is_some_and(|condition| condition["status"] == "True")
    })
}

impl CronJob<'_> {
    fn active(&self) -> &[Value] {
        list(&self.object, "/status/active")
    }

    fn drop_active(&mut self, uid: &str) {
        let Some(Value::Array(active)) = self.object["status"].get_mut("active") else {
            return;
        };
        active.retain(|reference| reference["uid"] != uid);
        if active.is_empty() {
            self.object["status"]
                .as_object_mut()
                .map(|status| status.remove("active"));
        }
    }

    async fn tell(&self, kind: Kind, reason: &str, message: &str) {
        let cx = self.cx;
        cx.tell(NAME, &self.object, kind, reason, message).await;
    }

    /// Deletes the oldest of the Jobs that are over, beyond the limits of the history.
    async fn trim(&mut self) {
        for (what, limit) in [
            ("Complete", "successfulJobsHistoryLimit"),
            ("Failed", "failedJobsHistoryLimit"),
        ] {
            let Some(limit) = self.object["spec"][limit].as_u64() else {
                continue;
            };
            let mut over: Vec<(String, Arc<Item>)> = self
                .jobs
                .iter()
                .filter_map(|job| {
                    let object = job.object.value();
                    let started = text(&object, "/status/startTime").to_owned();
                    (finished(&object) == Some(what)).then(|| (started, job.clone()))
                })
                .collect();
            over.sort_by_key(|(started, job)| {
                (started.is_empty(), started.clone(), job.name().to_owned())
            });
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let surplus = over.len().saturating_sub(limit);
            for (_, job) in over.into_iter().take(surplus) {
                self.delete(&job).await;
            }
        }
    }

    /// Deletes a Job with its pods; returns whether it could.
    async fn delete(&mut self, job: &Item) -> bool {
        let path = JOBS.path(job.namespace(), job.name());
        let options = json!({"propagationPolicy": "Background"});
        if let Err(failure) = self.cx.client.delete(WHO, &path, &options).await {
            let message = format!("Deleted job: {failure}");
            self.tell(Kind::Warning, "FailedDelete", &message).await;
            return false;
        }
        self.drop_active(&job.meta.uid);
        self.jobs.retain(|known| known.meta.uid != job.meta.uid);
        let message = format!("Deleted job {}", job.name());
        self.tell(Kind::Normal, "SuccessfulDelete", &message).await;
        true
    }

    /// Takes note of Jobs that are over, unknown or gone.
    async fn observe(&mut self) {
        for job in self.jobs.clone() {
            let object = job.object.value();
            let uid = job.meta.uid.as_str();
            let known = self
                .active()
                .iter()
                .any(|reference| reference["uid"] == uid);
            let Some(how) = finished(&object) else {
                if !known {
                    let message = format!(
                        "Saw a job that the controller did not create or forgot: {}",
                        job.name()
                    );
                    self.tell(Kind::Warning, "UnexpectedJob", &message).await;
                }
                continue;
            };
            if known {
                self.drop_active(uid);
                let message = format!("Saw completed job: {}, condition: {how}", job.name());
                self.tell(Kind::Normal, "SawCompletedJob", &message).await;
            }
            let completed = text(&object, "/status/completionTime");
            if how == "Complete" && completed > text(&self.object, "/status/lastSuccessfulTime") {
                self.object["status"]["lastSuccessfulTime"] = completed.into();
            }
        }
        for reference in self.active().to_vec() {
            let uid = text(&reference, "/uid");
            if self.jobs.iter().any(|job| job.meta.uid == uid) {
                continue;
            }
            let message = format!("Active job went missing: {}", text(&reference, "/name"));
            self.tell(Kind::Normal, "MissingJob", &message).await;
            self.drop_active(uid);
        }
    }

    /// Creates the Job of the most recent time, if there is one to create; returns the time until the next.
    async fn schedule(&mut self) -> Result<Option<Duration>, Failure> {
        if !self.object["metadata"]["deletionTimestamp"].is_null() {
            return Ok(None);
        }
        let name = text(&self.object, "/spec/timeZone");
        let zone = match name {
            "" => TimeZone::UTC,
            name => match TimeZone::get(name) {
                Ok(zone) => zone,
                Err(error) => {
                    let message = format!("invalid timeZone: {name:?}: {error}");
                    self.tell(Kind::Warning, "UnknownTimeZone", &message).await;
                    return Ok(None);
                }
            },
        };
        if flag(&self.object, "/spec/suspend") {
            return Ok(None);
        }
        let written = text(&self.object, "/spec/schedule").to_owned();
        let Some(schedule) = Schedule::parse(&written) else {
            let message = format!("unparseable schedule: {written:?} : it is no cron expression");
            self.tell(Kind::Warning, "UnparseableSchedule", &message)
                .await;
            return Ok(None);
        };
        let deadline = self.object["spec"]["startingDeadlineSeconds"].as_i64();
        let Some(missed) = self.missed(&schedule, &zone, deadline) else {
            let message = format!(
                "invalid schedule: {written} : time difference between two schedules is less than 1 second"
            );
            self.tell(Kind::Warning, "InvalidSchedule", &message).await;
            return Ok(None);
        };
        let Some(time) = missed.last else {
            return Ok(self.wait(&schedule, &zone));
        };
        if missed.many {
            let message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.tell(Kind::Warning, "TooManyMissedTimes", message)
                .await;
        }
        let late = deadline.is_some_and(|deadline| {
            let latest = time.saturating_add(SignedDuration::from_secs(deadline));
            latest.is_ok_and(|latest| latest < self.now)
        });
        if late {
            let message = format!(
                "Missed scheduled time to start a job: {}",
                time.strftime("%a, %d %b %Y %H:%M:%S +0000")
            );
            self.tell(Kind::Warning, "MissSchedule", &message).await;
            return Ok(self.wait(&schedule, &zone));
        }
        let job = format!(
            "{}-{}",
            text(&self.object, "/metadata/name"),
            time.as_second() / 60
        );
        let there = self
            .active()
            .iter()
            .any(|reference| reference["name"] == job.as_str());
        if there || text(&self.object, "/status/lastScheduleTime") == seconds(time) {
            return Ok(self.wait(&schedule, &zone));
        }
        match text(&self.object, "/spec/concurrencyPolicy") {
            "Forbid" if !self.active().is_empty() => {
                let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
                self.tell(Kind::Normal, "JobAlreadyActive", message).await;
                return Ok(self.wait(&schedule, &zone));
            }
            "Replace" => {
                let active = self.active().to_vec();
                for job in self.jobs.clone() {
                    let is_active = active
                        .iter()
                        .any(|reference| reference["uid"] == job.meta.uid.as_str());
                    if is_active && !self.delete(&job).await {
                        let message = format!("could not replace job {}", job.name());
                        return Err(Failure::own(message));
                    }
                }
            }
            _ => {}
        }
        self.create(&job, time, &zone).await?;
        Ok(self.wait(&schedule, &zone))
    }

    async fn create(
        &mut self,
        name: &str,
        time: Timestamp,
        zone: &TimeZone,
    ) -> Result<(), Failure> {
        let template = &self.object["spec"]["jobTemplate"];
        let mut annotations = map(template, "/metadata/annotations");
        let there = time.to_zoned(zone.clone());
        let text_of_time = if there.offset().is_zero() {
            seconds(time)
        } else {
            there.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
        };
        annotations.insert(SCHEDULED.to_owned(), text_of_time.into());
        let job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "labels": map(template, "/metadata/labels"),
                "annotations": annotations,
                "ownerReferences": [controlled_by(&self.object)],
            },
            "spec": template["spec"],
        });
        let namespace = text(&self.object, "/metadata/namespace").to_owned();
        let client = &self.cx.client;
        let made = match client.create(WHO, &JOBS, &namespace, &job).await {
            Ok(made) => {
                let message = format!("Created job {name}");
                self.tell(Kind::Normal, "SuccessfulCreate", &message).await;
                made
            }
            Err(failure) if failure.already_exists() => {
                let known = client.get(WHO, &JOBS.path(&namespace, name)).await?;
                let owner = &known["metadata"]["ownerReferences"][0]["uid"];
                if *owner != self.object["metadata"]["uid"] {
                    return Ok(());
                }
                known
            }
            Err(failure) => {
                if !failure.is_for_terminating_namespace() {
                    let message = format!("Error creating job: {failure}");
                    self.tell(Kind::Warning, "FailedCreate", &message).await;
                }
                return Err(failure);
            }
        };
        let status = &mut self.object["status"];
        if !status["active"].is_array() {
            status["active"] = json!([]);
        }
        if let Value::Array(active) = &mut status["active"] {
            active.push(json!({
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": made["metadata"]["name"],
                "namespace": namespace,
                "resourceVersion": made["metadata"]["resourceVersion"],
                "uid": made["metadata"]["uid"],
            }));
        }
        status["lastScheduleTime"] = seconds(time).into();
        Ok(())
    }

    /// The most recent time of the schedule for which there may be no Job yet; `None` if the schedule names no two times.
    fn missed(
        &self,
        schedule: &Schedule,
        zone: &TimeZone,
        deadline: Option<i64>,
    ) -> Option<Missed> {
        /// More missed times than these are worth a warning.
        const MANY: i64 = 100;
        let last = text(&self.object, "/status/lastScheduleTime");
        let created = text(&self.object, "/metadata/creationTimestamp");
        let since = if last.is_empty() { created } else { last };
        let mut earliest: Timestamp = since.parse().ok()?;
        if let Some(deadline) = deadline {
            let deadline = SignedDuration::from_secs(deadline);
            earliest = earliest.max(self.now.checked_sub(deadline).ok()?);
        }
        let first = schedule.next(earliest, zone)?;
        let second = schedule.next(first, zone)?;
        let none = |earliest| Missed {
            earliest,
            last: None,
            some: false,
            many: false,
        };
        if self.now < first {
            return Some(none(earliest));
        }
        if self.now < second {
            return Some(Missed {
                last: Some(first),
                ..none(earliest)
            });
        }
        let between = second.duration_since(first).as_secs();
        if between < 1 {
            return None;
        }
        let number = self.now.duration_since(first).as_secs() / between + 1;
        // One interval back, for schedules whose intervals differ.
        let back = SignedDuration::from_secs((number - 2) * between);
        let mut time = schedule.next(first.checked_add(back).ok()?, zone);
        let mut last = None;
        while let Some(candidate) = time.filter(|candidate| *candidate <= self.now) {
            last = Some(candidate);
            time = schedule.next(candidate, zone);
        }
        Some(Missed {
            earliest,
            last,
            some: true,
            many: number > MANY,
        })
    }

    /// The time until the next Job.
    fn wait(&self, schedule: &Schedule, zone: &TimeZone) -> Option<Duration> {
        /// After the time itself, for clocks that are not quite right.
        const BEHIND: SignedDuration = SignedDuration::from_millis(100);
        let from = match self.missed(schedule, zone, None) {
            Some(Missed {
                last: Some(last), ..
            }) => last,
            Some(missed) if !missed.some => missed.earliest,
            _ => self.now,
        };
        let next = schedule.next(from, zone)?.checked_add(BEHIND).ok()?;
        Some(Duration::try_from(next.duration_since(self.now)).unwrap_or_default())
    }
}

/// The times of a schedule that have passed since the last one.
struct Missed {
    earliest: Timestamp,
    last: Option<Timestamp>,
    some: bool,
    many: bool,
}
