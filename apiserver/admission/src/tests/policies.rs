//! B: admission policies, beside what the conformance cases say of their answers.

use serde_json::{Value, json};

use super::hook::but;
use super::setting::{Setting, config_map, create, delete};
use crate::{AdmissionPlugin, Chain, Enabled};

const GROUP: &str = "admissionregistration.k8s.io";

/// Everything, whatever the namespace.
fn everything() -> Value {
    let every = json!(["*"]);
    json!({
        "resourceRules": [{"operations": every, "apiGroups": every, "apiVersions": every, "resources": ["*/*"]}],
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    })
}

impl Setting {
    /// Adds a validating policy that denies everything, changed by `changes`, without a binding.
    fn policy(&self, name: &str, changes: Value) {
        let spec = json!({
            "matchConstraints": everything(),
            "failurePolicy": "Fail",
            "validations": [{"expression": "false", "message": name}],
        });
        let policy = json!({"metadata": {"name": name}, "spec": but(spec, changes)});
        self.objects
            .put(GROUP, "validatingadmissionpolicies", policy);
    }

    fn bind(&self, policy: &str, changes: Value) {
        let spec = json!({"policyName": policy, "validationActions": ["Deny"]});
        let binding = json!({"metadata": {"name": policy}, "spec": but(spec, changes)});
        let resource = "validatingadmissionpolicybindings";
        self.objects.put(GROUP, resource, binding);
    }

    /// Adds a mutating policy and its binding.
    fn mutation(&self, name: &str, expression: &str, changes: Value) {
        let apply = json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}});
        let spec = json!({
            "matchConstraints": everything(),
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [apply],
        });
        let policy = json!({"metadata": {"name": name}, "spec": but(spec, changes)});
        let binding = json!({"metadata": {"name": name}, "spec": {"policyName": name}});
        self.objects.put(GROUP, "mutatingadmissionpolicies", policy);
        let resource = "mutatingadmissionpolicybindings";
        self.objects.put(GROUP, resource, binding);
    }

    async fn refused(&self) -> Option<String> {
        let refused = self.validate(&create(config_map())).await.err()?;
        Some(refused.message().to_owned())
    }
}

#[tokio::test]
async fn b1_a_policy_holds_from_its_binding_on_and_a_change_of_it_at_once() {
    let setting = Setting::new();
    setting.policy("a", json!({}));
    assert_eq!(setting.refused().await, None);
    setting.bind("a", json!({}));
    let refused = setting.refused().await.unwrap();
    assert!(
        refused.ends_with("'a' with binding 'a' denied request: a"),
        "{refused}"
    );
    setting.policy("a", json!({"validations": [{"expression": "true"}]}));
    assert_eq!(setting.refused().await, None);
    setting.policy("a", json!({}));
    assert!(setting.refused().await.is_some());
    setting.bind("a", json!({"policyName": "b"}));
    assert_eq!(
        setting.refused().await,
        None,
        "the policy is not bound any more"
    );
}

#[tokio::test]
async fn b1_of_several_policies_the_first_by_name_words_the_denial() {
    let setting = Setting::new();
    for name in ["c", "a", "b"] {
        setting.policy(name, json!({}));
        setting.bind(name, json!({}));
    }
    let refused = setting.refused().await.unwrap();
    assert!(refused.ends_with("denied request: a"), "{refused}");
}

#[tokio::test]
async fn b1_a_binding_for_one_namespace_leaves_its_neighbours_alone() {
    let setting = Setting::new();
    setting.policy("a", json!({}));
    let of = |team| json!({"matchResources": but(everything(), json!({"namespaceSelector": {"matchLabels": {"team": team}}}))});
    setting.bind("a", of("red"));
    assert_eq!(setting.refused().await, None);
    setting.bind("a", of("blue"));
    assert!(setting.refused().await.is_some());
}

