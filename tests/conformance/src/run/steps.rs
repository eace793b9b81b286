//! The steps of a case, one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kubewright_apimachinery::json::order;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use crate::case::{Case, Shows, Step, set};
use crate::client::{Answer, Ask, Client, Watch, compared};
use crate::converters::Converter;
use crate::hooks::Call;
use crate::metrics;
use crate::openapi;
use crate::redact::Redactor;
use crate::run::Runner;
use crate::run::audit::AuditLog;
use crate::run::definitions;
use crate::run::install::{TIMEOUT, kind_and_name};
use crate::run::policies::InstalledPolicies;
use crate::vars::Vars;

/// The headers of a webhook call that are compared.
const HEADERS_OF_CALLS: [&str; 4] = ["accept", "accept-encoding", "content-type", "user-agent"];

/// How many bytes `{long}` has: more than a server sends uncompressed to those who read gzip.
const LONG: usize = 144 << 10;

impl Runner {
    /// Runs a case in a namespace of its own, which is shown under the name that the case has when written.
    pub(crate) async fn case(&self, case: &Case, written: &str) -> Result<Value> {
        let client = self.client().await?;
        let mut vars = Vars::default();
        vars.set("ns", case.namespace.as_str());
        vars.set("hooks", format!("{}/{}", self.hooks.url(), case.namespace));
        vars.set("hooksPort", self.hooks.port());
        vars.set("caBundle", self.hooks.ca_bundle());
        vars.set("long", "0123456789abcdef".repeat(LONG / 16));
        for converter in &case.converters {
            let converter = Converter::read(vars.value(converter))?;
            self.hooks.convert(&case.namespace, converter);
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case.namespace}});
        let given = Step {
            create: Some(namespace),
            ..Step::default()
        };
        for given in std::iter::once(&given).chain(&case.given) {
            let ask = self.ask(&client, given, &vars, &case.namespace).await?;
            let answer = awaited(&client, &ask, given, &vars).await?;
            ensure!(
                answer.succeeded(),
                "what is given is refused: {}",
                answer.body
            );
            definitions::noticed(&client, &ask, &answer).await?;
            save(given, &answer.body, &mut vars)?;
        }
        let installed = self.install(&client, case, &vars).await?;
        let mut policies = InstalledPolicies::default();
        let outcome = match self
            .install_policies(&client, case, &vars, &mut policies)
            .await
        {
            Ok(()) => self.steps(&client, case, written, vars).await,
            Err(error) => Err(error),
        };
        self.remove_policies(&client, case, policies).await?;
        self.remove(&client, case, installed).await?;
        outcome
    }

    async fn steps(
        &self,
        client: &Client,
        case: &Case,
        written: &str,
        mut vars: Vars,
    ) -> Result<Value> {
        let mut redactor = Redactor::new(&case.namespace, written);
        let mut outcomes: Vec<Value> = Vec::new();
        let mut watches: Vec<(usize, Watch, Option<usize>, String)> = Vec::new();
        for step in &case.steps {
            let mut ask = self.ask(client, step, &vars, &case.namespace).await?;
            // What converters are sent is compared.
            if case.converters.is_empty() {
                catch_up(client, &ask).await?;
            }
            let mut id = named(case, &mut ask, outcomes.len(), 0);
            let mut outcome = Map::new();
            // What a case saved differs from server to server, so the request is shown as it is written.
            let written = step
                .send
                .clone()
                .or_else(|| step.watch.as_ref().map(|path| format!("WATCH {path}")));
            let what = written.unwrap_or_else(|| format!("{} {}", ask.method, ask.path));
            redactor.sent(&ask.body);
            outcome.insert("request".into(), redactor.text(&what).into());
            if step.watch.is_some() {
                let watch = client.watch(ask).await?;
                answered(
                    &mut outcome,
                    watch.status,
                    &compared(&watch.headers, &step.compares),
                    &mut redactor,
                );
                watches.push((outcomes.len(), watch, step.events, id));
            } else {
                // A server closes the connection of a client that it cannot authenticate.
                let own;
                let mut client = client;
                if ask.headers.iter().any(|(name, _)| name == "authorization") {
                    own = Client::connect(&self.server).await?;
                    client = &own;
                }
                let mut answer = awaited(client, &ask, step, &vars).await?;
                // A real server publishes the document of a new group in the background.
                let late = Instant::now() + TIMEOUT;
                while step.shows == Shows::Openapi
                    && (answer.status == 404 || !openapi::names(&answer.body, naming(step)))
                    && Instant::now() < late
                {
                    sleep(Duration::from_millis(50)).await;
                    answer = client.send(ask.clone()).await?;
                }
                if let Some(wanted) = &step.until {
                    let late = Instant::now() + TIMEOUT;
                    let mut attempt = 0;
                    while self.hooks_called(case)? != *wanted {
                        ensure!(Instant::now() < late, "never were {wanted:?} called by it");
                        self.calls(case, &mut Redactor::default())?;
                        sleep(Duration::from_millis(5)).await;
                        attempt += 1;
                        id = named(case, &mut ask, outcomes.len(), attempt);
                        answer = client.send(ask.clone()).await?;
                    }
                }
                definitions::noticed(client, &ask, &answer).await?;
                save(step, &answer.body, &mut vars).with_context(|| answer.body.to_string())?;
                redactor.saved(&vars);
                answered(
                    &mut outcome,
                    answer.status,
                    &compared(&answer.headers, &step.compares),
                    &mut redactor,
                );
                let body = match step.shows {
                    Shows::Openapi => openapi::shape(&answer.body, naming(step)),
                    Shows::Names => redactor.value(&names(&answer.body)),
                    Shows::Length => length(&answer.body).into(),
                    Shows::Metrics => {
                        metrics::shape(&String::from_utf8_lossy(&answer.text), naming(step))
                    }
                    Shows::Uid => redactor.value(&answer.body["metadata"]["uid"]),
                    Shows::Order => order::paths(&answer.text).into(),
                    _ => redactor.value(&answer.body),
                };
                outcome.insert("body".into(), body);
                if case.audit {
                    let said = answer.headers.get("audit-id");
                    ensure!(
                        said.is_some_and(|said| *said == *id),
                        "the answer has another Audit-Id: {said:?}"
                    );
                    let events = self.audit.events(&id).await?;
                    outcome.insert("audit".into(), redactor.audit(&events, &id, case.alone));
                }
            }
            let calls = self.calls(case, &mut redactor)?;
            if !calls.is_empty() {
                outcome.insert("calls".into(), calls.into());
            }
            outcomes.push(outcome.into());
        }
        for (step, watch, count, id) in watches {
            let events = watch.events(count).await?;
            outcomes[step]["events"] = redactor.events(&events).into();
            if case.audit {
                let events = self.audit.events(&id).await?;
                outcomes[step]["audit"] = redactor.audit(&events, &id, case.alone);
            }
        }
        let mut outcome = json!({"steps": outcomes});
        let conversions = self.conversions(case, written)?;
        if !conversions.is_empty() {
            outcome["conversions"] = conversions.into();
        }
        Ok(outcome)
    }

    /// What the converters were sent: every different call once, each redacted on its own.
    fn conversions(&self, case: &Case, written: &str) -> Result<Vec<Value>> {
        let mut different = BTreeMap::new();
        for converter in &case.converters {
            let converter = Converter::read(converter.clone())?;
            if !converter.calls {
                continue;
            }
            for call in self.hooks.take(&case.namespace, &converter.converting) {
                let mut redactor = Redactor::new(&case.namespace, written);
                let shown = call.shown(&mut redactor);
                different.insert(shown.to_string(), shown);
            }
        }
        Ok(different.into_values().collect())
    }

    /// What the hooks were sent since the last step: mutating ones are called in order, validating ones in any.
    fn calls(&self, case: &Case, redactor: &mut Redactor) -> Result<Vec<Value>> {
        let mut calls = Vec::new();
        for hook in &case.hooks {
            let (_, name) = kind_and_name(hook)?;
            for call in self.hooks.take(&case.namespace, name) {
                let mut reviews = self.reviews.lock().unwrap_or_else(PoisonError::into_inner);
                reviews
                    .entry(case.title())
                    .or_insert_with(|| call.raw.clone());
                drop(reviews);
                calls.push(call.shown(redactor));
            }
        }
        Ok(calls)
    }

    /// The hooks that were called since the last step.
    fn hooks_called(&self, case: &Case) -> Result<BTreeSet<String>> {
        let mut called = BTreeSet::new();
        for hook in &case.hooks {
            let (_, name) = kind_and_name(hook)?;
            if self.hooks.waiting(&case.namespace, name) > 0 {
                called.insert(name.to_owned());
            }
        }
        Ok(called)
    }

    async fn ask(&self, client: &Client, step: &Step, vars: &Vars, namespace: &str) -> Result<Ask> {
        let step = vars.fill_step(step);
        let mut ask = if let Some(object) = &step.create {
            let path = self.discovery.collection(client, object, namespace).await?;
            let path = match &step.subresource {
                Some(subresource) => format!("{path}/{}/{subresource}", name(object)?),
                None => path,
            };
            json_ask("POST", path, Some(object))
        } else if let Some(object) = &step.change {
            let path = self.discovery.collection(client, object, namespace).await?;
            let path = format!("{path}/{}", name(object)?);
            let current = client.send(json_ask("GET", path.clone(), None)).await?;
            ensure!(
                current.succeeded(),
                "read what is to be changed: {}",
                current.body
            );
            let mut object = current.body;
            for (pointer, value) in &step.set {
                set(&mut object, pointer, value.clone())?;
            }
            let path = match &step.subresource {
                Some(subresource) => format!("{path}/{subresource}"),
                None => path,
            };
            json_ask("PUT", path, Some(&object))
        } else if let Some(path) = &step.watch {
            let path = if path.contains("watch=") {
                path.clone()
            } else {
                format!(
                    "{path}{}watch=1",
                    if path.contains('?') { '&' } else { '?' }
                )
            };
            json_ask("GET", path, None)
        } else {
            let send = step.send.as_deref().unwrap_or_default();
            let (method, path) = send
                .split_once(' ')
                .context("`send` is a method and a path")?;
            json_ask(method, path.to_owned(), step.body.as_ref())
        };
        if let Some(query) = &step.query {
            ask.path = format!(
                "{}{}{query}",
                ask.path,
                if ask.path.contains('?') { '&' } else { '?' }
            );
        }
        if let Some(text) = &step.text {
            ask.body = text.clone().into_bytes();
        }
        if let Some(pad) = step.pad {
            ask.body.resize(pad.max(ask.body.len()), b' ');
        }
        for (name, value) in &step.headers {
            ask.headers
                .retain(|(have, _)| !have.eq_ignore_ascii_case(name));
            // A header that is empty is left out.
            if !value.is_empty() {
                ask.headers.push((name.to_lowercase(), value.clone()));
            }
        }
        if let Some(user) = &step.user {
            ask.headers
                .push(("impersonate-user".into(), user.user.clone()));
            for group in &user.groups {
                ask.headers
                    .push(("impersonate-group".into(), group.clone()));
            }
            for (key, value) in &user.extra {
                ask.headers
                    .push((format!("impersonate-extra-{key}"), value.clone()));
            }
        }
        Ok(ask)
    }
}

