//! Plays a demo: runs each step, and compares its result with the expected one.

use anyhow::Context as _;
use kube::{Client, Config, Error};
use kubewright_apiserver::ApiServer;
use kubewright_testing::acting_as;
use serde_json::Value;

use super::borrowed::Borrowed;
use super::demo::{Deed, Demo, Step, User};
use super::place::Place;
use super::{diff, wait};
use crate::failure::Outcome;
use crate::ui::{Tone, Ui};

/// Where a demo is played.
pub(crate) enum Ground<'a> {
    /// The API server goes when the command ends, with all that the demo has made.
    Embedded(&'a ApiServer),
    /// What the demo changes is to be put back.
    Given(&'a Config),
}

impl Ground<'_> {
    /// A client for a step; it impersonates the step's user, if there is one.
    fn client(&self, user: Option<&User>) -> Outcome<Client> {
        Ok(match (self, user) {
            (Self::Embedded(server), None) => Client::new(server.service(), "default"),
            (Self::Embedded(server), Some(user)) => {
                let service = acting_as(server.service(), &user.user, &user.groups);
                Client::new(service, "default")
            }
            (Self::Given(config), user) => {
                let mut config = (*config).clone();
                if let Some(user) = user {
                    config.auth_info.impersonate = Some(user.user.clone());
                    config.auth_info.impersonate_groups = Some(user.groups.clone());
                }
                Client::try_from(config).context("cannot make a client for the demo")?
            }
        })
    }

    /// Records an object before a step changes it.
    async fn keep(&self, borrowed: &mut Borrowed, object: &Value) -> Outcome {
        match self {
            Self::Embedded(_) => Ok(()),
            Self::Given(_) => borrowed.keep(object).await,
        }
    }
}

/// Plays all steps; returns how many did not come out as expected.
pub(crate) async fn all(
    ui: &Ui,
    ground: &Ground<'_>,
    borrowed: &mut Borrowed,
    demo: &Demo,
) -> Outcome<usize> {
    let steps = demo.steps();
    if matches!(ground, Ground::Given(_)) {
        let objects = steps.iter().flat_map(|step| match step.deed() {
            Deed::Apply(objects) => objects.clone(),
            Deed::Patch(object) | Deed::Delete(object) => vec![object.clone()],
        });
        borrowed.check(&objects.collect::<Vec<_>>()).await?;
    }
    let mut failures = 0;
    for (index, step) in steps.iter().enumerate() {
        ui.line("");
        let title = format!("{}/{} {}", index + 1, steps.len(), step.title);
        ui.line(ui.paint(Tone::Strong, &title));
        let client = ground.client(step.user.as_ref())?;
        let changed: Vec<&Value> = match step.deed() {
            Deed::Apply(objects) => objects.iter().collect(),
            Deed::Patch(object) | Deed::Delete(object) => vec![object],
        };
        for object in changed {
            ground.keep(borrowed, object).await?;
        }
        let (problems, stored) = one(ui, &client, step).await?;
        if matches!(ground, Ground::Given(_)) {
            let named = |object: &&Value| object["metadata"]["generateName"].is_string();
            for object in stored.iter().filter(named) {
                borrowed.keep_made(object)?;
            }
        }
        if problems.is_empty() {
            ui.line(format!("{} as expected", ui.paint(Tone::Good, "✓")));
        } else {
            failures += 1;
            for problem in problems {
                ui.line(format!("{} {problem}", ui.paint(Tone::Bad, "✗")));
            }
        }
    }
    Ok(failures)
}

/// Does a step; returns what did not come out as expected, and what was stored.
async fn one(ui: &Ui, client: &Client, step: &Step) -> Outcome<(Vec<String>, Vec<Value>)> {
    let mut stored = Vec::new();
    let mut problems = match step.deed() {
        Deed::Apply(objects) => applied(ui, client, step, objects, &mut stored).await?,
        Deed::Patch(patch) => {
            ui.line(format!("the {} is patched:", kind(patch)));
            print(ui, diff::yaml(patch).lines());
            let refused = Place::of(client, patch).await?.patch(patch).await?;
            refused.into_iter().collect()
        }
        Deed::Delete(object) => {
            ui.line(format!("the {} is deleted", kind(object)));
            let refused = Place::of(client, object).await?.delete().await?;
            refused.into_iter().collect()
        }
    };
    for expected in &step.expect.eventually {
        match wait::for_object(client, expected).await? {
            Ok(object) => ui.line(format!("there is the {}", kind(&object))),
            Err(missing) => problems.push(format!(
                "there was to be the {}, but {}",
                kind(expected),
                missing.join(", ")
            )),
        }
    }
    for object in &step.expect.gone {
        if wait::for_absence(client, object).await? {
            ui.line(format!("the {} is gone", kind(object)));
        } else {
            problems.push(format!(
                "the {} was to go, and is still there",
                kind(object)
            ));
        }
    }
    Ok((problems, stored))
}

