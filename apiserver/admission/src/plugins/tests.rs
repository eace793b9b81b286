//! Each plugin on objects of its own, without a webhook.

use serde_json::{Value, json};

use crate::tests::setting::{Setting, config_map, create, delete, namespace, request};
use crate::{AdmissionPlugin, Attributes, Chain, Enabled, Operation};

async fn mutated(setting: &Setting, mut attributes: Attributes) -> Result<Value, (u16, String)> {
    let outcome = setting.mutate(&mut attributes).await;
    outcome
        .map(|()| attributes.object)
        .map_err(|status| (status.code(), status.message().to_owned()))
}

fn pod(spec: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "blue"},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    });
    for (key, value) in spec.as_object().unwrap() {
        pod["spec"][key] = value.clone();
    }
    pod
}

async fn spec(setting: &Setting, given: Value) -> Result<Value, String> {
    let object = mutated(setting, create(pod(&given))).await;
    object
        .map(|mut object| object["spec"].take())
        .map_err(|(code, message)| {
            assert_eq!(code, 403);
            message
        })
}

#[tokio::test]
async fn c13_nothing_is_created_in_a_missing_namespace() {
    let mut object = config_map();
    object["metadata"]["namespace"] = json!("gone");
    let mut attributes = create(object);
    let status = Setting::new().mutate(&mut attributes).await.unwrap_err();
    assert_eq!(
        status.to_value(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "namespaces \"gone\" not found", "reason": "NotFound",
            "details": {"name": "gone", "kind": "namespaces"}, "code": 404,
        })
    );
}

#[tokio::test]
async fn c13_nothing_is_created_in_a_namespace_that_goes_away() {
    let setting = Setting::new();
    let mut going = namespace("blue", &json!({}));
    going["status"]["phase"] = json!("Terminating");
    setting.objects.put("", "namespaces", going);
    let status = setting.mutate(&mut create(config_map())).await.unwrap_err();
    assert_eq!(
        status.to_value(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "configmaps \"settings\" is forbidden: unable to create new content in namespace blue because it is being terminated",
            "reason": "Forbidden",
            "details": {
                "name": "settings",
                "kind": "configmaps",
                "causes": [{
                    "reason": "NamespaceTerminating",
                    "message": "namespace blue is being terminated",
                    "field": "metadata.namespace",
                }],
            },
            "code": 403,
        })
    );
    mutated(
        &setting,
        request(Operation::Update, config_map(), config_map()),
    )
    .await
    .unwrap();
    mutated(&setting, delete(config_map())).await.unwrap();
}

#[tokio::test]
async fn c13_without_a_name_the_generate_name_is_shown() {
    let setting = Setting::new();
    let mut going = namespace("blue", &json!({}));
    going["status"]["phase"] = json!("Terminating");
    setting.objects.put("", "namespaces", going);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "web-", "namespace": "blue"}});
    let (_, message) = mutated(&setting, create(object)).await.unwrap_err();
    assert!(
        message.starts_with("configmaps \"web-\" is forbidden: "),
        "{message}"
    );
}

#[tokio::test]
async fn c13_three_namespaces_may_not_be_deleted() {
    for (name, stays) in [
        ("default", true),
        ("kube-system", true),
        ("kube-public", true),
        ("kube-node-lease", false),
    ] {
        let outcome = mutated(&Setting::new(), delete(namespace(name, &json!({})))).await;
        let expected =
            format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
        assert_eq!(outcome.err(), stays.then_some((403, expected)));
    }
}

fn priority_class(name: &str, value: i64, default: bool) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "globalDefault": default,
        "preemptionPolicy": "Never",
    })
}

#[tokio::test]
async fn priority_is_zero_without_classes() {
    let spec = spec(&Setting::new(), json!({})).await.unwrap();
    assert_eq!(spec["priority"], 0);
    assert_eq!(spec["preemptionPolicy"], "PreemptLowerPriority");
    assert_eq!(spec.get("priorityClassName"), None);
}

