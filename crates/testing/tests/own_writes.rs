//! Read your own writes, on the embedded and on the real API server, whose watches are as late as they are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use kubewright_controller::{
    Action, Applier, Cached, Context, Controller, CreateOrUpdate, Deleter, Finalizer, Scope, Writer,
};
use kubewright_manager::{App, Needs};
use kubewright_testing::{Server, TestCluster, unique, yaml};
use serde_json::json;

/// What a program of this page works with.
struct Handles {
    cached: Cached<ConfigMap>,
    loud: Cached<ConfigMap>,
    writer: Writer<ConfigMap>,
    applier: Applier<ConfigMap>,
    deleter: Deleter<ConfigMap>,
    wanted: CreateOrUpdate<ConfigMap>,
    finalizer: Finalizer<ConfigMap>,
}

impl Handles {
    fn of(needs: &mut Needs, mode: &str) -> Self {
        Self {
            cached: needs.cached(),
            loud: needs.labelled(format!("{mode}=loud")).cached(),
            writer: needs.writer(),
            applier: needs.applier(),
            deleter: needs.deleter(),
            wanted: needs.create_or_update(),
            finalizer: needs.finalizer("example.com/tidy"),
        }
    }
}

/// After each write, a cache of all objects and one that labels narrow show it, without a pause.
async fn a_cache_shows_what_each_handle_has_written(server: Server) {
    let mode = unique("mode");
    let mut handles = None;
    let cluster = TestCluster::builder().on(server);
    let cluster = cluster
        .app(|needs| {
            handles = Some(Handles::of(needs, &mode));
            App::new("gardener")
        })
        .start()
        .await;
    let handles = handles.unwrap();
    let namespace = cluster.namespace();
    let map = |value: &str| -> ConfigMap {
        yaml(&format!(
            "{{metadata: {{namespace: {namespace}, name: map, labels: {{{mode}: {value}}}}}, data: {{mode: {value}}}}}"
        ))
    };
    let at = (namespace, "map");
    let read = async |cache: &Cached<ConfigMap>| {
        let map = cache.get(at).await.unwrap();
        map.map(|map| map.data.unwrap()["mode"].clone())
    };
    let modes = async || (read(&handles.cached).await, read(&handles.loud).await);
    let shown = |all: &str, loud: bool| (Some(all.to_owned()), loud.then(|| all.to_owned()));

    for round in 0..20 {
        handles.writer.create(&map("quiet")).await.unwrap();
        assert_eq!(modes().await, shown("quiet", false), "round {round}");
        handles.applier.apply(&map("loud")).await.unwrap();
        assert_eq!(modes().await, shown("loud", true), "round {round}");
        let quiet = json!({"metadata": {"labels": {&mode: "quiet"}}});
        handles.writer.merge(at, &quiet).await.unwrap();
        assert_eq!(modes().await, shown("loud", false), "round {round}");
        handles
            .wanted
            .create_or_update(&map("shrill"))
            .await
            .unwrap();
        assert_eq!(modes().await, shown("shrill", false), "round {round}");
        let run = async || {
            let map = Arc::new(handles.cached.get(at).await.unwrap().unwrap());
            let reconcile = async |_| Ok(Action::await_change());
            assert!(handles.finalizer.run(map, reconcile).await.is_ok());
        };
        run().await;
        let kept = handles.cached.get(at).await.unwrap().unwrap();
        assert_eq!(kept.finalizers(), ["example.com/tidy"], "round {round}");
        handles.deleter.delete(&kept).await.unwrap();
        let ends = handles.cached.get(at).await.unwrap().unwrap();
        assert!(ends.metadata.deletion_timestamp.is_some(), "round {round}");
        run().await;
        assert_eq!(modes().await, (None, None), "round {round}");
    }
}

const OBJECTS: usize = 10;
const WRITES: usize = 30;

