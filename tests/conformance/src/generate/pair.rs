//! A real server and an embedded one, side by side.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use kubewright_apiserver::KubernetesVersion;
use serde_json::{Value, json};

use crate::case::Case;
use crate::differences::Known;
use crate::embedded::Embedded;
use crate::generate::kinds::CLUSTER_WIDE;
use crate::generate::order::settled;
use crate::generate::policies;
use crate::real::Real;
use crate::report::{Report, is_of_newer};
use crate::run::{AT_ONCE, Session, token};
use crate::server::Server;

/// Two servers that run.
#[derive(Debug)]
pub(crate) struct Pair {
    real: (Real, Session),
    embedded: (Embedded, Session),
}

/// What came of cases on both servers, by their titles.
#[derive(Debug)]
pub(crate) struct Outcomes {
    pub(crate) real: BTreeMap<String, Value>,
    pub(crate) embedded: BTreeMap<String, Value>,
}

impl Outcomes {
    /// The comparison in which the order of faults does not count.
    pub(crate) fn settled_report(&self, cases: &[Case], known: &Known) -> Report {
        let settled = |outcomes: &BTreeMap<String, Value>| -> BTreeMap<String, Value> {
            let settle = |(title, outcome): (&String, &Value)| (title.clone(), settled(outcome));
            outcomes.iter().map(settle).collect()
        };
        Report::new(cases, &settled(&self.real), &settled(&self.embedded), known)
    }

    /// Whether the outcomes of a case differ in the answers to its steps, and in nothing beside them, such as what hooks were asked.
    pub(crate) fn differ_in_steps_alone(&self, title: &str) -> bool {
        let beside = |outcomes: &BTreeMap<String, Value>| {
            let mut outcome = outcomes.get(title).map(settled)?;
            let steps = outcome.as_object_mut()?.remove("steps")?;
            Some((outcome, steps))
        };
        match [beside(&self.real), beside(&self.embedded)] {
            [Some((real, steps)), Some((embedded, ours))] => real == embedded && steps != ours,
            _ => false,
        }
    }

    /// The comparison in which it does.
    pub(crate) fn report(&self, cases: &[Case], known: &Known) -> Report {
        Report::new(cases, &self.real, &self.embedded, known)
    }
}

impl Pair {
    /// Starts two servers of a version, with the definition that policies are about.
    pub(crate) async fn start(version: KubernetesVersion) -> Result<Self> {
        let real = Real::start(&[], version).await?;
        let embedded = Embedded::start(&[], version).await?;
        let session = async |server: &Server| -> Result<Session> {
            let session = Session::start(server).await?;
            session.define(&policies::definition()).await?;
            Ok(session)
        };
        let of_real = session(real.server()).await?;
        let of_embedded = session(embedded.server()).await?;
        Ok(Self {
            real: (real, of_real),
            embedded: (embedded, of_embedded),
        })
    }

    /// Runs cases on both servers and compares what came of them, whatever the order in which faults are told.
    pub(crate) async fn compare(&self, cases: &[Case], known: &Known) -> Result<Report> {
        Ok(self.run(cases).await?.settled_report(cases, known))
    }

    /// Runs cases on both servers at the same time.
    pub(crate) async fn run(&self, cases: &[Case]) -> Result<Outcomes> {
        let run = token();
        let at_once = at_once(cases);
        let (real, embedded) = tokio::join!(
            self.real.1.run_as(&run, at_once, cases, |_| ()),
            self.embedded.1.run_as(&run, at_once, cases, |_| ())
        );
        let mut real = real.context("run the cases on the real server")?;
        let mut embedded = embedded.context("run the cases on the embedded server")?;
        for outcomes in [&mut real.outcomes, &mut embedded.outcomes] {
            outcomes.values_mut().for_each(refused_policies);
        }
        // A server that has too much to do for a moment is asked once more.
        let late = |case: &&Case| {
            real.outcomes
                .get(&case.title())
                .is_none_or(|found| found.get("cannot").is_some() && !is_of_newer(found))
        };
        let late: Vec<Case> = cases.iter().filter(late).cloned().collect();
        if !late.is_empty() {
            real.outcomes.extend(self.real(&late).await?);
        }
        embedded
            .outcomes
            .values_mut()
            .for_each(without_own_warnings);
        for (title, real) in &mut real.outcomes {
            if let Some(embedded) = embedded.outcomes.get_mut(title) {
                without_lone_bookmarks(real, embedded);
            }
        }
        self.real.1.delete_services().await?;
        self.embedded.1.delete_services().await?;
        if cases.iter().any(|case| case.alone) {
            for (path, _) in CLUSTER_WIDE {
                self.real.1.delete(path).await?;
                self.embedded.1.delete(path).await?;
            }
        }
        Ok(Outcomes {
            real: real.outcomes,
            embedded: embedded.outcomes,
        })
    }

    /// What comes of cases on the real server.
    pub(crate) async fn real(&self, cases: &[Case]) -> Result<BTreeMap<String, Value>> {
        let run = token();
        let run = self.real.1.run_as(&run, at_once(cases), cases, |_| ());
        let run = run
            .await
            .context("run the cases on the real server again")?;
        Ok(run.outcomes)
    }

    pub(crate) async fn stop(self) {
        self.embedded.0.stop().await;
    }
}

/// How many cases run at once on a server. A real one reads its policies once a second: most cases with policies wait.
fn at_once(cases: &[Case]) -> usize {
    if cases.iter().any(|case| !case.policies.is_empty()) {
        4 * AT_ONCE
    } else {
        AT_ONCE
    }
}