#[tokio::test]
async fn priority_comes_from_the_class_or_the_default_class() {
    let setting = Setting::new();
    for class in [
        priority_class("high", 1000, false),
        priority_class("usual", 10, true),
    ] {
        setting
            .objects
            .put("scheduling.k8s.io", "priorityclasses", class);
    }
    let named = spec(&setting, json!({"priorityClassName": "high"}))
        .await
        .unwrap();
    assert_eq!(
        (&named["priority"], &named["preemptionPolicy"]),
        (&json!(1000), &json!("Never"))
    );
    let default = spec(&setting, json!({})).await.unwrap();
    assert_eq!(
        (&default["priority"], &default["priorityClassName"]),
        (&json!(10), &json!("usual"))
    );
}

#[tokio::test]
async fn priority_refuses_an_unknown_class_and_a_number_of_the_users_own() {
    assert_eq!(
        spec(&Setting::new(), json!({"priorityClassName": "none"}))
            .await
            .unwrap_err(),
        "pods \"web\" is forbidden: no PriorityClass with name none was found"
    );
    assert_eq!(
        spec(&Setting::new(), json!({"priority": 7}))
            .await
            .unwrap_err(),
        "pods \"web\" is forbidden: the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name"
    );
    assert_eq!(
        spec(&Setting::new(), json!({"preemptionPolicy": "Never"}))
            .await
            .unwrap_err(),
        "pods \"web\" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
    );
}

#[tokio::test]
async fn priority_stays_when_a_client_that_does_not_know_it_updates() {
    let old = pod(&json!({"priority": 5, "preemptionPolicy": "Never"}));
    let object = mutated(
        &Setting::new(),
        request(Operation::Update, pod(&json!({})), old),
    )
    .await
    .unwrap();
    assert_eq!(
        (
            &object["spec"]["priority"],
            &object["spec"]["preemptionPolicy"]
        ),
        (&json!(5), &json!("Never"))
    );
}

#[tokio::test]
async fn priority_has_one_default_class() {
    let setting = Setting::new();
    let first = priority_class("first", 1, true);
    setting
        .objects
        .put("scheduling.k8s.io", "priorityclasses", first.clone());
    setting
        .validate(&request(Operation::Update, first.clone(), first))
        .await
        .unwrap();
    let status = setting
        .validate(&create(priority_class("second", 2, true)))
        .await
        .unwrap_err();
    assert_eq!(
        status.message(),
        "priorityclasses.scheduling.k8s.io \"second\" is forbidden: PriorityClass first is already marked as default. Only one default can exist"
    );
}

fn toleration(key: &str) -> Value {
    json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
}

#[tokio::test]
async fn pods_tolerate_missing_nodes_for_five_minutes() {
    let both = [
        toleration("node.kubernetes.io/not-ready"),
        toleration("node.kubernetes.io/unreachable"),
    ];
    assert_eq!(
        spec(&Setting::new(), json!({})).await.unwrap()["tolerations"],
        json!(both)
    );
    let own = json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1});
    let given = spec(&Setting::new(), json!({"tolerations": [own]}))
        .await
        .unwrap();
    assert_eq!(given["tolerations"], json!([own, both[0]]));
    let everything = json!([{"operator": "Exists"}]);
    let given = spec(&Setting::new(), json!({"tolerations": everything}))
        .await
        .unwrap();
    assert_eq!(given["tolerations"], everything);
}

fn class(api_version: &str, kind: &str, name: &str, mark: &str, created: &str) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "creationTimestamp": created, "annotations": {mark: "true"}},
    })
}

#[tokio::test]
async fn a_claim_without_a_class_gets_the_newest_default_one_and_protection() {
    let setting = Setting::new();
    let mark = "storageclass.kubernetes.io/is-default-class";
    for (name, created) in [
        ("old", "2026-01-01T00:00:00Z"),
        ("new", "2026-02-01T00:00:00Z"),
    ] {
        let class = class("storage.k8s.io/v1", "StorageClass", name, mark, created);
        setting
            .objects
            .put("storage.k8s.io", "storageclasses", class);
    }
    let claim = |spec: Value| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "blue"}, "spec": spec});
    let object = mutated(&setting, create(claim(json!({})))).await.unwrap();
    assert_eq!(object["spec"]["storageClassName"], "new");
    assert_eq!(
        object["metadata"]["finalizers"],
        json!(["kubernetes.io/pvc-protection"])
    );
    let object = mutated(&setting, create(claim(json!({"storageClassName": ""}))))
        .await
        .unwrap();
    assert_eq!(object["spec"]["storageClassName"], "");
}

