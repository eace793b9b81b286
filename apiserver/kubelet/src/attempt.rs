//! One start of a container, from its environment to its exit code.

use futures::FutureExt as _;
use futures::future;
use serde_json::Value;

use crate::container::Container;
use crate::probes::{Probe, Verdict};
use crate::process::Exit;
use crate::program::{Kind, Program};

/// Which of a running container's states has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Started,
    Ready(bool),
}

/// Runs a container until it ends by itself, is stopped, or fails its liveness probe.
pub(crate) async fn run(
    program: &Program,
    container: &Container,
    spec: &Value,
    changed: impl Fn(Change) + Sync,
) -> Exit {
    let ended = match &program.0 {
        Kind::Process(process) => process.run(container).boxed(),
        Kind::Function(function) => function(container.clone()).map(Ok).boxed(),
    };
    let probed = probe(program, container, spec, changed);
    tokio::select! {
        exit = ended => exit,
        // A container that is not alive is killed.
        () = probed => Ok(137),
    }
}

/// Returns when the container is to be killed.
async fn probe(
    program: &Program,
    container: &Container,
    spec: &Value,
    changed: impl Fn(Change) + Sync,
) {
    let of = |field: &str| Probe::of(spec, field, container, program);
    if let Some(startup) = of("startupProbe") {
        let mut is_up = false;
        startup
            .follow(|verdict| {
                is_up = verdict == Verdict::Succeeded;
                false
            })
            .await;
        if !is_up {
            return;
        }
    }
    changed(Change::Started);
    let ready = async {
        match of("readinessProbe") {
            Some(probe) => {
                probe
                    .follow(|verdict| {
                        changed(Change::Ready(verdict == Verdict::Succeeded));
                        true
                    })
                    .await;
            }
            None => changed(Change::Ready(true)),
        }
        future::pending::<()>().await;
    };
    let dead = async {
        match of("livenessProbe") {
            Some(probe) => probe.follow(|verdict| verdict == Verdict::Succeeded).await,
            None => future::pending().await,
        }
    };
    tokio::select! {
        () = ready => {}
        () = dead => {}
    }
}
