//! What the program does to the objects of the cluster, as it does it: from the API server's audit log.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use kubewright_apiserver::audit::{Audit, Event, Level, Stage};
use serde_json::Value;

use super::diff;
use crate::ui::{Tone, Ui};

/// Prints what the program writes, and what garbage collection deletes after it.
#[derive(Debug)]
pub(crate) struct Actions {
    ui: Arc<Ui>,
    program: String,
    user: String,
    /// Objects as they were written, by whomever, to tell what a change changes.
    known: Mutex<HashMap<String, Versions>>,
}

/// The latest versions of an object by their resourceVersion. Responses complete in another order than their writes.
#[derive(Debug, Default)]
struct Versions(BTreeMap<u64, Value>);

impl Versions {
    /// As many writes as may overtake the response of another one.
    const KEPT: usize = 16;

    /// Adds a version and returns the one before it.
    fn add(&mut self, object: &Value) -> Option<Value> {
        let version = object["metadata"]["resourceVersion"].as_str();
        let version = version.and_then(|version| version.parse().ok());
        let latest = self.0.last_key_value().map(|(version, _)| *version);
        let version = version.or(latest).unwrap_or_default();
        let before = self.0.range(..=version).next_back();
        let before = before.map(|(_, object)| object.clone());
        self.0.insert(version, object.clone());
        if self.0.len() > Self::KEPT {
            self.0.pop_first();
        }
        before
    }

    fn latest(mut self) -> Option<Value> {
        self.0.pop_last().map(|(_, object)| object)
    }
}

impl Actions {
    /// Watches a program that the API server knows as `user`.
    pub(crate) fn of(ui: Arc<Ui>, program: &str, user: &str) -> Self {
        Self {
            ui,
            program: program.to_owned(),
            user: user.to_owned(),
            known: Mutex::default(),
        }
    }

    /// The audit log that is read, and not kept.
    pub(crate) fn audit(self) -> Audit {
        let sink = move |event: &Event| {
            let is_write = matches!(event.verb(), "create" | "update" | "patch" | "delete");
            if is_write && event.stage() == Stage::ResponseComplete {
                let event = event.to_value();
                for line in self.describe(&event) {
                    self.ui.line(line);
                }
            }
        };
        Audit::to(sink).level(Level::RequestResponse)
    }

    fn describe(&self, event: &Value) -> Vec<String> {
        let text = |pointer: &str| {
            let value = event.pointer(pointer).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let (user, resource) = (text("/user/username"), text("/objectRef/resource"));
        if text("/requestURI").contains("dryRun=") || resource == "leases" {
            return Vec::new();
        }
        let object = &event["responseObject"];
        let is_program = user == self.user;
        let code = event["responseStatus"]["code"].as_u64().unwrap_or_default();
        if code >= 400 {
            // A conflict is part of the game, and so is an object that is gone already.
            let is_worth_telling = is_program && !matches!(code, 404 | 409);
            let message = text("/responseStatus/message");
            let refused = || format!("{}: {message}", self.ui.paint(Tone::Bad, "was refused"));
            return is_worth_telling
                .then(|| self.line(&refused()))
                .into_iter()
                .collect();
        }
        if resource == "events" {
            return is_program
                .then(|| self.line(&self.recorded(object)))
                .into_iter()
                .collect();
        }

        let verb = text("/verb");
        let key = format!(
            "{resource}.{} {}/{}",
            text("/objectRef/apiGroup"),
            namespace(event).unwrap_or_default(),
            name(event),
        );
        let before = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            match verb.as_str() {
                "delete" => known.remove(&key).and_then(Versions::latest),
                _ => known.entry(key).or_default().add(object),
            }
        };
        let place = place(event, before.as_ref().unwrap_or(object), &resource);
        let status = match text("/objectRef/subresource").as_str() {
            "" => String::new(),
            part => format!("the {part} of "),
        };
        if user == GARBAGE_COLLECTOR && verb == "delete" {
            return vec![format!(
                "garbage collection {} {place}",
                self.ui.paint(Tone::Removed, "deleted")
            )];
        }
        if !is_program {
            return Vec::new();
        }
        match (verb.as_str(), before) {
            ("delete", _) => vec![self.line(&format!(
                "{} {place}",
                self.ui.paint(Tone::Removed, "deleted")
            ))],
            // What is known of an object before it was created is of one that had its name.
            (_, _) if status.is_empty() && code == 201 => {
                vec![self.line(&format!(
                    "{} {place}",
                    self.ui.paint(Tone::Added, "created")
                ))]
            }
            // The object was not created, and its earlier state is unknown.
            (_, None) if status.is_empty() => {
                vec![self.line(&format!("{} {place}", self.ui.paint(Tone::Good, "changed")))]
            }
            (_, before) => {
                let mut before = before.unwrap_or_default();
                let mut after = object.clone();
                for object in [&mut before, &mut after] {
                    forget_versions(object);
                }
                if before == after {
                    return Vec::new();
                }
                let changed = self.ui.paint(Tone::Good, "changed");
                let head = self.line(&format!("{changed} {status}{place}"));
                let change = diff::lines(&self.ui, &before, &after, diff::Context::Around);
                let change = change.into_iter().map(|line| format!("    {line}"));
                std::iter::once(head).chain(change).collect()
            }
        }
    }

