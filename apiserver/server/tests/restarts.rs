//! A server on a backend: what clients find after it has been started again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use kubewright_apiserver::{ApiServer, Backend, BackendError, Contents, Write, import};
use serde_json::{Value, json};

use crate::cluster::{Cluster, map};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const BOXES: &str = "/apis/example.com/v1/namespaces/default/boxes";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A backend that outlives its server; it refuses commits while it is locked.
#[derive(Clone, Debug, Default)]
struct Shelf(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    revision: u64,
    entries: BTreeMap<String, Vec<u8>>,
    is_locked: bool,
}

impl Shelf {
    fn lock(&self, is_locked: bool) {
        self.0.lock().unwrap().is_locked = is_locked;
    }

    fn start(&self) -> Cluster {
        let builder = ApiServer::builder().storage(self.clone()).unwrap();
        Cluster::of(builder.start())
    }
}

impl Backend for Shelf {
    fn load(&self) -> Result<Contents, BackendError> {
        let shelf = self.0.lock().unwrap();
        Ok(Contents {
            revision: shelf.revision,
            entries: shelf.entries.clone().into_iter().collect(),
        })
    }

    fn commit(&self, writes: &[Write], revision: u64) -> Result<(), BackendError> {
        let mut shelf = self.0.lock().unwrap();
        if shelf.is_locked {
            return Err(BackendError::new("writing to the shelf", "it is locked"));
        }
        shelf.revision = revision;
        for Write { key, value } in writes.iter().cloned() {
            match value {
                Some(value) => drop(shelf.entries.insert(key, value)),
                None => drop(shelf.entries.remove(&key)),
            }
        }
        Ok(())
    }
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "boxes", "kind": "Box"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "size": {"type": "integer", "maximum": 9},
                    }},
                }}},
            }],
        },
    })
}

fn a_box(name: &str, size: u8) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": name}, "spec": {"size": size}})
}

fn service(name: &str, spec: &Value) -> Value {
    let mut service = json!({"metadata": {"name": name}, "spec": spec});
    service["spec"]["ports"] = json!([{"port": 80}]);
    service
}

#[tokio::test]
async fn objects_definitions_and_addresses_are_there_after_a_restart() {
    let shelf = Shelf::default();
    let cluster = shelf.start();
    cluster.post(DEFINITIONS, &definition()).await.expect(201);
    let small = cluster.post(BOXES, &a_box("small", 1)).await.expect(201);
    let web = cluster.post(SERVICES, &service("web", &json!({}))).await;
    let web = web.expect(201);
    cluster.post(MAPS, &map("gone")).await.expect(201);
    let gone = format!("{MAPS}/gone");
    cluster.delete(&gone).await.expect(200);
    let namespaces = cluster.get("/api/v1/namespaces").await.expect(200);
    drop(cluster);

    let cluster = shelf.start();
    let read = cluster.get(&format!("{BOXES}/small")).await.expect(200);
    assert_eq!(read, small);
    cluster.get(&gone).await.refused(404, "NotFound");
    let again = cluster.get("/api/v1/namespaces").await.expect(200);
    assert_eq!(again["items"], namespaces["items"]);

    // The schema of the definition holds, and its objects are watched and written as before.
    let large = cluster.post(BOXES, &a_box("large", 10)).await;
    large.refused(422, "Invalid");
    let path = format!("{BOXES}/small");
    let mut changed = small.clone();
    changed["spec"]["size"] = 2.into();
    let changed = cluster.put(&path, &changed).await.expect(200);
    let revision = |object: &Value| {
        let text = object["metadata"]["resourceVersion"].as_str();
        text.unwrap().parse::<u64>().unwrap()
    };
    assert!(revision(&changed) > revision(&again));

    // The address of a stored service is not given to another one.
    let taken = json!({"clusterIP": web["spec"]["clusterIP"]});
    let other = cluster.post(SERVICES, &service("other", &taken)).await;
    assert!(other.refused(422, "Invalid").contains("already allocated"));
}

#[tokio::test]
async fn a_write_that_cannot_be_stored_is_an_internal_error_and_changes_nothing() {
    let shelf = Shelf::default();
    let cluster = shelf.start();
    let stored = cluster.post(MAPS, &map("x")).await.expect(201);
    let path = format!("{MAPS}/x");
    let mut changed = stored.clone();
    changed["data"] = json!({"a": "b"});
    shelf.lock(true);
    let why = "Internal error occurred: writing to the shelf";
    let create = cluster.post(MAPS, &map("y")).await;
    assert_eq!(create.refused(500, "InternalError"), why);
    let update = cluster.put(&path, &changed).await;
    assert_eq!(update.refused(500, "InternalError"), why);
    let delete = cluster.delete(&path).await;
    assert_eq!(delete.refused(500, "InternalError"), why);
    assert_eq!(cluster.get(&path).await.expect(200), stored);
    shelf.lock(false);
    cluster.put(&path, &changed).await.expect(200);
}

#[tokio::test]
async fn a_server_that_starts_with_a_snapshot_or_an_export_has_the_objects_with_their_versions() {
    let cluster = Cluster::start();
    cluster.post(DEFINITIONS, &definition()).await.expect(201);
    let small = cluster.post(BOXES, &a_box("small", 1)).await.expect(201);
    let web = cluster
        .post(SERVICES, &service("web", &json!({})))
        .await
        .expect(201);
    let list = |items: Vec<Value>| json!({"apiVersion": "v1", "kind": "List", "items": items});
    let definition = cluster
        .get(&format!("{DEFINITIONS}/boxes.example.com"))
        .await
        .expect(200);
    let export = list(vec![small.clone(), web.clone(), definition]).to_string();
    let snapshots = [
        cluster.server.snapshot(),
        import(export.as_bytes()).unwrap(),
    ];
    for snapshot in snapshots {
        let cluster = Cluster::of(ApiServer::builder().snapshot(snapshot).start());
        assert_eq!(
            cluster.get(&format!("{BOXES}/small")).await.expect(200),
            small
        );
        assert_eq!(
            cluster.get(&format!("{SERVICES}/web")).await.expect(200),
            web
        );
        let namespaces = cluster.get("/api/v1/namespaces").await.expect(200);
        assert_eq!(namespaces["items"].as_array().unwrap().len(), 4);
        cluster
            .post(BOXES, &a_box("large", 10))
            .await
            .refused(422, "Invalid");
        let taken = json!({"clusterIP": web["spec"]["clusterIP"]});
        let other = cluster.post(SERVICES, &service("other", &taken)).await;
        assert!(other.refused(422, "Invalid").contains("already allocated"));
        let next = cluster.post(BOXES, &a_box("next", 2)).await.expect(201);
        let version = |object: &Value| {
            object["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        assert!(version(&next) > version(&small));
    }
    for (text, expected) in [
        ("- no\n- objects", "no apiVersion, kind or metadata.name"),
        ("{", "neither a snapshot nor JSON or YAML"),
        (
            "apiVersion: example.com/v1\nkind: Box\nmetadata: {name: x}",
            "no resource has objects of example.com/v1 Box",
        ),
    ] {
        let error = import(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    let cluster = Cluster::of(
        ApiServer::builder()
            .snapshot(import(yaml.as_bytes()).unwrap())
            .start(),
    );
    cluster.get(&format!("{MAPS}/a")).await.expect(200);
    cluster.get(&format!("{MAPS}/b")).await.expect(200);
}
