//! Programs run with the permissions that they print: what they lack and what they do not use has a name.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};
use kubewright_certificates::SharedAuthority;
use kubewright_controller::{
    Action, Connection, Context, Controller, Deleter, Error, Reconcile, Writer,
};
use kubewright_manager::{App, Needs};
use kubewright_manifests::PolicyRule;
use kubewright_testing::{Controllers, Server, TestCluster, eventually, yaml};
use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};

/// Copies every Secret's name into a ConfigMap of the same name.
struct Copier {
    connection: Connection,
}

impl Reconcile<Secret> for Copier {
    async fn reconcile(&self, secret: Arc<Secret>, _: Context) -> Result<Action, Error> {
        let client = self.connection.client().await;
        let maps: Api<ConfigMap> = Api::namespaced(client, &secret.namespace().unwrap_or_default());
        let mut map = ConfigMap::default();
        map.metadata.name = secret.metadata.name.clone();
        match maps.create(&PostParams::default(), &map).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            other => drop(other.map_err(Error::retry)?),
        }
        Ok(Action::await_change())
    }
}

/// The program, with these verbs on ConfigMaps.
fn copier(verbs: &'static [&'static str]) -> impl FnOnce(&mut Needs) -> App {
    move |needs| {
        let rule = PolicyRule::new("", "configmaps", verbs.iter().copied());
        let connection = needs.client([rule]);
        App::new("copier").controller(Controller::new("copies", Copier { connection }))
    }
}

fn secret() -> Secret {
    yaml("{metadata: {name: plan}}")
}

async fn copied(cluster: &TestCluster) {
    eventually("the copy", async || cluster.get::<ConfigMap>("plan").await).await;
}

#[tokio::test]
#[should_panic(expected = "create configmaps in the namespace `")]
async fn a_forgotten_permission_fails_the_test_by_its_name() {
    let cluster = TestCluster::builder().app(copier(&["get"])).start().await;
    cluster.create(&secret()).await.expect_allowed();
    copied(&cluster).await;
}

#[tokio::test]
#[should_panic(expected = "delete secrets `plan` in the namespace `red`")]
async fn an_ignored_refusal_fails_the_test_at_its_end() {
    let (sender, connections) = std::sync::mpsc::channel();
    let app = move |needs: &mut Needs| {
        let rule = PolicyRule::new("", "secrets", ["get"]);
        sender.send(needs.client([rule])).unwrap();
        App::new("remover")
    };
    let cluster = TestCluster::builder().app(app).start().await;
    let client = connections.recv().unwrap().client().await;
    let secrets: Api<Secret> = Api::namespaced(client, "red");
    let refused = secrets.delete("plan", &DeleteParams::default()).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.is_forbidden()));
    drop(cluster);
}

#[tokio::test]
#[should_panic(expected = "create configmaps in the namespace `")]
async fn a_program_beside_controllers_may_do_no_more() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .controllers(Controllers::all())
        .app(copier(&["get"]))
        .start()
        .await;
    cluster.create(&secret()).await.expect_allowed();
    copied(&cluster).await;
}

#[tokio::test]
async fn controllers_may_do_what_they_have_to() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .controllers(Controllers::all())
        .app(copier(&["create"]))
        .exact_permissions()
        .start()
        .await;
    let web: Deployment = yaml(
        "{metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
          template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}",
    );
    cluster.create(&web).await.expect_allowed();
    eventually("two pods", async || {
        let status = cluster.get::<Deployment>("web").await?.status?;
        (status.available_replicas == Some(2)).then_some(())
    })
    .await;
    cluster.create(&secret()).await.expect_allowed();
    copied(&cluster).await;
}

#[tokio::test]
async fn a_program_with_all_that_it_needs_and_no_more_passes() {
    let builder = TestCluster::builder().exact_permissions();
    let cluster = builder.app(copier(&["create"])).start().await;
    cluster.create(&secret()).await.expect_allowed();
    copied(&cluster).await;
    assert_eq!(cluster.unused_permissions(), [""; 0]);
}

#[tokio::test]
#[should_panic(expected = "copier: delete configmaps in the whole cluster")]
async fn a_permission_that_is_never_used_fails_a_test_of_exact_permissions() {
    let builder = TestCluster::builder().exact_permissions();
    let cluster = builder.app(copier(&["create", "delete"])).start().await;
    cluster.create(&secret()).await.expect_allowed();
    copied(&cluster).await;
}

