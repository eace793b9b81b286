//! The programs under test, served over HTTPS as they are in a cluster.

use std::error::Error;
use std::fmt;
use std::iter;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use kubewright_certificates::SelfSigned;
use kubewright_manager::{Program, RunError, StartError};
use kubewright_manifests::{Endpoint, Manifests};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::{fail, policies};

/// A program behind a socket of its own. It stops when this is dropped.
pub(crate) struct Serving {
    name: String,
    conditions: Conditions,
    manifests: Manifests,
    has_authority: bool,
    /// Why it has ended, which no program under test should do.
    ended: Arc<OnceLock<String>>,
    task: JoinHandle<()>,
}

/// What a program waits for, by name, and whether it has come.
type Conditions = Box<dyn Fn() -> Vec<(String, bool)> + Send + Sync>;

impl Serving {
    /// Serves on a free port of an address, with a certificate made on the spot, or by the program's own authority.
    pub(crate) async fn start(program: Program, address: IpAddr) -> Self {
        let name = program.app().name().to_owned();
        let socket = SocketAddr::from((address, 0));
        if !program.app().has_webhooks() {
            let policies = program.policies();
            let policies = policies.unwrap_or_else(|error| cannot("be declared", &error));
            let started = program.start().await;
            let started = started.unwrap_or_else(|error| cannot("be started", &error));
            let readiness = started.readiness();
            let running = started.run(std::future::pending());
            let conditions = Box::new(move || readiness.conditions());
            return Self::running(name, conditions, policies, running);
        }
        if program.app().authority().is_some() {
            let program = program.reached_as([address.to_string()]);
            let mut serving = Self::bound(name, program.bind_with_authority(socket).await);
            serving.has_authority = true;
            return serving;
        }
        let certificates = SelfSigned::for_names([address.to_string()]);
        Self::bound(name, program.bind(socket, certificates).await)
    }

    fn bound(name: String, bound: Result<kubewright_manager::Serving, StartError>) -> Self {
        let serving = bound.unwrap_or_else(|error| cannot("be served", &error));
        let url = format!("https://{}", serving.local_addr());
        let endpoint = Endpoint::url(&url).unwrap_or_else(|error| cannot("be reached", &error));
        let manifests = serving
            .manifests(endpoint)
            .unwrap_or_else(|error| cannot("be declared", &error));
        let readiness = serving.readiness();
        let running = serving.run(std::future::pending());
        let conditions = Box::new(move || readiness.conditions());
        Self::running(name, conditions, manifests, running)
    }

    fn running(
        name: String,
        conditions: Conditions,
        manifests: Manifests,
        running: impl Future<Output = Result<(), RunError>> + Send + 'static,
    ) -> Self {
        let ended = Arc::new(OnceLock::new());
        let end = Arc::clone(&ended);
        // It runs until it is aborted, so no call can outlive a drain.
        let task = tokio::spawn(async move {
            if let Err(error) = running.await {
                drop(end.set(error.to_string()));
            }
        });
        Self {
            name,
            conditions,
            manifests,
            has_authority: false,
            ended,
            task,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What is still to come of what a test cluster waits for: that its caches are complete, and that API servers know by
    /// which authority to know it. What else it may wait for, such as a check of its own, is the test's business.
    pub(crate) fn awaits(&self) -> Option<&'static str> {
        let conditions = (self.conditions)();
        let is_missing = |wanted: &str| conditions.contains(&(wanted.to_owned(), false));
        ["caches", "trust"]
            .into_iter()
            .find(|wanted| is_missing(wanted))
    }

    /// Those of them in which the program itself writes by which authority it is known.
    pub(crate) fn configurations_to_fill(&self) -> impl Iterator<Item = &Value> {
        let configurations = self.configurations().iter();
        configurations.filter(|object| self.has_authority && !policies::is_one(object))
    }

    /// Why it has ended, if it has.
    pub(crate) fn ended(&self) -> Option<&str> {
        self.ended.get().map(String::as_str)
    }

    /// The webhook configurations that lead here, and the policies that API servers evaluate.
    pub(crate) fn configurations(&self) -> &[Value] {
        self.manifests.objects()
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving")
            .field("name", &self.name)
            .field("conditions", &(self.conditions)())
            .finish_non_exhaustive()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn cannot(what: &str, error: &(dyn Error + 'static)) -> ! {
    let causes = iter::successors(Some(error), |error| (*error).source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    let why = causes.join(": ");
    fail(format_args!("the program under test cannot {what}: {why}"))
}
