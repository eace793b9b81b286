//! Policies decide alike in both of their forms, and where they do not, it is found.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Service};
use kubewright_policy::{NotFound, ParamRef, Policy, Reason};
use kubewright_testing::{PoliciesAgree, Server, TestCluster, policies_agree, type_check};
use kubewright_webhook::{
    Change, Create, Delete, Denial, FailurePolicy, Review, Update, Validated, validating,
};
use serde_json::json;

use crate::widgets::v1::Widget;

fn images() -> Policy<Pod> {
    Policy::validating("images").rule(
        "object.spec.containers.all(c, !c.image.endsWith(':latest'))",
        "name a version",
    )
}

#[tokio::test]
async fn a_rule_for_pods_decides_alike() {
    let agreed = policies_agree(|_| images()).await;
    assert!(agreed.allowed > 20 && agreed.denied > 20, "{agreed}");
}

#[tokio::test]
async fn updates_deletions_and_errors_decide_alike() {
    let replicas = || {
        Policy::<Deployment>::validating("replicas")
            .on([Create, Update, Delete])
            .variable("replicas", "object.spec.?replicas.orValue(1)")
            .when(
                "not-deleted",
                "request.operation != 'DELETE' || oldObject.spec.replicas > 1",
            )
            .rule("variables.replicas < 5", "")
            .message_expression("string(variables.replicas) + ' are too many'")
            .rule(
                "oldObject == null || object.spec.replicas >= oldObject.spec.replicas",
                "do not scale down",
            )
            .reason(Reason::Forbidden)
    };
    let agreed = policies_agree(|_| replicas()).await;
    assert!(agreed.allowed > 20 && agreed.denied > 20, "{agreed}");
}

#[tokio::test]
async fn an_expression_that_fails_is_subject_to_the_failure_policy_in_both_forms() {
    for policy in [FailurePolicy::Fail, FailurePolicy::Ignore] {
        let labels = || {
            Policy::<ConfigMap>::validating("labels")
                .rule("object.metadata.labels.team != 'red'", "the team is gone")
                .failure_policy(policy)
        };
        let agreed = policies_agree(|_| labels()).await;
        assert!(agreed.allowed > 0 && agreed.denied > 0, "{agreed}");
    }
}

#[tokio::test]
async fn warnings_are_alike() {
    let types = || {
        Policy::<Service>::validating("types")
            .rule(
                "object.spec.?type.orValue('') != 'NodePort'",
                "use an Ingress",
            )
            .warn()
            .audit()
    };
    let agreed = policies_agree(|_| types()).await;
    assert_eq!(agreed.denied, 0, "{agreed}");
    assert!(agreed.allowed > 20, "{agreed}");
}

#[tokio::test]
async fn parameters_and_namespaces_are_read_by_the_webhook_through_its_handles() {
    let limits = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits", "namespace": "agree"}, "data": {"most": "3"},
    });
    let agreed = PoliciesAgree::of(|needs| {
        let (params, namespaces) = (needs.cached::<ConfigMap>(), needs.cached::<Namespace>());
        Policy::<Service>::validating("ports")
            .params_from(params, ParamRef::named("limits"))
            .namespaces_from(namespaces)
            .rule("object.spec.ports.size() < int(params.data.most)", "have fewer ports")
            .rule("namespaceObject.metadata.labels.team == object.metadata.?labels.team.orValue('blue')", "be of the team")
    })
    .with_object(limits)
    .objects(60)
    .namespace_label("team", "blue")
    .values("spec.ports", [json!([{"name": "a", "port": 1}]), json!([{"name": "a", "port": 1}, {"name": "b", "port": 2}, {"name": "c", "port": 3}])])
    .check()
    .await;
    assert!(agreed.allowed > 10 && agreed.denied > 10, "{agreed}");
}

#[tokio::test]
async fn parameters_that_do_not_exist_decide_alike() {
    for (action, denied) in [(NotFound::Deny, true), (NotFound::Allow, false)] {
        let agreed = PoliciesAgree::of(|needs| {
            let reference = ParamRef::named("limits")
                .in_namespace("agree")
                .when_not_found(action);
            Policy::<Service>::validating("ports")
                .params_from(needs.cached::<ConfigMap>(), reference)
                .rule("false", "never")
        })
        .objects(10)
        .accept_untested_rules()
        .check()
        .await;
        assert_eq!(agreed.denied > 0, denied, "{agreed}");
    }
}

