//! Runs cases against one server and keeps what came of them.

mod audit;
mod define;
mod definitions;
mod discovery;
mod install;
mod policies;
mod steps;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use serde_json::{Value, json};

use crate::case::Case;
use crate::client::{Ask, Client};
use crate::first_objects;
use crate::hooks::Hooks;
use crate::run::audit::AuditLog;
use crate::run::discovery::Discovery;
use crate::server::Server;

/// How many cases run at once.
pub(crate) const AT_ONCE: usize = 8;

/// What came of the cases, by their titles.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Run {
    /// The redacted answers. A case that could not be run has `cannot` instead.
    pub outcomes: BTreeMap<String, Value>,
    /// The first AdmissionReview of each case that has webhooks, as it came over the wire.
    pub reviews: BTreeMap<String, Bytes>,
}

impl Run {
    /// Adds what came of other cases.
    pub fn extend(&mut self, other: Self) {
        self.outcomes.extend(other.outcomes);
        self.reviews.extend(other.reviews);
    }
}

/// Runs every case.
///
/// # Errors
/// The server or the scripted webhook cannot be reached at all.
pub async fn run(server: &Server, cases: &[Case], progress: impl Fn(usize)) -> Result<Run> {
    Session::start(server).await?.run(cases, progress).await
}

/// A server that cases run against, more than once.
#[derive(Clone, Debug)]
pub struct Session(Arc<Runner>);

impl Session {
    /// Connects to a server and waits until it has made its first objects.
    ///
    /// # Errors
    /// The server or the scripted webhook cannot be reached at all.
    pub async fn start(server: &Server) -> Result<Self> {
        let runner = Arc::new(Runner {
            server: server.clone(),
            client: tokio::sync::Mutex::default(),
            audit: AuditLog::new(server.audit_log.clone()),
            hooks: Hooks::start().await?,
            discovery: Discovery::default(),
            can_probe: tokio::sync::OnceCell::new(),
            reviews: Mutex::default(),
        });
        first_objects::made(&runner.client().await?).await?;
        Ok(Self(runner))
    }

    /// Deletes the services of all cases: there are few addresses for them.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub(crate) async fn delete_services(&self) -> Result<()> {
        let ask = Ask {
            method: "GET".into(),
            path: "/api/v1/services?fieldSelector=metadata.namespace!=default".into(),
            ..Ask::default()
        };
        let all = self.0.client().await?.send(ask).await?.body;
        for service in all["items"].as_array().into_iter().flatten() {
            let of = |field: &str| {
                service["metadata"][field]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            let (namespace, name) = (of("namespace"), of("name"));
            self.delete(&format!("/api/v1/namespaces/{namespace}/services/{name}"))
                .await?;
        }
        Ok(())
    }

    /// Deletes what there is at a path.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub(crate) async fn delete(&self, path: &str) -> Result<()> {
        let ask = Ask {
            method: "DELETE".into(),
            path: path.into(),
            ..Ask::default()
        };
        self.0.client().await?.send(ask).await.map(drop)
    }

    /// Runs every case.
    ///
    /// # Errors
    /// A case panicked.
    pub async fn run(&self, cases: &[Case], progress: impl Fn(usize)) -> Result<Run> {
        self.run_as(&token(), AT_ONCE, cases, progress).await
    }

    /// Runs every case, some at once, in a namespace whose name ends with that of the run. A server that is asked a second time still has the
    /// namespaces of the first; two servers that are asked the same have namespaces of the same names.
    ///
    /// # Errors
    /// A case panicked.
    pub(crate) async fn run_as(
        &self,
        run: &str,
        at_once: usize,
        cases: &[Case],
        progress: impl Fn(usize),
    ) -> Result<Run> {
        let (first, others): (Vec<_>, Vec<_>) = cases.iter().cloned().partition(|case| case.first);
        let (alone, together): (Vec<_>, Vec<_>) = others.into_iter().partition(|case| case.alone);
        let mut outcomes = BTreeMap::new();
        for (cases, at_once) in [(first, 1), (together, at_once), (alone, 1)] {
            let mut running = stream::iter(cases)
                .map(|mut case: Case| {
                    let runner = self.0.clone();
                    let written = case.namespace.clone();
                    case.namespace = format!("{written}-{run}");
                    tokio::spawn(async move { (case.title(), runner.case(&case, &written).await) })
                })
                .buffer_unordered(at_once);
            while let Some(done) = running.next().await {
                let (title, outcome) = done.context("a case panicked")?;
                let outcome =
                    outcome.unwrap_or_else(|error| json!({"cannot": format!("{error:#}")}));
                outcomes.insert(title, outcome);
                progress(outcomes.len());
            }
        }
        let mut reviews = self
            .0
            .reviews
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(Run {
            outcomes,
            reviews: std::mem::take(&mut reviews),
        })
    }
}

/// The cases by the admission plugins that they enable: each set needs a server of its own.
pub fn by_plugins(cases: &[Case]) -> BTreeMap<Vec<String>, Vec<Case>> {
    let mut groups: BTreeMap<_, Vec<Case>> = BTreeMap::new();
    for case in cases {
        let plugins = case.plugins.iter().cloned().collect();
        groups.entry(plugins).or_default().push(case.clone());
    }
    groups
}

/// Five characters that no other run has.
pub(crate) fn token() -> String {
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

impl Runner {
    /// The connection that all cases share, or a new one in its place.
    async fn client(&self) -> Result<Client> {
        let mut client = self.client.lock().await;
        if let Some(client) = client.as_ref().filter(|client| client.is_open()) {
            return Ok(client.clone());
        }
        Ok(client.insert(Client::connect(&self.server).await?).clone())
    }
}

#[derive(Debug)]
struct Runner {
    server: Server,
    client: tokio::sync::Mutex<Option<Client>>,
    audit: AuditLog,
    hooks: Hooks,
    discovery: Discovery,
    can_probe: tokio::sync::OnceCell<()>,
    reviews: Mutex<BTreeMap<String, Bytes>>,
}
