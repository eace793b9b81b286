//! What a pod gets.

use serde_json::json;
use sidecar_injector::Sidecars;

use super::{alpine, created, names};

#[tokio::test]
async fn the_default_is_the_sidecar_that_users_know() {
    let (stored, _) = created(Sidecars::default(), "injection", alpine()).await;
    let mut expected = alpine();
    expected["metadata"]["annotations"] =
        json!({"sidecar-injector-webhook.morven.me/status": "injected"});
    expected["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .push(json!({
            "name": "sidecar-nginx", "image": "nginx:1.12.2", "imagePullPolicy": "IfNotPresent",
            "volumeMounts": [{"name": "nginx-conf", "mountPath": "/etc/nginx"}],
        }));
    expected["spec"]["volumes"] =
        json!([{"name": "nginx-conf", "configMap": {"name": "nginx-configmap"}}]);
    assert_eq!(stored, expected);
}

#[tokio::test]
async fn annotations_of_the_pod_stay() {
    let mut pod = alpine();
    pod["metadata"]["annotations"] = json!({"example.com/owner": "Zoë", "plain": "1"});
    let (stored, _) = created(Sidecars::default(), "injection", pod).await;
    assert_eq!(
        stored["metadata"]["annotations"],
        json!({
            "example.com/owner": "Zoë", "plain": "1",
            "sidecar-injector-webhook.morven.me/status": "injected",
        })
    );
}

#[tokio::test]
async fn annotations_with_a_slash_are_set_as_they_are_called() {
    let mut pod = alpine();
    pod["metadata"]["annotations"] = json!({"a~1b/c": "tricky"});
    let (stored, _) = created(Sidecars::default(), "injection", pod).await;
    let annotations = stored["metadata"]["annotations"].as_object().unwrap();
    let keys: Vec<_> = annotations.keys().collect();
    assert_eq!(
        keys,
        ["a~1b/c", "sidecar-injector-webhook.morven.me/status"]
    );
}

#[tokio::test]
async fn a_container_of_the_same_name_is_not_added_twice() {
    let mut pod = alpine();
    let own = json!({"name": "sidecar-nginx", "image": "nginx:of-the-pod"});
    pod["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .push(own.clone());
    let (stored, warnings) = created(Sidecars::default(), "injection", pod).await;
    assert_eq!(names(&stored, "containers"), ["alpine", "sidecar-nginx"]);
    assert_eq!(stored["spec"]["containers"][1], own);
    assert_eq!(
        warnings,
        ["the pod has its own `sidecar-nginx`: the sidecar's is left out"]
    );
}

#[tokio::test]
async fn init_containers_and_volumes_keep_their_names_too() {
    let mut pod = alpine();
    pod["spec"]["initContainers"] = json!([{"name": "sidecar-nginx", "image": "nginx"}]);
    pod["spec"]["volumes"] = json!([{"name": "nginx-conf", "emptyDir": {}}]);
    let (stored, warnings) = created(Sidecars::default(), "injection", pod.clone()).await;
    assert_eq!(stored["spec"], pod["spec"]);
    assert_eq!(warnings.len(), 2);
}

#[tokio::test]
async fn a_second_pass_changes_nothing() {
    let (once, _) = created(Sidecars::default(), "injection", alpine()).await;
    let (twice, _) = created(Sidecars::default(), "injection", once.clone()).await;
    assert_eq!(twice, once);
}

#[tokio::test]
async fn a_configuration_with_nothing_adds_no_empty_lists() {
    let nothing: Sidecars =
        serde_json::from_value(json!({"containers": [], "volumes": []})).unwrap();
    let (stored, _) = created(nothing, "injection", alpine()).await;
    assert_eq!(stored["spec"], alpine()["spec"]);
}
