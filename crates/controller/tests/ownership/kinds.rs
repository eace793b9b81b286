//! Owners in a namespace own what the whole cluster has, and owners whose kind is not served are not taken for gone.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use kubewright_controller::{
    Action, Adopter, AnyController, AnyObject, Connection, Context, Controller, Error, Informers,
    Kind, Ownership, Reconcile, Scope,
};
use kubewright_testing::{TestCluster, eventually, unique, yaml};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::world::NAME;

/// Owns a ClusterRole of a name.
struct Roles<K> {
    handle: Ownership<K, ClusterRole>,
    name: String,
    /// As long as it fails.
    fails: Option<&'static str>,
    reports: mpsc::UnboundedSender<(Context, Option<String>)>,
}

impl<K: AnyObject> Reconcile<K> for Roles<K> {
    async fn reconcile(&self, object: Arc<K>, context: Context) -> Result<Action, Error> {
        let role = yaml(&format!("metadata: {{name: {}}}", self.name));
        let written = self.handle.create_or_update(&context, role).await;
        let error = written.as_ref().err().map(|error| {
            let cause = std::error::Error::source(error).unwrap();
            format!("{error}: {cause}")
        });
        drop(self.reports.send((context, error)));
        written?;
        match self.fails {
            Some(annotation) if !object.annotations().contains_key(annotation) => {
                Err(Error::retry("a cleanup fails"))
            }
            _ => Ok(Action::await_change()),
        }
    }
}

struct Program<K> {
    informers: Informers,
    connection: Connection,
    roles: Roles<K>,
    reports: mpsc::UnboundedReceiver<(Context, Option<String>)>,
}

impl<K: AnyObject> Program<K> {
    fn new(cluster: &TestCluster) -> Self {
        let informers = Informers::new();
        let connection = Connection::with_informers(&informers);
        connection.open(cluster.client(), "owner");
        let (sender, reports) = mpsc::unbounded_channel();
        let roles = Roles {
            handle: Ownership::new(&informers, &connection, NAME, Scope::all()),
            name: unique("owned"),
            fails: None,
            reports: sender,
        };
        Self {
            informers,
            connection,
            roles,
            reports,
        }
    }
}

fn run(
    cluster: &TestCluster,
    informers: &Informers,
    controller: impl Into<AnyController>,
) -> JoinSet<()> {
    let running = controller.into().attach(informers);
    let (mut tasks, all, client) = (JoinSet::new(), informers.clone(), cluster.client());
    tasks.spawn(async move { running.run(std::future::pending()).await });
    tasks.spawn(async move { all.run(client).await });
    tasks
}

async fn created(roles: &Api<ClusterRole>, name: &str) -> ClusterRole {
    eventually("the role", async || roles.get_opt(name).await.unwrap()).await
}

