//! Waits until a server has taken notice of a definition: real ones do so behind the answer.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::client::{Answer, Ask, Client};
use crate::run::install::TIMEOUT;

pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How long a real server takes to serve objects by a changed definition: nothing tells when it does.
const CHANGES: Duration = Duration::from_millis(300);

/// How long a deleted definition is waited for, whose objects may wait for their finalizers.
const DELETION: Duration = Duration::from_secs(2);

/// Waits for what follows from a request, if it was a successful one that wrote a definition.
pub(crate) async fn noticed(client: &Client, ask: &Ask, answer: &Answer) -> Result<()> {
    let writes = matches!(ask.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE");
    let about = ask.path.starts_with(DEFINITIONS) && !ask.path.contains("dryRun");
    if !writes || !about || !answer.succeeded() {
        return Ok(());
    }
    let name = text(&answer.body, "/metadata/name");
    let path = format!("{DEFINITIONS}/{name}");
    let begun = Instant::now();
    if ask.method == "DELETE" {
        while begun.elapsed() < DELETION && get(client, &path).await?.status != 404 {
            sleep(Duration::from_millis(5)).await;
        }
        return Ok(());
    }
    if answer
        .body
        .pointer("/metadata/generation")
        .and_then(Value::as_u64)
        > Some(1)
    {
        sleep(CHANGES).await;
    }
    loop {
        ensure!(begun.elapsed() < TIMEOUT, "{name} does not come to rest");
        let definition = get(client, &path).await?.body;
        let accepted = condition(&definition, "NamesAccepted");
        let established = condition(&definition, "Established");
        let refused = accepted == "False" || reason(&definition) == "InvalidCABundle";
        if refused || established == "True" && is_served(client, &definition).await? {
            return Ok(());
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// Whether every served version has its path and is in discovery.
async fn is_served(client: &Client, definition: &Value) -> Result<bool> {
    let group = text(definition, "/spec/group");
    let plural = text(definition, "/spec/names/plural");
    let versions = definition.pointer("/spec/versions");
    for version in versions.and_then(Value::as_array).into_iter().flatten() {
        if version["served"] != true {
            continue;
        }
        let root = format!("/apis/{group}/{}", text(version, "/name"));
        let found = get(client, &root).await?;
        let resources = found.body["resources"].as_array();
        let listed = resources.is_some_and(|all| all.iter().any(|one| one["name"] == plural));
        if !listed
            || get(client, &format!("{root}/{plural}?limit=1"))
                .await?
                .status
                == 404
        {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn get(client: &Client, path: &str) -> Result<Answer> {
    let ask = Ask {
        method: "GET".to_owned(),
        path: path.to_owned(),
        ..Ask::default()
    };
    client.send(ask).await
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn conditions(definition: &Value) -> impl Iterator<Item = &Value> {
    let conditions = definition.pointer("/status/conditions");
    conditions.and_then(Value::as_array).into_iter().flatten()
}

fn condition<'a>(definition: &'a Value, kind: &str) -> &'a str {
    let mut found = conditions(definition).filter(|known| known["type"] == kind);
    found.next().map_or("", |found| text(found, "/status"))
}

fn reason(definition: &Value) -> &str {
    let mut found = conditions(definition).filter(|known| known["type"] == "Established");
    found.next().map_or("", |found| text(found, "/reason"))
}