#[tokio::test]
async fn what_an_election_and_a_rotation_need_from_time_to_time_is_not_called_unused() {
    let app = |needs: &mut Needs| {
        copier(&["create"])(needs)
            .leader_election("copier")
            .certificates(SharedAuthority::in_secret("copier-certs"))
            .webhooks(Webhooks::new("example.com").with(validating("secrets", allow)))
    };
    let builder = TestCluster::builder().exact_permissions();
    let cluster = builder.app(app).start().await;
    cluster.create(&secret()).await.expect_allowed();
    copied(&cluster).await;
    assert_eq!(cluster.unused_permissions(), [""; 0]);
}

async fn allow(_: Change<Secret>, _: Review) -> Validated {
    Ok(())
}

#[tokio::test]
async fn what_is_not_used_is_only_told_to_other_tests() {
    let cluster = TestCluster::builder()
        .app(copier(&["create", "patch"]))
        .start()
        .await;
    cluster.create(&secret()).await.expect_allowed();
    copied(&cluster).await;
    let unused = cluster.unused_permissions();
    assert_eq!(unused, ["copier: patch configmaps in the whole cluster"]);
}

#[tokio::test]
async fn a_program_is_known_as_a_service_account_of_its_own() {
    let (sender, connections) = std::sync::mpsc::channel();
    let app = move |needs: &mut Needs| {
        let rule = PolicyRule::new("authentication.k8s.io", "selfsubjectreviews", ["create"]);
        sender.send(needs.client([rule])).unwrap();
        App::new("asker")
    };
    let cluster = TestCluster::builder().app(app).start().await;
    let client = connections.recv().unwrap().client().await;
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let (parameters, question) = (PostParams::default(), SelfSubjectReview::default());
    let review = reviews.create(&parameters, &question).await.unwrap();
    let user = review.status.unwrap().user_info.unwrap();
    let namespace = cluster.namespace();
    assert_eq!(
        user.username,
        Some(format!("system:serviceaccount:{namespace}:asker"))
    );
    let groups = user.groups.unwrap();
    assert!(groups.contains(&format!("system:serviceaccounts:{namespace}")));
}

#[tokio::test]
async fn a_permission_in_a_namespace_makes_the_namespace() {
    let (sender, handles) = std::sync::mpsc::channel();
    let namespace = kubewright_testing::unique("blue");
    let there = namespace.clone();
    let app = move |needs: &mut Needs| {
        let writer: Writer<ConfigMap> = needs.in_namespace(&there).named("plan").writer();
        let deleter: Deleter<Secret> = needs.in_namespace(&there).deleter();
        sender.send((writer, deleter)).unwrap();
        App::new("planner")
    };
    let cluster = TestCluster::builder().app(app).start().await;
    let (writer, deleter) = handles.recv().unwrap();
    let mut map: ConfigMap = yaml("{metadata: {name: plan}}");
    map.metadata.namespace = Some(namespace.clone());
    let made = writer.create(&map).await.unwrap();
    writer.delete(&made).await.unwrap();
    let mut none = secret();
    none.metadata.namespace = Some(namespace.clone());
    deleter.delete(&none).await.unwrap();
    let place = format!("in the namespace `{namespace}`");
    assert_eq!(
        cluster.unused_permissions(),
        [
            format!("planner: patch configmaps `plan` {place}"),
            format!("planner: update configmaps `plan` {place}"),
        ]
    );
}

#[tokio::test]
async fn a_recorder_and_a_client_are_granted_no_more_than_the_namespace_that_they_are_asked_for() {
    let (sender, handles) = std::sync::mpsc::channel();
    let namespace = kubewright_testing::unique("green");
    let there = namespace.clone();
    let app = move |needs: &mut Needs| {
        let recorder = needs.in_namespace(&there).recorder();
        let rule = |verb| PolicyRule::new("", "configmaps", [verb]);
        let client = needs.in_namespace(&there).client([rule("get")]);
        let narrow = needs.in_namespace(&there).named("plan");
        narrow.client([rule("delete")]);
        sender.send((recorder, client)).unwrap();
        App::new("teller")
    };
    let cluster = TestCluster::builder().app(app).start().await;
    let (recorder, client) = handles.recv().unwrap();
    let mut map: ConfigMap = yaml("{metadata: {name: plan}}");
    map.metadata.namespace = Some(namespace.clone());
    recorder
        .normal(&map, "Planned", "it is planned")
        .await
        .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.client().await, &namespace);
    assert!(maps.get_opt("plan").await.unwrap().is_none());
    let place = format!("in the namespace `{namespace}`");
    assert_eq!(
        cluster.unused_permissions(),
        [
            format!("teller: delete configmaps `plan` {place}"),
            format!("teller: patch events of events.k8s.io {place}"),
        ]
    );
    map.metadata.namespace = Some("elsewhere".to_owned());
    let refused = recorder.normal(&map, "Planned", "it is planned").await;
    assert!(refused.unwrap_err().is_forbidden());
}