#[tokio::test]
async fn a_claim_grows_only_where_its_class_allows_it() {
    let setting = Setting::new();
    for (name, expands) in [("fixed", false), ("elastic", true)] {
        setting.objects.put(
            "storage.k8s.io",
            "storageclasses",
            json!({"metadata": {"name": name}, "allowVolumeExpansion": expands}),
        );
    }
    let claim = |class: &str, size: &str, phase: &str| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "blue"},
            "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}},
            "status": {"phase": phase},
        })
    };
    let refused = "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
    let unbound = "persistentvolumeclaims \"c\" is forbidden: Only bound persistent volume claims can be expanded";
    for (class, from, to, phase, expected) in [
        ("elastic", "1Gi", "2Gi", "Bound", None),
        ("fixed", "1Gi", "2Gi", "Bound", Some(refused)),
        ("absent", "1Gi", "2Gi", "Bound", Some(refused)),
        ("elastic", "1Gi", "2Gi", "Pending", Some(unbound)),
        ("fixed", "1Gi", "1024Mi", "Bound", None),
        ("fixed", "2Gi", "1Gi", "Bound", None),
    ] {
        let attributes = request(
            Operation::Update,
            claim(class, to, phase),
            claim(class, from, phase),
        );
        let outcome = setting.validate(&attributes).await;
        assert_eq!(
            outcome
                .err()
                .map(|status| status.message().to_owned())
                .as_deref(),
            expected
        );
    }
}

#[tokio::test]
async fn an_ingress_without_a_class_gets_the_default_one() {
    let setting = Setting::new();
    let mark = "ingressclass.kubernetes.io/is-default-class";
    let class = class(
        "networking.k8s.io/v1",
        "IngressClass",
        "usual",
        mark,
        "2026-01-01T00:00:00Z",
    );
    setting
        .objects
        .put("networking.k8s.io", "ingressclasses", class);
    let ingress = |annotations: Value| {
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "i", "namespace": "blue", "annotations": annotations}, "spec": {},
        })
    };
    let object = mutated(&setting, create(ingress(json!({})))).await.unwrap();
    assert_eq!(object["spec"]["ingressClassName"], "usual");
    let old = json!({"kubernetes.io/ingress.class": "nginx"});
    let object = mutated(&setting, create(ingress(old))).await.unwrap();
    assert_eq!(object["spec"], json!({}));
}

#[tokio::test]
async fn a_runtime_class_adds_overhead_and_scheduling() {
    let setting = Setting::new();
    setting.objects.put(
        "node.k8s.io",
        "runtimeclasses",
        json!({
            "metadata": {"name": "sandbox"},
            "overhead": {"podFixed": {"cpu": "10m"}},
            "scheduling": {"nodeSelector": {"sandbox": "yes"}, "tolerations": [{"key": "sandbox"}]},
        }),
    );
    let given = json!({"runtimeClassName": "sandbox", "nodeSelector": {"zone": "a"}});
    let found = spec(&setting, given).await.unwrap();
    assert_eq!(found["overhead"], json!({"cpu": "10m"}));
    assert_eq!(
        found["nodeSelector"],
        json!({"zone": "a", "sandbox": "yes"})
    );
    assert!(
        found["tolerations"]
            .as_array()
            .unwrap()
            .contains(&json!({"key": "sandbox"}))
    );
    for (given, expected) in [
        (
            json!({"runtimeClassName": "none"}),
            "pod rejected: RuntimeClass \"none\" not found",
        ),
        (
            json!({"runtimeClassName": "sandbox", "overhead": {"cpu": "1"}}),
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            json!({"runtimeClassName": "sandbox", "nodeSelector": {"sandbox": "no"}}),
            "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; pod.spec.nodeSelector[sandbox] = no",
        ),
    ] {
        let refused = spec(&setting, given).await.unwrap_err();
        assert_eq!(refused, format!("pods \"web\" is forbidden: {expected}"));
    }
}

