//! Programs that work with the objects of a cluster: caches, handles and controllers.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};
use kubewright_controller::{
    Action, Cached, Context, Controller, Deleter, Error, Finalizer, ObjectRef, Predicate, Reader,
    Reconcile, Recorder, Writer, finalizer, owned,
};
use kubewright_manager::{App, Live, Needs};
use kubewright_testing::{TestCluster, eventually, unique, yaml};
use kubewright_webhook::{Change, OrDeny, Review, Validate, Validated, Webhooks, deny, validating};
use serde_json::json;

/// Keeps a ConfigMap `NAME-beds` for every Secret with the label `garden`.
struct Gardener {
    beds: Cached<ConfigMap>,
    writer: Writer<ConfigMap>,
}

impl Reconcile<Secret> for Gardener {
    async fn reconcile(&self, garden: Arc<Secret>, context: Context) -> Result<Action, Error> {
        let Some(beds) = garden.labels().get("garden") else {
            return Ok(Action::await_change());
        };
        let namespace = garden.namespace().unwrap_or_default();
        let name = format!("{}-beds", garden.name_any());
        let known = self.beds.get((namespace.as_str(), name.as_str())).await?;
        let wanted = [("beds".to_owned(), beds.clone())].into();
        match known {
            Some(map) if map.data.as_ref() == Some(&wanted) => {}
            Some(mut map) => {
                map.data = Some(wanted);
                self.writer.replace(&map).await?;
            }
            None => {
                let mut map = ConfigMap::default();
                map.metadata.name = Some(name);
                map.metadata.namespace = Some(namespace);
                map.metadata.owner_references = Some(vec![context.owner_reference()]);
                map.data = Some(wanted);
                self.writer.create(&map).await?;
            }
        }
        Ok(Action::await_change())
    }
}

fn gardens(needs: &mut Needs) -> App {
    let gardener = Gardener {
        beds: needs.cached(),
        writer: needs.writer(),
    };
    App::new("gardens").controller(Controller::new("gardens", gardener).watch(owned::<ConfigMap>()))
}

fn garden(beds: &str) -> Secret {
    yaml(&format!(
        "{{metadata: {{name: kitchen, labels: {{garden: '{beds}'}}}}}}"
    ))
}

