//! Objects with several owners, by owner references.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kubewright_controller::{Action, Context, Controller, CreateOrUpdate, Error, Reconcile, owned};
use kubewright_manager::{App, Needs};
use kubewright_testing::{Controllers, Server, TestCluster, eventually, yaml};
use tokio::sync::mpsc;

/// All ConfigMaps with a label share a Secret.
struct Sharing {
    secrets: CreateOrUpdate<Secret>,
    reconciled: mpsc::UnboundedSender<String>,
}

impl Reconcile<ConfigMap> for Sharing {
    async fn reconcile(&self, map: Arc<ConfigMap>, context: Context) -> Result<Action, Error> {
        if map.labels().contains_key("shares") {
            let shared = yaml("metadata: {name: shared}");
            context.share(&self.secrets, shared).await?;
            drop(self.reconciled.send(map.name_any()));
        }
        Ok(Action::await_change())
    }
}

fn app(reconciled: mpsc::UnboundedSender<String>) -> impl FnOnce(&mut Needs) -> App {
    |needs| {
        let sharing = Sharing {
            secrets: needs.create_or_update(),
            reconciled,
        };
        let controller = Controller::new("sharing", sharing);
        App::new("sharing").controller(controller.watch(owned::<Secret>().by_any_owner()))
    }
}

async fn share(cluster: &TestCluster, name: &str) {
    let map: ConfigMap = yaml(&format!(
        "metadata: {{name: {name}, labels: {{shares: ''}}}}"
    ));
    cluster.create(&map).await.expect_allowed();
    eventually("another owner", async || {
        let shared = cluster.get::<Secret>("shared").await?;
        let owners = shared.owner_references();
        owners.iter().any(|owner| owner.name == name).then_some(())
    })
    .await;
}

#[tokio::test]
async fn each_owner_is_reconciled_for_what_several_own() {
    let (reconciled, mut reconciles) = mpsc::unbounded_channel();
    let cluster = TestCluster::builder().app(app(reconciled)).start().await;
    share(&cluster, "a").await;
    share(&cluster, "b").await;
    let shared: Secret = cluster.get("shared").await.unwrap();
    let owners = shared.owner_references();
    assert!(owners.iter().all(|owner| owner.controller.is_none()));
    while reconciles.try_recv().is_ok() {}
    cluster.delete::<Secret>("shared").await.expect_allowed();
    let mut names = [reconciles.recv().await, reconciles.recv().await].map(Option::unwrap);
    names.sort();
    assert_eq!(names, ["a", "b"]);
    eventually("both owners", async || {
        let shared = cluster.get::<Secret>("shared").await?;
        (shared.owner_references().len() == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_several_own_is_collected_with_the_last_of_them() {
    let (reconciled, _reconciles) = mpsc::unbounded_channel();
    // A real API server of tests runs without the garbage collector.
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .app(app(reconciled))
        .controllers(Controllers::none().garbage_collection())
        .start()
        .await;
    share(&cluster, "a").await;
    share(&cluster, "b").await;
    cluster.delete::<ConfigMap>("a").await.expect_allowed();
    eventually("one owner", async || {
        let shared = cluster
            .get::<Secret>("shared")
            .await
            .expect("it has an owner");
        (shared.owner_references().len() == 1).then_some(())
    })
    .await;
    cluster.delete::<ConfigMap>("b").await.expect_allowed();
    eventually("no owner", async || {
        cluster
            .get::<Secret>("shared")
            .await
            .is_none()
            .then_some(())
    })
    .await;
}