/// A policy that cannot be created is an outcome as others are: the servers have to say the same of it.
fn refused_policies(outcome: &mut Value) {
    let why = outcome["cannot"].as_str().unwrap_or_default();
    if !is_of_newer(outcome) && why.starts_with("create the ") && why.contains("\"code\":422") {
        *outcome = json!({"refused": why});
    }
}

/// Takes out what the embedded server alone warns of: that it does not enforce some of what it stores.
fn without_own_warnings(outcome: &mut Value) {
    let is_own = |warning: &Value| {
        let text = warning.as_str().unwrap_or_default();
        text.contains("this server stores") && text.contains("does not enforce them")
    };
    let steps = outcome.get_mut("steps").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        let Some(Value::Object(headers)) = step.get_mut("headers") else {
            continue;
        };
        // One warning is a text, several are a list.
        let left = match headers.remove("warning") {
            Some(Value::Array(mut warnings)) => {
                warnings.retain(|warning| !is_own(warning));
                match warnings.len() {
                    1 => warnings.pop(),
                    _ => Some(warnings.into()),
                }
            }
            one => one.filter(|warning| !is_own(warning)),
        };
        headers.extend(left.map(|left| ("warning".to_owned(), left)));
    }
}

/// Takes out the bookmark with which a watch ends on one of the servers alone. A timer that ticks once a second sends it, and a
/// watch lasts a second.
fn without_lone_bookmarks(real: &mut Value, embedded: &mut Value) {
    let both = [real, embedded].map(|outcome| outcome["steps"].as_array_mut());
    let [Some(real), Some(embedded)] = both else {
        return;
    };
    for (real, embedded) in real.iter_mut().zip(embedded) {
        let both = [real, embedded].map(|step| step.get_mut("events")?.as_array_mut());
        let [Some(real), Some(embedded)] = both else {
            continue;
        };
        match [ends_with_bookmark(real), ends_with_bookmark(embedded)] {
            [true, false] => drop(real.remove(real.len() - 2)),
            [false, true] => drop(embedded.remove(embedded.len() - 2)),
            _ => {}
        }
    }
}

/// Whether the last event of a watch is a bookmark, and not the one behind the initial events.
fn ends_with_bookmark(events: &[Value]) -> bool {
    // Behind the events it says that the stream ended.
    let [.., last, _] = events else {
        return false;
    };
    let is_annotated = |metadata: &str| last.pointer(&format!("{metadata}/annotations")).is_some();
    let of_row = "/object/rows/0/object/metadata";
    last["type"] == "BOOKMARK" && !is_annotated("/object/metadata") && !is_annotated(of_row)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_warning_of_the_embedded_server_alone_is_taken_out_and_no_other() {
        let own = "299 - \"this server stores resource quotas but does not enforce them\"";
        for (warned, left) in [
            (json!(own), json!({})),
            (json!([own, "a"]), json!({"warning": "a"})),
            (json!(["a", own, "b"]), json!({"warning": ["a", "b"]})),
            (json!(["a", "b"]), json!({"warning": ["a", "b"]})),
        ] {
            let mut outcome = json!({"steps": [{"headers": {"warning": warned}}, {}]});
            without_own_warnings(&mut outcome);
            assert_eq!(outcome, json!({"steps": [{"headers": left}, {}]}));
        }
    }

    #[test]
    fn what_differs_beside_the_steps_is_told_apart() {
        let outcome = |code: u16, asked: &str| {
            let outcome = json!({"steps": [{"code": code}], "asked": [asked]});
            BTreeMap::from([("a".to_owned(), outcome)])
        };
        let differ = |code: u16, asked: &str| {
            let (real, embedded) = (outcome(200, "x"), outcome(code, asked));
            Outcomes { real, embedded }.differ_in_steps_alone("a")
        };
        assert!(differ(201, "x"));
        assert!(!differ(201, "y"));
        assert!(!differ(200, "y"));
        assert!(!differ(200, "x"));
        let (real, embedded) = (outcome(200, "x"), BTreeMap::new());
        assert!(!Outcomes { real, embedded }.differ_in_steps_alone("a"));
    }

    #[test]
    fn a_bookmark_at_the_end_of_a_watch_on_one_server_alone_is_taken_out_and_no_other() {
        let end = "the stream ended";
        let of = |version: &str| json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}});
        let annotations = json!({"k8s.io/initial-events-end": "true"});
        let initial =
            json!({"type": "BOOKMARK", "object": {"metadata": {"annotations": annotations}}});
        let in_table =
            json!({"type": "BOOKMARK", "object": {"rows": [{"object": &initial["object"]}]}});
        for (one, other, left) in [
            (
                json!([of("1"), end]),
                json!([end]),
                [json!([end]), json!([end])],
            ),
            (
                json!([of("1"), end]),
                json!([of("2"), end]),
                [json!([of("1"), end]), json!([of("2"), end])],
            ),
            (
                json!([of("1"), 1, end]),
                json!([1, end]),
                [json!([of("1"), 1, end]), json!([1, end])],
            ),
            (
                json!([initial, end]),
                json!([end]),
                [json!([initial, end]), json!([end])],
            ),
            (
                json!([in_table, of("1"), end]),
                json!([in_table, end]),
                [json!([in_table, end]), json!([in_table, end])],
            ),
        ] {
            let outcome = |events: &Value| json!({"steps": [{}, {"events": events}]});
            let (mut real, mut embedded) = (outcome(&one), outcome(&other));
            without_lone_bookmarks(&mut real, &mut embedded);
            assert_eq!([&real, &embedded], [&outcome(&left[0]), &outcome(&left[1])]);
            let (mut real, mut embedded) = (outcome(&other), outcome(&one));
            without_lone_bookmarks(&mut real, &mut embedded);
            assert_eq!([&real, &embedded], [&outcome(&left[1]), &outcome(&left[0])]);
        }
    }
}
