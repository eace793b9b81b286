//! The fields of generated webhook configurations.

use std::time::Duration;

use kubewright_manifests::WebhookConfigurations;
use kubewright_webhook::{
    Create, Delete, MatchPolicy, Rule, Scope, Selector, SideEffects, Update, Version, Webhooks,
};
use serde_json::json;

use super::{built, configurations, in_cluster, local, mutator, validator, webhook};

#[test]
fn a_hook_with_nothing_set_has_safe_defaults_in_every_field() {
    insta::assert_snapshot!(built([mutator("welcome")], local()).to_yaml(), @r#"
    apiVersion: admissionregistration.k8s.io/v1
    kind: MutatingWebhookConfiguration
    metadata:
      name: policy
    webhooks:
    - admissionReviewVersions:
      - v1
      clientConfig:
        url: https://127.0.0.1:8080/welcome
      failurePolicy: Fail
      matchPolicy: Equivalent
      name: welcome.example.com
      namespaceSelector: {}
      objectSelector: {}
      reinvocationPolicy: Never
      rules:
      - apiGroups:
        - ""
        apiVersions:
        - v1
        operations:
        - CREATE
        - UPDATE
        resources:
        - pods
        scope: Namespaced
      sideEffects: None
      timeoutSeconds: 10
    "#);
}

#[test]
fn every_field_is_written() {
    let hook = validator("guard")
        .named("guard.policy.example.org")
        .at("/guard/pods")
        .on([Create, Delete])
        .rule(Rule::new([Update], "apps", "*", "deployments/scale").scope(Scope::Namespaced))
        .fail_open()
        .match_policy(MatchPolicy::Exact)
        .in_namespaces(
            Selector::label("team", "blue")
                .and_in("tier", ["web", "db"])
                .does_not_exist("old"),
        )
        .for_objects(Selector::not_in("guard", ["off"]).exists("app"))
        .when("not-a-node", "!('system:nodes' in request.userInfo.groups)")
        .side_effects(SideEffects::NoneOnDryRun)
        .timeout(Duration::from_secs(3))
        .review_versions([Version::V1, Version::V1Beta1]);
    insta::assert_snapshot!(built([hook], in_cluster()).to_yaml(), @r#"
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata:
      name: policy
    webhooks:
    - admissionReviewVersions:
      - v1
      - v1beta1
      clientConfig:
        service:
          name: policy
          namespace: policy-system
          path: /guard/pods
          port: 443
      failurePolicy: Ignore
      matchConditions:
      - expression: "!('system:nodes' in request.userInfo.groups)"
        name: not-a-node
      matchPolicy: Exact
      name: guard.policy.example.org
      namespaceSelector:
        matchExpressions:
        - key: tier
          operator: In
          values:
          - web
          - db
        - key: old
          operator: DoesNotExist
        matchLabels:
          team: blue
      objectSelector:
        matchExpressions:
        - key: guard
          operator: NotIn
          values:
          - "off"
        - key: app
          operator: Exists
      rules:
      - apiGroups:
        - ""
        apiVersions:
        - v1
        operations:
        - CREATE
        - DELETE
        resources:
        - pods
        scope: Namespaced
      - apiGroups:
        - apps
        apiVersions:
        - "*"
        operations:
        - UPDATE
        resources:
        - deployments/scale
        scope: Namespaced
      sideEffects: NoneOnDryRun
      timeoutSeconds: 3
    "#);
}

#[test]
fn mutators_and_validators_have_separate_configurations() {
    let hooks = [validator("a"), mutator("b"), validator("c"), mutator("d")];
    let manifests = built(hooks, local());
    let read: Vec<_> = manifests
        .objects()
        .iter()
        .map(|object| {
            let names: Vec<_> = object["webhooks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|hook| hook["name"].clone())
                .collect();
            (
                object["kind"].clone(),
                object["metadata"]["name"].clone(),
                json!(names),
            )
        })
        .collect();
    assert_eq!(
        read,
        [
            (
                json!("MutatingWebhookConfiguration"),
                json!("policy"),
                json!(["b.example.com", "d.example.com"])
            ),
            (
                json!("ValidatingWebhookConfiguration"),
                json!("policy"),
                json!(["a.example.com", "c.example.com"])
            ),
        ]
    );
    assert_eq!(manifests.to_yaml().matches("---\n").count(), 1);
}

#[test]
fn each_configuration_can_have_a_name_of_its_own() {
    let webhooks = Webhooks::new("example.com")
        .with(validator("a"))
        .with(mutator("b"));
    let manifests = WebhookConfigurations::new("policy", &webhooks, local())
        .mutating_named("changes")
        .validating_named("checks")
        .build()
        .unwrap();
    let names: Vec<_> = manifests
        .into_iter()
        .map(|object| object["metadata"]["name"].clone())
        .collect();
    assert_eq!(names, ["changes", "checks"]);
}

#[test]
fn a_program_without_webhooks_has_no_configurations() {
    let manifests = built([], local());
    assert!(manifests.objects().is_empty());
    assert_eq!(manifests.to_yaml(), "");
}

#[test]
fn the_client_configuration_has_the_ca_bundle_in_base64() {
    let pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    let manifests = configurations([mutator("a")], in_cluster())
        .trusting(pem)
        .build()
        .unwrap();
    assert_eq!(
        manifests.objects()[0]["webhooks"][0]["clientConfig"],
        json!({
            "service": {"namespace": "policy-system", "name": "policy", "port": 443, "path": "/a"},
            "caBundle":
                "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=",
        })
    );
}

#[test]
fn a_long_bundle_stays_on_the_line_of_its_key() {
    let block = format!("{}\n", "A".repeat(64)).repeat(20);
    let pem = format!("-----BEGIN CERTIFICATE-----\n{block}-----END CERTIFICATE-----\n");
    let manifests = configurations([mutator("a")], local())
        .trusting(pem)
        .build()
        .unwrap();
    let bundle = &manifests.objects()[0]["webhooks"][0]["clientConfig"]["caBundle"];
    let line = format!("caBundle: {}\n", bundle.as_str().unwrap());
    assert!(
        manifests.to_yaml().contains(&line),
        "{}",
        manifests.to_yaml()
    );
}

#[test]
fn a_program_in_the_cluster_does_not_judge_its_own_namespace() {
    let own = json!({
        "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["policy-system"],
    });
    let selector = |hook, at| webhook(hook, at)["namespaceSelector"].clone();
    assert_eq!(
        selector(validator("a"), in_cluster()),
        json!({"matchExpressions": [own]})
    );

    let excluding = validator("a").in_namespaces(Selector::not_in("exclude", ["true"]));
    let exclude = json!({"key": "exclude", "operator": "NotIn", "values": ["true"]});
    assert_eq!(
        selector(excluding, in_cluster()),
        json!({"matchExpressions": [exclude, own]})
    );
}

#[test]
fn namespaces_are_left_as_chosen_where_the_program_cannot_lock_itself_out() {
    let selector = |hook, at| webhook(hook, at)["namespaceSelector"].clone();
    assert_eq!(selector(validator("a"), local()), json!({}));
    assert_eq!(
        selector(validator("a").fail_open(), in_cluster()),
        json!({})
    );
    assert_eq!(
        selector(validator("a").scope(Scope::Cluster), in_cluster()),
        json!({})
    );

    let asking = validator("a").in_namespaces(Selector::label("injection", "enabled"));
    assert_eq!(
        selector(asking, in_cluster()),
        json!({"matchLabels": {"injection": "enabled"}})
    );
    let naming = validator("a").in_namespaces(Selector::not_in(
        "kubernetes.io/metadata.name",
        ["kube-system"],
    ));
    let named = json!({
        "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"],
    });
    assert_eq!(
        selector(naming, in_cluster()),
        json!({"matchExpressions": [named]})
    );
}

#[test]
fn a_label_that_must_have_two_values_selects_nothing_and_not_one_of_them() {
    let hook =
        validator("a").in_namespaces(Selector::label("team", "blue").and_label("team", "red"));
    assert_eq!(
        webhook(hook, local())["namespaceSelector"],
        json!({
            "matchLabels": {"team": "blue"},
            "matchExpressions": [{"key": "team", "operator": "In", "values": ["red"]}],
        })
    );
}
