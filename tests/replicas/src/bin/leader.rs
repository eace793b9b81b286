//! A replica of a small program: the leader writes its name into a ConfigMap, again and again.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_controller::{
    Action, Context, Controller, Error, LeaderElection, ObjectRef, Predicate, Reconcile, Scope,
    Writer,
};
use kubewright_manager::{App, Needs};
use replicas::hand_over::{LEASE, NAMESPACE, WITNESS};
use serde_json::json;

/// Writes its name as long as it leads.
#[derive(clap::Args)]
struct Options {
    /// What to call this replica
    #[arg(long, default_value = "leader")]
    name: String,
}

struct Writes {
    name: String,
    writer: Writer<ConfigMap>,
}

impl Reconcile<ConfigMap> for Writes {
    async fn reconcile(&self, witness: Arc<ConfigMap>, context: Context) -> Result<Action, Error> {
        // A value that differs each time, since the API server stores no write that changes nothing.
        let change = json!({"data": {"writer": self.name, "at": context.now().to_string()}});
        self.writer.merge(ObjectRef::of(&*witness), &change).await?;
        Ok(Action::requeue_after(Duration::from_millis(5)))
    }
}

fn app(options: Options, needs: &mut Needs) -> App {
    let writer = needs.in_namespace(NAMESPACE).named(WITNESS).writer();
    let election = LeaderElection::by_lease(LEASE)
        .in_namespace(NAMESPACE)
        .identity(options.name.as_str())
        .lease_duration(Duration::from_secs(1))
        .renew_deadline(Duration::from_millis(600))
        .retry_period(Duration::from_millis(200));
    let writes = Writes {
        name: options.name,
        writer,
    };
    let controller = Controller::new("writes", writes)
        .within(Scope::all().in_namespace(NAMESPACE).named(WITNESS))
        // What it writes itself is no reason to write.
        .filter(Predicate::labels_changed());
    App::new("leader")
        .leader_election(election)
        .controller(controller)
}

fn main() -> ExitCode {
    kubewright_manager::run_with(app)
}
