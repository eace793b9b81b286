//! What pods request.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, ResourceRequirements};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kubewright::Needs;
use kubewright::prelude::*;
use kubewright::testing::{TestCluster, unique};
use serde_json::{Value, json};

use super::options;

const GI: u64 = 1 << 30;

/// A cluster with the hook and storage classes of its own.
struct Setting {
    cluster: TestCluster,
    /// Of TopoLVM.
    class: String,
}

async fn setting() -> Setting {
    setting_with(&[]).await
}

async fn setting_with(arguments: &[&str]) -> Setting {
    let app = |needs: &mut Needs| topolvm_hook::app(options(arguments), needs);
    let cluster = TestCluster::builder()
        .app(app)
        .exact_permissions()
        .start()
        .await;
    let mut setting = Setting {
        cluster,
        class: String::new(),
    };
    setting.class = setting.new_class("topolvm.cybozu.com", json!({})).await;
    setting
}

impl Setting {
    async fn new_class(&self, provisioner: &str, parameters: Value) -> String {
        let name = unique("class");
        let class = json!({
            "metadata": {"name": name}, "provisioner": provisioner, "parameters": parameters,
        });
        let class: StorageClass = serde_json::from_value(class).unwrap();
        self.cluster.create(&class).await.expect_allowed();
        name
    }

    /// Makes a claim of a class for so much storage.
    async fn claim(&self, name: &str, class: Option<&str>, storage: &str) {
        let claim = json!({"metadata": {"name": name}, "spec": claim_spec(class, storage)});
        let claim: PersistentVolumeClaim = serde_json::from_value(claim).unwrap();
        self.cluster.create(&claim).await.expect_allowed();
    }

    /// Says that a claim has its volume.
    async fn bind(&self, name: &str) {
        let namespace = self.cluster.namespace();
        let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}/status");
        let request = http::Request::patch(path)
            .header("content-type", "application/merge-patch+json")
            .body(
                json!({"status": {"phase": "Bound"}})
                    .to_string()
                    .into_bytes(),
            );
        let answer = self.cluster.send(request.unwrap()).await;
        assert_eq!(answer.status(), 200);
    }

    /// The pod as it is stored.
    async fn stored(&self, volumes: Value) -> Pod {
        self.stored_with(
            json!([{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]),
            volumes,
        )
        .await
    }

    async fn stored_with(&self, containers: Value, volumes: Value) -> Pod {
        let pod = json!({
            "metadata": {"name": unique("pod"), "annotations": {"kept": "yes"}},
            "spec": {"containers": containers, "volumes": volumes},
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        self.cluster.create(&pod).await.expect_allowed()
    }
}

fn claim_spec(class: Option<&str>, storage: &str) -> Value {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage}},
    });
    if let Some(class) = class {
        spec["storageClassName"] = class.into();
    }
    spec
}

fn of_claims(names: &[&str]) -> Value {
    let volume = |name: &&str| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
    names.iter().map(volume).collect()
}

fn resources(pod: &Pod, container: usize) -> ResourceRequirements {
    let spec = pod.spec.as_ref().unwrap();
    spec.containers[container]
        .resources
        .clone()
        .unwrap_or_default()
}

/// What the first container requests of a resource; its limit is the same, and no other container has it.
fn requested(pod: &Pod, resource: &str) -> Option<u64> {
    let amount = |list: Option<std::collections::BTreeMap<String, _>>| -> Option<u64> {
        let quantity: Quantity = list?.remove(resource)?;
        // The API server writes thousands in its own way.
        Some(match quantity.0.strip_suffix('k') {
            Some(thousands) => thousands.parse::<u64>().unwrap() * 1000,
            None => quantity.0.parse().unwrap(),
        })
    };
    let first = resources(pod, 0);
    let request = amount(first.requests);
    assert_eq!(request, amount(first.limits));
    for other in 1..pod.spec.as_ref().unwrap().containers.len() {
        assert_eq!(amount(resources(pod, other).requests), None);
        assert_eq!(amount(resources(pod, other).limits), None);
    }
    request
}

const CAPACITY: &str = "topolvm.cybozu.com/capacity";

#[tokio::test]
async fn a_pod_without_claims_is_left_alone() {
    let setting = setting().await;
    let pod = setting.stored(json!([{"name": "v", "emptyDir": {}}])).await;
    assert_eq!(requested(&pod, CAPACITY), None);
    let pod = setting.stored(json!([])).await;
    assert_eq!(requested(&pod, CAPACITY), None);
}

#[tokio::test]
async fn a_pod_may_come_before_its_claim() {
    let setting = setting().await;
    let pod = setting.stored(of_claims(&["later"])).await;
    assert_eq!(requested(&pod, CAPACITY), None);
}

