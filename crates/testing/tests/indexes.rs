//! Indexes, and caches that hold a few fields, on the embedded and on the real API server.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::core::{DynamicObject, PartialObjectMeta};
use kubewright_controller::{
    Action, AnyController, Applier, Cached, Connection, Context, Controller, CreateOrUpdate, Error,
    Index, Informers, Kind, ObjectRef, Scope, UniqueIndex, Writer, related,
};
use kubewright_testing::{Server, TestCluster, eventually, unique, yaml};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What a cache holds of a ConfigMap.
#[derive(Clone, Debug, serde::Deserialize)]
struct Room {
    metadata: Metadata,
    #[serde(default)]
    data: Data,
}

#[derive(Clone, Debug, serde::Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
struct Data {
    /// The people in the room.
    people: Option<String>,
}

fn people(room: &Room) -> Vec<String> {
    let people = room.data.people.iter();
    people
        .flat_map(|people| people.split(' ').map(str::to_owned))
        .collect()
}

fn people_of(map: &ConfigMap) -> Vec<String> {
    let people = map.data.iter().filter_map(|data| data.get("people"));
    people
        .flat_map(|people| people.split(' ').map(str::to_owned))
        .collect()
}

fn name(room: &Room) -> String {
    room.metadata.name.clone()
}

/// A write is found by its new keys, and not by its old ones, as soon as it returns; whatever the handle, and whatever is held.
async fn what_a_handle_has_written_is_found_by_its_keys_at_once(server: Server) {
    let cluster = TestCluster::builder().on(server).start().await;
    let namespace = cluster.namespace();
    let informers = Informers::new();
    let connection = Connection::with_informers(&informers);
    connection.open(cluster.client(), "gardener");
    let scope = || Scope::all().in_namespace(namespace);
    // One cache of few fields, and one of whole objects that labels narrow.
    let few: Cached<ConfigMap, Room> = Cached::new(&informers, scope());
    let few: Index<ConfigMap, String, Room> = few.index_by(people);
    let open: Cached<ConfigMap> = Cached::new(&informers, scope().labelled("open=yes"));
    let open: Index<ConfigMap, String> = open.index_by(people_of);
    // It reads whole objects, of a scope of its own.
    let handle: CreateOrUpdate<ConfigMap> =
        CreateOrUpdate::new(&informers, &connection, scope().named("attic"));
    let kind = Kind::of::<ConfigMap>();
    let mut tasks = JoinSet::new();
    let (all, client) = (informers.clone(), cluster.client());
    tasks.spawn(async move { all.run(client).await });
    informers.synced().await;

    let rooms = async |person: &str| {
        let few: Vec<_> = few
            .list_in(namespace, person)
            .await
            .unwrap()
            .iter()
            .map(name)
            .collect();
        let open = open.list_in(namespace, person).await.unwrap();
        (
            few,
            open.iter().map(ResourceExt::name_any).collect::<Vec<_>>(),
        )
    };
    let found = |few: &[&str], open: &[&str]| {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        (names(few), names(open))
    };
    let room = |name: &str, people: &str, open: &str| -> ConfigMap {
        yaml(&format!(
            "{{metadata: {{namespace: {namespace}, name: {name}, labels: {{open: '{open}'}}}}, data: {{people: {people}, size: large}}}}"
        ))
    };
    let writer: Writer<ConfigMap> = Writer::new(&connection, scope());
    let mut hall = writer
        .create(&room("hall", "ann bob", "yes"))
        .await
        .unwrap();
    assert_eq!(rooms("ann").await, found(&["hall"], &["hall"]));
    let applier: Applier<ConfigMap> = Applier::new(&connection, scope());
    applier.apply(&room("attic", "bob", "no")).await.unwrap();
    assert_eq!(rooms("bob").await, found(&["attic", "hall"], &["hall"]));
    hall.data = Some(BTreeMap::from([("people".to_owned(), "cleo".to_owned())]));
    writer.replace(&hall).await.unwrap();
    assert_eq!(rooms("ann").await, found(&[], &[]), "she has left");
    assert_eq!(rooms("bob").await, found(&["attic"], &[]));
    assert_eq!(rooms("cleo").await, found(&["hall"], &["hall"]));
    let patch = json!({"metadata": {"labels": {"open": "no"}}});
    writer.merge((namespace, "hall"), &patch).await.unwrap();
    assert_eq!(
        rooms("cleo").await,
        found(&["hall"], &[]),
        "it is in this scope no more"
    );
    handle
        .create_or_update(&room("attic", "ann", "yes"))
        .await
        .unwrap();
    assert_eq!(rooms("ann").await, found(&["attic"], &["attic"]));
    let dynamic: Writer<DynamicObject> = Writer::dynamic(&connection, &kind, scope());
    let patch = json!({"data": {"people": null}});
    dynamic.merge((namespace, "attic"), &patch).await.unwrap();
    assert_eq!(rooms("ann").await, found(&[], &[]));
    writer.delete(&hall).await.unwrap();
    assert_eq!(rooms("cleo").await, found(&[], &[]), "it is deleted");
}