/// A controller counts up in each object, while another client changes the same objects all the time.
async fn a_reconcile_never_sees_an_object_from_before_its_last_write(server: Server) {
    let batch = unique("batch");
    let written: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let stale: Arc<Mutex<Vec<String>>> = Arc::default();
    let app = |needs: &mut Needs| {
        let cached: Cached<ConfigMap> = needs.cached();
        let writer: Writer<ConfigMap> = needs.writer();
        let (written, stale) = (Arc::clone(&written), Arc::clone(&stale));
        let reconcile = move |map: Arc<ConfigMap>, _: Context| {
            let (cached, writer) = (cached.clone(), writer.clone());
            let (written, stale) = (Arc::clone(&written), Arc::clone(&stale));
            async move {
                let count = |map: &ConfigMap| {
                    let data = map.data.as_ref();
                    data.map_or(0, |data| data["count"].parse::<usize>().unwrap())
                };
                let name = map.name_any();
                let last = written.lock().unwrap().get(&name).copied();
                let last = last.unwrap_or_default();
                let read = cached.get((&*map.namespace().unwrap(), &*name)).await?;
                let Some(mut read) = read else {
                    stale.lock().unwrap().push(format!("{name} is missing"));
                    return Ok(Action::await_change());
                };
                for (whose, seen) in [("given", count(&map)), ("read", count(&read))] {
                    if seen != last {
                        let text = format!("{name}: {whose} {seen} after writing {last}");
                        stale.lock().unwrap().push(text);
                    }
                }
                if last < WRITES {
                    let next = BTreeMap::from([("count".to_owned(), (last + 1).to_string())]);
                    read.data = Some(next);
                    match writer.replace(&read).await {
                        Ok(_) => drop(written.lock().unwrap().insert(name, last + 1)),
                        // The other client was first.
                        Err(error) if error.is_conflict() => {
                            return Ok(Action::requeue_after(Duration::from_millis(5)));
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(Action::await_change())
            }
        };
        let scope = Scope::all().labelled(format!("batch={batch}"));
        App::new("counter").controller(Controller::new("counter", reconcile).within(scope))
    };
    let cluster = TestCluster::builder().on(server).app(app).start().await;
    for number in 0..OBJECTS {
        let map: ConfigMap = yaml(&format!(
            "metadata: {{name: map-{number}, labels: {{batch: {batch}}}}}"
        ));
        cluster.create(&map).await.expect_allowed();
    }
    let other: Api<ConfigMap> = Api::namespaced(cluster.client(), cluster.namespace());
    let is_done = || {
        let written = written.lock().unwrap();
        written.len() == OBJECTS && written.values().all(|count| *count == WRITES)
    };
    let mut round = 0;
    while !is_done() {
        round += 1;
        assert!(round < 10_000, "{:?}", written.lock().unwrap());
        for number in 0..OBJECTS {
            let patch =
                Patch::Merge(json!({"metadata": {"annotations": {"round": round.to_string()}}}));
            let name = format!("map-{number}");
            other
                .patch(&name, &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
    }
    let stale = stale.lock().unwrap().clone();
    assert!(stale.is_empty(), "{stale:#?}");
    for number in 0..OBJECTS {
        let map = cluster.get::<ConfigMap>(&format!("map-{number}")).await;
        let data = map.unwrap().data.unwrap();
        assert_eq!(data["count"], WRITES.to_string());
    }
}

#[tokio::test]
async fn a_cache_shows_what_each_handle_has_written_on_an_embedded_api_server() {
    a_cache_shows_what_each_handle_has_written(Server::Embedded).await;
}

#[tokio::test]
async fn a_reconcile_never_sees_an_object_from_before_its_last_write_on_an_embedded_api_server() {
    a_reconcile_never_sees_an_object_from_before_its_last_write(Server::Embedded).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn a_cache_shows_what_each_handle_has_written_on_a_real_api_server() {
    a_cache_shows_what_each_handle_has_written(Server::Real).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn a_reconcile_never_sees_an_object_from_before_its_last_write_on_a_real_api_server() {
    a_reconcile_never_sees_an_object_from_before_its_last_write(Server::Real).await;
}
