//! Runs cases against one server and keeps what came of them.

mod discovery;
mod install;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use futures::stream::{self, StreamExt};
use serde_json::{Value, json};

use crate::case::Case;
use crate::client::{Ask, Client};
use crate::hooks::Hooks;
use crate::run::discovery::Discovery;
use crate::server::Server;

/// How many cases run at once.
const AT_ONCE: usize = 8;

/// Runs every case; the outcome of each by its title. A case that could not be run has `cannot` as its outcome.
///
/// # Errors
/// The server or the scripted webhook cannot be reached at all.
pub async fn run(
    server: &Server,
    cases: &[Case],
    progress: impl Fn(usize),
) -> Result<BTreeMap<String, Value>> {
    let runner = Arc::new(Runner {
        server: server.clone(),
        hooks: Hooks::start().await?,
        discovery: Discovery::default(),
    });
    // A server that is asked a second time still has the namespaces of the first.
    let run = token();
    let (alone, together): (Vec<_>, Vec<_>) = cases.iter().cloned().partition(|case| case.alone);
    let mut outcomes = BTreeMap::new();
    for (cases, at_once) in [(together, AT_ONCE), (alone, 1)] {
        let mut running = stream::iter(cases)
            .map(|mut case: Case| {
                let runner = runner.clone();
                let written = case.namespace.clone();
                case.namespace = format!("{written}-{run}");
                tokio::spawn(async move { (case.title(), runner.case(&case, &written).await) })
            })
            .buffer_unordered(at_once);
        while let Some(done) = running.next().await {
            let (title, outcome) = done.context("a case panicked")?;
            let outcome = outcome.unwrap_or_else(|error| json!({"cannot": format!("{error:#}")}));
            outcomes.insert(title, outcome);
            progress(outcomes.len());
        }
    }
    Ok(outcomes)
}

/// Five characters that no other run has.
fn token() -> String {
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let digit = |at: u32| char::from_digit((nanos / 1000 / 36_u128.pow(at) % 36) as u32, 36);
    (0..5).rev().filter_map(digit).collect()
}

/// The version that a server reports.
///
/// # Errors
/// It does not answer.
pub async fn version(server: &Server) -> Result<String> {
    let ask = Ask {
        method: "GET".into(),
        path: "/version".into(),
        ..Ask::default()
    };
    let answer = Client::connect(server).await?.send(ask).await?;
    let version = answer.body.pointer("/gitVersion").and_then(Value::as_str);
    Ok(version
        .context("the version names no gitVersion")?
        .to_owned())
}

#[derive(Debug)]
struct Runner {
    server: Server,
    hooks: Hooks,
    discovery: Discovery,
}
