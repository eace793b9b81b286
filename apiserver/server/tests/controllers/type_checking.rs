//! Type checking of ValidatingAdmissionPolicies, by the schemas that the server publishes.

use serde_json::{Value, json};

use super::{all, settled};
use crate::cluster::Cluster;

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

/// A policy for the resources of a group and version.
fn policy(place: [&str; 2], resources: &[&str], expression: &str) -> Value {
    let [group, version] = place;
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "checked"},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": resources,
            }]},
            "validations": [{"expression": expression}],
        },
    })
}

async fn status(cluster: &Cluster, policy: &Value) -> Value {
    cluster.made(POLICIES, policy).await;
    let policy = cluster.read(&format!("{POLICIES}/checked")).await;
    policy["status"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_field_that_a_built_in_kind_does_not_have_is_a_warning() {
    let cluster = all();
    let policy = policy(
        ["apps", "v1"],
        &["deployments", "deployments/scale"],
        "object.spec.replicas > '1'",
    );
    let warning = "apps/v1, Kind=Deployment: ERROR: <input>:1:22: \
                   found no matching overload for '_>_' applied to '(int, string)'\n \
                   | object.spec.replicas > '1'\n \
                   | .....................^\n";
    assert_eq!(
        status(&cluster, &policy).await,
        json!({
            "observedGeneration": 1,
            "typeChecking": {"expressionWarnings": [
                {"fieldRef": "spec.validations[0].expression", "warning": warning},
            ]},
        })
    );
}

#[tokio::test(start_paused = true)]
async fn expressions_that_fit_built_in_kinds_have_no_warnings() {
    let cluster = all();
    for expression in [
        "size(object.spec.template.spec.containers) > 0 && object.spec.template.spec.containers.all(c, c.ports.all(p, p.containerPort < 1024))",
        "has(object.spec.strategy.rollingUpdate) && object.spec.strategy.rollingUpdate.maxSurge == '10%'",
        "object.metadata.creationTimestamp < timestamp('2027-01-01T00:00:00Z')",
        "object.metadata.labels.exists(name, name == 'app') && object.spec.selector.matchLabels['app'] != ''",
        "!has(object.metadata.__namespace__) || object.metadata.__namespace__ == request.namespace",
        "object.status.conditions.exists(c, c.type == 'Available') || oldObject == null",
    ] {
        let policy = policy(["apps", "v1"], &["deployments"], expression);
        let status = status(&cluster, &policy).await;
        assert_eq!(status["typeChecking"], json!({}), "{expression}");
        let path = format!("{POLICIES}/checked");
        cluster.delete(&path).await.expect(200);
        settled().await;
    }
}

/// The messages are those of the type checker of Kubernetes 1.37 for the same expressions.
#[tokio::test(start_paused = true)]
async fn built_in_kinds_have_the_types_that_they_have_in_a_real_controller() {
    let cluster = all();
    for (group, plural, expression, column, message) in [
        // Quantities are strings or numbers, which is no type of the language.
        (
            "",
            "pods",
            "object.spec.containers.all(c, has(c.resources.limits))",
            34,
            "undefined field 'limits'",
        ),
        (
            "",
            "pods",
            "object.metadata.managedFields[0].fieldsV1.a == 1",
            42,
            "undefined field 'a'",
        ),
        (
            "",
            "pods",
            "object.metadata.labels == 1",
            24,
            "found no matching overload for '_==_' applied to '(map(string, string), int)'",
        ),
        (
            "",
            "pods",
            "object.metadata.creationTimestamp == 1",
            35,
            "found no matching overload for '_==_' applied to '(timestamp, int)'",
        ),
        (
            "apps",
            "deployments",
            "object.spec.selector.matchExpressions.exists(e, e.key == 1)",
            55,
            "found no matching overload for '_==_' applied to '(string, int)'",
        ),
        (
            "apps",
            "deployments",
            "authorizer.requestResource.check('get').allowed()",
            11,
            "unexpected failed resolution of 'kubernetes.authorization.Authorizer'",
        ),
    ] {
        let policy = policy([group, "v1"], &[plural], expression);
        let status = status(&cluster, &policy).await;
        let warning = status["typeChecking"]["expressionWarnings"][0]["warning"].as_str();
        let (_, found) = warning.unwrap().split_once(": ").unwrap();
        let pointer = ".".repeat(column - 1);
        assert_eq!(
            found,
            format!("ERROR: <input>:1:{column}: {message}\n | {expression}\n | {pointer}^\n")
        );
        cluster
            .delete(&format!("{POLICIES}/checked"))
            .await
            .expect(200);
        settled().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_policy_is_checked_again() {
    let cluster = all();
    let before = policy(["", "v1"], &["pods"], "object.spec.hostnam == ''");
    let checked = status(&cluster, &before).await;
    let warning = &checked["typeChecking"]["expressionWarnings"][0]["warning"];
    assert!(
        warning
            .as_str()
            .unwrap()
            .starts_with("/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'hostnam'")
    );
    let fixed = json!({"spec": {"validations": [{"expression": "object.spec.hostname == ''"}]}});
    let path = format!("{POLICIES}/checked");
    cluster.patch("merge", &path, &fixed).await.expect(200);
    settled().await;
    // Server-side apply takes an object away with the last field that the controller owned in it.
    assert_eq!(
        cluster.read(&path).await["status"],
        json!({"observedGeneration": 2})
    );
}

#[tokio::test(start_paused = true)]
async fn rules_with_wildcards_are_not_checked() {
    for (place, resources) in [
        (["apps", "*"], ["deployments"]),
        (["*", "v1"], ["deployments"]),
        (["apps", "v1"], ["*"]),
        (["apps", "v1"], ["deployments/scale"]),
        (["apps", "v1"], ["unknown"]),
    ] {
        let cluster = all();
        let policy = policy(place, &resources, "object.foo == 'bar'");
        assert_eq!(
            status(&cluster, &policy).await,
            json!({"observedGeneration": 1, "typeChecking": {}}),
            "{place:?} {resources:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn each_matched_kind_has_a_message_in_the_order_of_groups_and_kinds() {
    let cluster = all();
    let mut policy = policy(
        ["apps", "v1"],
        &["statefulsets", "deployments"],
        "object.spec.serviceName == ''",
    );
    let rules = &mut policy["spec"]["matchConstraints"]["resourceRules"];
    let mut services = rules[0].clone();
    services["apiGroups"] = json!([""]);
    services["resources"] = json!(["services"]);
    rules.as_array_mut().unwrap().push(services);
    let status = status(&cluster, &policy).await;
    let warning = status["typeChecking"]["expressionWarnings"][0]["warning"].as_str();
    let kinds: Vec<&str> = warning
        .unwrap()
        .split("\n\n")
        .map(|part| part.split_once(": ").unwrap().0)
        .collect();
    assert_eq!(kinds, ["/v1, Kind=Service", "apps/v1, Kind=Deployment"]);
}

#[tokio::test(start_paused = true)]
async fn custom_resources_are_checked_by_the_schema_of_their_definition() {
    let cluster = all();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gardens.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "gardens", "singular": "garden", "kind": "Garden", "listKind": "GardenList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"beds": {"type": "integer"}}}},
            }}}],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.made(definitions, &definition).await;
    let mut policy = policy(
        ["example.com", "v1"],
        &["gardens"],
        "object.spec.beds > 0 && object.metadata.labels.owner == params.data.owner",
    );
    policy["spec"]["paramKind"] = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    policy["spec"]["validations"][0]["messageExpression"] =
        "string(object.spec.bed) + params.dat".into();
    let warnings = status(&cluster, &policy).await["typeChecking"]["expressionWarnings"].clone();
    let warning = "example.com/v1, Kind=Garden: ERROR: <input>:1:19: undefined field 'bed'\n \
                   | string(object.spec.bed) + params.dat\n \
                   | ..................^\n\
                   ERROR: <input>:1:33: undefined field 'dat'\n \
                   | string(object.spec.bed) + params.dat\n \
                   | ................................^\n";
    assert_eq!(
        warnings,
        json!([{"fieldRef": "spec.validations[0].messageExpression", "warning": warning}])
    );
}