    fn line(&self, what: &str) -> String {
        format!("{} {what}", self.ui.paint(Tone::Strong, &self.program))
    }

    /// An Event, as a sentence.
    fn recorded(&self, event: &Value) -> String {
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let regarding = &event["regarding"];
        let tone = if event["type"] == "Warning" {
            Tone::Bad
        } else {
            Tone::Good
        };
        let again = match event["series"]["count"].as_u64() {
            Some(count) => format!(" ({count} times)"),
            None => String::new(),
        };
        format!(
            "recorded an Event for {} {}/{}: {} {}{again}",
            text(&regarding["kind"]),
            text(&regarding["namespace"]),
            text(&regarding["name"]),
            self.ui.paint(tone, &text(&event["reason"])),
            text(&event["note"]),
        )
    }
}

fn name(event: &Value) -> String {
    let named = event["objectRef"]["name"].as_str();
    let made = event["responseObject"]["metadata"]["name"].as_str();
    named.or(made).unwrap_or_default().to_owned()
}

/// The namespace of an object. Requests for a Namespace by its name are in it, and those that create one are not.
fn namespace(event: &Value) -> Option<&str> {
    let reference = &event["objectRef"];
    let namespace = reference["namespace"].as_str();
    namespace.filter(|_| reference["resource"] != "namespaces")
}

/// Such as `Deployment default/web`.
fn place(event: &Value, object: &Value, resource: &str) -> String {
    let kind = object["kind"].as_str().filter(|kind| *kind != "Status");
    let kind = kind.unwrap_or(resource);
    match namespace(event) {
        Some(namespace) => format!("{kind} {namespace}/{}", name(event)),
        None => format!("{kind} {}", name(event)),
    }
}

/// What every write changes tells nothing.
fn forget_versions(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["resourceVersion", "generation", "managedFields"] {
            metadata.remove(field);
        }
    }
}

