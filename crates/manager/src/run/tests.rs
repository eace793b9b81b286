//! What sub-commands print and do.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use kube::core::ApiResource;
use kubewright_certificates::Authority;
use kubewright_controller::{Action, Context, Controller, Deleter, owned};
use kubewright_manifests::Install;
use kubewright_webhook::{Change, ClusterPolicy, Review, Validated, Webhooks, validating};
use serde_json::{Value, json};

use super::*;

/// Says something.
#[derive(Debug, Args)]
struct Options {
    #[arg(long, default_value = "policy")]
    name: String,
}

async fn allow(_: Change<Pod>, _: Review) -> Validated {
    Ok(())
}

fn app(options: Options, _: &mut Needs) -> App {
    let webhooks = Webhooks::new("example.com").with(validating(options.name, allow));
    App::new("policy").version("1.2.3").webhooks(webhooks)
}

fn output(line: &str) -> Result<(ExitCode, String), CommandError> {
    let mut output = Vec::new();
    let code = execute(line.split(' ').map(OsString::from), app, &mut output)?;
    Ok((code, String::from_utf8(output).unwrap()))
}

#[test]
fn the_version_is_that_of_the_program() {
    let (code, text) = output("policy version").unwrap();
    assert_eq!((code, text.as_str()), (ExitCode::SUCCESS, "policy 1.2.3\n"));
}

#[test]
fn manifests_follow_the_options() {
    let (code, text) = output("policy manifests --name strict --service blue/policy").unwrap();
    assert_eq!(code, ExitCode::SUCCESS);
    assert!(text.contains("name: strict.example.com"), "{text}");
    assert!(text.contains("namespace: blue"), "{text}");
    assert!(!text.contains("caBundle"), "{text}");
}

fn installed(_: NoOptions, _: &mut Needs) -> App {
    App::new("gardens").version("1.2.3")
}

#[test]
fn everything_is_printed_unless_the_webhooks_are_asked_for() {
    let line = "gardens manifests --namespace blue --image example/gardens";
    let mut text = Vec::new();
    execute(line.split(' ').map(OsString::from), installed, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    let kinds: Vec<&str> = documents
        .iter()
        .map(|object| object["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "Namespace",
            "ServiceAccount",
            "Deployment",
            "PodDisruptionBudget"
        ]
    );
    assert_eq!(documents[2]["metadata"]["namespace"], "blue");
    let container = &documents[2]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "example/gardens:1.2.3");
}

/// A program with a policy, and with its certificates.
fn with_policy(_: NoOptions, _: &mut Needs) -> App {
    let spec = json!({"validations": [{"expression": "true"}]});
    let hook = validating("images", allow);
    let policy = ClusterPolicy::new(hook, spec, json!({"validationActions": ["Deny"]}));
    let webhooks = Webhooks::new("policy.example.com").with(policy);
    let install = Install::in_namespace("blue").certificates_in_secret("policy-certs");
    App::new("policy").webhooks(webhooks).install(install)
}

fn printed(line: &str) -> Vec<Value> {
    let mut text = Vec::new();
    execute(line.split(' ').map(OsString::from), with_policy, &mut text).unwrap();
    serde_saphyr::from_multiple(&String::from_utf8(text).unwrap()).unwrap()
}