/// A change of a Secret reconciles the ConfigMaps that name it, and no others.
async fn a_change_reconciles_the_objects_that_an_index_finds(server: Server) {
    type Content = PartialObjectMeta<Secret>;

    let cluster = TestCluster::builder().on(server).start().await;
    let namespace = cluster.namespace().to_owned();
    let batch = unique("batch");
    let scope = Scope::all()
        .in_namespace(&namespace)
        .labelled(format!("batch={batch}"));
    let informers = Informers::new();
    let maps: Cached<ConfigMap> = Cached::new(&informers, scope.clone());
    let by_secret = maps.index_by(|map: &ConfigMap| {
        let namespace = map.namespace()?;
        let name = map.data.as_ref()?.get("secret")?;
        Some(ObjectRef::<Content>::from((&*namespace, &**name)))
    });
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let reconcile = move |map: Arc<ConfigMap>, _: Context| {
        drop(sender.send(map.name_any()));
        async { Ok::<_, Error>(Action::await_change()) }
    };
    let secrets = related(move |secret: &Content| by_secret.references(&ObjectRef::of(secret)))
        .within(Scope::all().in_namespace(&namespace));
    let controller = Controller::new("maps", reconcile)
        .within(scope.clone())
        .watch(secrets);
    let running = AnyController::from(controller).attach(&informers);
    let mut tasks = JoinSet::new();
    let client = cluster.client();
    tasks.spawn(async move { running.run(std::future::pending()).await });
    tasks.spawn(async move { informers.run(client).await });
    for (name, secret) in [("a", "tls"), ("b", "other"), ("c", "tls")] {
        let map: ConfigMap = yaml(&format!(
            "{{metadata: {{name: {name}, labels: {{batch: {batch}}}}}, data: {{secret: {secret}}}}}"
        ));
        cluster.create(&map).await.expect_allowed();
        assert_eq!(reconciled.recv().await.unwrap(), name);
    }
    let secret: Secret = yaml("{metadata: {name: tls}, stringData: {key: hunter2}}");
    cluster.create(&secret).await.expect_allowed();
    let mut both = [
        reconciled.recv().await.unwrap(),
        reconciled.recv().await.unwrap(),
    ];
    both.sort();
    assert_eq!(both, ["a", "c"]);
    // The index follows: this map does not name the Secret any more.
    let change = json!({"data": {"secret": "other"}});
    cluster
        .merge::<ConfigMap>("a", &change)
        .await
        .expect_allowed();
    assert_eq!(reconciled.recv().await.unwrap(), "a");
    let change = json!({"stringData": {"key": "hunter3"}});
    cluster
        .merge::<Secret>("tls", &change)
        .await
        .expect_allowed();
    assert_eq!(reconciled.recv().await.unwrap(), "c");
    assert!(reconciled.is_empty());
}

