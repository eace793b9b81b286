//! Match conditions of webhooks.

use serde_json::{Value as Json, json};

use crate::{
    AccessCheck, Authority, Authorizer, Budget, Decision, Environment, EvaluationError,
    ResourceAttributes, Target, User, Value, Variables,
};

fn request() -> Json {
    json!({
        "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "name": "web", "namespace": "blue", "operation": "CREATE", "dryRun": false,
        "userInfo": {"username": "system:node:a", "groups": ["system:nodes"]},
    })
}

struct OnlyPods;

impl Authorizer for OnlyPods {
    fn authorize(&self, check: &AccessCheck<'_>) -> Decision {
        let allowed = matches!(
            check.target,
            Target::Resource(ResourceAttributes {
                resource: "pods",
                ..
            })
        );
        let user = match check.user {
            User::Requester => "alice".to_owned(),
            User::ServiceAccount { namespace, name } => {
                format!("system:serviceaccount:{namespace}:{name}")
            }
        };
        Decision {
            allowed,
            reason: format!("{user} may {}", check.verb),
            error: String::new(),
        }
    }
}

fn matches(condition: &str) -> Result<bool, String> {
    let program = Environment::admission()
        .compile(condition)
        .map_err(|error| error.to_string())?;
    let (object, request) = (json!({"spec": {"replicas": 3}}), request());
    let authority = Authority::new(&OnlyPods);
    let mine = authority.request_resource(&ResourceAttributes {
        group: "apps",
        resource: "deployments",
        namespace: "blue",
        name: "web",
        ..ResourceAttributes::default()
    });
    let variables = Variables::new()
        .with_json("object", &object)
        .with("oldObject", Value::Null)
        .with_json("request", &request)
        .with("namespaceObject", Value::Null)
        .with("authorizer", authority.value())
        .with("authorizer.requestResource", mine);
    let result = program.evaluate(&variables, &mut Budget::match_conditions());
    let result = result.map_err(|error| error.to_string())?;
    result.as_bool().ok_or_else(|| "no bool".to_owned())
}

#[test]
fn conditions_see_the_request_and_both_objects() {
    for condition in [
        "request.operation == 'CREATE' && request.namespace == 'blue'",
        "!has(request.subResource) && has(request.name)",
        "request.resource.resource == 'deployments' && request.kind.kind == 'Deployment'",
        "'system:nodes' in request.userInfo.groups && request.userInfo.username.startsWith('system:node:')",
        "oldObject == null || oldObject.spec != object.spec",
        "object.spec.replicas > 2 && !request.dryRun",
        "namespaceObject == null",
    ] {
        assert_eq!(matches(condition), Ok(true), "{condition}");
    }
    assert_eq!(
        matches("oldObject.spec.replicas == 1"),
        Err("no such key: spec".to_owned())
    );
    assert_eq!(
        matches("request.subResource == ''"),
        Err("no such key: subResource".to_owned())
    );
}

#[test]
fn fields_that_the_request_does_not_have_are_refused() {
    insta::assert_snapshot!(matches("request.object.spec == null").unwrap_err(), @r"
    compilation failed: ERROR: <input>:1:8: undefined field 'object'
     | request.object.spec == null
     | .......^
    ");
    assert!(
        matches("params.x == 1")
            .unwrap_err()
            .contains("undeclared reference to 'params'")
    );
    assert!(
        matches("variables.x == 1")
            .unwrap_err()
            .contains("undeclared reference to 'variables'")
    );
}

#[test]
fn the_type_of_a_condition_is_named_as_kubernetes_names_it() {
    let name = |condition: &str| {
        Environment::admission()
            .compile(condition)
            .unwrap()
            .output_type()
            .to_string()
    };
    assert_eq!(name("object.spec.replicas > 1"), "bool");
    assert_eq!(name("object.spec.replicas"), "dyn");
    assert_eq!(name("request.userInfo.groups"), "list(string)");
    assert_eq!(name("[]"), "list(dyn)");
    assert_eq!(name("null"), "null_type");
    assert_eq!(name("duration('1s')"), "google.protobuf.Duration");
    assert_eq!(name("request.kind"), "kubernetes.GroupVersionKind");
    assert_eq!(name("object.?spec"), "optional_type(dyn)");
}

#[test]
fn conditions_can_ask_the_authorizer() {
    for condition in [
        "authorizer.group('').resource('pods').namespace('blue').check('get').allowed()",
        "!authorizer.requestResource.check('update').allowed()",
        "!authorizer.path('/healthz').check('get').allowed()",
        "authorizer.group('').resource('pods').check('get').reason() == 'alice may get'",
        "authorizer.serviceAccount('blue', 'robot').group('').resource('pods').check('get').reason() \
            == 'system:serviceaccount:blue:robot may get'",
        "!authorizer.group('').resource('pods').subresource('log').name('a').check('get').errored()",
    ] {
        assert_eq!(matches(condition), Ok(true), "{condition}");
    }
    assert_eq!(
        matches("authorizer.path('').check('get').allowed()"),
        Err("path must not be empty".to_owned())
    );
}

#[test]
fn checks_of_the_authorizer_cost_so_much_that_two_fit_into_an_expression() {
    let check = "authorizer.path('/a').check('get').allowed()";
    assert_eq!(matches(&[check, check].join(" || ")), Ok(false));
    assert_eq!(
        matches(&[check, check, check].join(" || ")),
        Err("operation cancelled: actual cost limit exceeded".to_owned())
    );
}

#[test]
fn the_total_budget_is_shared_by_all_conditions_of_a_webhook() {
    let program = Environment::admission()
        .compile("object.all(x, x > 0)")
        .unwrap();
    let object = json!([1, 2, 3]);
    let variables = Variables::new().with_json("object", &object);
    let mut budget = Budget::new(1_000_000, 30);
    assert!(program.evaluate(&variables, &mut budget).is_ok());
    assert_eq!((budget.last_cost(), budget.remaining()), (17, 13));
    let spent = program.evaluate(&variables, &mut budget);
    assert_eq!(spent.unwrap_err(), EvaluationError::OutOfBudget);
    assert_eq!(
        EvaluationError::OutOfBudget.to_string(),
        "validation failed due to running out of cost budget, no further validation rules will be run"
    );
}
