//! What an installation comes to.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kubewright_manifests::{
    Controllers, Install, Installer, ManifestError, Manifests, Parts, Permissions, PolicyRule,
};
use kubewright_webhook::{Change, Hook, Review, Selector, Validated, Webhooks, validating};
use serde_json::{Value, json};

use crate::{mutator, validator};

fn parts(hooks: impl IntoIterator<Item = Hook>) -> Parts {
    let mut parts = Parts::new("gardens");
    parts.version = Some("1.2.0".to_owned());
    let webhooks = Webhooks::new("gardens.example.com");
    parts.webhooks = hooks.into_iter().fold(webhooks, Webhooks::with);
    parts
}

fn permissions() -> Permissions {
    let mut permissions = Permissions::default();
    permissions.grant(None, PolicyRule::new("", "pods", ["get"]));
    permissions.grant_in_own_namespace(PolicyRule::new("", "secrets", ["create"]));
    permissions.grant(Some("blue"), PolicyRule::new("", "secrets", ["get"]));
    permissions
}

fn install() -> Install {
    Install::default().certificates_in_secret("gardens-tls")
}

fn made(parts: &Parts, install: &Install) -> Manifests {
    Installer::new(parts, install).unwrap().manifests()
}

fn refused(parts: &Parts, install: &Install) -> ManifestError {
    Installer::new(parts, install).unwrap_err()
}

fn kinds(manifests: &Manifests) -> Vec<&str> {
    let objects = manifests.objects().iter();
    objects
        .map(|object| object["kind"].as_str().unwrap())
        .collect()
}

fn of_kind<'a>(manifests: &'a Manifests, kind: &str) -> &'a Value {
    let mut objects = manifests.objects().iter();
    objects.find(|object| object["kind"] == kind).unwrap()
}

fn crd(plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com",
            "names": {"plural": plural},
            "versions": [{"name": "v1", "subresources": {"status": {}}}],
        },
    })
}

#[test]
fn secured_metrics_have_a_port_a_reader_and_a_monitor_that_checks_the_certificate() {
    let mut parts = parts([validator("beds")]);
    parts.secures_metrics = true;
    let objects = made(&parts, &install().network_policy().monitored());
    let container = &of_kind(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    let arguments = container["args"].as_array().unwrap();
    for argument in [
        "--metrics-bind-address=0.0.0.0:8443",
        "--health-probe-bind-address=0.0.0.0:8081",
    ] {
        assert!(arguments.contains(&json!(argument)), "{arguments:?}");
    }
    assert_eq!(container["readinessProbe"]["httpGet"]["port"], "probes");
    let ports = json!([
        {"name": "webhooks", "containerPort": 9443},
        {"name": "metrics", "containerPort": 8443},
        {"name": "probes", "containerPort": 8081},
    ]);
    assert_eq!(container["ports"], ports);
    let service = &of_kind(&objects, "Service")["spec"]["ports"];
    assert_eq!(
        service[1],
        json!({"name": "metrics", "port": 8443, "targetPort": "metrics"})
    );
    let reader = of_kind(&objects, "ClusterRole");
    assert_eq!(reader["metadata"]["name"], "gardens-metrics-reader");
    assert_eq!(
        reader["rules"],
        json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])
    );
    let inspector = objects
        .objects()
        .iter()
        .find(|object| object["metadata"]["name"] == "gardens-inspector");
    assert_eq!(
        inspector.unwrap()["rules"],
        json!([{"nonResourceURLs": ["/debug/program"], "verbs": ["get"]}])
    );
    // No binding: who reads the metrics is for the cluster to say.
    assert!(!kinds(&objects).contains(&"ClusterRoleBinding"));
    let ingress = of_kind(&objects, "NetworkPolicy")["spec"]["ingress"]
        .as_array()
        .unwrap();
    let open: Vec<&Value> = ingress
        .iter()
        .map(|rule| &rule["ports"][0]["port"])
        .collect();
    assert_eq!(open, [9443, 8443]);
    let endpoint = &of_kind(&objects, "ServiceMonitor")["spec"]["endpoints"][0];
    assert_eq!(endpoint["scheme"], "https");
    let tls = json!({
        "ca": {"secret": {"name": "gardens-tls", "key": "ca.crt"}},
        "serverName": "gardens.gardens-system.svc",
    });
    assert_eq!(endpoint["tlsConfig"], tls);

    // Without webhooks there is a Service for the metrics alone, and no certificate that could be checked.
    let mut parts = Parts::new("gardens");
    parts.secures_metrics = true;
    parts.controllers = Controllers::OneReplica;
    let objects = made(&parts, &Install::default().monitored());
    let ports = &of_kind(&objects, "Service")["spec"]["ports"];
    assert_eq!(
        ports,
        &json!([{"name": "metrics", "port": 8443, "targetPort": "metrics"}])
    );
    let endpoint = &of_kind(&objects, "ServiceMonitor")["spec"]["endpoints"][0];
    assert_eq!(endpoint["tlsConfig"], json!({"insecureSkipVerify": true}));
}