impl Call {
    /// What of a call is compared.
    fn shown(&self, redactor: &mut Redactor) -> Value {
        let header = |name: &str| {
            let value = self.headers.get(name)?.to_str().ok()?;
            Some((name.to_owned(), value.into()))
        };
        let headers: Map<String, Value> = HEADERS_OF_CALLS.into_iter().filter_map(header).collect();
        json!({
            "request": redactor.text(&self.request),
            "headers": headers,
            "body": redactor.value(&self.body),
        })
    }
}

/// The answer to a request, which is sent again until the answer has what the step awaits.
async fn awaited(client: &Client, ask: &Ask, step: &Step, vars: &Vars) -> Result<Answer> {
    let late = Instant::now() + TIMEOUT;
    loop {
        let answer = client.send(ask.clone()).await?;
        let has = |(pointer, wanted): (&String, &Value)| {
            answer.body.pointer(pointer).unwrap_or(&Value::Null) == &vars.value(wanted)
        };
        if step.awaits.iter().all(has) {
            return Ok(answer);
        }
        ensure!(
            Instant::now() < late,
            "the answer never has {:?}: {}",
            step.awaits,
            answer.body
        );
        sleep(Duration::from_millis(5)).await;
    }
}

fn naming(step: &Step) -> &str {
    step.naming.as_deref().unwrap_or_default()
}

