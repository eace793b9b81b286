//! PodSecurity on pods, workloads and namespaces: the conformance cases have the checks.

use serde_json::{Value, json};

use crate::pod_security::{Configuration, Exemptions, Level, LevelVersion, Policy};
use crate::tests::setting::{Setting, create, namespace, request};
use crate::{Chain, Operation};

fn labelled(labels: &Value) -> Setting {
    let setting = Setting::new();
    setting
        .objects
        .put("", "namespaces", namespace("blue", labels));
    setting
}

fn pod(spec: &Value) -> Value {
    let metadata = json!({"name": "web", "namespace": "blue"});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

#[tokio::test]
async fn a_pod_that_violates_what_is_enforced_is_rejected_and_noted() {
    let labels = json!({
        "pod-security.kubernetes.io/enforce": "baseline",
        "pod-security.kubernetes.io/audit": "restricted",
        "pod-security.kubernetes.io/audit-version": "v1.0",
    });
    let setting = labelled(&labels);
    let object = pod(&json!({"hostPID": true, "containers": []}));
    let status = setting.validate(&create(object)).await.unwrap_err();
    assert_eq!(
        status.message(),
        r#"pods "web" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)"#
    );
    let annotations: Vec<_> = setting.notes.annotations().into_iter().collect();
    let expected = [
        (
            "audit-violations",
            r#"would violate PodSecurity "restricted:v1.0": host namespaces (hostPID=true)"#,
        ),
        ("enforce-policy", "baseline:latest"),
    ];
    let expected = expected.map(|(key, value)| {
        (
            format!("pod-security.kubernetes.io/{key}"),
            value.to_owned(),
        )
    });
    assert_eq!(annotations, expected);
    assert_eq!(setting.notes.warnings(), [""; 0]);
}

#[tokio::test]
async fn a_workload_is_warned_of_what_its_pods_violate() {
    let setting = labelled(&json!({"pod-security.kubernetes.io/enforce": "baseline"}));
    let template = json!({"metadata": {}, "spec": {"hostIPC": true, "containers": []}});
    let metadata = json!({"name": "web", "namespace": "blue"});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}});
    setting.validate(&create(job)).await.unwrap();
    assert_eq!(
        setting.notes.warnings(),
        [r#"would violate PodSecurity "baseline:latest": host namespaces (hostIPC=true)"#]
    );
}

#[tokio::test]
async fn only_a_changed_image_or_a_new_container_is_judged_again() {
    let setting = labelled(&json!({"pod-security.kubernetes.io/enforce": "baseline"}));
    let container = |image: &str| json!({"name": "c", "image": image});
    let spec = |image: &str| json!({"hostPID": true, "containers": [container(image)]});
    let old = pod(&spec("a"));
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({"a": "b"});
    let update = |new: Value| request(Operation::Update, new, old.clone());
    setting.validate(&update(new)).await.unwrap();
    let status = setting
        .validate(&update(pod(&spec("b"))))
        .await
        .unwrap_err();
    assert_eq!(status.code(), 403);
}

#[tokio::test]
async fn a_namespace_that_becomes_stricter_tells_of_its_pods() {
    let setting = labelled(&json!({}));
    let object = pod(&json!({"hostPID": true, "containers": []}));
    setting.objects.put("", "pods", object);
    let stricter = json!({"pod-security.kubernetes.io/enforce": "baseline"});
    let old = namespace("blue", &json!({}));
    let update =
        |labels: &Value| request(Operation::Update, namespace("blue", labels), old.clone());
    setting.validate(&update(&stricter)).await.unwrap();
    assert_eq!(
        setting.notes.warnings(),
        [
            r#"existing pods in namespace "blue" violate the new PodSecurity enforce level "baseline:latest""#,
            "web: host namespaces",
        ]
    );
    let wrong = json!({"pod-security.kubernetes.io/warn-version": "1.2"});
    let status = setting.validate(&update(&wrong)).await.unwrap_err();
    assert_eq!(
        status.message(),
        r#"Namespace "blue" is invalid: metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.2": must be "latest" or "v1.x""#
    );
}

#[tokio::test]
async fn a_namespace_without_labels_has_the_defaults_and_exemptions_are_noted() {
    let baseline = LevelVersion {
        level: Level::Baseline,
        ..LevelVersion::default()
    };
    let configuration = |exemptions: Exemptions| Configuration {
        defaults: Policy {
            enforce: baseline,
            ..Policy::default()
        },
        exemptions,
    };
    let object = pod(&json!({"hostPID": true, "runtimeClassName": "vm", "containers": []}));
    let outcome = async |exemptions: Exemptions| {
        let chain = Chain::builder().pod_security(configuration(exemptions));
        let setting = Setting::with(chain);
        let class = json!({"metadata": {"name": "vm"}, "handler": "vm"});
        setting.objects.put("node.k8s.io", "runtimeclasses", class);
        let outcome = setting.validate(&create(object.clone())).await;
        let mut notes = setting.notes.annotations();
        let exempt = notes.remove("pod-security.kubernetes.io/exempt");
        (outcome.is_ok(), exempt.unwrap_or_default())
    };
    let none = Exemptions::default;
    assert_eq!(outcome(none()).await, (false, String::new()));
    let of = |name: &str| vec![name.to_owned()];
    for (exemptions, by) in [
        (
            Exemptions {
                namespaces: of("blue"),
                ..none()
            },
            "namespace",
        ),
        (
            Exemptions {
                usernames: of("kubernetes-admin"),
                ..none()
            },
            "user",
        ),
        (
            Exemptions {
                runtime_classes: of("vm"),
                ..none()
            },
            "runtimeClass",
        ),
    ] {
        assert_eq!(outcome(exemptions).await, (true, by.to_owned()));
    }
}