#[tokio::test]
async fn mutations_change_objects_alike() {
    let sidecar = || {
        Policy::<Pod>::mutating("sidecar")
            .when("no-host-network", "!object.spec.?hostNetwork.orValue(false)")
            .apply("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'sidecar', image: 'proxy:1'}]}}")
            .patch("[JSONPatch{op: 'add', path: '/metadata/labels', value: {'sidecar': 'yes'}}]")
    };
    let agreed = policies_agree(|_| sidecar()).await;
    assert!(agreed.changed > 20, "{agreed}");
}

#[tokio::test]
async fn a_configuration_merges_into_the_items_that_are_there() {
    let environment = || {
        Policy::<Pod>::mutating("environment").apply(
            "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{
                name: c.name, env: [Object.spec.containers.env{name: 'TEAM', value: 'blue'}]})}}",
        )
    };
    let agreed = policies_agree(|_| environment()).await;
    assert!(agreed.changed > 20, "{agreed}");
}

#[tokio::test]
async fn custom_resources_and_their_parameters_decide_alike() {
    let most = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "most", "namespace": "agree"},
        "spec": {"area": {"width": 5, "height": 5}},
    });
    let agreed = PoliciesAgree::of(|needs| {
        let reference = ParamRef::named("most").when_not_found(NotFound::Allow);
        Policy::<Widget>::validating("areas")
            .params_from(needs.cached::<Widget>(), reference)
            .rule(
                "object.spec.area.width <= params.spec.area.width",
                "be less wide",
            )
            .rule(
                "object.spec.?color.orValue('red') in ['red', 'blue']",
                "be red or blue",
            )
    })
    .crd::<Widget>()
    .with_object(most)
    .values("spec.area.width", [4, 5, 6])
    .check()
    .await;
    assert!(agreed.allowed > 10 && agreed.denied > 10, "{agreed}");
}

#[tokio::test]
async fn mutations_change_custom_resources_alike() {
    let agreed = PoliciesAgree::of(|_| {
        Policy::<Widget>::mutating("colors")
            .when("plain", "!has(object.spec.color)")
            .apply("Object{spec: Object.spec{color: object.spec.area.width > 3 ? 'red' : 'blue'}}")
    })
    .crd::<Widget>()
    .check()
    .await;
    assert!(agreed.changed > 10, "{agreed}");
}

#[tokio::test]
#[should_panic(expected = "undefined field 'hight'")]
async fn the_types_of_a_custom_resource_are_those_of_its_definition() {
    let cluster = TestCluster::builder().crd::<Widget>().start().await;
    type_check(&cluster, |_| {
        Policy::<Widget>::validating("areas").rule("object.spec.area.hight < 3", "be lower")
    })
    .await;
}

async fn looser(change: Change<Pod>, _: Review) -> Validated {
    let pod = change.object().spec.as_ref();
    let containers = pod.map(|spec| spec.containers.iter());
    let latest = |image: &str| image.contains(":latest");
    if containers.is_some_and(|mut all| all.any(|it| it.image.as_deref().is_some_and(latest))) {
        return Err(Denial::new("name a version").code(422).into());
    }
    Ok(())
}

#[tokio::test]
#[should_panic(expected = "  the webhook: denies with code 422: name a version")]
async fn a_hook_that_differs_from_the_policy_is_found() {
    PoliciesAgree::of(|_| images())
        .with_webhook(|_| validating("images", looser))
        .check()
        .await;
}

#[tokio::test]
#[should_panic(expected = "differ in the creation of an object")]
async fn a_policy_that_differs_in_one_condition_is_found() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    // The first is for the API server, the second for the webhook.
    let made = AtomicUsize::new(0);
    policies_agree(|_| {
        let most = if made.fetch_add(1, Ordering::Relaxed) == 1 {
            4
        } else {
            5
        };
        Policy::<Deployment>::validating("replicas")
            .rule(format!("object.spec.replicas < {most}"), "too many")
    })
    .await;
}

#[tokio::test]
#[should_panic(expected = "rule 2 was never false for the objects that were compared")]
async fn a_rule_that_was_never_false_was_not_compared() {
    policies_agree(|_| images().rule("object.kind == 'Pod'", "be a pod")).await;
}

#[tokio::test]
#[should_panic(
    expected = "policies_agree.rs:245:31: rule 1: ERROR: <input>:1:12: undefined field 'contaners'\n | object.spec.contaners.all(c, true)\n | ...........^"
)]
async fn a_mistake_is_shown_at_its_place_in_the_source() {
    let cluster = TestCluster::builder().on(Server::Embedded).start().await;
    type_check(&cluster, |_| {
        Policy::<Pod>::validating("images")
            .rule("object.spec.contaners.all(c, true)", "name a version")
    })
    .await;
}
