//! Mutating admission policies: errors as a real API server returned them.

use super::samples::mutating_policy;
use super::*;

#[test]
fn mutating_policies_are_refused_with_the_api_servers_words() {
    let sample = mutating_policy();
    let rows: &[Row] = &[
        (
            "/spec/matchConstraints/resourceRules/0/operations",
            json!(["DELETE"]),
            &[
                r#"spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE""#,
            ],
        ),
        (
            "/spec/matchConstraints/resourceRules",
            json!([{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["DELETE", "X"], "resources": ["nothings"]}, {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["DELETE", "X"], "resources": ["nothings"]}]),
            &[
                r#"spec.matchConstraints.resourceRules[0].operations[1]: Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE""#,
                r#"spec.matchConstraints.resourceRules[1].operations[1]: Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE""#,
                r#"spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE""#,
                r#"spec.matchConstraints.resourceRules.operations: Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "UPDATE""#,
            ],
        ),
        (
            "/spec/matchConditions",
            json!([{"name": "a", "expression": "params.data.a == 'b'"}]),
            &[
                "spec.matchConditions[0].expression: Invalid value: \"params.data.a == 'b'\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.data.a == 'b'\n | ^",
            ],
        ),
        (
            "/spec/variables",
            json!([{"name": "a", "expression": "nope"}, {"name": "b", "expression": "variables.a + 1"}]),
            &[
                "spec.variables[0].expression: Invalid value: \"nope\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
            ],
        ),
        (
            "/spec/mutations",
            json!([]),
            &["spec.mutations: Required value: mutations must contain at least one item"],
        ),
        (
            "/spec/mutations",
            json!([{}]),
            &["spec.mutations[0].patchType: Required value"],
        ),
        (
            "/spec/reinvocationPolicy",
            Value::Null,
            &["spec.reinvocationPolicy: Required value"],
        ),
        (
            "/spec/reinvocationPolicy",
            json!("Always"),
            &[
                r#"spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never""#,
            ],
        ),
        (
            "/spec/mutations/0/patchType",
            Value::Null,
            &["spec.mutations[0].patchType: Required value"],
        ),
        (
            "/spec/mutations/0/patchType",
            json!("Merge"),
            &[
                r#"spec.mutations[0].patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch""#,
            ],
        ),
        (
            "/spec/mutations/0/applyConfiguration/expression",
            json!(" \n"),
            &["spec.mutations[0].applyConfiguration.expression: Required value"],
        ),
        (
            "/spec/mutations/0/applyConfiguration",
            Value::Null,
            &[
                "spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration",
            ],
        ),
        (
            "/spec/mutations/0/jsonPatch",
            json!({"expression": "nope"}),
            &[
                r#"spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration"#,
            ],
        ),
        (
            "/spec/mutations/0",
            json!({"patchType": "ApplyConfiguration", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/a'}]"}}),
            &[
                "spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration",
                r#"spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration"#,
            ],
        ),
        (
            "/spec/mutations/0/applyConfiguration/expression",
            json!("Object{}"),
            &[],
        ),
        (
            "/spec/mutations/0/applyConfiguration/expression",
            json!("  {'spec': 1}"),
            &[
                r#"spec.mutations[0].applyConfiguration.expression: Invalid value: "{'spec': 1}": must evaluate to Object but got map(string, int)"#,
            ],
        ),
        (
            "/spec/mutations/0/applyConfiguration/expression",
            json!("object"),
            &[
                r#"spec.mutations[0].applyConfiguration.expression: Invalid value: "object": must evaluate to Object but got dyn"#,
            ],
        ),
        (
            "/spec/mutations/0/applyConfiguration/expression",
            json!("Object{spec: Object.status{}}"),
            &[],
        ),
        (
            "/spec/mutations/0/applyConfiguration/expression",
            json!("Object{spec: params.data}"),
            &[
                "spec.mutations[0].applyConfiguration.expression: Invalid value: \"Object{spec: params.data}\": compilation failed: ERROR: <input>:1:14: undeclared reference to 'params' (in container '')\n | Object{spec: params.data}\n | .............^",
            ],
        ),
        (
            "/spec/mutations/0/applyConfiguration/expression",
            json!("Object{spec: Object.spec{size: variables.a}}"),
            &[
                "spec.mutations[0].applyConfiguration.expression: Invalid value: \"Object{spec: Object.spec{size: variables.a}}\": compilation failed: ERROR: <input>:1:41: undefined field 'a'\n | Object{spec: Object.spec{size: variables.a}}\n | ........................................^",
            ],
        ),
        (
            "/spec/mutations/0/applyConfiguration/expression",
            json!("authorizer.requestResource.check('get').allowed() ? Object{} : Object{}"),
            &[],
        ),
        (
            "/spec/mutations/0",
            json!({"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/spec/' + jsonpatch.escapeKey('a/b'), value: Object.spec{a: 1}}]"}}),
            &[],
        ),
        (
            "/spec/mutations/0",
            json!({"patchType": "JSONPatch"}),
            &[
                "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
            ],
        ),
        (
            "/spec/mutations/0",
            json!({"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}}),
            &[
                "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
                r#"spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch"#,
            ],
        ),
        (
            "/spec/mutations/0",
            json!({"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}),
            &[
                r#"spec.mutations[0].jsonPatch.expression: Invalid value: "[]": must evaluate to list(JSONPatch) but got list(dyn)"#,
            ],
        ),
        (
            "/spec/mutations/0",
            json!({"patchType": "JSONPatch", "jsonPatch": {"expression": "object.a == 1 ? [JSONPatch{op: 'remove', path: '/a'}] : []"}}),
            &[],
        ),
        (
            "/spec/mutations/0",
            json!({"patchType": "JSONPatch", "jsonPatch": {"expression": "JSONPatch{op: 'remove', path: '/a'}"}}),
            &[
                r#"spec.mutations[0].jsonPatch.expression: Invalid value: "JSONPatch{op: 'remove', path: '/a'}": must evaluate to list(JSONPatch) but got JSONPatch"#,
            ],
        ),
        (
            "/spec/mutations",
            json!([{"patchType": "JSONPatch", "jsonPatch": {"expression": "1"}}, {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "1"}}]),
            &[
                r#"spec.mutations[0].jsonPatch.expression: Invalid value: "1": must evaluate to list(JSONPatch) but got int"#,
                r#"spec.mutations[1].applyConfiguration.expression: Invalid value: "1": must evaluate to Object but got int"#,
            ],
        ),
    ];
    for (pointer, value, expected) in rows {
        let errors = created(&sample, pointer, value.clone());
        assert_eq!(errors, *expected, "{pointer}");
    }
}

#[test]
fn changed_mutating_policies_are_refused_with_the_api_servers_words() {
    let mut sample = mutating_policy();
    sample.3["spec"] = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": {"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}]}, "reinvocationPolicy": "Never", "matchConditions": [{"name": "a", "expression": "params.a == 'b'"}], "variables": [{"name": "v", "expression": "params.a"}], "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{spec: variables.v}"}}, {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/a', value: params.a}]"}}]});
    let rows: &[Row] = &[
        (
            "/spec/paramKind",
            Value::Null,
            &[
                "spec.matchConditions[0].expression: Invalid value: \"params.a == 'b'\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a == 'b'\n | ^",
                "spec.variables[0].expression: Invalid value: \"params.a\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a\n | ^",
                "spec.mutations[1].jsonPatch.expression: Invalid value: \"[JSONPatch{op: 'add', path: '/a', value: params.a}]\": compilation failed: ERROR: <input>:1:42: undeclared reference to 'params' (in container '')\n | [JSONPatch{op: 'add', path: '/a', value: params.a}]\n | .........................................^",
            ],
        ),
        (
            "/spec/matchConstraints/resourceRules/0/operations",
            json!(["DELETE"]),
            &[
                r#"spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE""#,
            ],
        ),
        (
            "/spec/mutations/1/jsonPatch/expression",
            json!("1"),
            &[
                r#"spec.mutations[1].jsonPatch.expression: Invalid value: "1": must evaluate to list(JSONPatch) but got int"#,
            ],
        ),
    ];
    for (pointer, value, expected) in rows {
        let errors = updated(&sample, pointer, value.clone());
        assert_eq!(errors, *expected, "{pointer}");
    }
}
