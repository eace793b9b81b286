//! Admission policies and their bindings, and the writes that they see; and policies that are refused.
//!
//! A real server keeps policies, the bindings of a policy and selected parameters in Go maps, so of each case at most one
//! policy with one binding and one parameter denies, and policies that mutate beside others have nothing to do with them.

mod expressions;
mod matching;
mod objects;
mod refused;

use serde_json::{Map, Value, json};

use self::expressions::{Scope, VARIABLES, of_type};
use self::objects::Kind;
pub(crate) use self::objects::{GROUP, definition};
use crate::generate::random::Random;

/// Policies that are enforced on some writes, or policies that a server may refuse.
pub(crate) fn entry(random: &mut Random) -> Map<String, Value> {
    let entry = if random.one_in(3) {
        refused::entry(random)
    } else {
        enforced(random)
    };
    match entry {
        Value::Object(entry) => entry,
        _ => Map::new(),
    }
}

/// A policy, and what it needs.
#[derive(Debug)]
struct Plan {
    kind: Kind,
    mutating: bool,
    /// The parameters; null for a policy without.
    param_kind: Value,
    /// What stands for the parameters of the one binding.
    param_ref: Value,
    /// Whether several parameters may be selected.
    plural: bool,
    /// Whether the audit log is compared.
    audit: bool,
}

fn enforced(random: &mut Random) -> Value {
    let mut given = vec![
        json!({"send": "PATCH /api/v1/namespaces/{ns}", "headers": {"Content-Type": "application/merge-patch+json"}, "body": {"metadata": {"labels": {"env": "prod"}}}}),
    ];
    let kind = Kind::any(random);
    let with_params = random.one_in(3);
    let mut plan = Plan {
        kind,
        mutating: random.one_in(3),
        param_kind: Value::Null,
        param_ref: Value::Null,
        plural: false,
        audit: random.one_in(6),
    };
    if with_params {
        params(random, &mut plan, &mut given);
    }
    given.push(json!({"create": kind.old(random)}));
    let mut policies = vec![policy(random, &plan)];
    for name in ["b", "c"] {
        if random.one_in(5) {
            policies.push(beside(random, &plan, name));
        }
    }
    let mut steps: Vec<Value> = (0..random.between(4, 8))
        .map(|_| objects::write(random, kind, !with_params))
        .collect();
    if random.one_in(3) {
        let other = Kind::any(random);
        steps.push(objects::write(random, other, !with_params));
    }
    if random.one_in(8) {
        steps.push(objects::write_namespace(random));
    }
    if kind.namespaced {
        steps.push(json!({"send": format!("GET {}", kind.path(kind.version))}));
    }
    let mut entry = json!({
        "name": if plan.mutating { "a mutating policy" } else { "a validating policy" },
        "given": given, "policies": policies, "steps": steps,
    });
    if plan.audit {
        entry["audit"] = true.into();
    }
    entry
}

/// Chooses the kind of a policy's parameters, creates some, and refers to them.
fn params(random: &mut Random, plan: &mut Plan, given: &mut Vec<Value>) {
    let widget = |name: &str, size: u8| {
        json!({"create": {
            "apiVersion": format!("{GROUP}/v1"), "kind": "Widget", "metadata": {"name": name, "labels": {"p": name}}, "spec": {"size": size},
        }})
    };
    let map = |name: &str, allowed: &str| {
        json!({"create": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"p": name}},
            "data": {"allowed": allowed, "number": "3"},
        }})
    };
    let mut name = "p1";
    match random.below(8) {
        0..4 => {
            given.extend([map("p1", "v"), map("p2", "w")]);
            plan.param_kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        }
        4..6 => {
            given.extend([widget("p1", 3), widget("p2", 9)]);
            let version = random.pick(&["v1", "v1", "v1beta1"]);
            plan.param_kind = json!({"apiVersion": format!("{GROUP}/{version}"), "kind": "Widget"});
        }
        6 => {
            name = "system:basic-user";
            plan.param_kind =
                json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"});
        }
        _ => {
            plan.param_kind = random.one_of(&[
                json!({"apiVersion": "apps/v9", "kind": "Deployment"}),
                json!({"apiVersion": "{ns}.example.com/v1", "kind": "Nothing"}),
            ]);
        }
    }
    let action = random.pick(&["Deny", "Allow"]);
    let mut reference = json!({"parameterNotFoundAction": action});
    match random.below(8) {
        0 => reference["name"] = "missing".into(),
        1 => {
            // The param kind of a cluster-scoped one may have any number of objects.
            let selected = if name == "p1" { "p1" } else { "nothing" };
            reference["selector"] = json!({"matchLabels": {"p": selected}});
        }
        2 if !plan.mutating && name == "p1" => {
            plan.plural = true;
            reference["selector"] = random.one_of(&[
                json!({"matchExpressions": [{"key": "p", "operator": "Exists"}]}),
                json!({"matchExpressions": [{"key": "p", "operator": "In", "values": ["p1", "p2", "p3"]}]}),
            ]);
        }
        3 => reference["selector"] = json!({"matchLabels": {"p": "missing"}}),
        _ => reference["name"] = name.into(),
    }
    if random.one_in(5) {
        reference["namespace"] = random.pick(&["{ns}", "{ns}", "default"]).into();
    }
    // A binding without it has null as its parameters.
    if plan.plural || !random.one_in(12) {
        plan.param_ref = reference;
    }
}

