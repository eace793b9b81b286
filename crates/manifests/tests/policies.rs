//! Policies and their bindings as manifests.

use kubewright_manifests::{Install, Installer, ManifestError, Parts, policies};
use kubewright_webhook::{ClusterPolicy, Hook, Rule};
use kubewright_webhook::{Create, Role, Selector, Webhooks};
use serde_json::{Value, json};

use crate::{mutator, validator};

fn policy(hook: Hook) -> ClusterPolicy {
    let spec = json!({"validations": [{"expression": "true"}]});
    ClusterPolicy::new(hook, spec, json!({"validationActions": ["Warn"]}))
}

fn built(hook: Hook) -> Value {
    let webhooks = Webhooks::new("example.com").with(policy(hook));
    policies(&webhooks, None).unwrap().objects()[0].clone()
}

#[test]
fn a_policy_is_for_what_its_hook_is_for() {
    let hook = validator("a")
        .on([Create])
        .in_namespaces(Selector::label("team", "blue"))
        .for_objects(Selector::everything().exists("app"))
        .rule(Rule::new([Create], "apps", "v1", "deployments"))
        .fail_open();
    assert_eq!(
        built(hook),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "a.example.com"},
            "spec": {
                "failurePolicy": "Ignore",
                "matchConstraints": {
                    "matchPolicy": "Equivalent",
                    "namespaceSelector": {"matchLabels": {"team": "blue"}},
                    "objectSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                    "resourceRules": [
                        {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "Namespaced"},
                        {"operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "scope": "*"},
                    ],
                },
                "validations": [{"expression": "true"}],
            },
        })
    );
}

#[test]
fn a_mutating_policy_says_whether_it_is_evaluated_again() {
    let once = built(mutator("a"));
    assert_eq!(once["kind"], "MutatingAdmissionPolicy");
    assert_eq!(once["spec"]["reinvocationPolicy"], "Never");
    let again = built(mutator("a").reinvoked());
    assert_eq!(again["spec"]["reinvocationPolicy"], "IfNeeded");
}

#[test]
fn installations_with_configurations_of_their_own_do_not_share_policies() {
    let names = |configuration: &str| {
        let mut parts = Parts::new("policy");
        parts.webhooks = Webhooks::new("policy.example.com").with(policy(validator("images")));
        configuration.clone_into(&mut parts.configuration);
        let installer = Installer::new(&parts, &Install::default()).unwrap();
        let policies = installer.policies();
        let [policy, binding] = policies.objects() else {
            panic!("{policies:?}")
        };
        assert_eq!(policy["metadata"]["name"], binding["metadata"]["name"]);
        assert_eq!(policy["metadata"]["name"], binding["spec"]["policyName"]);
        policy["metadata"]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(names("policy"), "images.policy.example.com");
    assert_eq!(
        names("policy-of-blue"),
        "policy-of-blue.images.policy.example.com"
    );
}

#[test]
fn policies_have_a_file_of_their_own_in_trees_and_charts() {
    let mut parts = Parts::new("policy");
    parts.webhooks = Webhooks::new("policy.example.com").with(policy(validator("images")));
    let install = Install::default();
    let tree = Installer::new(&parts, &install).unwrap().tree();
    let list = tree.text("kustomization.yaml").unwrap();
    assert!(
        list.contains("- policies.yaml\n") && !list.contains("program.yaml"),
        "{list}"
    );
    assert!(
        tree.text("policies.yaml")
            .unwrap()
            .contains("kind: ValidatingAdmissionPolicy\n")
    );
    let chart = Installer::chart(&parts, &install).unwrap();
    assert!(
        chart
            .text("templates/policies.yaml")
            .unwrap()
            .contains("validationActions:\n")
    );
}

#[test]
fn a_policy_that_is_a_webhook_is_not_a_policy_as_well() {
    let webhooks = Webhooks::new("example.com").with(policy(validator("a")));
    let old = webhooks.for_kubernetes("1.29".parse().unwrap());
    assert!(policies(&old, None).unwrap().objects().is_empty());
    assert_eq!(old.declarations()[0].role, Role::Validating);
}

#[test]
fn a_prefix_that_no_name_can_have_is_refused() {
    let webhooks = Webhooks::new("example.com").with(policy(validator("a")));
    let refused = policies(&webhooks, Some("Blue"));
    assert_eq!(
        refused,
        Err(ManifestError::Name("Blue.a.example.com".to_owned()))
    );
}
