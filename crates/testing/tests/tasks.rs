//! Tasks and triggers of a program, on the embedded and on the real API server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kubewright_controller::{
    Action, Cached, Context, Controller, Error, LeaderElection, ObjectRef, Scope, Trigger, Writer,
};
use kubewright_manager::{App, Needs, Program, Task, TaskContext};
use kubewright_testing::{Server, TestCluster, eventually, unique, yaml};
use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The tasks and the controller of one replica, which write who they are into the cluster.
fn replica(
    needs: &mut Needs,
    identity: &'static str,
    namespace: &str,
    ran: mpsc::UnboundedSender<(&'static str, &'static str)>,
) -> App {
    let scope = || Scope::all().in_namespace(namespace).named("turns");
    let turns: Writer<ConfigMap> = needs.within(scope()).writer();
    let known: Cached<ConfigMap> = needs.within(scope()).cached();
    let trigger: Trigger<ConfigMap> = Trigger::new();
    let reconcile =
        {
            let turns = turns.clone();
            move |map: Arc<ConfigMap>, _: Context| {
                let turns = turns.clone();
                async move {
                    let change = json!({"data": {"reconciled-by": identity}});
                    if map.data.as_ref().is_none_or(|data| {
                        data.get("reconciled-by").is_none_or(|by| by != identity)
                    }) {
                        turns.merge(ObjectRef::of(&*map), &change).await?;
                    }
                    Ok::<_, Error>(Action::await_change())
                }
            }
        };
    let controller = Controller::new("turns", reconcile)
        .within(scope())
        .triggered_by(&trigger);
    let at = (namespace.to_owned(), "turns");
    let of_leader = {
        let ran = ran.clone();
        move |_: TaskContext| {
            let (turns, known, at) = (turns.clone(), known.clone(), at.clone());
            let (trigger, ran) = (trigger.clone(), ran.clone());
            async move {
                let at = (&*at.0, at.1);
                // The caches are complete before a task begins.
                if known.get(at).await?.is_none() {
                    return Err(Error::terminal("the object is missing"));
                }
                let change = json!({"data": {"leader": identity, "reconciled-by": null}});
                turns.merge(at, &change).await?;
                trigger.reconcile(at);
                let _ = ran.send((identity, "leader"));
                Ok(())
            }
        }
    };
    let of_each = move |_: TaskContext| {
        let _ = ran.send((identity, "each replica"));
        async { Ok(()) }
    };
    let election = LeaderElection::by_lease("turns")
        .in_namespace(namespace)
        .identity(identity);
    App::new("turns")
        .leader_election(election)
        .controller(controller)
        .task(Task::on_leader("lead", of_leader).every(Duration::from_millis(100)))
        .task(Task::on_each_replica("count", of_each))
}

/// Two replicas: each runs its own task, one the task of the leader, and the other one after the first has stopped.
async fn tasks_of_the_leader_run_where_the_lease_is(server: Server) {
    let cluster = TestCluster::builder().on(server).start().await;
    let map: ConfigMap = yaml("metadata: {name: turns}");
    cluster.create(&map).await.expect_allowed();
    let (sender, mut ran) = mpsc::unbounded_channel();
    let start = async |identity: &'static str| -> (JoinHandle<()>, oneshot::Sender<()>) {
        let (sender, namespace) = (sender.clone(), cluster.namespace().to_owned());
        let program =
            Program::new(move |needs| replica(needs, identity, &namespace, sender.clone()));
        let program = program.client(cluster.client()).start().await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = async move { program.run(async { drop(stopped.await) }).await.unwrap() };
        (tokio::spawn(run), stop)
    };
    let written = async |key: &str, identity: &str| {
        eventually(&format!("{key}: {identity}"), async || {
            let map = cluster.get::<ConfigMap>("turns").await?;
            (map.data?.get(key)? == identity).then_some(())
        })
        .await;
    };
    let (first, stop) = start("first").await;
    written("leader", "first").await;
    written("reconciled-by", "first").await;
    let (second, stop_second) = start("second").await;
    eventually("the task of the second replica", async || {
        let mut seen = BTreeSet::new();
        while let Ok(each) = ran.try_recv() {
            seen.insert(each);
        }
        assert!(!seen.contains(&("second", "leader")), "two lead");
        seen.contains(&("second", "each replica")).then_some(())
    })
    .await;

    drop(stop);
    first.await.unwrap();
    let lease = cluster.get::<Lease>("turns").await.unwrap();
    let holder = lease.spec.unwrap().holder_identity;
    assert_ne!(holder.as_deref(), Some("first"), "it was given back");
    written("leader", "second").await;
    written("reconciled-by", "second").await;
    while let Ok(each) = ran.try_recv() {
        assert_ne!(each, ("first", "each replica"), "it runs once");
    }
    drop(stop_second);
    second.await.unwrap();
}

/// The API server calls a webhook, and that has the controller of the same program look at another object again.
async fn a_webhook_triggers_the_controller_of_its_program(server: Server) {
    let trigger: Trigger<ConfigMap> = Trigger::new();
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let settings = unique("settings");
    let app = |_: &mut Needs| {
        let reconcile = move |map: Arc<ConfigMap>, _: Context| {
            drop(sender.send(map.name_any()));
            async { Ok::<_, Error>(Action::await_change()) }
        };
        let named = Scope::all().named(&*settings);
        let controller = Controller::new("settings", reconcile)
            .within(named)
            .triggered_by(&trigger);
        let (trigger, settings) = (trigger.clone(), settings.clone());
        let refresh = move |change: Change<Secret>, _: Review| {
            if let Some(namespace) = change.object().namespace() {
                trigger.reconcile((&*namespace, &*settings));
            }
            async { Validated::Ok(()) }
        };
        let webhooks = Webhooks::new("example.com").with(validating("refresh", refresh));
        App::new("settings")
            .controller(controller)
            .webhooks(webhooks)
    };
    let cluster = TestCluster::builder().on(server).app(app).start().await;
    let map: ConfigMap = yaml(&format!("metadata: {{name: {settings}}}"));
    cluster.create(&map).await.expect_allowed();
    assert_eq!(reconciled.recv().await.as_ref(), Some(&settings));
    let secret: Secret = yaml("metadata: {name: password}");
    cluster.create(&secret).await.expect_allowed();
    assert_eq!(reconciled.recv().await.as_ref(), Some(&settings));
    assert!(reconciled.try_recv().is_err(), "once");
}

#[tokio::test]
async fn tasks_of_the_leader_run_where_the_lease_is_on_an_embedded_api_server() {
    tasks_of_the_leader_run_where_the_lease_is(Server::Embedded).await;
}

#[tokio::test]
async fn a_webhook_triggers_the_controller_of_its_program_on_an_embedded_api_server() {
    a_webhook_triggers_the_controller_of_its_program(Server::Embedded).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn tasks_of_the_leader_run_where_the_lease_is_on_a_real_api_server() {
    tasks_of_the_leader_run_where_the_lease_is(Server::Real).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn a_webhook_triggers_the_controller_of_its_program_on_a_real_api_server() {
    a_webhook_triggers_the_controller_of_its_program(Server::Real).await;
}
