//! Tests of the task nightly.

use guard::tasks::nightly;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::Cron;
use kubewright::controller::Clock;
use kubewright::prelude::*;
use kubewright::testing::{Server, TestCluster, eventually};

/// Returns the time of the last run.
async fn last_run(cluster: &TestCluster) -> Option<String> {
    let config_map: ConfigMap = cluster.get("guard-nightly").await?;
    config_map.data?.remove("last-run")
}

/// The task alone, so that nothing else happens while its time passes.
fn app(needs: &mut Needs) -> App {
    App::new("guard").task(nightly::task(needs))
}

/// Under a paused clock time passes at once when everything waits, and the time of day with it.
#[tokio::test(start_paused = true)]
async fn it_runs_at_the_times_of_its_schedule() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .app(app)
        .start()
        .await;
    let schedule: Cron = "@daily".parse().unwrap();
    let clock = Clock::new();
    let due = schedule.next_after(clock.now()).unwrap();
    tokio::time::sleep(due.duration_since(clock.now()).unsigned_abs()).await;
    let due = due.to_string();
    eventually("a run at its time", async || {
        last_run(&cluster).await.filter(|run| *run >= due)
    })
    .await;
}
