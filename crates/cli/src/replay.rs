//! Replaying requests: each is made a review again, asked of two versions of a program, and the answers are compared.

mod answer;
mod event;
mod history;
pub(crate) mod log;
pub(crate) mod report;
mod request;
pub(crate) mod revision;
pub(crate) mod target;
pub(crate) mod version;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kubewright_apiserver::admission::{AdmissionRequest, Operation};
use kubewright_testing::Recording;
use serde_json::{Value, json};

use self::answer::Answer;
use self::event::{Event, ObjectReference};
use self::history::History;
use self::log::Log;
use self::report::{Report, Row};
use self::request::{Role, operation, requests};
use self::version::Version;
use crate::failure::Outcome;
use crate::ui::{Progress, Ui};

/// How many bytes of objects are remembered, to know them when they change.
const MOST_REMEMBERED: usize = 256 << 20;

/// Two versions of a program: the earlier one, or what was recorded of it, and the later one.
pub(crate) struct Versions {
    pub(crate) before: Option<Version>,
    pub(crate) after: Version,
}

impl Versions {
    fn all(&self) -> impl Iterator<Item = &Version> {
        self.before.iter().chain([&self.after])
    }

    /// Ends the programs.
    pub(crate) async fn stop(self) {
        if let Some(before) = self.before {
            before.stop().await;
        }
        self.after.stop().await;
    }
}

/// Replays recorded reviews.
pub(crate) async fn recordings(
    versions: &Versions,
    recorded: &[Recording],
    report: &mut Report<'_>,
) -> Outcome {
    for (number, recording) in recorded.iter().enumerate() {
        report.request();
        let row = row_of_recording(recording, number + 1);
        let (after, again) = versions.after.decide_recorded(recording).await?;
        let (before, is_same) = if let Some(version) = &versions.before {
            let (before, _) = version.decide_recorded(recording).await?;
            let is_same = before.is(&after);
            (before, is_same)
        } else {
            let before = Answer::of_response(recording.answer());
            (before, recording.is_answered_as(&again))
        };
        note_modes(versions, report, recording.hook(), &before, &after);
        if is_same {
            report.same();
        } else {
            report.differs(&row, recording.hook(), &before, &after);
        }
    }
    Ok(())
}

/// Replays the requests of audit logs.
pub(crate) struct AuditReplay<'a> {
    versions: &'a Versions,
    history: History,
    /// The namespaces whose labels the log has shown.
    known_namespaces: HashSet<String>,
    /// The namespaces that are taken as their names alone.
    assumed_namespaces: HashSet<String>,
}

impl<'a> AuditReplay<'a> {
    pub(crate) fn new(versions: &'a Versions) -> Self {
        Self {
            versions,
            history: History::of(MOST_REMEMBERED),
            known_namespaces: HashSet::new(),
            assumed_namespaces: HashSet::new(),
        }
    }

    /// Replays the requests of one log.
    pub(crate) async fn log(&mut self, ui: &Ui, mut log: Log, report: &mut Report<'_>) -> Outcome {
        let (mut read, size) = log.progress();
        let mut progress = Progress::new(ui, 0, size);
        while let Some(events) = log.next()? {
            let source = format!("{}:{}", log.name(), log.line());
            for event in &events {
                self.event(event, &source, report).await?;
            }
            let (now, _) = log.progress();
            progress.add(usize::try_from(now - read).unwrap_or(usize::MAX));
            read = now;
        }
        let skipped = log.skipped();
        if skipped.count > 0 {
            let named = skipped.named.join("; ");
            let (count, name) = (skipped.count, log.name());
            let lines = if count == 1 {
                "1 line is"
            } else {
                &format!("{count} lines are")
            };
            report.note(format!("{lines} no audit event in {name}: {named}"));
        }
        Ok(())
    }

    /// Adds what a whole replay has come to.
    pub(crate) fn finish(&self, report: &mut Report<'_>) {
        let forgotten = self.history.forgotten();
        if forgotten > 0 {
            report.note(format!(
                "{forgotten} objects of the log were forgotten, because all of them together have more than {} MiB",
                MOST_REMEMBERED >> 20
            ));
        }
        for version in self.versions.all() {
            for hook in version
                .hooks()
                .iter()
                .filter(|hook| hook.reads_permissions())
            {
                report.note_mode(format!(
                    "the match conditions of {} ask the authorizer, which denies every user of the log",
                    hook.name()
                ));
            }
        }
    }

