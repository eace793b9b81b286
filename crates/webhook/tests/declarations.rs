//! What hooks say about themselves, and what is refused before anything is served.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube_core::DynamicObject;
use kubewright_webhook::{
    Change, Create, Declaration, DeclarationError, Delete, FailurePolicy, Hook, MatchPolicy,
    Mutated, Object, Operation, Reinvocation, Review, Role, Rule, Scope, Selector, SideEffects,
    Update, Validated, Version, Webhooks, mutating, validating,
};

use crate::calls::{create, pod, review};

async fn allow<K: Object>(_: Change<K>, _: Review) -> Validated {
    Ok(())
}

async fn same<K: Object>(change: Change<K>, _: Review) -> Mutated<K> {
    Ok(change.into_object())
}

fn declared(hook: Hook) -> Declaration {
    Webhooks::new("policy.example.com")
        .with(hook)
        .declarations()
        .remove(0)
}

fn refused(hooks: impl IntoIterator<Item = Hook>) -> String {
    let webhooks = hooks
        .into_iter()
        .fold(Webhooks::new("example.com"), Webhooks::with);
    webhooks.check().unwrap_err().to_string()
}

#[test]
fn the_defaults_are_safe() {
    let declaration = declared(validating("pinned", allow::<Pod>));
    assert_eq!(declaration.name, "pinned.policy.example.com");
    assert_eq!(declaration.role, Role::Validating);
    assert_eq!(declaration.path, "/pinned");
    let rule = Rule::new([Create, Update], "", "v1", "pods").scope(Scope::Namespaced);
    assert_eq!(declaration.rules, [rule]);
    assert_eq!(declaration.failure_policy, FailurePolicy::Fail);
    assert_eq!(declaration.match_policy, MatchPolicy::Equivalent);
    assert_eq!(declaration.side_effects, SideEffects::None);
    assert_eq!(declaration.timeout, Duration::from_secs(10));
    assert_eq!(declaration.review_versions, [Version::V1]);
    assert_eq!(declaration.reinvocation, Reinvocation::Never);
    assert!(declaration.namespace_selector.is_empty() && declaration.object_selector.is_empty());
    assert!(declaration.match_conditions.is_empty());
}

#[test]
fn every_field_of_a_configuration_can_be_set() {
    let declaration = declared(
        mutating("hook", same::<Namespace>)
            .named("hook.topolvm.cybozu.com")
            .at("/mutate")
            .on([Create])
            .fail_open()
            .timeout(Duration::from_secs(3))
            .in_namespaces(Selector::not_in("skip", ["true"]))
            .for_objects(Selector::label("app", "web"))
            .when(
                "not-system",
                "!request.userInfo.username.startsWith('system:')",
            )
            .match_policy(MatchPolicy::Exact)
            .reinvoked()
            .side_effects(SideEffects::NoneOnDryRun)
            .review_versions([Version::V1, Version::V1Beta1])
            .sub_resource("status")
            .rule(Rule::new([Operation::Connect], "*", "*", "*/*")),
    );
    assert_eq!(declaration.name, "hook.topolvm.cybozu.com");
    assert_eq!(declaration.path, "/mutate");
    assert_eq!(declaration.failure_policy, FailurePolicy::Ignore);
    assert_eq!(declaration.timeout, Duration::from_secs(3));
    assert_eq!(
        declaration.namespace_selector,
        Selector::not_in("skip", ["true"])
    );
    assert_eq!(declaration.object_selector, Selector::label("app", "web"));
    assert_eq!(declaration.match_conditions[0].name, "not-system");
    assert_eq!(declaration.match_policy, MatchPolicy::Exact);
    assert_eq!(declaration.reinvocation, Reinvocation::IfNeeded);
    assert_eq!(declaration.side_effects, SideEffects::NoneOnDryRun);
    assert_eq!(declaration.review_versions, [Version::V1, Version::V1Beta1]);
    assert_eq!(declaration.rules[0].resources, ["namespaces/status"]);
    assert_eq!(declaration.rules[0].scope, Scope::Cluster);
    assert_eq!(declaration.rules[1].operations, [Operation::Connect]);
}

#[test]
fn what_the_api_server_would_refuse_is_refused_first() {
    let hook = || validating("a", allow::<Pod>);
    let cases = [
        (
            vec![hook(), validating("b", allow::<Pod>).at("/a")],
            "the hooks `a.example.com` and `b.example.com` are both at `/a`; chain mutators with `.then(..)`, or set a path with `.at(..)`",
        ),
        (
            vec![hook(), hook().at("/b")],
            "two hooks are named `a.example.com`; give one another name, or set it with `.named(..)`",
        ),
        (
            vec![hook().named("a.b")],
            "the hook name `a.b` is not a domain with at least three segments of lower-case letters, digits and `-`",
        ),
        (
            vec![hook().at("a")],
            "the path `a` of the hook `a.example.com` does not begin with `/`, or has empty segments",
        ),
        (
            vec![mutating("m", same::<Pod>).on([Create, Delete])],
            "the hook `m.example.com` mutates and is called for DELETE, where nothing can be changed; validate instead",
        ),
        (
            vec![hook().side_effects(SideEffects::Some)],
            "the hook `a.example.com` has side effects in a dry run, which the API server does not accept; look at `review.dry_run()` and say `SideEffects::NoneOnDryRun`",
        ),
        (
            vec![validating("d", allow::<DynamicObject>)],
            "the hook `d.example.com` takes a dynamic type and has no rule; name its resource with `.of_resource(..)` or add a `.rule(..)`",
        ),
        (
            vec![hook().on([])],
            "the hook `a.example.com` has a rule without operations",
        ),
        (
            vec![hook().timeout(Duration::from_millis(1500))],
            "the timeout of the hook `a.example.com` is not 1 to 30 whole seconds",
        ),
        (
            vec![hook().reinvoked()],
            "the hook `a.example.com` validates, and only mutators are called again",
        ),
        (
            vec![hook().review_versions([])],
            "the hook `a.example.com` takes no version of the review protocol, or one twice",
        ),
    ];
    for (hooks, message) in cases {
        assert_eq!(refused(hooks), message);
    }
}

#[test]
fn names_and_paths_of_every_kind_are_checked() {
    for bad in [
        "A.b.c",
        "a..c",
        "-a.b.c",
        "a.b.c-",
        "a_b.c.d",
        "",
        &format!("{}.b.c", "x".repeat(64)),
    ] {
        let name = DeclarationError::Name(bad.to_owned()).to_string();
        assert_eq!(refused([validating("a", allow::<Pod>).named(bad)]), name);
    }
    for bad in ["", "//", "/a/", "/a//b"] {
        let hook = validating("a", allow::<Pod>).at(bad);
        assert!(
            refused([hook]).starts_with(&format!("the path `{bad}` of")),
            "{bad}"
        );
    }
    let good = Webhooks::new("example.com")
        .with(validating("a", allow::<Pod>).at("/"))
        .with(validating("b", allow::<Pod>).at("/a/b"));
    assert_eq!(good.check(), Ok(()));
}

#[tokio::test]
async fn webhooks_that_cannot_be_installed_are_not_served() {
    let webhooks = Webhooks::new("example.com")
        .with(validating("a", allow::<Pod>))
        .with(validating("b", allow::<Pod>).at("/a"));
    let answer = review(&webhooks, "/a", create(pod())).await;
    assert_eq!(answer.code, 500);
    assert!(
        answer
            .message()
            .starts_with("the webhooks cannot be served: the hooks `a.example.com` and")
    );
}