fn kinds(objects: &[Value]) -> Vec<&str> {
    let objects = objects.iter();
    objects
        .map(|object| object["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn a_program_of_policies_alone_is_its_policies() {
    let policies = printed("policy manifests");
    assert_eq!(
        kinds(&policies),
        [
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding"
        ]
    );
    assert_eq!(
        policies[0]["metadata"],
        json!({"name": "images.policy.example.com", "labels": {"app.kubernetes.io/name": "policy"}})
    );
    assert_eq!(
        policies[1]["spec"],
        json!({"policyName": "images.policy.example.com", "validationActions": ["Deny"]})
    );
}

#[test]
fn policies_are_webhooks_of_the_program_on_older_clusters() {
    let objects = printed("policy manifests --kubernetes 1.29");
    let all = kinds(&objects);
    assert!(all.contains(&"Deployment") && all.contains(&"ValidatingWebhookConfiguration"));
    assert!(!all.iter().any(|kind| kind.contains("AdmissionPolicy")));
    let deployment = objects
        .iter()
        .find(|it| it["kind"] == "Deployment")
        .unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let arguments = container["args"].as_array().unwrap();
    assert!(
        arguments.contains(&json!("--kubernetes=1.29")),
        "the program serves the webhooks that its manifests declare: {arguments:?}"
    );
}

#[test]
fn the_webhooks_of_older_clusters_need_a_certificate() {
    let run = |line: &str| {
        let asked = command::parse::<NoOptions>(line.split(' ').map(OsString::from)).unwrap();
        let Task::Run(flags) = asked.task else {
            panic!("{:?}", asked.task)
        };
        let program = Program::new(|needs| with_policy(NoOptions {}, needs));
        program
            .for_kubernetes(flags.policies.oldest)
            .app()
            .has_webhooks()
    };
    assert!(!run("policy"));
    assert!(run("policy --kubernetes 1.29"));
    assert!(!run("policy run --kubernetes=1.30"));
}

#[test]
fn a_program_is_installed_with_the_options_that_were_given() {
    let installed = |options: Options, _: &mut Needs| App::new(options.name);
    let line = "policy manifests --name strict";
    let mut text = Vec::new();
    execute(line.split(' ').map(OsString::from), installed, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("        - --name=strict\n"), "{text}");
}

#[test]
fn files_are_written_and_then_compared() {
    let directory = tempfile::tempdir().unwrap();
    let deploy = directory.path().join("deploy");
    let run = |more: &str| {
        let line = format!("gardens manifests --into {}{more}", deploy.display());
        let mut output = Vec::new();
        let done = execute(line.split(' ').map(OsString::from), installed, &mut output);
        assert!(output.is_empty());
        done.map_err(|error| sentence(&error))
    };
    assert!(
        run(" --check")
            .unwrap_err()
            .contains("program.yaml is missing")
    );
    run("").unwrap();
    run(" --check").unwrap();
    let drift = run(" --check --image other").unwrap_err();
    assert!(
        drift.contains("-        image: gardens:1.2.3\n+        image: other:1.2.3\n"),
        "{drift}"
    );
    assert!(drift.contains("cargo run -- manifests --into /"), "{drift}");
}

/// A custom resource with one number.
struct Garden;

impl CustomResourceExt for Garden {
    fn crd() -> CustomResourceDefinition {
        let schema = json!({"type": "object", "properties": {"beds": {"type": "integer"}}});
        let version = json!({
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
        });
        let definition = json!({
            "metadata": {"name": Self::crd_name()},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Garden", "plural": "gardens"}, "versions": [version],
            },
        });
        serde_json::from_value(definition).unwrap()
    }

    fn crd_name() -> &'static str {
        "gardens.example.com"
    }

    fn api_resource() -> ApiResource {
        unreachable!("no test calls it")
    }

    fn shortnames() -> &'static [&'static str] {
        &[]
    }
}

#[test]
fn definitions_are_held_to_those_that_somebody_has() {
    let app = |_: NoOptions, _: &mut Needs| App::new("gardens").crd::<Garden>();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("released.yaml");
    let run = || {
        let line = format!("gardens manifests --against {}", file.display());
        let done = execute(line.split(' ').map(OsString::from), app, &mut Vec::new());
        done.map_err(|error| sentence(&error))
    };
    let released = Program::new(|_: &mut Needs| App::new("a").crd::<Garden>())
        .crds()
        .to_yaml();
    for (text, said) in [
        (released.clone(), None),
        (
            released.replace("type: integer", "type: string"),
            Some("gardens.example.com: v1: beds was of type string and is of type integer"),
        ),
        ("apiVersion: v1\nkind: List\nitems: []\n".to_owned(), None),
        ("a: [".to_owned(), Some("as YAML")),
    ] {
        std::fs::write(&file, text).unwrap();
        match (run(), said) {
            (Ok(code), None) => assert_eq!(code, ExitCode::SUCCESS),
            (Err(error), Some(said)) => assert!(error.contains(said), "{error}"),
            (done, said) => panic!("{done:?}, not {said:?}"),
        }
    }
}

#[test]
fn a_chart_is_written_and_compared_like_a_tree() {
    let directory = tempfile::tempdir().unwrap();
    let chart = directory.path().join("chart");
    let run = |more: &str| {
        let line = format!("gardens manifests --helm --into {}{more}", chart.display());
        let done = execute(
            line.split(' ').map(OsString::from),
            installed,
            &mut Vec::new(),
        );
        done.map_err(|error| sentence(&error))
    };
    run("").unwrap();
    run(" --check").unwrap();
    assert!(chart.join("templates/program.yaml").exists());
    let drift = run(" --check --image other").unwrap_err();
    assert!(
        drift.contains("-image: gardens:1.2.3\n+image: other:1.2.3\n"),
        "{drift}"
    );
    assert!(
        drift.contains("cargo run -- manifests --helm --into /"),
        "{drift}"
    );
}