    async fn event(&mut self, event: &Event, source: &str, report: &mut Report<'_>) -> Outcome {
        let Some(place) = &event.object_ref else {
            return Ok(());
        };
        if let Some(operation) = operation(event) {
            let concerned = self.concerned(operation, place);
            if !concerned.is_empty() {
                report.request();
                let row = row_of_event(event, place, operation, source);
                self.request(event, operation, &row, &concerned, report)
                    .await?;
            }
        }
        self.remember(event, place).await
    }

    /// The roles of the webhooks that a request may concern, and whether one reads the labels of namespaces.
    fn concerned(&self, operation: Operation, place: &ObjectReference) -> BTreeMap<bool, bool> {
        let mut roles = BTreeMap::new();
        let hooks = self.versions.all().flat_map(Version::hooks);
        for hook in hooks.filter(|hook| hook.concerns(operation, place)) {
            let is_validating = hook.role() == Role::Validating;
            *roles.entry(is_validating).or_default() |= hook.reads_namespace_labels();
        }
        roles
    }

    async fn request(
        &mut self,
        event: &Event,
        operation: Operation,
        row: &Row,
        concerned: &BTreeMap<bool, bool>,
        report: &mut Report<'_>,
    ) -> Outcome {
        let mut skipped = BTreeSet::new();
        let mut assumed = BTreeSet::new();
        for (is_validating, reads_labels) in concerned {
            let role = if *is_validating {
                Role::Validating
            } else {
                Role::Mutating
            };
            let found = match requests(event, operation, role, &self.history) {
                Ok(found) => found,
                Err(missing) => {
                    skipped.insert(missing.text().to_owned());
                    continue;
                }
            };
            assumed.extend(found.assumed);
            for request in &found.requests {
                let (group, _, resource) = &request.resource;
                if group.is_empty() && resource == "namespaces" {
                    // Its selector is held against the object itself, unless it is deleted.
                    let labels = &request.old_object["metadata"]["labels"];
                    if !request.old_object.is_null() && !request.namespace.is_empty() {
                        self.learn_labels(&request.namespace, labels).await?;
                    }
                } else if !self.know_namespace(&request.namespace).await? && *reads_labels {
                    assumed.insert(UNKNOWN_LABELS);
                }
                let mut row = row.clone();
                let objects = [&request.object, &request.old_object];
                let mut names = objects
                    .into_iter()
                    .filter_map(|object| object["metadata"]["name"].as_str());
                if row.name.is_empty() {
                    names.next().unwrap_or_default().clone_into(&mut row.name);
                }
                self.ask(event, role, request, &row, &mut skipped, report)
                    .await?;
            }
        }
        for why in skipped {
            report.skip(&why, row);
        }
        for what in assumed {
            report.assume(what, row);
        }
        Ok(())
    }

    async fn ask(
        &self,
        event: &Event,
        role: Role,
        request: &AdmissionRequest,
        row: &Row,
        skipped: &mut BTreeSet<String>,
        report: &mut Report<'_>,
    ) -> Outcome {
        let versions = self.versions;
        let mut reviews = Vec::new();
        for version in versions.all() {
            match version.reviews(role, request).await {
                Ok(found) => reviews.push((version, found)),
                Err(unknown) => {
                    skipped.insert(unknown);
                    return Ok(());
                }
            }
        }
        let names: BTreeSet<String> = reviews
            .iter()
            .flat_map(|(_, found)| found.keys().cloned())
            .collect();
        for name in names {
            let mut answers = Vec::new();
            for (version, found) in &reviews {
                answers.push(match found.get(&name) {
                    None => Answer::not_called(),
                    Some(Ok(review)) => version.decide(&name, review).await?,
                    Some(Err(message)) => Answer::unmade(message.clone()),
                });
            }
            let (before, after, is_same) = match &answers[..] {
                [before, after] => (before.clone(), after.clone(), before.is(after)),
                [after] => {
                    if role == Role::Mutating && event.verb == "patch" {
                        skipped.insert(PATCH_OF_MUTATOR.to_owned());
                        continue;
                    }
                    let Some(before) = Answer::of_event(event, &name) else {
                        skipped.insert(REFUSED_OTHERWISE.to_owned());
                        continue;
                    };
                    let is_same = before.is_told_of(after);
                    (before, after.clone(), is_same)
                }
                _ => continue,
            };
            note_modes(versions, report, &name, &before, &after);
            if is_same {
                report.same();
            } else {
                report.differs(row, &name, &before, &after);
            }
        }
        Ok(())
    }

    /// Makes the namespace of a request, and returns whether the log has its labels.
    async fn know_namespace(&mut self, name: &str) -> Outcome<bool> {
        if name.is_empty() || self.known_namespaces.contains(name) {
            return Ok(true);
        }
        if !self.assumed_namespaces.contains(name) {
            for version in self.versions.all() {
                version.set_namespace(name, &json!({})).await?;
            }
            self.assumed_namespaces.insert(name.to_owned());
        }
        Ok(false)
    }

