//! Endpoints and EndpointSlices of Services.

use std::time::Duration;

use kubewright_apiserver::{Controllers, Workloads};
use serde_json::{Value, json};

use super::{PODS, all, settled, with};
use crate::cluster::Cluster;

const SERVICES: &str = "/api/v1/namespaces/default/services";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

fn service(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {"team": "blue"}},
        "spec": spec,
    })
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{
            "name": "main",
            "image": "nginx",
            "ports": [{"name": "http", "containerPort": 8080}],
        }]},
    })
}

fn web() -> Value {
    let ports = json!([{"name": "web", "port": 80, "targetPort": "http"}]);
    service("web", &json!({"selector": {"app": "web"}, "ports": ports}))
}

/// The slices of a Service.
async fn slices(cluster: &Cluster, service: &str) -> Vec<Value> {
    let query = format!("?labelSelector=kubernetes.io/service-name={service}");
    let list = cluster.read(&format!("{SLICES}{query}")).await;
    list["items"].as_array().expect("items").clone()
}

#[tokio::test(start_paused = true)]
async fn a_service_has_the_endpoints_of_its_pods() {
    let cluster = all();
    cluster.made(PODS, &pod("a")).await;
    let web = cluster.made(SERVICES, &web()).await;
    let a = cluster.read(&format!("{PODS}/a")).await;
    let target = json!({
        "kind": "Pod",
        "namespace": "default",
        "name": "a",
        "uid": a["metadata"]["uid"],
    });
    let endpoints = cluster.read(&format!("{ENDPOINTS}/web")).await;
    let expected = json!([{
        "addresses": [{
            "ip": a["status"]["podIP"],
            "nodeName": "simulated-0",
            "targetRef": target,
        }],
        "ports": [{"name": "web", "port": 8080, "protocol": "TCP"}],
    }]);
    assert_eq!(endpoints["subsets"], expected);
    let metadata = &endpoints["metadata"];
    let labels =
        json!({"team": "blue", "endpoints.kubernetes.io/managed-by": "endpoint-controller"});
    assert_eq!(metadata["labels"], labels);
    assert_eq!(
        metadata["managedFields"][0]["manager"],
        "kube-controller-manager"
    );
    let created = &web["metadata"]["creationTimestamp"];
    let annotations = json!({"endpoints.kubernetes.io/last-change-trigger-time": created});
    assert_eq!(metadata["annotations"], annotations);

    let slices = slices(&cluster, "web").await;
    let [slice] = slices.as_slice() else {
        panic!("one slice, not {slices:?}");
    };
    let metadata = &slice["metadata"];
    let name = metadata["name"].as_str().expect("a name");
    assert!(name.starts_with("web-") && name.len() == "web-".len() + 5);
    let labels = json!({
        "team": "blue",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    });
    assert_eq!(metadata["labels"], labels);
    assert_eq!(metadata["annotations"], annotations);
    let owner = json!([{
        "apiVersion": "v1",
        "kind": "Service",
        "name": "web",
        "uid": web["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    }]);
    assert_eq!(metadata["ownerReferences"], owner);
    assert_eq!(slice["addressType"], "IPv4");
    let ports = json!([{"name": "web", "port": 8080, "protocol": "TCP"}]);
    assert_eq!(slice["ports"], ports);
    let expected = json!([{
        "addresses": [a["status"]["podIP"]],
        "conditions": {"ready": true, "serving": true, "terminating": false},
        "nodeName": "simulated-0",
        "targetRef": target,
    }]);
    assert_eq!(slice["endpoints"], expected);
}

#[tokio::test(start_paused = true)]
async fn endpoints_follow_readiness_labels_and_the_end_of_pods() {
    let slow = Workloads::default()
        .ready_after(Duration::from_secs(5))
        .stopped_after(Duration::from_secs(5));
    let cluster = with(Controllers::all().workloads(slow));
    cluster.made(SERVICES, &web()).await;
    let conditions = async || {
        let slices = slices(&cluster, "web").await;
        slices[0]["endpoints"][0]["conditions"].clone()
    };
    let subset = async || cluster.read(&format!("{ENDPOINTS}/web")).await["subsets"][0].clone();
    let mut unready = pod("a");
    unready["metadata"]["annotations"] = json!({"kubewright.dev/simulate": "unready"});
    cluster.made(PODS, &unready).await;
    assert_eq!(conditions().await, Value::Null);
    tokio::time::sleep(Duration::from_secs(6)).await;
    let expected = json!({"ready": false, "serving": false, "terminating": false});
    assert_eq!(conditions().await, expected);
    assert_eq!(subset().await["addresses"], Value::Null);
    assert_eq!(
        subset().await["notReadyAddresses"][0]["targetRef"]["name"],
        "a"
    );

    let elsewhere = json!({"metadata": {"labels": {"app": "other"}}});
    let path = format!("{PODS}/a");
    cluster.patch("merge", &path, &elsewhere).await.expect(200);
    settled().await;
    assert_eq!(subset().await, Value::Null);
    assert_eq!(conditions().await, Value::Null);

    cluster.made(PODS, &pod("b")).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let expected = json!({"ready": true, "serving": true, "terminating": false});
    assert_eq!(conditions().await, expected);
    cluster.delete(&format!("{PODS}/b")).await.expect(200);
    settled().await;
    let expected = json!({"ready": false, "serving": true, "terminating": true});
    assert_eq!(conditions().await, expected);
    assert_eq!(subset().await, Value::Null);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(conditions().await, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_service_may_publish_pods_that_are_not_ready_and_name_them() {
    let cluster = all();
    let spec = json!({
        "selector": {"app": "web"},
        "clusterIP": "None",
        "publishNotReadyAddresses": true,
    });
    let mut named = pod("a");
    named["metadata"]["annotations"] = json!({"kubewright.dev/simulate": "unready"});
    named["spec"]["hostname"] = "first".into();
    named["spec"]["subdomain"] = "headless".into();
    cluster.made(PODS, &named).await;
    cluster.made(SERVICES, &service("headless", &spec)).await;
    let endpoints = cluster.read(&format!("{ENDPOINTS}/headless")).await;
    assert_eq!(
        endpoints["metadata"]["labels"]["service.kubernetes.io/headless"],
        ""
    );
    let address = &endpoints["subsets"][0]["addresses"][0];
    assert_eq!(address["hostname"], "first");
    let slices = slices(&cluster, "headless").await;
    assert_eq!(
        slices[0]["metadata"]["labels"]["service.kubernetes.io/headless"],
        ""
    );
    let endpoint = &slices[0]["endpoints"][0];
    assert_eq!(endpoint["hostname"], "first");
    let conditions = json!({"ready": true, "serving": false, "terminating": false});
    assert_eq!(endpoint["conditions"], conditions);
}

#[tokio::test(start_paused = true)]
async fn pods_that_name_different_ports_stand_in_slices_of_their_own() {
    let cluster = all();
    cluster.made(SERVICES, &web()).await;
    let mut other = pod("b");
    other["spec"]["containers"][0]["ports"][0]["containerPort"] = 9090.into();
    let mut portless = pod("c");
    portless["spec"]["containers"][0]["ports"] = json!([]);
    for pod in [pod("a"), other, portless] {
        cluster.made(PODS, &pod).await;
    }
    let mut shown: Vec<(Value, Value)> = slices(&cluster, "web")
        .await
        .iter()
        .map(|slice| {
            let pod = &slice["endpoints"][0]["targetRef"]["name"];
            (pod.clone(), slice["ports"][0]["port"].clone())
        })
        .collect();
    shown.sort_by_key(|(pod, _)| pod.to_string());
    let expected = [("a", json!(8080)), ("b", json!(9090)), ("c", Value::Null)];
    assert_eq!(shown, expected.map(|(pod, port)| (pod.into(), port)));
    let endpoints = cluster.read(&format!("{ENDPOINTS}/web")).await;
    assert_eq!(endpoints["subsets"].as_array().expect("subsets").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_service_without_pods_has_empty_endpoints_which_end_with_it_and_come_back() {
    let cluster = all();
    cluster.made(SERVICES, &web()).await;
    let empty = slices(&cluster, "web").await;
    assert_eq!(empty[0]["endpoints"], Value::Null);
    let path = format!("{ENDPOINTS}/web");
    assert_eq!(cluster.read(&path).await["subsets"], Value::Null);
    cluster.delete(&path).await.expect(200);
    let name = empty[0]["metadata"]["name"].as_str().expect("a name");
    cluster
        .delete(&format!("{SLICES}/{name}"))
        .await
        .expect(200);
    settled().await;
    cluster.read(&path).await;
    assert_eq!(slices(&cluster, "web").await.len(), 1);
    cluster.delete(&format!("{SERVICES}/web")).await.expect(200);
    settled().await;
    cluster.get(&path).await.expect(404);
    assert_eq!(slices(&cluster, "web").await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slice_takes_a_hundred_pods() {
    let cluster = all();
    cluster.made(SERVICES, &web()).await;
    for at in 0..101 {
        cluster
            .post(PODS, &pod(&format!("p{at}")))
            .await
            .expect(201);
    }
    settled().await;
    let mut sizes: Vec<usize> = slices(&cluster, "web")
        .await
        .iter()
        .map(|slice| slice["endpoints"].as_array().expect("endpoints").len())
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 100]);
}

#[tokio::test(start_paused = true)]
async fn endpoints_that_are_written_by_hand_are_mirrored() {
    let cluster = all();
    let ports = json!([{"name": "web", "port": 80}]);
    cluster
        .made(SERVICES, &service("own", &json!({"ports": ports})))
        .await;
    assert_eq!(slices(&cluster, "own").await.len(), 0);
    let endpoints = json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "own",
            "labels": {"team": "red"},
            "annotations": {"a": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        "subsets": [{
            "addresses": [{"ip": "10.1.2.3"}, {"ip": "fd00::1"}],
            "notReadyAddresses": [{"ip": "10.1.2.4"}],
            "ports": [{"name": "web", "port": 80}],
        }],
    });
    let made = cluster.made(ENDPOINTS, &endpoints).await;
    let mut mirrored = slices(&cluster, "own").await;
    mirrored.sort_by_key(|slice| slice["addressType"].to_string());
    let [v4, v6] = mirrored.as_slice() else {
        panic!("two slices, not {mirrored:?}");
    };
    assert_eq!(v6["endpoints"][0]["addresses"], json!(["fd00::1"]));
    let expected = json!([
        {"addresses": ["10.1.2.3"], "conditions": {"ready": true}},
        {"addresses": ["10.1.2.4"], "conditions": {"ready": false}},
    ]);
    assert_eq!(v4["endpoints"], expected);
    let metadata = &v4["metadata"];
    assert_eq!(metadata["annotations"], json!({"a": "b"}));
    let labels = json!({
        "team": "red",
        "kubernetes.io/service-name": "own",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    });
    assert_eq!(metadata["labels"], labels);
    assert_eq!(
        metadata["ownerReferences"][0]["uid"],
        made["metadata"]["uid"]
    );

    let moved = json!({"subsets": [{
        "addresses": [{"ip": "10.1.2.5"}],
        "ports": [{"name": "web", "port": 81}],
    }]});
    let path = format!("{ENDPOINTS}/own");
    cluster.patch("merge", &path, &moved).await.expect(200);
    settled().await;
    let mirrored = slices(&cluster, "own").await;
    assert_eq!(mirrored.len(), 1);
    assert_eq!(mirrored[0]["metadata"]["name"], metadata["name"]);
    assert_eq!(mirrored[0]["ports"][0]["port"], 81);
    cluster.delete(&path).await.expect(200);
    settled().await;
    assert_eq!(slices(&cluster, "own").await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn endpoints_without_a_service_stay_and_are_not_mirrored() {
    let cluster = all();
    let endpoints = json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "lone"},
        "subsets": [{"addresses": [{"ip": "10.1.2.3"}]}],
    });
    cluster.made(ENDPOINTS, &endpoints).await;
    cluster.read(&format!("{ENDPOINTS}/lone")).await;
    assert_eq!(slices(&cluster, "lone").await.len(), 0);
}
