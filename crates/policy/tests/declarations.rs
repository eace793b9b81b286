//! What is wrong with a policy is found before anything is served or applied.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kubewright_controller::{Cached, Informers, Scope};
use kubewright_policy::{Mutates, ParamRef, Policy, Validates};
use kubewright_webhook::{DeclarationError, Webhooks};

fn checked<R>(policy: Policy<Pod, R>) -> Result<(), DeclarationError> {
    Webhooks::new("example.com").with(policy).check()
}

fn problem<R>(policy: Policy<Pod, R>) -> String {
    match checked(policy) {
        Err(DeclarationError::Policy { policy, why }) => {
            assert_eq!(policy, "pods.example.com");
            why
        }
        other => panic!("{other:?}"),
    }
}

/// Why it is no webhook on a cluster of Kubernetes 1.29.
fn no_webhook(policy: Policy<Pod>) -> Option<String> {
    let webhooks = Webhooks::new("example.com").with(policy);
    assert_eq!(webhooks.check(), Ok(()), "as a policy it is valid");
    match webhooks.for_kubernetes("1.29".parse().unwrap()).check() {
        Ok(()) => None,
        Err(DeclarationError::NoWebhook { why, .. }) => Some(why),
        Err(other) => panic!("{other}"),
    }
}

fn pods() -> Policy<Pod, Validates> {
    Policy::validating("pods")
}

fn changes() -> Policy<Pod, Mutates> {
    Policy::<Pod>::mutating("pods")
}

#[test]
fn a_policy_without_rules_is_refused() {
    assert!(problem(pods()).contains("no rule"));
    assert!(problem(changes()).contains("no mutation"));
}

#[test]
fn a_shadow_of_changes_that_no_webhook_can_decide_is_refused() {
    let asks = "authorizer.group('').resource('pods').check('get').allowed() ? Object{} : Object{}";
    let why = problem(changes().apply(asks).shadow());
    assert!(
        why.starts_with("in shadow mode it has to be a webhook, and it asks the authorizer"),
        "{why}"
    );
    assert_eq!(checked(changes().apply(asks)), Ok(()));
}

#[test]
fn an_expression_that_does_not_compile_is_refused_with_its_place() {
    let why = problem(pods().rule("object.spec.containers.all(c,)", "no"));
    let place = format!("{}:{}:", file!(), line!() - 1);
    assert!(why.starts_with(&place), "{why}");
    assert!(why.contains("rule 1: ERROR: <input>:1:"), "{why}");
}

#[test]
fn each_expression_is_called_by_its_name() {
    let broken = "1 +";
    let named = [
        (
            problem(pods().variable("n", broken).rule("true", "")),
            "variable `n`",
        ),
        (
            problem(pods().when("c", broken).rule("true", "")),
            "condition `c`",
        ),
        (
            problem(pods().rule("true", "").message_expression(broken)),
            "message expression of rule 1",
        ),
        (
            problem(pods().audit_annotation("k", broken)),
            "audit annotation `k`",
        ),
        (problem(changes().apply(broken)), "mutation 1"),
    ];
    for (why, name) in named {
        assert!(why.contains(&format!(": {name}: ")), "{why}");
    }
}

#[test]
fn a_rule_that_is_no_condition_is_refused() {
    assert!(problem(pods().rule("'a'", "")).contains("must evaluate to bool but got string"));
    let patch = problem(changes().patch("{'a': 1}"));
    assert!(
        patch.contains("must evaluate to list(JSONPatch)"),
        "{patch}"
    );
}

#[test]
fn a_message_expression_before_every_rule_is_refused() {
    let why = problem(pods().message_expression("'a'").rule("true", ""));
    assert!(why.contains("belongs to the rule before it"), "{why}");
}

#[test]
fn a_policy_denies_or_warns_but_not_both() {
    assert!(problem(pods().rule("true", "").deny().warn()).contains("both denies and warns"));
    assert_eq!(checked(pods().rule("true", "").deny().audit()), Ok(()));
    assert_eq!(checked(pods().rule("true", "").warn().audit()), Ok(()));
}

#[test]
fn two_variables_of_one_name_are_refused() {
    let why = problem(
        pods()
            .variable("a", "1")
            .variable("a", "2")
            .rule("true", ""),
    );
    assert_eq!(why, "two of its variables are named `a`");
}

#[test]
fn a_policy_and_a_hook_of_one_name_are_refused() {
    let webhooks = Webhooks::new("example.com").with(pods().rule("true", ""));
    let twice = webhooks.with(pods().rule("true", ""));
    let clash = DeclarationError::NameClash("pods.example.com".to_owned());
    assert_eq!(twice.check(), Err(clash));
}

#[test]
fn a_policy_that_asks_the_authorizer_is_no_webhook() {
    let check = "authorizer.path('/admin').check('get').allowed()";
    for policy in [
        pods().rule(check, ""),
        pods().variable("admin", check).rule("variables.admin", ""),
        pods().when("admin", check).rule("true", ""),
        pods().rule("authorizer.requestResource.check('get').allowed()", ""),
    ] {
        let why = no_webhook(policy).unwrap();
        assert!(why.starts_with("it asks the authorizer"), "{why}");
    }
}

#[test]
fn a_policy_needs_handles_for_what_its_webhook_reads() {
    let informers = Informers::default();
    let params = || Cached::<ConfigMap>::new(&informers, Scope::all());
    let namespaces = || Cached::<Namespace>::new(&informers, Scope::all());
    let limits = || ParamRef::named("limits");
    let rule = "params.data.a == 'a'";
    let why = no_webhook(pods().params::<ConfigMap>(limits()).rule(rule, "")).unwrap();
    assert!(why.contains(".params_from("), "{why}");
    assert_eq!(
        no_webhook(pods().params_from(params(), limits()).rule(rule, "")),
        None
    );
    let rule = "namespaceObject.metadata.name == 'a'";
    let why = no_webhook(pods().rule(rule, "")).unwrap();
    assert!(why.contains(".namespaces_from("), "{why}");
    assert_eq!(
        no_webhook(pods().namespaces_from(namespaces()).rule(rule, "")),
        None
    );
}

#[test]
fn the_oldest_cluster_decides_which_policies_are_webhooks() {
    let webhooks = Webhooks::new("example.com")
        .with(pods().rule("true", ""))
        .with(
            changes()
                .named("changes.pods.example.com")
                .at("/changes")
                .apply("Object{}"),
        );
    let forms = |version: &str| {
        let webhooks = webhooks.clone().for_kubernetes(version.parse().unwrap());
        assert_eq!(webhooks.check(), Ok(()));
        (webhooks.policies().len(), webhooks.declarations().len())
    };
    assert_eq!(forms("1.29"), (0, 2));
    assert_eq!(forms("1.30"), (1, 1));
    assert_eq!(forms("1.35"), (1, 1));
    assert_eq!(forms("v1.36"), (2, 0));
    // The last word counts.
    let back = webhooks.for_kubernetes("1.29".parse().unwrap());
    let back = back.for_kubernetes("1.37".parse().unwrap());
    assert_eq!((back.policies().len(), back.declarations().len()), (2, 0));
}