#[test]
fn webhooks_need_a_certificate_from_somewhere() {
    let said = sentence(&output("policy manifests").unwrap_err());
    assert!(said.contains("`App::certificates`"), "{said}");
    let (_, text) = output("policy manifests --service blue/policy").unwrap();
    assert!(text.contains("namespace: blue"), "{text}");
}

#[test]
fn an_api_server_is_given_two_files() {
    let line = "policy api-server configuration --kubeconfig /pki/kubeconfig";
    let (_, text) = output(line).unwrap();
    assert!(text.contains("kind: AdmissionConfiguration\n"), "{text}");
    assert!(text.contains("kubeConfigFile: /pki/kubeconfig\n"), "{text}");
    let line = "policy api-server kubeconfig --service blue/policy --client-certificate /pki/c.crt --client-key /pki/c.key";
    let (_, text) = output(line).unwrap();
    assert!(text.contains("name: policy.blue.svc\n"), "{text}");
    assert!(text.contains("client-key: /pki/c.key\n"), "{text}");
}

#[test]
fn the_ca_file_becomes_the_bundle() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.crt");
    let authority = Authority::new("test").unwrap();
    std::fs::write(&file, authority.certificate_pem()).unwrap();
    let line = format!(
        "policy manifests --url https://127.0.0.1:1 --ca-file {}",
        file.display()
    );
    let (_, text) = output(&line).unwrap();
    assert!(text.contains(&authority.trust().to_ca_bundle()), "{text}");
}

#[test]
fn what_cannot_be_written_is_said_with_its_cause() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.crt");
    let base = "policy manifests --url https://127.0.0.1:1";
    let with_file = format!("{base} --ca-file {}", file.display());

    let missing = sentence(&output(&with_file).unwrap_err());
    assert!(missing.contains("cannot read /"), "{missing}");
    assert!(missing.contains("No such file"), "{missing}");

    std::fs::write(&file, "not a certificate").unwrap();
    let unusable = sentence(&output(&with_file).unwrap_err());
    assert!(unusable.contains("cannot use /"), "{unusable}");

    let malformed = sentence(&output(&format!("{base} --name Strict")).unwrap_err());
    assert!(
        malformed.starts_with("cannot write a webhook configuration: the hook name"),
        "{malformed}"
    );
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    for line in ["policy walk", "policy", "policy run --listen 127.0.0.1:0"] {
        let (code, text) = output(line).unwrap();
        assert_eq!((code, text.as_str()), (ExitCode::from(2), ""), "{line}");
    }
}

#[test]
fn what_a_program_with_webhooks_lacks_is_named() {
    let said = command::no_identity::<Options>().to_string();
    assert!(said.contains("--certificates"), "{said}");
    assert!(said.contains("--self-signed"), "{said}");
}

#[test]
fn permissions_are_those_of_the_handles_and_the_controllers() {
    let line = ["janitor", "permissions"].map(OsString::from);
    let janitor = |_: NoOptions, needs: &mut Needs| {
        let stale: Deleter<ConfigMap> = needs.in_namespace("blue").deleter();
        let tidy = move |_: Arc<Pod>, _: Context| {
            let _ = &stale;
            async { Ok(Action::await_change()) }
        };
        App::new("janitor").controller(Controller::new("pods", tidy).watch(owned::<Secret>()))
    };
    let mut text = Vec::new();
    execute(line, janitor, &mut text).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: janitor
rules:
- apiGroups:
  - \"\"
  resources:
  - pods
  - secrets
  verbs:
  - get
  - list
  - watch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: janitor
  namespace: blue
rules:
- apiGroups:
  - \"\"
  resources:
  - configmaps
  verbs:
  - delete
"
    );
}

#[test]
fn permissions_in_another_cluster_are_printed_apart() {
    let courier = |_: NoOptions, needs: &mut Needs| {
        let stale: Deleter<ConfigMap> = needs.cluster("east").deleter();
        drop(stale);
        App::new("courier")
    };
    let printed = |line: &[&str]| {
        let mut text = Vec::new();
        let ended = execute(line.iter().map(OsString::from), courier, &mut text);
        ended.map(|_| String::from_utf8(text).unwrap())
    };
    let here = printed(&["courier", "permissions"]).unwrap();
    assert!(here.contains("resourceNames:\n  - east"), "{here}");
    assert!(!here.contains("configmaps"), "{here}");
    let east = printed(&["courier", "permissions", "--cluster", "east"]).unwrap();
    assert!(east.contains("configmaps"), "{east}");
    assert!(!east.contains("secrets"), "{east}");
    let none = printed(&["courier", "permissions", "--cluster", "west"]).unwrap_err();
    assert_eq!(
        none.to_string(),
        "the program has no cluster and no fleet `west`: it has `east`"
    );
}