#[test]
fn objects_come_in_the_order_in_which_they_are_applied() {
    let mut parts = parts([validator("beds"), mutator("soil")]);
    parts.crds = vec![crd("gardens")];
    parts.permissions = permissions();
    parts.log_levels = Some("config-logging".to_owned());
    let install = install().network_policy().monitored();
    assert_eq!(
        kinds(&made(&parts, &install)),
        [
            "Namespace",
            "CustomResourceDefinition",
            "ServiceAccount",
            "ClusterRole",
            "Role",
            "Role",
            "ClusterRoleBinding",
            "RoleBinding",
            "RoleBinding",
            "ClusterRole",
            "ClusterRole",
            "ClusterRole",
            "ConfigMap",
            "Service",
            "Deployment",
            "PodDisruptionBudget",
            "NetworkPolicy",
            "PodMonitor",
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ]
    );
}

#[test]
fn the_same_parts_make_the_same_text() {
    let parts = parts([validator("beds")]);
    let files = [made(&parts, &install()), made(&parts, &install())].map(|made| made.to_yaml());
    assert_eq!(files[0], files[1]);
}

#[test]
fn a_tree_lists_its_files_and_a_file_without_objects_is_none() {
    let files = |parts: &Parts| -> Vec<String> {
        let tree = Installer::new(parts, &install()).unwrap().tree();
        tree.files().map(|(path, _)| path.to_owned()).collect()
    };
    assert_eq!(files(&parts([])), ["kustomization.yaml", "program.yaml"]);
    let mut all = parts([validator("beds")]);
    all.crds = vec![crd("gardens")];
    assert_eq!(
        files(&all),
        [
            "crds.yaml",
            "kustomization.yaml",
            "program.yaml",
            "webhooks.yaml"
        ]
    );
    let tree = Installer::new(&all, &install()).unwrap().tree();
    let listed = tree.text("kustomization.yaml").unwrap();
    assert!(
        listed.ends_with("resources:\n- crds.yaml\n- program.yaml\n- webhooks.yaml\n"),
        "{listed}"
    );
}

#[test]
fn a_program_that_makes_no_requests_gets_no_token() {
    let none = made(&parts([]), &Install::default());
    assert_eq!(
        of_kind(&none, "ServiceAccount")["automountServiceAccountToken"],
        false
    );
    let pod = |made: &Manifests| of_kind(made, "Deployment")["spec"]["template"]["spec"].clone();
    assert_eq!(pod(&none)["automountServiceAccountToken"], false);
    let mut some = parts([]);
    some.permissions = permissions();
    let some = made(&some, &Install::default());
    assert_eq!(
        of_kind(&some, "ServiceAccount")["automountServiceAccountToken"],
        Value::Null
    );
    assert_eq!(pod(&some)["automountServiceAccountToken"], Value::Null);
}