/// Lets the cache from which a real server watches, and lists what is not older than a version, have what was written before: a
/// list of no version waits for that.
async fn catch_up(client: &Client, ask: &Ask) -> Result<()> {
    let Some((path, query)) = ask.path.split_once('?') else {
        return Ok(());
    };
    let is_old_watch = path.contains("/watch/");
    if ask.method == "GET"
        && !is_old_watch
        && (query.contains("resourceVersion=") || query.contains("watch"))
    {
        client
            .send(Ask {
                method: "GET".to_owned(),
                path: path.to_owned(),
                ..Ask::default()
            })
            .await?;
    }
    Ok(())
}

/// Gives a request whose audit events are compared an `Audit-Id` that no other has, unless the case gives it one.
fn named(case: &Case, ask: &mut Ask, step: usize, attempt: usize) -> String {
    let given = ask.headers.iter_mut().find(|(name, _)| name == "audit-id");
    let id = AuditLog::id(&format!("{}-{step}-{attempt}", case.namespace));
    match given {
        _ if !case.audit => {}
        Some((_, given)) if attempt == 0 => return given.clone(),
        Some((_, given)) => given.clone_from(&id),
        None => ask.headers.push(("audit-id".to_owned(), id.clone())),
    }
    id
}

fn json_ask(method: &str, path: String, body: Option<&Value>) -> Ask {
    Ask {
        method: method.to_owned(),
        path,
        headers: vec![
            ("accept".to_owned(), "application/json".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
        ],
        body: body.map(Value::to_string).unwrap_or_default().into_bytes(),
    }
}

fn name(object: &Value) -> Result<&str> {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.context("an object without a name")
}

/// The items of a list by their names; what is no list stays as it is.
fn names(list: &Value) -> Value {
    let Some(items) = list["items"].as_array() else {
        return list.clone();
    };
    let name = |item: &Value| {
        let metadata = &item["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        match metadata["namespace"].as_str() {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        }
    };
    items.iter().map(name).collect()
}

fn length(body: &Value) -> &'static str {
    match body {
        Value::String(text) if text.is_empty() => "empty",
        _ => "not empty",
    }
}

fn save(step: &Step, body: &Value, vars: &mut Vars) -> Result<()> {
    for (name, pointer) in &step.save {
        let Some(value) = body.pointer(pointer) else {
            bail!("the answer has nothing at {pointer}");
        };
        vars.set(name, value.clone());
    }
    Ok(())
}

fn answered(
    outcome: &mut Map<String, Value>,
    status: u16,
    headers: &Map<String, Value>,
    redactor: &mut Redactor,
) {
    outcome.insert("status".into(), status.into());
    outcome.insert(
        "headers".into(),
        redactor.value(&Value::Object(headers.clone())),
    );
}