async fn gone(roles: &Api<ClusterRole>, name: &str) {
    eventually("the end of the role", async || {
        roles.get_opt(name).await.unwrap().is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_owner_in_a_namespace_owns_what_the_whole_cluster_has() {
    let cluster = TestCluster::start().await;
    let Program {
        informers, roles, ..
    } = Program::<ConfigMap>::new(&cluster);
    let (name, handle) = (roles.name.clone(), roles.handle.clone());
    let mine = Scope::all()
        .in_namespace(cluster.namespace())
        .named("owner");
    let controller = Controller::new("owners", roles).within(mine).owns(&handle);
    let _tasks = run(&cluster, &informers, controller);
    let owner: ConfigMap = yaml("metadata: {name: owner}");
    cluster.create(&owner).await.expect_allowed();
    let roles = Api::all(cluster.client());
    created(&roles, &name).await;
    cluster.delete::<ConfigMap>("owner").await.expect_allowed();
    gone(&roles, &name).await;
}

#[tokio::test]
async fn what_is_owned_stays_until_the_cleanup_of_its_owner_succeeds() {
    let cluster = TestCluster::start().await;
    let Program {
        informers,
        mut roles,
        mut reports,
        ..
    } = Program::<ConfigMap>::new(&cluster);
    roles.fails = Some("clean");
    let (name, handle) = (roles.name.clone(), roles.handle.clone());
    let mine = Scope::all()
        .in_namespace(cluster.namespace())
        .named("owner");
    let controller = Controller::new("owners", roles).within(mine).owns(&handle);
    let _tasks = run(&cluster, &informers, controller);
    let owner: ConfigMap = yaml("metadata: {name: owner}");
    cluster.create(&owner).await.expect_allowed();
    let roles = Api::all(cluster.client());
    created(&roles, &name).await;
    cluster.delete::<ConfigMap>("owner").await.expect_allowed();
    let owner: ConfigMap = cluster.get("owner").await.unwrap();
    let mut of_deleted = 0;
    while of_deleted < 3 {
        let (context, error) = reports.recv().await.unwrap();
        assert_eq!(
            error, None,
            "nothing is written for an owner that is being deleted"
        );
        of_deleted +=
            usize::from(context.failures() > 0 && owner.metadata.deletion_timestamp.is_some());
    }
    assert!(roles.get_opt(&name).await.unwrap().is_some());
    let clean = json!({"metadata": {"annotations": {"clean": ""}}});
    cluster
        .merge::<ConfigMap>("owner", &clean)
        .await
        .expect_allowed();
    gone(&roles, &name).await;
}

#[tokio::test]
async fn a_handle_creates_nothing_that_no_controller_collects() {
    let cluster = TestCluster::start().await;
    let Program {
        informers,
        roles,
        mut reports,
        ..
    } = Program::<ConfigMap>::new(&cluster);
    let name = roles.name.clone();
    let mine = Scope::all()
        .in_namespace(cluster.namespace())
        .named("owner");
    let controller = Controller::new("owners", roles).within(mine);
    let _tasks = run(&cluster, &informers, controller);
    let owner: ConfigMap = yaml("metadata: {name: owner}");
    cluster.create(&owner).await.expect_allowed();
    let error = reports.recv().await.unwrap().1.unwrap();
    assert_eq!(
        error,
        format!(
            "cannot create or update ClusterRole {name}: no controller collects what this handle creates: give it to \
             `Controller::owns` of the controller of configmaps"
        )
    );
}

#[tokio::test]
async fn an_owner_in_a_namespace_adopts_nothing_of_the_whole_cluster() {
    let cluster = TestCluster::start().await;
    let Program {
        informers,
        connection,
        roles,
        mut reports,
    } = Program::<ConfigMap>::new(&cluster);
    let adopter: Adopter<ClusterRole> = Adopter::new(&informers, &connection, Scope::all());
    let mine = Scope::all()
        .in_namespace(cluster.namespace())
        .named("owner");
    let controller = Controller::new("owners", roles).within(mine);
    let _tasks = run(&cluster, &informers, controller);
    let owner: ConfigMap = yaml("metadata: {name: owner}");
    cluster.create(&owner).await.expect_allowed();
    let context = reports.recv().await.unwrap().0;
    let error = adopter
        .claim(&context, |_| true)
        .await
        .unwrap_err()
        .to_string();
    let beginning = format!(
        "cannot adopt clusterroles.rbac.authorization.k8s.io: ConfigMap {}/owner cannot own an object outside of its namespace",
        cluster.namespace()
    );
    assert!(error.starts_with(&beginning), "{error}");
}

/// A definition of widgets, whose first version is served or not.
fn definition(group: &str, is_served: bool) -> Value {
    let version = |name: &str, is_served: bool, is_stored: bool| {
        json!({"name": name, "served": is_served, "storage": is_stored, "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    json!({
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "versions": [version("v1alpha1", is_served, false), version("v1", true, true)],
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"}},
    })
}

#[tokio::test]
async fn owners_whose_kind_is_not_served_keep_what_they_own_and_those_that_went_meanwhile_do_not() {
    let cluster = TestCluster::start().await;
    let group = unique("example") + ".com";
    let served: CustomResourceDefinition =
        serde_json::from_value(definition(&group, true)).unwrap();
    cluster.create(&served).await.expect_allowed();
    let kind = |version: &str| {
        let api_version = format!("{group}/{version}");
        Kind::namespaced(&api_version, "Widget", "widgets").unwrap()
    };
    let widgets = |version: &str| -> Api<DynamicObject> {
        let resource = kind(version).resource().clone();
        Api::namespaced_with(cluster.client(), cluster.namespace(), &resource)
    };
    let Program {
        informers, roles, ..
    } = Program::<DynamicObject>::new(&cluster);
    let (name, handle) = (roles.name.clone(), roles.handle.clone());
    let mine = Scope::all().in_namespace(cluster.namespace());
    let controller = Controller::dynamic("widgets", &kind("v1alpha1"), roles);
    let controller = controller.within(mine).owns(&handle);
    let _tasks = run(&cluster, &informers, controller);
    let widget = DynamicObject::new("a", kind("v1").resource());
    eventually("a widget", async || {
        let parameters = PostParams::default();
        widgets("v1").create(&parameters, &widget).await.ok()
    })
    .await;
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    let role = created(&roles, &name).await;

    let serve = async |is_served: bool| {
        let definition_name = format!("widgets.{group}");
        let changed = cluster
            .merge::<CustomResourceDefinition>(&definition_name, &definition(&group, is_served))
            .await;
        changed.expect_allowed();
        eventually("the state of the kind", async || {
            (informers.not_served().is_empty() == is_served).then_some(())
        })
        .await;
    };
    serve(false).await;
    // News of what is owned have its owner looked for.
    for number in 0..3 {
        let patch = json!({"metadata": {"annotations": {"number": number.to_string()}}});
        cluster
            .merge::<ClusterRole>(&name, &patch)
            .await
            .expect_allowed();
        sleep(Duration::from_millis(100)).await;
    }
    let found = roles.get_opt(&name).await.unwrap();
    assert_eq!(found.and_then(|found| found.uid()), role.uid());

    let finalizers = json!({"metadata": {"finalizers": null}});
    let patch = kube::api::Patch::Merge(&finalizers);
    widgets("v1")
        .patch("a", &kube::api::PatchParams::default(), &patch)
        .await
        .unwrap();
    widgets("v1")
        .delete("a", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    serve(true).await;
    gone(&roles, &name).await;
}