#[test]
fn roles_and_bindings_say_which_namespace_is_the_own() {
    let mut parts = parts([]);
    parts.permissions = permissions();
    let made = made(&parts, &Install::in_namespace("green"));
    let objects = made.objects().iter();
    let places: Vec<(&str, &str)> = objects
        .filter_map(|object| {
            let kind = object["kind"].as_str()?;
            Some((kind, object["metadata"]["namespace"].as_str()?))
        })
        .filter(|(kind, _)| kind.starts_with("Role"))
        .collect();
    assert_eq!(
        places,
        [
            ("Role", "green"),
            ("Role", "blue"),
            ("RoleBinding", "green"),
            ("RoleBinding", "blue")
        ]
    );
    let binding = of_kind(&made, "ClusterRoleBinding");
    assert_eq!(
        binding["subjects"],
        json!([{"kind": "ServiceAccount", "name": "gardens", "namespace": "green"}])
    );
}

#[test]
fn people_are_offered_three_roles_for_each_custom_resource() {
    let mut parts = parts([]);
    parts.crds = vec![crd("gardens"), crd("beds")];
    let roles = |install: &Install| -> Vec<Value> {
        let objects = made(&parts, install).into_iter();
        objects
            .filter(|object| object["kind"] == "ClusterRole")
            .collect()
    };
    let alone = roles(&Install::default());
    let names: Vec<&Value> = alone.iter().map(|role| &role["metadata"]["name"]).collect();
    assert_eq!(
        names,
        [
            "gardens.example.com-viewer",
            "gardens.example.com-editor",
            "gardens.example.com-admin",
            "beds.example.com-viewer",
            "beds.example.com-editor",
            "beds.example.com-admin",
        ]
    );
    assert_eq!(
        alone[0]["rules"],
        json!([
            {"apiGroups": ["example.com"], "resources": ["gardens"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["example.com"], "resources": ["gardens/status"], "verbs": ["get"]},
        ])
    );
    let to_edit = "rbac.authorization.k8s.io/aggregate-to-edit";
    assert_eq!(alone[1]["metadata"]["labels"][to_edit], Value::Null);
    let aggregated = roles(&Install::default().aggregated_roles());
    assert_eq!(aggregated[1]["metadata"]["labels"][to_edit], "true");
}

#[test]
fn replicas_are_as_many_as_can_be_at_once() {
    let replicas = |controllers: Controllers| {
        let mut parts = parts([]);
        parts.controllers = controllers;
        let made = made(&parts, &Install::default());
        let spec = of_kind(&made, "Deployment")["spec"].clone();
        let has_budget = kinds(&made).contains(&"PodDisruptionBudget");
        (
            spec["replicas"].as_u64().unwrap(),
            spec["strategy"]["type"] == "Recreate",
            has_budget,
        )
    };
    assert_eq!(replicas(Controllers::None), (2, false, true));
    assert_eq!(replicas(Controllers::OneReplica), (2, false, true));
    assert_eq!(replicas(Controllers::EveryReplica), (1, true, false));
    let mut unelected = parts([]);
    unelected.controllers = Controllers::EveryReplica;
    assert_eq!(
        refused(&unelected, &Install::default().replicas(3)),
        ManifestError::NoLeader(3)
    );
}

#[test]
fn an_image_has_a_tag() {
    let image = |version: Option<&str>, image: Option<&str>| {
        let mut parts = parts([]);
        parts.version = version.map(ToOwned::to_owned);
        let install = match image {
            Some(image) => Install::default().image(image),
            None => Install::default(),
        };
        let made = made(&parts, &install);
        let container = &of_kind(&made, "Deployment")["spec"]["template"]["spec"]["containers"][0];
        container["image"].as_str().unwrap().to_owned()
    };
    assert_eq!(image(Some("1.2.0"), None), "gardens:1.2.0");
    assert_eq!(image(None, None), "gardens:latest");
    assert_eq!(
        image(Some("1.2.0+a"), Some("ghcr.io/a/b")),
        "ghcr.io/a/b:1.2.0-a"
    );
    assert_eq!(image(Some("1.2.0"), Some("reg:5000/b")), "reg:5000/b:1.2.0");
    assert_eq!(image(Some("1.2.0"), Some("reg:5000/b:7")), "reg:5000/b:7");
    assert_eq!(image(Some("1.2.0"), Some("b@sha256:00")), "b@sha256:00");
}

#[test]
fn what_is_mounted_is_found_by_the_program() {
    let install = install()
        .files("/etc/gardens", [("gardens.yaml", "beds: 1\n")])
        .arguments(["--config=/etc/gardens/gardens.yaml"])
        .grace(Duration::from_mins(1))
        .memory("1Gi", "2Gi");
    let made = made(&parts([validator("beds")]), &install);
    let pod = &of_kind(&made, "Deployment")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(
        container["args"],
        json!([
            "run",
            "--certificates=/etc/certificates",
            "--metrics-bind-address=0.0.0.0:8080",
            "--log-format=json",
            "--grace=60",
            "--config=/etc/gardens/gardens.yaml",
        ])
    );
    assert_eq!(
        container["volumeMounts"],
        json!([
            {"name": "certificates", "mountPath": "/etc/certificates", "readOnly": true},
            {"name": "files", "mountPath": "/etc/gardens", "readOnly": true},
        ])
    );
    assert_eq!(
        pod["volumes"],
        json!([
            {"name": "certificates", "secret": {"secretName": "gardens-tls"}},
            {"name": "files", "configMap": {"name": "gardens"}},
        ])
    );
    assert_eq!(pod["securityContext"]["fsGroup"], 65532);
    assert_eq!(pod["terminationGracePeriodSeconds"], 65);
    assert_eq!(container["resources"]["limits"], json!({"memory": "2Gi"}));
    assert_eq!(
        of_kind(&made, "ConfigMap")["data"],
        json!({"gardens.yaml": "beds: 1\n"})
    );
}

#[test]
fn cert_manager_issues_for_the_names_by_which_the_program_is_called() {
    let parts = parts([validator("beds"), mutator("soil")]);
    let made_by = |install: Install| made(&parts, &install.namespace("green"));
    let own = made_by(Install::default().cert_manager());
    let certificate = &of_kind(&own, "Certificate")["spec"];
    assert_eq!(
        certificate["dnsNames"],
        json!(["gardens.green.svc", "gardens.green.svc.cluster.local"])
    );
    let issuer = json!({"group": "cert-manager.io", "kind": "Issuer", "name": "gardens"});
    assert_eq!(certificate["issuerRef"], issuer);
    assert_eq!(of_kind(&own, "Issuer")["metadata"]["name"], "gardens");
    let volumes = &of_kind(&own, "Deployment")["spec"]["template"]["spec"]["volumes"];
    assert_eq!(
        volumes[0]["secret"]["secretName"],
        certificate["secretName"]
    );
    for kind in [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ] {
        let annotations = &of_kind(&own, kind)["metadata"]["annotations"];
        assert_eq!(
            *annotations,
            json!({"cert-manager.io/inject-ca-from": "green/gardens"})
        );
    }
    let of_cluster = made_by(Install::default().cert_manager_cluster_issuer("ca"));
    let issuer = json!({"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "ca"});
    assert_eq!(
        of_kind(&of_cluster, "Certificate")["spec"]["issuerRef"],
        issuer
    );
    assert!(!kinds(&of_cluster).contains(&"Issuer"));
}

#[test]
fn a_network_policy_opens_webhooks_to_all_and_metrics_to_namespaces_that_scrape_them() {
    let ports = |parts: &Parts| {
        let made = made(parts, &install().network_policy());
        of_kind(&made, "NetworkPolicy")["spec"]["ingress"].clone()
    };
    let webhooks = json!({"ports": [{"port": 9443, "protocol": "TCP"}]});
    let metrics = json!({
        "from": [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}],
        "ports": [{"port": 8080, "protocol": "TCP"}],
    });
    assert_eq!(
        ports(&parts([validator("beds")])),
        json!([webhooks, metrics])
    );
    assert_eq!(ports(&parts([])), json!([metrics]));
}

#[test]
fn a_namespace_that_is_there_is_not_made() {
    let made = made(&parts([]), &Install::in_existing_namespace("kube-system"));
    assert!(!kinds(&made).contains(&"Namespace"));
    assert_eq!(
        of_kind(&made, "Deployment")["metadata"]["namespace"],
        "kube-system"
    );
}

#[test]
fn webhooks_need_one_certificate() {
    let called = parts([validator("beds")]);
    assert_eq!(
        refused(&called, &Install::default()),
        ManifestError::NoIdentity
    );
    let by_argument = Install::default().arguments(["--self-signed=gardens.gardens-system.svc"]);
    made(&called, &by_argument);
    let mut own = called;
    own.own_service = Some("gardens".to_owned());
    made(&own, &Install::default());
    assert_eq!(
        refused(&own, &Install::default().cert_manager()),
        ManifestError::TwoIdentities
    );
}

#[test]
fn names_are_those_that_kubernetes_takes() {
    for (name, namespace, what) in [
        ("Gardens", "green", "the program"),
        ("1-garden", "green", "the program"),
        ("gardens", "my.garden", "the namespace"),
    ] {
        let error = refused(&Parts::new(name), &Install::in_namespace(namespace)).to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn no_two_objects_are_the_same() {
    let mut parts = parts([]);
    parts.crds = vec![crd("gardens"), crd("gardens")];
    let error = refused(&parts, &Install::default()).to_string();
    assert!(
        error.contains("two objects of kind CustomResourceDefinition"),
        "{error}"
    );
    assert!(error.contains("`gardens.example.com`"), "{error}");
}

#[test]
fn a_program_does_not_lock_itself_out() {
    let hook = |selector: Selector| parts([validator("beds").in_namespaces(selector)]);
    made(&hook(Selector::everything()), &install());
    let own = Selector::everything().and_in("kubernetes.io/metadata.name", ["gardens-system"]);
    let error = refused(&hook(own.clone()), &install()).to_string();
    assert!(
        error.contains("`beds.gardens.example.com` fails closed"),
        "{error}"
    );
    assert!(error.contains("pods"), "{error}");
    let open = parts([validator("beds").in_namespaces(own).fail_open()]);
    made(&open, &install());
    // The label that the namespace is given here.
    let level = Selector::label("pod-security.kubernetes.io/enforce", "restricted");
    refused(&hook(level), &install());
}

async fn allow(_: Change<Namespace>, _: Review) -> Validated {
    Ok(())
}

#[test]
fn namespaces_are_judged_except_for_the_own() {
    let made = made(&parts([validating("names", allow)]), &install());
    let hook = &of_kind(&made, "ValidatingWebhookConfiguration")["webhooks"][0];
    assert_eq!(hook["rules"][0]["resources"], json!(["namespaces"]));
    assert_eq!(
        hook["namespaceSelector"]["matchExpressions"],
        json!([{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["gardens-system"]}])
    );
}

#[test]
fn what_breaks_is_found_among_the_definitions_of_others() {
    let mut parts = parts([]);
    parts.crds = vec![crd("gardens")];
    let installer = Installer::new(&parts, &Install::default()).unwrap();
    let mut old = crd("gardens");
    old["spec"]["versions"] = json!([{"name": "v0", "served": true, "storage": true}]);
    let found = installer.breaks(&[crd("others"), old]);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        ["gardens.example.com: v0 is gone, and objects are stored in it"]
    );
}
