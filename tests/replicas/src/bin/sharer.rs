//! A replica of a small program whose replicas share objects: each copies an annotation of an object into its data.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_controller::{
    Action, Context, Controller, Error, LeaderElection, ObjectRef, Predicate, Reconcile, Scope,
    Sharding, Writer,
};
use kubewright_manager::{App, Needs};
use replicas::sharing::{LABEL, LEASE, NAMESPACE, SEEN, SHARDS, WANTED, WRITER, Work};
use serde_json::json;

/// Copies annotations.
#[derive(clap::Args)]
struct Options {
    /// What to call this replica
    #[arg(long, default_value = "sharer")]
    name: String,
    /// Whether replicas share the objects, or one leads
    #[arg(long, value_enum, default_value_t = Work::Shared)]
    work: Work,
    /// How long a reconcile takes, in milliseconds
    #[arg(long, default_value_t = 1)]
    takes: u64,
}

struct Copies {
    name: String,
    takes: Duration,
    writer: Writer<ConfigMap>,
}

impl Reconcile<ConfigMap> for Copies {
    async fn reconcile(&self, map: Arc<ConfigMap>, _: Context) -> Result<Action, Error> {
        let wanted = map.metadata.annotations.as_ref();
        let wanted = wanted.and_then(|annotations| annotations.get(WANTED));
        let seen = map.data.as_ref().and_then(|data| data.get(SEEN));
        if wanted == seen {
            return Ok(Action::await_change());
        }
        tokio::time::sleep(self.takes).await;
        let change = json!({"data": {SEEN: wanted, WRITER: self.name}});
        self.writer.merge(ObjectRef::of(&*map), &change).await?;
        Ok(Action::await_change())
    }
}

fn app(options: Options, needs: &mut Needs) -> App {
    let lease = LeaderElection::by_lease(LEASE)
        .in_namespace(NAMESPACE)
        .identity(options.name.as_str())
        .lease_duration(Duration::from_secs(3))
        .renew_deadline(Duration::from_millis(1_500))
        .retry_period(Duration::from_millis(300));
    let copies = Copies {
        name: options.name,
        takes: Duration::from_millis(options.takes),
        writer: needs.in_namespace(NAMESPACE).writer(),
    };
    let controller = Controller::new("copies", copies)
        .within(Scope::all().in_namespace(NAMESPACE).labelled(LABEL))
        // What it writes itself is no reason to write.
        .filter(Predicate::annotations_changed());
    let app = App::new("sharer");
    match options.work {
        Work::Shared => app.controller(controller.sharded(Sharding::among(SHARDS).lease(lease))),
        Work::OfLeader => app.leader_election(lease).controller(controller),
    }
}

fn main() -> ExitCode {
    kubewright_manager::run_with(app)
}