async fn applied(
    ui: &Ui,
    client: &Client,
    step: &Step,
    objects: &[Value],
    all: &mut Vec<Value>,
) -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    let mut refused = false;
    for object in objects {
        ui.line(format!("{}, applied:", kind(object)));
        print(ui, diff::yaml(object).lines());
        match Place::of(client, object).await?.apply(object).await {
            Ok(stored) => {
                ui.line(format!(
                    "{}, stored with the API server's defaults:",
                    kind(object)
                ));
                print(
                    ui,
                    diff::lines(ui, object, &stored, diff::Context::Whole).iter(),
                );
                problems.extend(step.expect.missing_from(&stored));
                all.push(stored);
            }
            Err(Error::Api(status)) => {
                refused = true;
                ui.line(format!(
                    "the API server: {}",
                    ui.paint(Tone::Bad, &status.message)
                ));
                let denied = step.expect.denied.as_ref();
                if !denied.is_some_and(|refusal| refusal.is(&status.message)) {
                    let expected = match denied {
                        Some(refusal) => refusal.to_string(),
                        None => format!("the {} is accepted", kind(object)),
                    };
                    problems.push(mismatch(&expected, &status.message));
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(refusal) = step.expect.denied.as_ref().filter(|_| !refused) {
        problems.push(mismatch(&refusal.to_string(), "every object is accepted"));
    }
    Ok(problems)
}

fn mismatch(expected: &str, actual: &str) -> String {
    format!("expected: {expected}\n    actual: {actual}")
}

fn print(ui: &Ui, lines: impl Iterator<Item = impl AsRef<str>>) {
    for line in lines {
        ui.line(format!("  {}", line.as_ref()));
    }
}

fn kind(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or("object").to_lowercase();
    match object["metadata"]["name"].as_str() {
        Some(name) => format!("{kind} {name}"),
        None => kind,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn failures(steps: Value) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let demo = json!({"steps": steps}).to_string();
        std::fs::write(folder.path().join("demo.yaml"), demo).unwrap();
        let demo = Demo::read(folder.path()).unwrap().unwrap();
        let server = ApiServer::start();
        let mut borrowed = Borrowed::of(Client::new(server.service(), "default"));
        let ground = Ground::Embedded(&server);
        let played = all(&Ui::new(), &ground, &mut borrowed, &demo).await;
        played.unwrap()
    }

    fn step(expect: &Value) -> Value {
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "settings"},
            "data": {"mode": "slow"},
        });
        json!([{"title": "a config map", "object": object, "expect": expect}])
    }

    #[tokio::test]
    async fn a_demo_whose_expectations_hold_succeeds() {
        assert_eq!(
            failures(step(&json!({"stored": {"data": {"mode": "slow"}}}))).await,
            0
        );
    }

    #[tokio::test]
    async fn an_object_that_differs_from_what_was_expected_is_a_failure() {
        assert_eq!(
            failures(step(&json!({"stored": {"data": {"mode": "fast"}}}))).await,
            1
        );
    }

    #[tokio::test]
    async fn what_was_to_be_there_after_a_while_is_waited_for() {
        let settings =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
        let any = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"mode": "slow"}});
        let there = json!({"eventually": [settings, any]});
        assert_eq!(failures(step(&there)).await, 0);
        let mut steps = step(&there);
        let mut fast = settings.clone();
        fast["data"]["mode"] = "fast".into();
        let patch = json!({"title": "patch", "patch": fast, "expect": {"eventually": [fast]}});
        steps.as_array_mut().unwrap().push(patch);
        let delete = json!({"title": "delete", "delete": settings, "expect": {"gone": [settings]}});
        steps.as_array_mut().unwrap().push(delete);
        assert_eq!(failures(steps).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_comes_or_never_goes_is_a_failure() {
        let none = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"mode": "fast"}});
        assert_eq!(failures(step(&json!({"eventually": [none]}))).await, 1);
        let settings =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
        assert_eq!(failures(step(&json!({"gone": [settings]}))).await, 1);
        for deed in ["delete", "patch"] {
            let step = json!([{"title": "of what is not there", deed: settings}]);
            assert_eq!(failures(step).await, 1);
        }
    }

    #[tokio::test]
    async fn a_denial_that_does_not_come_is_a_failure() {
        assert_eq!(failures(step(&json!({"denied": {"by": "a.b.c"}}))).await, 1);
    }

    #[tokio::test]
    async fn an_unexpected_refusal_is_a_failure() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "none"}});
        assert_eq!(
            failures(json!([{"title": "no namespace", "object": object}])).await,
            1
        );
    }
}
