//! Adoption and release, as Kubernetes' own controllers do it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kubewright_controller::{
    Action, Adopter, AnyController, Connection, Context, Controller, Error, Informers, Scope,
};
use kubewright_testing::{TestCluster, eventually, yaml};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// A program that does nothing by itself, and lends its handle and the contexts of its reconciles.
struct Program {
    cluster: TestCluster,
    adopter: Adopter<Secret>,
    contexts: mpsc::UnboundedReceiver<Context>,
    _tasks: JoinSet<()>,
}

impl Program {
    async fn start() -> Self {
        let cluster = TestCluster::start().await;
        let informers = Informers::new();
        let connection = Connection::with_informers(&informers);
        connection.open(cluster.client(), "adopter");
        let here = Scope::all().in_namespace(cluster.namespace());
        let adopter = Adopter::new(&informers, &connection, here.clone());
        let (sender, contexts) = mpsc::unbounded_channel();
        let reconcile = move |_: Arc<ConfigMap>, context: Context| {
            drop(sender.send(context));
            async { Ok::<_, Error>(Action::await_change()) }
        };
        let controller = Controller::new("owners", reconcile).within(here.labelled("owner"));
        let running = AnyController::from(controller).attach(&informers);
        let (mut tasks, client) = (JoinSet::new(), cluster.client());
        tasks.spawn(async move { running.run(std::future::pending()).await });
        tasks.spawn(async move { informers.run(client).await });
        Self {
            cluster,
            adopter,
            contexts,
            _tasks: tasks,
        }
    }

    async fn owner(&mut self) -> Context {
        let owner: ConfigMap = yaml("metadata: {name: owner, labels: {owner: ''}}");
        self.cluster.create(&owner).await.expect_allowed();
        self.contexts.recv().await.unwrap()
    }

    async fn secret(&self, metadata: Value) -> Secret {
        let secret: Secret = serde_json::from_value(json!({"metadata": metadata})).unwrap();
        self.cluster.create(&secret).await.expect_allowed()
    }

    /// The names of what is claimed, once the cache has all of these.
    async fn claim(&self, context: &Context) -> Result<Vec<String>, Error> {
        let matches = |secret: &Secret| secret.labels().get("app").is_some_and(|app| app == "web");
        let claimed = self.adopter.claim(context, matches).await?;
        Ok(claimed.iter().map(ResourceExt::name_any).collect())
    }

    async fn claims(&self, context: &Context, expected: &[&str]) {
        eventually(&format!("a claim of {expected:?}"), async || {
            (self.claim(context).await.ok()? == expected).then_some(())
        })
        .await;
    }

    async fn controller(&self, name: &str) -> Option<String> {
        let secret: Secret = self.cluster.get(name).await.unwrap();
        let owners = secret.owner_references().iter();
        let mut controllers = owners.filter(|owner| owner.controller == Some(true));
        controllers.next().map(|owner| owner.name.clone())
    }
}

fn reference(name: &str, uid: &str, is_controller: bool) -> Value {
    json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "controller": is_controller}])
}

#[tokio::test]
async fn what_matches_and_has_no_controller_is_adopted_and_what_has_one_is_not() {
    let mut program = Program::start().await;
    let context = program.owner().await;
    let web = json!({"app": "web"});
    program
        .secret(json!({"name": "a-orphan", "labels": web}))
        .await;
    let owners = reference("friend", "1", false);
    program
        .secret(json!({"name": "b-befriended", "labels": web, "ownerReferences": owners}))
        .await;
    let owners = reference("other", "2", true);
    program
        .secret(json!({"name": "c-controlled", "labels": web, "ownerReferences": owners}))
        .await;
    program
        .secret(json!({"name": "d-different", "labels": {"app": "db"}}))
        .await;
    program
        .claims(&context, &["a-orphan", "b-befriended"])
        .await;
    assert_eq!(
        program.controller("a-orphan").await.as_deref(),
        Some("owner")
    );
    assert_eq!(
        program.controller("b-befriended").await.as_deref(),
        Some("owner")
    );
    assert_eq!(
        program.controller("c-controlled").await.as_deref(),
        Some("other")
    );
    assert_eq!(program.controller("d-different").await, None);
    let befriended: Secret = program.cluster.get("b-befriended").await.unwrap();
    assert_eq!(befriended.owner_references()[0].name, "friend");
    // What is owned already is not written again.
    program
        .claims(&context, &["a-orphan", "b-befriended"])
        .await;
    let again: Secret = program.cluster.get("b-befriended").await.unwrap();
    assert_eq!(again.resource_version(), befriended.resource_version());
}

#[tokio::test]
async fn what_no_longer_matches_is_released_and_keeps_its_other_owners() {
    let mut program = Program::start().await;
    let context = program.owner().await;
    let owners = reference("friend", "1", false);
    program
        .secret(json!({"name": "a", "labels": {"app": "web"}, "ownerReferences": owners}))
        .await;
    program.claims(&context, &["a"]).await;
    let patch = json!({"metadata": {"labels": {"app": "db"}}});
    program
        .cluster
        .merge::<Secret>("a", &patch)
        .await
        .expect_allowed();
    eventually("the release", async || {
        program.claim(&context).await.ok()?;
        program.controller("a").await.is_none().then_some(())
    })
    .await;
    let released: Secret = program.cluster.get("a").await.unwrap();
    assert_eq!(released.owner_references().len(), 1);
    assert_eq!(released.owner_references()[0].name, "friend");
}

#[tokio::test]
async fn an_owner_that_is_gone_or_being_deleted_adopts_nothing_and_releases_nothing() {
    let mut program = Program::start().await;
    let context = program.owner().await;
    program
        .secret(json!({"name": "a", "labels": {"app": "web"}}))
        .await;
    program.claims(&context, &["a"]).await;
    // Its cache, which is the context here, has not seen the end of the owner yet.
    program
        .cluster
        .delete::<ConfigMap>("owner")
        .await
        .expect_allowed();
    program
        .secret(json!({"name": "b", "labels": {"app": "web"}}))
        .await;
    let other = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    let new: ConfigMap = yaml("metadata: {name: owner, labels: {owner: ''}}");
    program.cluster.create(&new).await.expect_allowed();
    program
        .cluster
        .merge::<ConfigMap>("owner", &other)
        .await
        .expect_allowed();
    eventually("b in the cache", async || {
        let all = program.adopter.claim(&context, |_| true).await.ok()?;
        let names: Vec<String> = all.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["a"]);
        Some(())
    })
    .await;
    assert_eq!(program.controller("b").await, None);

    program
        .cluster
        .delete::<ConfigMap>("owner")
        .await
        .expect_allowed();
    let context = loop {
        let context = program.contexts.recv().await.unwrap();
        let owner: ConfigMap = program.cluster.get("owner").await.unwrap();
        let is_current = Some(context.owner_reference().uid) == owner.uid();
        if is_current {
            break context;
        }
    };
    assert!(program.claim(&context).await.unwrap().is_empty());
    assert_eq!(program.controller("b").await, None);
    assert_eq!(program.controller("a").await.as_deref(), Some("owner"));
}
