//! What a Helm chart has in the place of what differs from release to release.

use kubewright_manifests::{Controllers, Install, Installer, Parts, Tree};
use kubewright_webhook::Webhooks;
use serde_json::{Value, json};

use crate::validator;

fn parts() -> Parts {
    let mut parts = Parts::new("gardens");
    parts.version = Some("1.2.0".to_owned());
    parts.webhooks = Webhooks::new("gardens.example.com").with(validator("beds"));
    parts
}

fn install() -> Install {
    Install::in_namespace("green").certificates_in_secret("gardens-tls")
}

fn read(tree: &Tree, path: &str) -> Value {
    serde_saphyr::from_str(tree.text(path).unwrap()).unwrap()
}

/// A template as Helm would render it, of the few forms that charts have here.
fn rendered(tree: &Tree, path: &str, namespace: &str) -> Vec<Value> {
    let values = read(tree, "values.yaml");
    let mut text = tree.text(path).unwrap().to_owned();
    for (key, value) in values.as_object().unwrap() {
        text = text.replace(
            &format!("{{{{ toJson .Values.{key} }}}}"),
            &value.to_string(),
        );
    }
    let text = text
        .replace(
            "{{ .Release.Namespace | quote }}",
            &format!("{namespace:?}"),
        )
        .replace("{{ .Release.Namespace }}", namespace);
    let rest = text.replace("{{ \"{{\" }}", "");
    assert!(!rest.contains("{{"), "nothing else is a template: {rest}");
    serde_saphyr::from_multiple(&text.replace("{{ \"{{\" }}", "{{")).unwrap()
}

#[test]
fn a_chart_with_its_values_makes_the_objects_of_the_installation() {
    let chart = Installer::chart(&parts(), &install()).unwrap();
    let installer = Installer::new(&parts(), &install()).unwrap();
    let mut expected: Vec<Value> = installer.program().into_iter().skip(1).collect();
    for object in &mut expected {
        if object["kind"] == "Deployment" {
            let pod = &mut object["spec"]["template"]["spec"];
            pod["nodeSelector"] = json!({});
            pod["affinity"] = json!({});
            pod["tolerations"] = json!([]);
            pod["imagePullSecrets"] = json!([]);
        }
    }
    assert_eq!(
        rendered(&chart, "templates/program.yaml", "green"),
        expected
    );
    let mut expected: Vec<Value> = installer.webhooks().into_iter().collect();
    expected[0]["webhooks"][0]["clientConfig"]["caBundle"] = json!("");
    assert_eq!(
        rendered(&chart, "templates/webhooks.yaml", "green"),
        expected
    );
}

#[test]
fn a_release_may_be_in_any_namespace() {
    let chart = Installer::chart(&parts(), &install()).unwrap();
    for object in rendered(&chart, "templates/program.yaml", "1234") {
        assert_eq!(object["metadata"]["namespace"], "1234", "{object}");
    }
    let webhooks = rendered(&chart, "templates/webhooks.yaml", "1234");
    let hook = &webhooks[0]["webhooks"][0];
    assert_eq!(hook["clientConfig"]["service"]["namespace"], "1234");
    assert_eq!(
        hook["namespaceSelector"]["matchExpressions"][0]["values"],
        json!(["1234"])
    );
    for (_, text) in chart.files() {
        assert!(!text.contains("green"), "{text}");
    }
}

#[test]
fn names_with_a_namespace_in_them_are_those_of_the_release() {
    let install = Install::in_namespace("green").cert_manager();
    let chart = Installer::chart(&parts(), &install).unwrap();
    let program = rendered(&chart, "templates/program.yaml", "blue");
    let certificate = program
        .iter()
        .find(|object| object["kind"] == "Certificate")
        .unwrap();
    assert_eq!(certificate["spec"]["dnsNames"][0], "gardens.blue.svc");
    let webhooks = rendered(&chart, "templates/webhooks.yaml", "blue");
    let annotations = &webhooks[0]["metadata"]["annotations"];
    assert_eq!(
        annotations["cert-manager.io/inject-ca-from"],
        "blue/gardens"
    );
    assert_eq!(read(&chart, "values.yaml")["caBundle"], Value::Null);
}

#[test]
fn a_chart_says_what_it_is_and_what_may_be_set() {
    let chart = Installer::chart(&parts(), &install().replicas(3)).unwrap();
    let about = read(&chart, "Chart.yaml");
    assert_eq!(about["apiVersion"], "v2");
    assert_eq!(about["name"], "gardens");
    assert_eq!(
        (&about["version"], &about["appVersion"]),
        (&json!("1.2.0"), &json!("1.2.0"))
    );
    let values = read(&chart, "values.yaml");
    assert_eq!(values["image"], "gardens:1.2.0");
    assert_eq!(values["replicas"], 3);
    assert_eq!(values["resources"]["limits"], json!({"memory": "128Mi"}));
}

#[test]
fn who_must_be_alone_cannot_be_made_more() {
    let mut alone = parts();
    alone.controllers = Controllers::EveryReplica;
    let chart = Installer::chart(&alone, &install()).unwrap();
    assert_eq!(read(&chart, "values.yaml")["replicas"], Value::Null);
    let text = chart.text("templates/program.yaml").unwrap();
    assert!(text.contains("  replicas: 1\n"), "{text}");
}

#[test]
fn definitions_stay_and_say_what_they_say() {
    let mut parts = parts();
    parts.crds = vec![json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gardens.example.com"},
        "spec": {"names": {"plural": "gardens"}, "versions": [{
            "name": "v1", "schema": {"openAPIV3Schema": {"description": "Takes {{ .Values.image }} as it is."}},
        }]},
    })];
    let chart = Installer::chart(&parts, &install()).unwrap();
    let crds = rendered(&chart, "templates/crds.yaml", "green");
    assert_eq!(
        crds[0]["metadata"]["annotations"],
        json!({"helm.sh/resource-policy": "keep"})
    );
    let schema = &crds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    assert_eq!(schema["description"], "Takes {{ .Values.image }} as it is.");
}