/// The policy that may deny, with its bindings.
fn policy(random: &mut Random, plan: &Plan) -> Value {
    let mut spec =
        json!({"matchConstraints": matching::constraints(random, plan.kind, plan.mutating)});
    if random.one_in(3) {
        spec["failurePolicy"] = random.pick(&["Fail", "Ignore"]).into();
    }
    let mut scope = Scope {
        params: !plan.param_kind.is_null(),
        authorizer: true,
        costly: random.one_in(12),
        ..Scope::default()
    };
    if scope.params {
        spec["paramKind"] = plan.param_kind.clone();
    }
    if random.one_in(4) {
        let conditions = (0..random.between(1, 2)).map(|number| {
            json!({"name": format!("c{number}"), "expression": of_type(random, scope, "bool")})
        });
        spec["matchConditions"] = conditions.collect();
    }
    if random.one_in(3) {
        let mut variables = Vec::new();
        for (name, of) in VARIABLES {
            variables.push(json!({"name": name, "expression": of_type(random, scope, of)}));
        }
        spec["variables"] = variables.into();
        scope.variables = true;
    }
    let name = if plan.mutating {
        mutations(random, scope, &mut spec);
        "mutating"
    } else {
        validations(random, scope, &mut spec);
        "validating"
    };
    let bindings = bindings(random, plan, &spec);
    json!({name: "a", "spec": spec, "bindings": bindings})
}

fn validations(random: &mut Random, scope: Scope, spec: &mut Value) {
    let of_messages = Scope {
        authorizer: false,
        ..scope
    };
    let mut validations = Vec::new();
    for _ in 0..random.between(1, 4) {
        let expression = if random.one_in(3) {
            // What follows shows what its message says.
            "false".to_owned()
        } else {
            of_type(random, scope, "bool")
        };
        let mut validation = json!({"expression": expression});
        if random.one_in(3) {
            validation["message"] = random.pick(&["not so", "no: it's \"bad\""]).into();
        }
        if random.one_in(2) {
            validation["messageExpression"] = of_type(random, of_messages, "message").into();
        }
        if random.one_in(4) {
            let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
            validation["reason"] = random.pick(&reasons).into();
        }
        validations.push(validation);
    }
    spec["validations"] = validations.into();
    if random.one_in(5) {
        let annotations = ["a", "b-c"].map(
            |key| json!({"key": key, "valueExpression": of_type(random, scope, "annotation")}),
        );
        spec["auditAnnotations"] = annotations.into_iter().collect();
    }
}

fn mutations(random: &mut Random, scope: Scope, spec: &mut Value) {
    let scope = Scope {
        patch: true,
        ..scope
    };
    let mut mutations = Vec::new();
    for _ in 0..random.one_of(&[1, 1, 2, 3]) {
        mutations.push(if random.one_in(2) {
            json!({"patchType": "JSONPatch", "jsonPatch": {"expression": of_type(random, scope, "patches")}})
        } else {
            json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": of_type(random, scope, "apply")}})
        });
    }
    spec["mutations"] = mutations.into();
    if random.one_in(3) {
        spec["reinvocationPolicy"] = "IfNeeded".into();
    }
}

fn bindings(random: &mut Random, plan: &Plan, spec: &Value) -> Value {
    let mut first = json!({});
    if !plan.param_ref.is_null() {
        first["paramRef"] = plan.param_ref.clone();
    }
    if random.one_in(4) {
        first["matchResources"] = matching::resources(random, plan.kind);
    }
    if plan.mutating {
        return json!([first]);
    }
    let quiet = [json!(["Warn"]), json!(["Warn"]), json!(["Warn", "Audit"])];
    if plan.plural {
        let actions = if plan.audit {
            json!(["Warn"])
        } else {
            random.one_of(&quiet)
        };
        first["validationActions"] = actions;
        return json!([first]);
    }
    first["validationActions"] = random.one_of(&[
        json!(["Deny"]),
        json!(["Deny"]),
        json!(["Warn"]),
        json!(["Audit"]),
        json!(["Deny", "Audit"]),
        json!(["Audit", "Warn"]),
    ]);
    if random.one_in(12) {
        return json!([]);
    }
    let two = plan.param_kind.is_null() && random.one_in(8);
    // An audit annotation that fails denies by a binding that only warns, too.
    if two && spec.get("auditAnnotations").is_none() {
        return json!([first, {"validationActions": ["Warn"]}]);
    }
    json!([first])
}

/// A policy beside the one that may deny: it warns, or adds what no other expression reads.
fn beside(random: &mut Random, plan: &Plan, name: &str) -> Value {
    let constraints = matching::constraints(random, plan.kind, false);
    if random.one_in(3) {
        let mut constraints = constraints;
        matching::only_writes(&mut constraints);
        let value = json!({"expression": format!("Object{{metadata: Object.metadata{{annotations: {{'{name}.example.com/beside': 'x'}}}}}}")});
        return json!({"mutating": name, "spec": {
            "matchConstraints": constraints, "reinvocationPolicy": random.pick(&["Never", "IfNeeded"]),
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": value}],
        }});
    }
    let scope = Scope {
        authorizer: true,
        ..Scope::default()
    };
    let expression = of_type(random, scope, "bool");
    json!({
        "validating": name,
        "spec": {
            "matchConstraints": constraints,
            "validations": [{"expression": expression, "message": format!("beside {name}")}],
        },
        "binding": {"validationActions": ["Warn"]},
    })
}