#[tokio::test]
async fn b1_no_policy_is_asked_about_policies_and_reviews() {
    let setting = Setting::new();
    setting.policy("a", json!({}));
    setting.bind("a", json!({}));
    for (group, kind) in [
        (GROUP, "ValidatingAdmissionPolicy"),
        (GROUP, "ValidatingAdmissionPolicyBinding"),
        (GROUP, "MutatingAdmissionPolicy"),
        (GROUP, "MutatingAdmissionPolicyBinding"),
        ("authentication.k8s.io", "TokenReview"),
        ("authentication.k8s.io", "SelfSubjectReview"),
        ("authorization.k8s.io", "LocalSubjectAccessReview"),
        ("authorization.k8s.io", "SelfSubjectAccessReview"),
        ("authorization.k8s.io", "SelfSubjectRulesReview"),
        ("authorization.k8s.io", "SubjectAccessReview"),
    ] {
        let object =
            json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": "x"}});
        assert_eq!(setting.validate(&create(object)).await, Ok(()), "{kind}");
    }
    let webhooks = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "x"},
    });
    assert!(setting.validate(&create(webhooks)).await.is_err());
}

#[tokio::test]
async fn b1_a_server_without_the_plugin_evaluates_no_policy() {
    let mut enabled = Enabled::default();
    enabled.disable(AdmissionPlugin::ValidatingAdmissionPolicy);
    enabled.disable(AdmissionPlugin::MutatingAdmissionPolicy);
    let setting = Setting::with(Chain::builder().plugins(enabled));
    setting.policy("a", json!({}));
    setting.bind("a", json!({}));
    setting.mutation("b", "Object{data: Object.data{k: 'v'}}", json!({}));
    assert_eq!(setting.refused().await, None);
    assert_eq!(setting.create().await.unwrap(), config_map());
}

#[tokio::test]
async fn b2_a_mutation_is_merged_into_the_object_and_seen_by_the_next() {
    let setting = Setting::new();
    let labels =
        "Object{metadata: Object.metadata{labels: {'team': namespaceObject.metadata.labels.team}}}";
    setting.mutation("a", labels, json!({}));
    let copied = "Object{data: {'copied': object.metadata.labels.team}}";
    setting.mutation("b", copied, json!({}));
    let object = setting.create().await.unwrap();
    assert_eq!(object["metadata"]["labels"], json!({"team": "blue"}));
    assert_eq!(object["data"], json!({"copied": "blue", "start": "here"}));
}

#[tokio::test]
async fn b2_a_failed_mutation_refuses_the_request_unless_the_failure_policy_is_ignore() {
    for (policy, refused) in [("Fail", true), ("Ignore", false)] {
        let setting = Setting::new();
        let changes = json!({"failurePolicy": policy});
        setting.mutation("a", "Object{data: {'k': object.data.missing}}", changes);
        let outcome = setting.create().await;
        assert_eq!(outcome.is_err(), refused, "{policy}: {outcome:?}");
        if let Ok(object) = outcome {
            assert_eq!(object, config_map());
        }
    }
}

#[tokio::test]
async fn b2_a_deletion_is_not_mutated() {
    let setting = Setting::new();
    setting.mutation("a", "Object{data: {'k': object.data.missing}}", json!({}));
    let mut attributes = delete(config_map());
    assert_eq!(setting.mutate(&mut attributes).await, Ok(()));
}

#[tokio::test]
async fn b1_match_conditions_see_the_matched_kind_and_the_resource_of_the_request() {
    for condition in [
        "request.kind.version == 'v1'",
        "request.resource.version == 'v2'",
        "request.requestKind.version == 'v2'",
        "request.requestResource.version == 'v2'",
        "object.apiVersion == 'autoscaling/v1'",
    ] {
        let setting = Setting::new();
        let rule = json!({"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["*"]});
        let constraints = but(everything(), json!({"resourceRules": [rule]}));
        setting.policy(
            "a",
            json!({
                "matchConstraints": constraints,
                "matchConditions": [{"name": "c", "expression": condition}],
            }),
        );
        setting.bind("a", json!({}));
        let autoscaler = json!({
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "a", "namespace": "blue"},
            "spec": {"maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
        });
        let refused = setting.validate(&create(autoscaler)).await;
        assert!(refused.is_err(), "{condition}");
    }
}
