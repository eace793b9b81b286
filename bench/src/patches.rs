//! A program of its own that patches every object once: how long it takes from its start, and what that takes of the processor and
//! the memory.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt as _;
use kubewright_controller::{Action, Context, Controller, Error, ObjectRef, Scope, Writer};
use kubewright_manager::{App, Needs, Program};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::caches::processor_seconds;
use crate::cluster::Cluster;
use crate::process::{Memory, this_program};

/// What to patch.
#[derive(clap::Args)]
pub(crate) struct Patches {
    /// The number of objects.
    objects: usize,
    #[command(flatten)]
    cluster: Cluster,
}

/// What a program took to patch every object.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Patched {
    pub(crate) objects: usize,
    /// From the start of the program to the last patch.
    pub(crate) seconds: f64,
    pub(crate) processor_seconds: f64,
    pub(crate) memory: Memory,
}

/// Is the program: patches the objects, says what that has taken, and ends.
pub(crate) async fn patch(patches: &Patches) -> Result<()> {
    let goal = patches.objects;
    let (begin, processor) = (Instant::now(), processor_seconds()?);
    let (patched, all) = (Arc::default(), Arc::new(Notify::new()));
    let program = {
        let (patched, all): (Arc<Mutex<HashSet<String>>>, _) = (patched, Arc::clone(&all));
        Program::new(move |needs: &mut Needs| {
            let writer: Writer<ConfigMap> = needs.writer();
            let reconcile = move |map: Arc<ConfigMap>, _: Context| {
                let (writer, all) = (writer.clone(), Arc::clone(&all));
                let patched = Arc::clone(&patched);
                async move {
                    if map.annotations().contains_key("patched") {
                        return Ok::<_, Error>(Action::await_change());
                    }
                    let change = json!({"metadata": {"annotations": {"patched": "yes"}}});
                    writer.merge(ObjectRef::of(&*map), &change).await?;
                    let mut patched = patched.lock().unwrap_or_else(PoisonError::into_inner);
                    patched.insert(map.name_any());
                    if patched.len() == goal {
                        all.notify_one();
                    }
                    Ok(Action::await_change())
                }
            };
            let benched = Scope::all().labelled("app=bench");
            App::new("patcher").controller(Controller::new("patches", reconcile).within(benched))
        })
    };
    let started = program.client(patches.cluster.client()?).start().await?;
    tokio::select! {
        ended = started.run(std::future::pending()) => ended?,
        () = all.notified() => {}
    }
    let patched = Patched {
        objects: goal,
        seconds: begin.elapsed().as_secs_f64(),
        processor_seconds: processor_seconds()? - processor,
        memory: Memory::of("self")?,
    };
    println!("{}", serde_json::to_string(&patched)?);
    Ok(())
}

/// Has a fresh process patch so many objects.
pub(crate) fn measure(cluster: &Cluster, objects: usize) -> Result<Patched> {
    let output = this_program(None)
        .args(["patch", &objects.to_string()])
        .arg(cluster.address.to_string())
        .arg(&cluster.trust)
        .arg(&cluster.token)
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start the program that patches")?;
    ensure!(
        output.status.success(),
        "the program that patches has failed"
    );
    serde_json::from_slice(&output.stdout).context("the program that patches said nothing")
}
