//! Two servers that share one etcd: what a client of one does, a client of the other sees.

use kubewright_apiserver::{ApiServer, EtcdBackend, EtcdOptions};
use kubewright_etcd::LocalEtcd;
use serde_json::{Value, json};
use tokio::time::{Duration, timeout};

use crate::cluster::{Cluster, map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const BOXES: &str = "/apis/example.com/v1/namespaces/default/boxes";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const NO_ETCD: &str = "there is no etcd: set KUBEBUILDER_ASSETS, or run tests/kube-apiserver/build";
const SERVICES: &str = "/api/v1/namespaces/default/services";

/// Starts two servers on an etcd, or returns nothing if there is no etcd.
fn two() -> Option<(LocalEtcd, Cluster, Cluster)> {
    let etcd = LocalEtcd::start()?;
    let start = || {
        let backend = EtcdBackend::connect(EtcdOptions::new([etcd.url()])).unwrap();
        let builder = ApiServer::builder().shared_storage(backend).unwrap();
        Cluster::of(builder.start())
    };
    let (a, b) = (start(), start());
    Some((etcd, a, b))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_of_one_server_is_read_changed_and_deleted_by_the_other() {
    let Some((_etcd, a, b)) = two() else {
        return println!("{NO_ETCD}");
    };
    let path = format!("{MAPS}/x");
    let stored = a.post(MAPS, &map("x")).await.expect(201);
    assert_eq!(b.get(&path).await.expect(200), stored);
    b.post(MAPS, &map("x")).await.refused(409, "AlreadyExists");

    let mut changed = stored.clone();
    changed["data"] = json!({"by": "b"});
    let changed = b.put(&path, &changed).await.expect(200);
    // The client of the first server has read an older version.
    a.put(&path, &stored).await.refused(409, "Conflict");
    assert_eq!(a.get(&path).await.expect(200), changed);
    let listed = a.get(MAPS).await.expect(200);
    assert!(
        listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|item| item["data"] == changed["data"])
    );

    let version = stored["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = b
        .watch(&format!("{MAPS}?watch=true&resourceVersion={version}"))
        .await;
    a.delete(&path).await.expect(200);
    let events = [watch.next().await.unwrap(), watch.next().await.unwrap()];
    assert_eq!(events[0], json!({"type": "MODIFIED", "object": changed}));
    assert_eq!(events[1]["type"], "DELETED");
    b.get(&path).await.refused(404, "NotFound");
    b.post(MAPS, &map("x")).await.expect(201);
    // Both have the objects of a new cluster, once.
    let namespaces = a.get("/api/v1/namespaces").await.expect(200);
    assert_eq!(
        namespaces["items"],
        b.get("/api/v1/namespaces").await.expect(200)["items"]
    );
    assert_eq!(namespaces["items"].as_array().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_of_one_server_is_served_by_the_other() {
    let Some((_etcd, a, b)) = two() else {
        return println!("{NO_ETCD}");
    };
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "boxes", "kind": "Box"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"size": {"type": "integer", "maximum": 9}}}}}],
        },
    });
    a.post(DEFINITIONS, &definition).await.expect(201);
    let new = json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "x"}, "size": 1});
    let stored = a.post(BOXES, &new).await.expect(201);
    let is_served = async {
        while b.get(BOXES).await.code == 404 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(10), is_served)
        .await
        .expect("the other server serves it");
    assert_eq!(b.get(&format!("{BOXES}/x")).await.expect(200), stored);
    let mut large = stored.clone();
    large["size"] = 10.into();
    b.put(&format!("{BOXES}/x"), &large)
        .await
        .refused(422, "Invalid");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_is_served_with_its_answer_whichever_server_accepts_its_names() {
    let Some((_etcd, a, b)) = two() else {
        return println!("{NO_ETCD}");
    };
    for round in 0..40 {
        let (plural, kind) = (format!("boxes{round}"), format!("Box{round}"));
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.example.com")},
            "spec": {
                "group": "example.com", "scope": "Cluster", "names": {"plural": plural, "kind": kind},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
        });
        // Both servers see a new definition, and either may be the first to write its status.
        let asked = if round % 2 == 0 { &a } else { &b };
        asked.post(DEFINITIONS, &definition).await.expect(201);
        let objects = format!("/apis/example.com/v1/{plural}");
        asked.get(&objects).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_candidates_for_a_lease_one_wins_whichever_server_they_ask() {
    let Some((_etcd, a, b)) = two() else {
        return println!("{NO_ETCD}");
    };
    let lease = json!({"metadata": {"name": "leader"}, "spec": {"holderIdentity": ""}});
    let stored = a.post(LEASES, &lease).await.expect(201);
    let path = format!("{LEASES}/leader");
    let mut version = stored;
    for round in 0..10 {
        let claim = |who: &str| {
            let mut claim: Value = version.clone();
            claim["spec"]["holderIdentity"] = format!("{who}-{round}").into();
            claim
        };
        let (of_a, of_b) = (claim("a"), claim("b"));
        let (by_a, by_b) = tokio::join!(a.put(&path, &of_a), b.put(&path, &of_b));
        let won = [&by_a, &by_b]
            .into_iter()
            .filter(|answer| answer.code == 200)
            .count();
        assert_eq!(won, 1, "{} {}", by_a.code, by_b.code);
        version = a.get(&path).await.expect(200);
        let winner = if by_a.code == 200 { "a" } else { "b" };
        assert_eq!(
            version["spec"]["holderIdentity"],
            format!("{winner}-{round}")
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_of_a_service_is_given_once() {
    let Some((_etcd, a, b)) = two() else {
        return println!("{NO_ETCD}");
    };
    let service = |name: &str, spec: Value| {
        let mut service = json!({"metadata": {"name": name}, "spec": spec});
        service["spec"]["ports"] = json!([{"port": 80}]);
        service
    };
    let mut addresses = Vec::new();
    for (at, cluster) in [&a, &b, &a, &b].into_iter().enumerate() {
        let name = format!("s{at}");
        let stored = cluster
            .post(SERVICES, &service(&name, json!({})))
            .await
            .expect(201);
        addresses.push(stored["spec"]["clusterIP"].as_str().unwrap().to_owned());
    }
    let taken = json!({"clusterIP": addresses[0]});
    let answer = b.post(SERVICES, &service("late", taken)).await;
    assert!(answer.refused(422, "Invalid").contains("already allocated"));
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 4);
}