#[tokio::test]
async fn a_new_node_is_not_ready_and_a_volume_is_protected() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}});
    let object = mutated(&Setting::new(), create(node)).await.unwrap();
    let taint = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
    assert_eq!(object["spec"]["taints"], taint);
    let volume =
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v1"}});
    let object = mutated(&Setting::new(), create(volume)).await.unwrap();
    assert_eq!(
        object["metadata"]["finalizers"],
        json!(["kubernetes.io/pv-protection"])
    );
}

fn service_account(name: &str, fields: &Value) -> Value {
    let mut account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": "blue"},
    });
    for (field, value) in fields.as_object().unwrap() {
        account[field] = value.clone();
    }
    account
}

fn with_service_accounts() -> Setting {
    let mut enabled = Enabled::default();
    enabled.enable(AdmissionPlugin::ServiceAccount);
    Setting::with(Chain::builder().plugins(enabled))
}

#[tokio::test]
async fn pods_have_no_service_account_unless_the_plugin_is_enabled() {
    let spec = spec(&Setting::new(), json!({})).await.unwrap();
    assert_eq!(spec["serviceAccountName"], Value::Null);
    assert_eq!(spec["volumes"], Value::Null);
}

#[tokio::test]
async fn a_pod_gets_the_default_account_its_token_and_its_pull_secrets() {
    let setting = with_service_accounts();
    let secrets = json!({"imagePullSecrets": [{"name": "registry"}]});
    let account = service_account("default", &secrets);
    setting.objects.put("", "serviceaccounts", account);
    let spec = spec(&setting, json!({})).await.unwrap();
    assert_eq!(spec["serviceAccountName"], "default");
    assert_eq!(spec["serviceAccount"], "default");
    assert_eq!(spec["imagePullSecrets"], json!([{"name": "registry"}]));
    let name = spec["volumes"][0]["name"].as_str().unwrap();
    assert!(
        name.starts_with("kube-api-access-") && name.len() == 21,
        "{name}"
    );
    assert_eq!(
        spec["containers"][0]["volumeMounts"],
        json!([{
            "name": name,
            "readOnly": true,
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        }])
    );
}

#[tokio::test]
async fn a_pod_of_a_missing_account_is_rejected() {
    let setting = with_service_accounts();
    let rejected = spec(&setting, json!({"serviceAccountName": "gone"})).await;
    assert_eq!(
        rejected.unwrap_err(),
        "pods \"web\" is forbidden: error looking up service account blue/gone: serviceaccount \"gone\" not found"
    );
}

#[tokio::test(start_paused = true)]
async fn the_default_account_may_come_a_moment_after_the_pod() {
    let setting = with_service_accounts();
    let created = spec(&setting, json!({}));
    let account = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let account = service_account("default", &json!({}));
        setting.objects.put("", "serviceaccounts", account);
    };
    let (created, ()) = tokio::join!(created, account);
    assert_eq!(created.unwrap()["serviceAccountName"], "default");
}

fn with_external_ips(addresses: &[&str]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "blue"},
        "spec": {"ports": [{"port": 80}], "externalIPs": addresses},
    })
}

#[tokio::test]
async fn services_get_external_ips_unless_the_plugin_is_enabled() {
    let setting = Setting::new();
    let service = with_external_ips(&["203.0.113.7"]);
    setting.validate(&create(service)).await.unwrap();
}

#[tokio::test]
async fn a_service_keeps_its_external_ips_and_gets_no_new_ones() {
    let mut enabled = Enabled::default();
    enabled.enable(AdmissionPlugin::DenyServiceExternalIPs);
    let setting = Setting::with(Chain::builder().plugins(enabled));
    let two = || with_external_ips(&["203.0.113.7", "203.0.113.8"]);
    let denied =
        "services \"web\" is forbidden: Use of external IPs is denied by admission control";

    setting
        .validate(&create(with_external_ips(&[])))
        .await
        .unwrap();
    let created = setting.validate(&create(two())).await.unwrap_err();
    assert_eq!((created.code(), created.message()), (403, denied));

    let kept = with_external_ips(&["203.0.113.8"]);
    setting
        .validate(&request(Operation::Update, kept, two()))
        .await
        .unwrap();
    let other = with_external_ips(&["203.0.113.7", "203.0.113.9"]);
    let changed = setting
        .validate(&request(Operation::Update, other, two()))
        .await
        .unwrap_err();
    assert_eq!(changed.message(), denied);
}