    /// Remembers the objects that an event shows.
    async fn remember(&mut self, event: &Event, place: &ObjectReference) -> Outcome {
        if event.stage != "ResponseComplete" || event.is_refused() || event.is_dry_run() {
            return Ok(());
        }
        let is_namespace = place.api_group.is_empty() && place.resource == "namespaces";
        let mut hooks = self.versions.all().flat_map(Version::hooks);
        if !is_namespace && !hooks.any(|hook| hook.looks_at(place)) {
            return Ok(());
        }
        let (group, resource) = (&*place.api_group, &*place.resource);
        let shown = match (&*event.verb, &*place.subresource) {
            ("list" | "deletecollection", "") => event
                .response_object()
                .map(|list| request::items(&list))
                .unwrap_or_default(),
            (
                "create" | "update" | "patch" | "get" | "delete",
                "" | "status" | "resize" | "ephemeralcontainers" | "finalize" | "approval",
            ) => event.response_object().into_iter().collect(),
            _ => return Ok(()),
        };
        let deletes = event.verb.starts_with("delete");
        if deletes && shown.is_empty() {
            self.history
                .forget(group, resource, &place.namespace, &place.name);
        }
        for object in shown {
            let metadata = &object["metadata"];
            let name = metadata["name"].as_str().unwrap_or_default();
            if deletes && metadata["deletionTimestamp"].is_null() {
                let namespace = metadata["namespace"].as_str().unwrap_or_default();
                self.history.forget(group, resource, namespace, name);
                continue;
            }
            self.history.remember(group, resource, &object);
            if is_namespace && !name.is_empty() {
                self.learn_labels(name, &metadata["labels"]).await?;
            }
        }
        Ok(())
    }

    async fn learn_labels(&mut self, name: &str, labels: &Value) -> Outcome {
        for version in self.versions.all() {
            version.set_namespace(name, labels).await?;
        }
        self.known_namespaces.insert(name.to_owned());
        Ok(())
    }
}

/// Says once of each hook in shadow mode that its decisions have no effect.
fn note_modes(
    versions: &Versions,
    report: &mut Report<'_>,
    hook: &str,
    before: &Answer,
    after: &Answer,
) {
    if after.is_shadow {
        let version = versions.after.label();
        report.note_mode(format!(
            "{hook} is in shadow mode in {version}: its decisions have no effect"
        ));
    }
    if before.is_shadow {
        let version = versions
            .before
            .as_ref()
            .map_or("what was recorded", Version::label);
        report.note_mode(format!(
            "{hook} is in shadow mode in {version}: its decisions have no effect"
        ));
    }
}

fn row_of_event(event: &Event, place: &ObjectReference, operation: Operation, source: &str) -> Row {
    let resource = match &*place.subresource {
        "" => place.resource.clone(),
        subresource => format!("{}/{subresource}", place.resource),
    };
    let is_namespace = place.api_group.is_empty() && place.resource == "namespaces";
    Row {
        source: source.to_owned(),
        audit_id: event.audit_id.clone(),
        operation: operation.as_str().to_owned(),
        resource,
        group: place.api_group.clone(),
        version: place.api_version.clone(),
        namespace: if is_namespace {
            String::new()
        } else {
            place.namespace.clone()
        },
        name: place.name.clone(),
        user: event.user().username.clone(),
        time: event.request_received_timestamp.clone(),
    }
}

fn row_of_recording(recording: &Recording, number: usize) -> Row {
    let request = &recording.review()["request"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let resource = text(&request["resource"]["resource"]);
    let name = [
        &request["name"],
        &request["object"]["metadata"]["generateName"],
    ];
    let mut names = name.into_iter().map(text);
    Row {
        source: format!("recording {number}"),
        audit_id: String::new(),
        operation: text(&request["operation"]),
        resource: match request["subResource"].as_str() {
            Some(part) if !part.is_empty() => format!("{resource}/{part}"),
            _ => resource,
        },
        group: text(&request["resource"]["group"]),
        version: text(&request["resource"]["version"]),
        namespace: text(&request["namespace"]),
        name: names.find(|name| !name.is_empty()).unwrap_or_default(),
        user: text(&request["userInfo"]["username"]),
        time: String::new(),
    }
}

const UNKNOWN_LABELS: &str =
    "the log does not have the labels of the namespace: it is taken as its name alone";
const PATCH_OF_MUTATOR: &str = "a patch: the log has the object only with the changes of mutating webhooks; compare two versions with --against";
const REFUSED_OTHERWISE: &str = "the request was refused for another reason, and the log does not say what the webhook decided; compare two versions with --against";
