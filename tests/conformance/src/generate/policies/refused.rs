//! Policies and bindings that a server may refuse: created, updated, applied and deleted. They match no kind that there is.

use serde_json::{Value, json};

use super::expressions::{Scope, VARIABLES, faulty, of_type};
use crate::case::set;
use crate::generate::random::Random;

const ROOT: &str = "/apis/admissionregistration.k8s.io/v1";

/// Values for the fields of a policy or a binding: most are wrong.
const CHANGES: &[(&str, &str)] = &[
    ("/spec/failurePolicy", r#""Warn""#),
    ("/spec/failurePolicy", r#""""#),
    ("/spec/failurePolicy", r#""Ignore""#),
    (
        "/spec/paramKind",
        r#"{"apiVersion":"v1","kind":"ConfigMap"}"#,
    ),
    ("/spec/paramKind", r#"{"apiVersion":"a/b/c","kind":"1x"}"#),
    ("/spec/paramKind", "{}"),
    ("/spec/matchConstraints", "null"),
    ("/spec/matchConstraints", "{}"),
    ("/spec/matchConstraints/resourceRules", "[]"),
    (
        "/spec/matchConstraints/resourceRules/0/operations",
        r#"["*","CREATE"]"#,
    ),
    (
        "/spec/matchConstraints/resourceRules/0/operations",
        r#"["CONNECT","DELETE"]"#,
    ),
    (
        "/spec/matchConstraints/resourceRules/0/operations",
        r#"["PATCH"]"#,
    ),
    ("/spec/matchConstraints/resourceRules/0/operations", "[]"),
    (
        "/spec/matchConstraints/resourceRules/0/resources",
        r#"["*","a"]"#,
    ),
    (
        "/spec/matchConstraints/resourceRules/0/resources",
        r#"["a/*","a/b","*/c"]"#,
    ),
    (
        "/spec/matchConstraints/resourceRules/0/resources",
        r#"["","a/"]"#,
    ),
    (
        "/spec/matchConstraints/resourceRules/0/apiVersions",
        r#"["","*"]"#,
    ),
    ("/spec/matchConstraints/resourceRules/0/scope", r#""World""#),
    (
        "/spec/matchConstraints/resourceRules/0/resourceNames",
        r#"["a","a","b/c",""]"#,
    ),
    (
        "/spec/matchConstraints/excludeResourceRules",
        r#"[{"resourceNames":["x"]}]"#,
    ),
    ("/spec/matchConstraints/matchPolicy", r#""Near""#),
    (
        "/spec/matchConstraints/namespaceSelector",
        r#"{"matchLabels":{"a b":"c d"}}"#,
    ),
    (
        "/spec/matchConstraints/objectSelector",
        r#"{"matchExpressions":[{"key":"a","operator":"In"},{"key":"","operator":"Exists","values":["x"]}]}"#,
    ),
    (
        "/spec/matchConditions",
        r#"[{"name":"a","expression":"true"},{"name":"a","expression":""}]"#,
    ),
    (
        "/spec/matchConditions",
        r#"[{"name":"a b/c","expression":" "},{}]"#,
    ),
    (
        "/spec/variables",
        r#"[{"name":"a","expression":"1"},{"name":"a","expression":"'x'"}]"#,
    ),
    (
        "/spec/variables",
        r#"[{"name":"a-b","expression":"1"},{"name":"","expression":"1"}]"#,
    ),
    (
        "/spec/variables",
        r#"[{"name":"a","expression":"variables.b"},{"name":"b","expression":"variables.a"}]"#,
    ),
    (
        "/spec/variables",
        r#"[{"name":"for","expression":"1"},{"name":"true","expression":"1"}]"#,
    ),
    (
        "/spec/auditAnnotations",
        r#"[{"key":"a b","valueExpression":"'x'"},{"key":"","valueExpression":""}]"#,
    ),
    (
        "/spec/auditAnnotations",
        r#"[{"key":"a","valueExpression":"1"},{"key":"a","valueExpression":"null"}]"#,
    ),
    (
        "/spec/auditAnnotations",
        r#"[{"key":"a/b","valueExpression":"['x']"}]"#,
    ),
    ("/spec/validations", "[]"),
    ("/spec/validations/0/message", r#""a\nb""#),
    ("/spec/validations/0/message", r#""  ""#),
    ("/spec/validations/0/reason", r#""Nosuch""#),
    ("/spec/validations/0/reason", r#""Conflict""#),
    ("/spec/validations/0/messageExpression", r#""  ""#),
    ("/spec/validations/0/messageExpression", r#""'a\\nb'""#),
    ("/spec/mutations", "[]"),
    ("/spec/mutations/0/patchType", r#""Nosuch""#),
    ("/spec/mutations/0/patchType", r#""ApplyConfiguration""#),
    ("/spec/mutations/0/jsonPatch", "null"),
    (
        "/spec/mutations/0/applyConfiguration",
        r#"{"expression":"Object{}"}"#,
    ),
    ("/spec/reinvocationPolicy", r#""Always""#),
    ("/spec/reinvocationPolicy", "null"),
    ("/spec/unknown", "1"),
    ("/metadata/name", r#""{ns}_P""#),
    ("/metadata/annotations", r#"{"a b":"c"}"#),
    ("/spec/policyName", r#""""#),
    ("/spec/policyName", r#""a b""#),
    ("/spec/policyName", "null"),
    ("/spec/paramRef", "{}"),
    (
        "/spec/paramRef",
        r#"{"name":"a","selector":{},"parameterNotFoundAction":"Deny"}"#,
    ),
    (
        "/spec/paramRef",
        r#"{"name":"a b","namespace":"","parameterNotFoundAction":"Warn"}"#,
    ),
    (
        "/spec/paramRef",
        r#"{"selector":{"matchLabels":{"a":"-"}}}"#,
    ),
    ("/spec/paramRef", r#"{"name":"a","namespace":"b_c"}"#),
    (
        "/spec/matchResources",
        r#"{"resourceRules":[{"operations":["X"]}],"matchPolicy":""}"#,
    ),
    (
        "/spec/matchResources",
        r#"{"excludeResourceRules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}]}"#,
    ),
    ("/spec/validationActions", "[]"),
    ("/spec/validationActions", "null"),
    ("/spec/validationActions", r#"["Deny","Warn"]"#),
    ("/spec/validationActions", r#"["Warn","Deny","Warn"]"#),
    (
        "/spec/validationActions",
        r#"["Audit","Audit","Nosuch",""]"#,
    ),
    ("/spec/validationActions", r#"["Audit"]"#),
];

/// A policy or a binding, some writes of it, and what is left.
pub(super) fn entry(random: &mut Random) -> Value {
    let (resource, kind) = random.one_of(&[
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
        ("mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
        ("mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
        (
            "validatingadmissionpolicybindings",
            "ValidatingAdmissionPolicyBinding",
        ),
        (
            "mutatingadmissionpolicybindings",
            "MutatingAdmissionPolicyBinding",
        ),
    ]);
    let path = format!("{ROOT}/{resource}");
    let mut steps = Vec::new();
    for _ in 0..random.between(4, 7) {
        let object = object(random, kind, true);
        steps.push(json!({"send": format!("POST {path}?dryRun=All"), "body": object}));
    }
    steps.push(json!({"send": format!("POST {path}"), "body": object(random, kind, false)}));
    for _ in 0..random.between(2, 5) {
        steps.push(change(random, &path, kind));
    }
    steps.push(json!({"send": format!("GET {path}/{{ns}}-p")}));
    steps.push(json!({"send": format!("DELETE {path}/{{ns}}-p")}));
    json!({"name": format!("a {kind} that may be refused"), "steps": steps})
}

fn change(random: &mut Random, path: &str, kind: &str) -> Value {
    let at = format!("{path}/{{ns}}-p");
    let mut object = object(random, kind, true);
    match random.below(5) {
        0 => {
            tell_one_fault(&mut object["spec"]);
            json!({
                "send": format!("PATCH {at}?fieldManager=me&force=true"),
                "headers": {"Content-Type": "application/apply-patch+yaml"}, "body": object,
            })
        }
        1 => {
            let mut status = json!({"observedGeneration": random.between(0, 2)});
            if random.one_in(2) {
                status["typeChecking"] = json!({"expressionWarnings": [{"fieldRef": "spec.validations[0].expression", "warning": "w"}]});
            }
            if random.one_in(2) {
                status["conditions"] = json!([{"type": "Ready", "status": "Maybe", "reason": "R", "message": "", "lastTransitionTime": "2020-01-02T03:04:05Z"}]);
            }
            merge(&format!("{at}/status"), &json!({"status": status}))
        }
        2 => merge(&at, &json!({"spec": object["spec"]})),
        _ => json!({"send": format!("PUT {at}"), "body": object}),
    }
}

/// Where lists by name may have faults, takes the unknown field away: a real server looks at the fields of what is applied in
/// the order of a Go map, and at no more of them once it has met an unknown one.
fn tell_one_fault(spec: &mut Value) {
    let by_name = ["matchConditions", "variables"];
    if let Value::Object(fields) = spec
        && by_name.iter().any(|name| fields.contains_key(*name))
    {
        fields.remove("unknown");
    }
}

fn merge(path: &str, body: &Value) -> Value {
    json!({"send": format!("PATCH {path}"), "headers": {"Content-Type": "application/merge-patch+json"}, "body": body})
}

fn object(random: &mut Random, kind: &str, changed: bool) -> Value {
    let metadata = json!({"name": "{ns}-p"});
    let mut object = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata});
    object["spec"] = if kind.ends_with("Binding") {
        let mut spec = json!({"policyName": "{ns}-p"});
        if kind.starts_with("Validating") {
            spec["validationActions"] = json!(["Deny"]);
        }
        spec
    } else {
        policy(random, kind.starts_with("Mutating"), changed)
    };
    if changed {
        let applies = |pointer: &str| -> bool {
            let field = pointer.split('/').nth(2).unwrap_or_default();
            match field {
                "policyName" | "paramRef" | "matchResources" => kind.ends_with("Binding"),
                "validationActions" => kind == "ValidatingAdmissionPolicyBinding",
                "validations" | "auditAnnotations" => kind == "ValidatingAdmissionPolicy",
                "mutations" | "reinvocationPolicy" => kind == "MutatingAdmissionPolicy",
                "name" | "annotations" | "unknown" => true,
                _ => kind.ends_with("Policy"),
            }
        };
        let known: Vec<_> = CHANGES.iter().filter(|(at, _)| applies(at)).collect();
        for _ in 0..random.one_of(&[0, 0, 1, 1, 2, 3]) {
            let (pointer, value) = known[random.below(known.len())];
            let value = serde_json::from_str(value).expect("the values are JSON");
            // What an earlier change took away cannot be changed.
            set(&mut object, pointer, value).ok();
        }
    }
    object
}

/// The spec of a policy with some expressions that may not compile.
fn policy(random: &mut Random, mutating: bool, changed: bool) -> Value {
    let mut spec = json!({"matchConstraints": {"resourceRules": [{
        "apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"],
    }]}});
    let mut scope = Scope {
        authorizer: true,
        params: random.one_in(4),
        ..Scope::default()
    };
    if scope.params {
        spec["paramKind"] = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    }
    let expression = |random: &mut Random, scope: Scope, of: &str| {
        if changed && random.one_in(3) {
            faulty(random, scope, of)
        } else {
            of_type(random, scope, of)
        }
    };
    if random.one_in(4) {
        spec["matchConditions"] =
            json!([{"name": "c", "expression": expression(random, scope, "bool")}]);
    }
    if random.one_in(3) {
        let mut variables = Vec::new();
        for (name, of) in VARIABLES {
            variables.push(json!({"name": name, "expression": expression(random, scope, of)}));
        }
        spec["variables"] = variables.into();
        scope.variables = true;
    }
    if mutating {
        scope.patch = true;
        spec["reinvocationPolicy"] = "Never".into();
        spec["mutations"] = if random.one_in(2) {
            json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": expression(random, scope, "patches")}}])
        } else {
            json!([{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression(random, scope, "apply")}}])
        };
        return spec;
    }
    let mut validation = json!({"expression": expression(random, scope, "bool")});
    if random.one_in(2) {
        let scope = Scope {
            authorizer: random.one_in(20),
            ..scope
        };
        validation["messageExpression"] = expression(random, scope, "message").into();
    }
    spec["validations"] = json!([validation]);
    if random.one_in(4) {
        let value = expression(random, scope, "annotation");
        spec["auditAnnotations"] = json!([{"key": "a", "valueExpression": value}]);
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_has_a_value() {
        for (_, value) in CHANGES {
            let value: Result<Value, _> = serde_json::from_str(value);
            assert!(value.is_ok(), "{value:?}");
        }
    }
}