/// Two objects have a key that only one should have: the error names both, and goes with one of them.
async fn a_unique_index_says_which_objects_have_the_same_key(server: Server) {
    let cluster = TestCluster::builder().on(server).start().await;
    let namespace = cluster.namespace();
    let informers = Informers::new();
    let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all().in_namespace(namespace));
    let by_person: UniqueIndex<ConfigMap, String> = maps.index_by(people_of).unique();
    let mut tasks = JoinSet::new();
    let client = cluster.client();
    tasks.spawn(async move { informers.run(client).await });
    for name in ["a", "b"] {
        let map: ConfigMap = yaml(&format!(
            "{{metadata: {{name: {name}}}, data: {{people: ann}}}}"
        ));
        cluster.create(&map).await.expect_allowed();
    }
    let error = eventually("both", async || by_person.get("ann").await.err()).await;
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        cause.ends_with(&format!("{namespace}/a, {namespace}/b")),
        "{cause}"
    );
    assert!(
        by_person.get("bob").await.unwrap().is_none(),
        "other keys are as they were"
    );
    assert!(
        by_person.get_in("elsewhere", "ann").await.is_err(),
        "another namespace is not in the cache"
    );
    cluster.delete::<ConfigMap>("a").await.expect_allowed();
    let one = eventually("one", async || by_person.get("ann").await.ok()).await;
    assert_eq!(one.unwrap().name_any(), "b");
}

/// An object whose keys are not known may have any key, in its namespace.
async fn look_ups_name_an_object_whose_keys_are_not_known(server: Server) {
    #[derive(serde::Deserialize)]
    struct Sized {
        data: Size,
    }
    #[derive(serde::Deserialize)]
    struct Size {
        size: u8,
    }

    let cluster = TestCluster::builder().on(server).start().await;
    let namespace = cluster.namespace();
    let informers = Informers::new();
    let kind = Kind::of::<ConfigMap>();
    let maps: Cached<DynamicObject, Sized> =
        Cached::dynamic(&informers, &kind, Scope::all().in_namespace(namespace));
    let by_size = maps.index_by(|map: &Sized| {
        assert_ne!(map.data.size, 13, "unlucky");
        [map.data.size]
    });
    let mut tasks = JoinSet::new();
    let client = cluster.client();
    tasks.spawn(async move { informers.run(client).await });
    // Numbers are text in a ConfigMap, so that this is no `Sized`.
    let map: ConfigMap = yaml("{metadata: {name: a}, data: {size: '7'}}");
    cluster.create(&map).await.expect_allowed();
    let error = eventually("an error", async || by_size.list(&7).await.err()).await;
    let kept = format!("cannot look up objects by an index that lacks ConfigMap {namespace}/a");
    assert_eq!(error.to_string(), kept);
    assert!(by_size.references(&7).is_empty());
    cluster.delete::<ConfigMap>("a").await.expect_allowed();
    eventually("a look-up", async || by_size.list(&7).await.ok()).await;
}

#[tokio::test]
async fn what_a_handle_has_written_is_found_by_its_keys_at_once_on_an_embedded_api_server() {
    what_a_handle_has_written_is_found_by_its_keys_at_once(Server::Embedded).await;
}

#[tokio::test]
async fn a_change_reconciles_the_objects_that_an_index_finds_on_an_embedded_api_server() {
    a_change_reconciles_the_objects_that_an_index_finds(Server::Embedded).await;
}

#[tokio::test]
async fn a_unique_index_says_which_objects_have_the_same_key_on_an_embedded_api_server() {
    a_unique_index_says_which_objects_have_the_same_key(Server::Embedded).await;
}

#[tokio::test]
async fn look_ups_name_an_object_whose_keys_are_not_known_on_an_embedded_api_server() {
    look_ups_name_an_object_whose_keys_are_not_known(Server::Embedded).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn what_a_handle_has_written_is_found_by_its_keys_at_once_on_a_real_api_server() {
    what_a_handle_has_written_is_found_by_its_keys_at_once(Server::Real).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn a_change_reconciles_the_objects_that_an_index_finds_on_a_real_api_server() {
    a_change_reconciles_the_objects_that_an_index_finds(Server::Real).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn a_unique_index_says_which_objects_have_the_same_key_on_a_real_api_server() {
    a_unique_index_says_which_objects_have_the_same_key(Server::Real).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn look_ups_name_an_object_whose_keys_are_not_known_on_a_real_api_server() {
    look_ups_name_an_object_whose_keys_are_not_known(Server::Real).await;
}