const GARBAGE_COLLECTOR: &str = "system:serviceaccount:kube-system:generic-garbage-collector";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PROGRAM: &str = "system:serviceaccount:default:gardens";

    fn actions() -> Actions {
        Actions::of(Arc::new(Ui::new()), "gardens", PROGRAM)
    }

    fn event(user: &str, verb: &str, subresource: &str, object: &Value) -> Value {
        let code = if verb == "create" { 201 } else { 200 };
        json!({
            "user": {"username": user}, "verb": verb, "requestURI": "/x",
            "objectRef": {"resource": "configmaps", "namespace": "blue", "name": "beds", "subresource": subresource},
            "responseStatus": {"code": code}, "responseObject": object,
        })
    }

    fn map(beds: &str) -> Value {
        json!({"kind": "ConfigMap", "metadata": {"name": "beds", "resourceVersion": beds}, "data": {"beds": beds}})
    }

    #[test]
    fn what_the_program_writes_is_shown_with_what_has_changed() {
        let actions = actions();
        let told = |verb: &str, object| actions.describe(&event(PROGRAM, verb, "", &object));
        assert_eq!(
            told("create", map("1")),
            ["gardens created ConfigMap blue/beds"]
        );
        let changed = told("update", map("2")).join("\n");
        assert!(
            changed.starts_with("gardens changed ConfigMap blue/beds\n"),
            "{changed}"
        );
        assert!(changed.contains("+   beds:"), "{changed}");
        assert!(!changed.contains("resourceVersion"), "{changed}");
        assert_eq!(told("update", map("2")), [""; 0]);
        assert_eq!(
            told("delete", json!({"kind": "Status"})),
            ["gardens deleted ConfigMap blue/beds"]
        );
    }

    #[test]
    fn a_change_is_from_the_version_before_it_in_whichever_order_responses_complete() {
        let actions = actions();
        let by = |user: &str, verb: &str, version: &str, beds: &str| {
            let mut object = map(beds);
            object["metadata"]["resourceVersion"] = version.into();
            actions.describe(&event(user, verb, "", &object)).join("\n")
        };
        by(PROGRAM, "create", "8", "roses");
        by("kubernetes-admin", "patch", "9", "weeds");
        by("kubernetes-admin", "patch", "11", "lilies");
        let changed = by(PROGRAM, "patch", "10", "roses");
        assert!(changed.contains("-   beds: weeds"), "{changed}");
        assert!(changed.contains("+   beds: roses"), "{changed}");

        let created = by(PROGRAM, "create", "12", "roses");
        assert_eq!(created, "gardens created ConfigMap blue/beds");
    }

    #[test]
    fn an_object_that_existed_is_not_said_to_be_created() {
        let actions = actions();
        let namespace = json!({"kind": "Namespace", "metadata": {"name": "beds"}});
        let mut told = event(PROGRAM, "create", "", &namespace);
        // A request that creates a Namespace is in none, and one for a Namespace is in that.
        told["objectRef"] = json!({"resource": "namespaces", "name": "beds"});
        assert_eq!(actions.describe(&told), ["gardens created Namespace beds"]);
        told["verb"] = "update".into();
        told["responseStatus"]["code"] = 200.into();
        told["objectRef"]["namespace"] = "beds".into();
        assert_eq!(actions.describe(&told), [""; 0]);

        let unknown = event(PROGRAM, "patch", "", &map("1"));
        assert_eq!(
            actions.describe(&unknown),
            ["gardens changed ConfigMap blue/beds"]
        );
    }

    #[test]
    fn what_others_write_is_known_and_not_shown() {
        let actions = actions();
        assert_eq!(
            actions.describe(&event("kubernetes-admin", "create", "", &map("1"))),
            [""; 0]
        );
        let changed = actions.describe(&event(PROGRAM, "patch", "", &map("2")));
        assert!(changed.join("\n").contains("-   beds:"), "{changed:?}");
        let collected = event(GARBAGE_COLLECTOR, "delete", "", &json!({"kind": "Status"}));
        assert_eq!(
            actions.describe(&collected),
            ["garbage collection deleted ConfigMap blue/beds"]
        );
    }

    #[test]
    fn a_status_is_named_as_such() {
        let mut object = map("1");
        object["status"] = json!({"ready": true});
        let told = actions().describe(&event(PROGRAM, "patch", "status", &object));
        assert_eq!(told[0], "gardens changed the status of ConfigMap blue/beds");
    }

    #[test]
    fn an_event_is_a_sentence_and_a_refusal_says_why() {
        let object = json!({
            "kind": "Event", "type": "Warning", "reason": "Dry", "note": "water it",
            "regarding": {"kind": "ConfigMap", "namespace": "blue", "name": "beds"},
        });
        let mut told = event(PROGRAM, "create", "", &object);
        told["objectRef"]["resource"] = "events".into();
        assert_eq!(
            actions().describe(&told),
            ["gardens recorded an Event for ConfigMap blue/beds: Dry water it"]
        );
        let mut refused = event(PROGRAM, "create", "", &Value::Null);
        refused["responseStatus"] = json!({"code": 403, "message": "no"});
        assert_eq!(actions().describe(&refused), ["gardens was refused: no"]);
    }

    #[test]
    fn dry_runs_and_leases_are_not_worth_a_line() {
        let mut dry = event(PROGRAM, "create", "", &map("1"));
        dry["requestURI"] = "/x?dryRun=All".into();
        assert_eq!(actions().describe(&dry), [""; 0]);
        let mut lease = event(PROGRAM, "update", "", &map("1"));
        lease["objectRef"]["resource"] = "leases".into();
        assert_eq!(actions().describe(&lease), [""; 0]);
    }
}