async fn beds(cluster: &TestCluster, number: &str) {
    eventually("the beds", async || {
        let map = cluster.get::<ConfigMap>("kitchen-beds").await?;
        (map.data?["beds"] == number).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_program_with_a_controller_keeps_the_world_as_its_objects_want_it() {
    let cluster = TestCluster::builder().app(gardens).start().await;
    cluster.create(&garden("4")).await.expect_allowed();
    beds(&cluster, "4").await;

    // The controller re-creates a deleted object, restores a changed one, and follows a change of the desired state.
    cluster
        .delete::<ConfigMap>("kitchen-beds")
        .await
        .expect_allowed();
    beds(&cluster, "4").await;
    let change = json!({"data": {"beds": "5"}});
    cluster
        .merge::<ConfigMap>("kitchen-beds", &change)
        .await
        .expect_allowed();
    beds(&cluster, "4").await;
    let change = json!({"metadata": {"labels": {"garden": "6"}}});
    cluster
        .merge::<Secret>("kitchen", &change)
        .await
        .expect_allowed();
    beds(&cluster, "6").await;
    let map = cluster.get::<ConfigMap>("kitchen-beds").await.unwrap();
    assert_eq!(map.owner_references()[0].name, "kitchen");
}

#[tokio::test]
async fn nothing_is_written_for_no_change() {
    let cluster = TestCluster::builder().app(gardens).start().await;
    cluster.create(&garden("4")).await.expect_allowed();
    beds(&cluster, "4").await;
    let version = async || {
        let map = cluster.get::<ConfigMap>("kitchen-beds").await.unwrap();
        map.resource_version().unwrap()
    };
    let before = version().await;
    let change = json!({"metadata": {"annotations": {"seen": "yes"}}});
    cluster
        .merge::<Secret>("kitchen", &change)
        .await
        .expect_allowed();
    // When another garden is served, the first one has been seen to.
    let mut other = garden("1");
    other.metadata.name = Some("herbs".into());
    cluster.create(&other).await.expect_allowed();
    eventually("the other beds", async || {
        cluster.get::<ConfigMap>("herbs-beds").await
    })
    .await;
    assert_eq!(version().await, before);
}

/// Refuses ConfigMaps in namespaces that are closed.
struct Closed {
    namespaces: Cached<Namespace>,
}

impl Validate<ConfigMap> for Closed {
    async fn validate(&self, _: Change<ConfigMap>, review: Review) -> Validated {
        let name = review
            .namespace()
            .or_deny("ConfigMaps live in a namespace")?;
        let namespace = self.namespaces.get(name).await?;
        if namespace.is_some_and(|namespace| namespace.labels().contains_key("closed")) {
            return deny(format_args!("the namespace {name} is closed"));
        }
        Ok(())
    }
}

fn closed(needs: &mut Needs) -> App {
    let closed = Closed {
        namespaces: needs.cached(),
    };
    App::new("closed")
        .webhooks(Webhooks::new("policy.example.com").with(validating("closed", closed)))
}

#[tokio::test]
async fn a_webhook_looks_objects_up_in_a_cache_from_its_first_call() {
    let cluster = TestCluster::builder().app(closed).start().await;
    let names = [unique("open"), unique("closed")];
    let open = cluster.new_namespace(&names[0], &[]).await;
    cluster.new_namespace(&names[1], &[("closed", "yes")]).await;
    let map: ConfigMap = yaml("{metadata: {name: a}}");
    open.create(&map).await.expect_allowed();
    let closed: Api<ConfigMap> = Api::namespaced(cluster.client(), &names[1]);
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    // The namespace may be news that is still on its way.
    let denied = eventually("a denial", async || {
        closed
            .create(&dry_run, &map)
            .await
            .err()
            .map(|error| error.to_string())
    })
    .await;
    assert!(
        denied.contains(&format!("the namespace {} is closed", names[1])),
        "{denied}"
    );
}

#[tokio::test]
async fn handles_do_what_their_names_say() {
    let (sender, handles) = std::sync::mpsc::channel();
    let app = move |needs: &mut Needs| {
        let writer: Writer<ConfigMap> = needs.writer();
        let reader: Reader<ConfigMap> = needs.reader();
        let deleter: Deleter<ConfigMap> = needs.deleter();
        sender.send((writer, reader, deleter)).unwrap();
        App::new("handles")
    };
    let cluster = TestCluster::builder().app(app).start().await;
    let (writer, reader, deleter) = handles.recv().unwrap();
    let namespace = cluster.namespace().to_owned();
    let at = (namespace.as_str(), "a");
    assert_eq!(reader.get(at).await.unwrap(), None);

    let mut map: ConfigMap = yaml("{metadata: {name: a}, data: {value: '1'}}");
    map.metadata.namespace = Some(namespace.clone());
    let mut created = writer.create(&map).await.unwrap();
    assert!(writer.create(&map).await.unwrap_err().is_already_exists());
    let change = json!({"data": {"value": "2"}});
    writer.merge(at, &change).await.unwrap();
    assert_eq!(
        reader.get(at).await.unwrap().unwrap().data.unwrap()["value"],
        "2"
    );
    // The stored object has changed since it was created.
    created.data = None;
    assert!(writer.replace(&created).await.unwrap_err().is_conflict());

    let mut other = created.clone();
    other.metadata.uid = Some("00000000-0000-0000-0000-000000000000".into());
    assert!(deleter.delete(&other).await.unwrap_err().is_conflict());
    deleter.delete(&created).await.unwrap();
    deleter.delete(&created).await.unwrap();
    // Others may have a map of that name elsewhere.
    let left = reader.list().await.unwrap();
    let is_it = |map: &ConfigMap| ObjectRef::of(map) == at.into();
    assert!(!left.iter().any(is_it));
    let lost = writer.merge(at, &change).await.unwrap_err();
    assert!(lost.is_not_found());
    assert_eq!(
        lost.to_string(),
        format!("cannot patch ConfigMap {namespace}/a")
    );
}

#[tokio::test]
async fn a_handle_that_was_narrowed_refuses_what_lies_outside() {
    let (sender, handles) = std::sync::mpsc::channel();
    let app = move |needs: &mut Needs| {
        let cached: Cached<ConfigMap> = needs.in_namespace("default").cached();
        let reader: Reader<ConfigMap> = needs.in_namespace("default").reader();
        let writer: Writer<ConfigMap> = needs.named("a").writer();
        sender.send((cached, reader, writer)).unwrap();
        App::new("handles")
    };
    let cluster = TestCluster::builder().app(app).start().await;
    let (cached, reader, writer) = handles.recv().unwrap();
    assert_eq!(cached.get(("default", "a")).await.unwrap(), None);
    let unknown = cached.get(("blue", "a")).await.unwrap_err();
    assert_eq!(unknown.to_string(), "cannot read ConfigMap blue/a");
    assert!(cached.list_in("blue").await.is_err());
    assert!(reader.get(("blue", "a")).await.unwrap_err().is_forbidden());
    let mut map: ConfigMap = yaml("{metadata: {name: b}}");
    map.metadata.namespace = Some(cluster.namespace().to_owned());
    assert!(writer.create(&map).await.unwrap_err().is_forbidden());
    map.metadata.name = Some("a".into());
    writer.create(&map).await.unwrap();
}

/// Keeps a ConfigMap `NAME-bucket` for a Secret, in a way that the Secret waits for its end.
struct Buckets {
    finalizer: Finalizer<Secret>,
    recorder: Recorder,
    maps: Reader<ConfigMap>,
    writer: Writer<ConfigMap>,
}

impl Reconcile<Secret> for Buckets {
    async fn reconcile(&self, secret: Arc<Secret>, _: Context) -> Result<Action, Error> {
        if secret.name_any() != "bucket" {
            return Ok(Action::await_change());
        }
        let run = self.finalizer.run(secret, async |event| {
            let name = "bucket-of-it";
            match event {
                finalizer::Event::Apply(secret) => {
                    let namespace = secret.namespace().unwrap_or_default();
                    if self.maps.get((namespace.as_str(), name)).await?.is_none() {
                        let mut map = ConfigMap::default();
                        map.metadata.name = Some(name.into());
                        map.metadata.namespace = Some(namespace);
                        self.writer.create(&map).await?;
                        self.recorder
                            .normal(&*secret, "Made", "made a bucket")
                            .await?;
                    }
                }
                finalizer::Event::Cleanup(secret) => {
                    let namespace = secret.namespace().unwrap_or_default();
                    if secret.annotations().contains_key("keep") {
                        self.recorder
                            .warning(&*secret, "Kept", "it is to be kept")
                            .await?;
                        return Err(Error::retry("the bucket is not empty"));
                    }
                    if let Some(map) = self.maps.get((namespace.as_str(), name)).await? {
                        self.writer.delete(&map).await?;
                    }
                }
            }
            Ok(Action::await_change())
        });
        run.await
    }
}

fn buckets(needs: &mut Needs) -> App {
    let buckets = Buckets {
        finalizer: needs.finalizer("buckets.example.com/empty"),
        recorder: needs.recorder(),
        maps: needs.reader(),
        writer: needs.writer(),
    };
    // What the finalizer does shows in metadata alone, which never is beside the point.
    let controller = Controller::new("buckets", buckets).filter(Predicate::annotations_changed());
    App::new("buckets").controller(controller)
}

async fn events(cluster: &TestCluster, reason: &str) -> Option<Event> {
    let events: Api<Event> = Api::namespaced(cluster.client(), cluster.namespace());
    let all = events.list(&ListParams::default()).await.unwrap();
    all.into_iter()
        .find(|event| event.reason.as_deref() == Some(reason))
}

#[tokio::test]
async fn an_object_with_a_finalizer_is_gone_when_it_is_cleaned_up_after_and_no_sooner() {
    let cluster = TestCluster::builder().app(buckets).start().await;
    let secret: Secret = yaml(
        "metadata: {name: bucket, annotations: {keep: 'yes'}, finalizers: [other.example.com/it]}",
    );
    cluster.create(&secret).await.expect_allowed();
    eventually("the bucket", async || {
        cluster.get::<ConfigMap>("bucket-of-it").await
    })
    .await;
    let secret = cluster.get::<Secret>("bucket").await.unwrap();
    assert_eq!(
        secret.finalizers(),
        ["other.example.com/it", "buckets.example.com/empty"]
    );
    let made = eventually("an event", async || events(&cluster, "Made").await).await;
    assert_eq!(made.type_.as_deref(), Some("Normal"));
    assert_eq!(made.regarding.unwrap().name.as_deref(), Some("bucket"));
    assert_eq!(made.reporting_controller.as_deref(), Some("buckets"));

    cluster.delete::<Secret>("bucket").await.expect_allowed();
    let kept = eventually("a warning", async || events(&cluster, "Kept").await).await;
    assert_eq!(kept.note.as_deref(), Some("it is to be kept"));
    assert!(cluster.get::<ConfigMap>("bucket-of-it").await.is_some());

    let change = json!({"metadata": {"annotations": {"keep": null}}});
    cluster
        .merge::<Secret>("bucket", &change)
        .await
        .expect_allowed();
    eventually("only the finalizer of the other controller", async || {
        let secret = cluster.get::<Secret>("bucket").await?;
        (secret.finalizers() == ["other.example.com/it"]).then_some(())
    })
    .await;
    assert_eq!(cluster.get::<ConfigMap>("bucket-of-it").await, None);
    let change = json!({"metadata": {"finalizers": null}});
    cluster
        .merge::<Secret>("bucket", &change)
        .await
        .expect_allowed();
    assert_eq!(cluster.get::<Secret>("bucket").await, None);
}

/// A word whose reader has a mistake in it.
#[derive(Default)]
struct Fragile;

impl<'de> serde::Deserialize<'de> for Fragile {
    fn deserialize<D: serde::Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let text = String::deserialize(text)?;
        assert_ne!(text, "break", "on purpose");
        Ok(Self)
    }
}

#[tokio::test]
#[should_panic(
    expected = "the program under test `words` has ended: cannot go on: the configuration has panicked"
)]
async fn a_program_of_which_a_part_has_panicked_fails_the_test() {
    let app = |needs: &mut Needs| {
        let _word: Live<Fragile> = needs.config_map("words", "word", Fragile);
        App::new("words")
    };
    let cluster = TestCluster::builder().app(app).start().await;
    let words: ConfigMap = yaml("{metadata: {name: words}, data: {word: break}}");
    cluster.create(&words).await.expect_allowed();
    eventually("the end", async || {
        cluster
            .get::<ConfigMap>("words")
            .await
            .is_none()
            .then_some(())
    })
    .await;
}
