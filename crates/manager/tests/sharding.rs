//! Programs whose replicas share the objects of a controller: how they are installed.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kubewright_controller::{Action, Context, Controller, Error, Sharding};
use kubewright_manager::{App, Program};
use kubewright_manifests::{Install, ManifestError};
use serde_json::json;

async fn idle(_: Arc<Namespace>, _: Context) -> Result<Action, Error> {
    Ok(Action::await_change())
}

fn sharded(sharding: impl Into<Sharding>) -> App {
    let controller = Controller::new("namespaces", idle).sharded(sharding);
    App::new("gardens").version("1.0.0").controller(controller)
}

fn deployed(app: App) -> serde_json::Value {
    let manifests = Program::new(|_| app).deployment().unwrap().manifests();
    let mut objects = manifests.objects().iter();
    let deployment = objects.find(|object| object["kind"] == "Deployment");
    deployment.expect("a Deployment")["spec"].clone()
}

#[test]
fn every_replica_of_a_sharded_controller_runs_and_one_lease_is_granted() {
    assert_eq!(deployed(sharded(8))["replicas"], 2);
    assert_eq!(
        deployed(sharded(8).install(Install::default().replicas(5)))["replicas"],
        5
    );
    let roles = Program::new(|_| sharded(8)).permissions();
    let role = roles.objects().iter().find(|role| role["kind"] == "Role");
    let leases = |verbs: &[&str]| json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs});
    let mut held = leases(&["get", "list", "watch", "update"]);
    held["resourceNames"] = json!(["gardens-namespaces-shards"]);
    let told =
        json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]});
    let mut rules = role.unwrap()["rules"].as_array().unwrap().clone();
    for expected in [leases(&["create"]), told] {
        assert!(rules.contains(&expected), "{rules:#?}");
    }
    rules.retain(|rule| rule["resourceNames"] == held["resourceNames"]);
    assert_eq!(rules.len(), 1, "{rules:#?}");
}

#[test]
fn a_controller_beside_it_still_takes_a_leader() {
    let both = || sharded(8).controller(Controller::new("others", idle));
    let refused = Program::new(|_| both().install(Install::default().replicas(2))).deployment();
    assert_eq!(refused.unwrap_err(), ManifestError::NoLeader(2));
    assert_eq!(deployed(both().leader_election("gardens"))["replicas"], 2);
}