#[tokio::test]
async fn a_pod_without_containers_is_denied() {
    let setting = setting().await;
    let pod =
        serde_json::from_value(json!({"metadata": {"name": "none"}, "spec": {"containers": []}}));
    let denied = setting
        .cluster
        .create::<Pod>(&pod.unwrap())
        .await
        .expect_denied();
    assert_eq!(denied.by(), "hook.topolvm.cybozu.com");
    assert_eq!(denied.message(), "pod has no containers");
}

#[tokio::test]
async fn claims_count_in_exact_bytes() {
    let setting = setting().await;
    let class = Some(setting.class.as_str());
    for (name, storage) in [
        ("one", "1Gi"),
        ("half", "500Mi"),
        ("large", "100Gi"),
        ("odd", "2147483647"),
    ] {
        setting.claim(name, class, storage).await;
    }
    for (names, bytes) in [
        (&["one"][..], GI),
        (&["half"], 500 << 20),
        (&["large", "odd"], 100 * GI + 2 * GI - 1),
        (&["one", "missing", "half"], GI + (500 << 20)),
    ] {
        let pod = setting.stored(of_claims(names)).await;
        assert_eq!(requested(&pod, CAPACITY), Some(bytes), "{names:?}");
        assert_eq!(pod.annotations().len(), 1, "{:?}", pod.annotations());
    }
}

#[tokio::test]
async fn claims_that_are_not_of_topolvm_do_not_count() {
    let setting = setting().await;
    let other = setting.new_class("example.com/nfs", json!({})).await;
    setting.claim("classless", None, "1Gi").await;
    setting.claim("empty", Some(""), "1Gi").await;
    setting.claim("unknown", Some("no-such-class"), "1Gi").await;
    setting.claim("other", Some(&other), "1Gi").await;
    let pod = setting
        .stored(of_claims(&["classless", "empty", "unknown", "other"]))
        .await;
    assert_eq!(requested(&pod, CAPACITY), None);
}

#[tokio::test]
async fn other_resources_stay() {
    let setting = setting().await;
    setting.claim("one", Some(&setting.class), "1Gi").await;
    let containers = json!([{
        "name": "a", "image": "i",
        "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
    }]);
    let pod = setting.stored_with(containers, of_claims(&["one"])).await;
    assert_eq!(requested(&pod, CAPACITY), Some(GI));
    let resources = resources(&pod, 0);
    assert_eq!(resources.requests.unwrap()["cpu"].0, "100m");
    assert_eq!(resources.limits.unwrap()["memory"].0, "1Gi");
    assert_eq!(pod.annotations()["kept"], "yes");
}

#[tokio::test]
async fn a_pod_whose_claim_has_its_volume_is_left_alone() {
    let setting = setting().await;
    setting.claim("bound", Some(&setting.class), "1Gi").await;
    setting.claim("pending", Some(&setting.class), "1Gi").await;
    setting.bind("bound").await;
    kubewright::testing::eventually("the hook to see the volume", async || {
        let pod = setting.stored(of_claims(&["pending", "bound"])).await;
        requested(&pod, CAPACITY).is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn ephemeral_volumes_count_by_their_template() {
    let setting = setting().await;
    let ephemeral = |class: &str, storage: &str| {
        json!({"name": unique("v"), "ephemeral": {"volumeClaimTemplate": {
            "spec": claim_spec(Some(class), storage),
        }}})
    };
    let volumes = json!([
        ephemeral(&setting.class, "3Gi"),
        ephemeral("no-such-class", "5Gi")
    ]);
    let pod = setting.stored(volumes).await;
    assert_eq!(requested(&pod, CAPACITY), Some(3 * GI));
}

#[tokio::test]
async fn device_classes_are_told_apart_when_asked() {
    let setting = setting_with(&["--per-device-class"]).await;
    let ssd = json!({"topolvm.io/device-class": "ssd"});
    let ssd = setting.new_class("topolvm.io", ssd).await;
    setting.claim("one", Some(&setting.class), "1Gi").await;
    setting.claim("two", Some(&ssd), "2Gi").await;
    setting.claim("three", Some(&ssd), "500Mi").await;
    let pod = setting.stored(of_claims(&["one", "two", "three"])).await;
    assert_eq!(requested(&pod, "topolvm.io/capacity"), Some(1));
    assert_eq!(requested(&pod, CAPACITY), None);
    let annotations = pod.annotations();
    let bytes = |class: &str| annotations[&format!("capacity.topolvm.io/{class}")].clone();
    assert_eq!(bytes("00default"), GI.to_string());
    assert_eq!(bytes("ssd"), (2 * GI + (500 << 20)).to_string());
}

#[tokio::test]
async fn namespaces_can_opt_out() {
    let setting = setting().await;
    let labels = [("topolvm.cybozu.com/webhook", "ignore")];
    let ignored = setting
        .cluster
        .new_namespace(&unique("ignored"), &labels)
        .await;
    let setting = Setting {
        cluster: ignored,
        class: setting.class,
    };
    setting.claim("one", Some(&setting.class), "1Gi").await;
    let pod = setting.stored(of_claims(&["one"])).await;
    assert_eq!(requested(&pod, CAPACITY), None);
}
