//! Validating admission policies: errors as a real API server returned them.

use super::samples::validating_policy;
use super::*;

#[test]
fn validating_policies_are_refused_with_the_api_servers_words() {
    let sample = validating_policy();
    let rows: &[Row] = &[
        (
            "/spec/failurePolicy",
            json!("Warn"),
            &[
                r#"spec.failurePolicy: Unsupported value: "Warn": supported values: "Fail", "Ignore""#,
            ],
        ),
        (
            "/spec/failurePolicy",
            json!(""),
            &[r#"spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore""#],
        ),
        (
            "/spec/paramKind",
            json!({}),
            &[
                "spec.paramKind.apiVersion: Required value",
                "spec.paramKind.kind: Required value",
            ],
        ),
        (
            "/spec/paramKind",
            json!({"apiVersion": "Rules_example/v1", "kind": "Limit"}),
            &[
                r#"spec.paramKind.apiVersion: Invalid value: "Rules_example": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            ],
        ),
        (
            "/spec/paramKind",
            json!({"apiVersion": "example.com/", "kind": "Limit"}),
            &[
                r#"spec.paramKind.apiVersion: Invalid value: "example.com/": version must be specified"#,
            ],
        ),
        (
            "/spec/paramKind",
            json!({"apiVersion": "a/b/c", "kind": "Limit"}),
            &[
                r#"spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#,
            ],
        ),
        (
            "/spec/paramKind",
            json!({"apiVersion": "example.com/v1", "kind": "Limit_1"}),
            &[
                r#"spec.paramKind.kind: Invalid value: "Limit_1": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"#,
            ],
        ),
        (
            "/spec/matchConstraints",
            Value::Null,
            &["spec.matchConstraints: Required value"],
        ),
        (
            "/spec/matchConstraints",
            json!({}),
            &["spec.matchConstraints.resourceRules: Required value"],
        ),
        (
            "/spec/matchConstraints/matchPolicy",
            json!("Near"),
            &[
                r#"spec.matchConstraints.matchPolicy: Unsupported value: "Near": supported values: "Equivalent", "Exact""#,
            ],
        ),
        (
            "/spec/matchConstraints/namespaceSelector",
            json!({"matchLabels": {"a b": "c"}}),
            &[
                r#"spec.matchConstraints.namespaceSelector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
            ],
        ),
        (
            "/spec/matchConstraints/objectSelector",
            json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            &[
                "spec.matchConstraints.objectSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ],
        ),
        (
            "/spec/matchConstraints/resourceRules/0",
            json!({}),
            &[
                "spec.matchConstraints.resourceRules[0].operations: Required value",
                "spec.matchConstraints.resourceRules[0].apiGroups: Required value",
                "spec.matchConstraints.resourceRules[0].apiVersions: Required value",
                "spec.matchConstraints.resourceRules[0].resources: Required value",
            ],
        ),
        (
            "/spec/matchConstraints/resourceRules/0/resourceNames",
            json!([".", "..", "a/b", "a%b", "a/%", ""]),
            &[
                r#"spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: ".": may not be '.'"#,
                r#"spec.matchConstraints.resourceRules[0].resourceNames[1]: Invalid value: "..": may not be '..'"#,
                r#"spec.matchConstraints.resourceRules[0].resourceNames[2]: Invalid value: "a/b": may not contain '/'"#,
                r#"spec.matchConstraints.resourceRules[0].resourceNames[3]: Invalid value: "a%b": may not contain '%'"#,
                r#"spec.matchConstraints.resourceRules[0].resourceNames[4]: Invalid value: "a/%": may not contain '/'"#,
                r#"spec.matchConstraints.resourceRules[0].resourceNames[4]: Invalid value: "a/%": may not contain '%'"#,
            ],
        ),
        (
            "/spec/matchConstraints/resourceRules/0/resourceNames",
            json!(["a", "b", "a", "a"]),
            &[
                r#"spec.matchConstraints.resourceRules[0].resourceNames[2]: Duplicate value: "a""#,
                r#"spec.matchConstraints.resourceRules[0].resourceNames[3]: Duplicate value: "a""#,
            ],
        ),
        (
            "/spec/matchConstraints/resourceRules/0/operations",
            json!(["PATCH"]),
            &[
                r#"spec.matchConstraints.resourceRules[0].operations[0]: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE""#,
            ],
        ),
        (
            "/spec/matchConstraints/resourceRules/0/operations",
            json!(["DELETE"]),
            &[],
        ),
        (
            "/spec/matchConstraints/excludeResourceRules",
            json!([{"resourceNames": ["a/b"]}]),
            &[
                r#"spec.matchConstraints.excludeResourceRules[0].resourceNames[0]: Invalid value: "a/b": may not contain '/'"#,
                "spec.matchConstraints.excludeResourceRules[0].operations: Required value",
                "spec.matchConstraints.excludeResourceRules[0].apiGroups: Required value",
                "spec.matchConstraints.excludeResourceRules[0].apiVersions: Required value",
                "spec.matchConstraints.excludeResourceRules[0].resources: Required value",
            ],
        ),
        (
            "/spec/matchConditions",
            json!([{"name": "a", "expression": "true"}, {"name": "a", "expression": "false"}, {"name": "a", "expression": ""}]),
            &[
                r#"spec.matchConditions[1].name: Duplicate value: "a""#,
                "spec.matchConditions[2].expression: Required value",
                r#"spec.matchConditions[2].name: Duplicate value: "a""#,
            ],
        ),
        (
            "/spec/matchConditions",
            json!([{"name": "a", "expression": " 1 + 1"}]),
            &[
                r#"spec.matchConditions[0].expression: Invalid value: "1 + 1": must evaluate to bool but got int"#,
            ],
        ),
        (
            "/spec/matchConditions",
            json!([{"name": "a", "expression": "  object.a +\n"}]),
            &[
                "spec.matchConditions[0].expression: Invalid value: \"object.a +\": compilation failed: ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | object.a +\n | ..........^",
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
            json!([{}]),
            &[
                "spec.variables[0].name: Required value: name is not specified",
                "spec.variables[0].expression: Required value: expression is not specified",
            ],
        ),
        (
            "/spec/variables",
            json!([{"name": "", "expression": "1 +"}]),
            &[
                "spec.variables[0].name: Required value: name is not specified",
                "spec.variables[0].expression: Invalid value: \"1 +\": compilation failed: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^",
            ],
        ),
        (
            "/spec/variables",
            json!([{"name": "namespace", "expression": "1"}]),
            &[
                r#"spec.variables[0].name: Invalid value: "namespace": must be a valid CEL identifier"#,
            ],
        ),
        (
            "/spec/variables",
            json!([{"name": "ä", "expression": "1"}]),
            &[r#"spec.variables[0].name: Invalid value: "ä": must be a valid CEL identifier"#],
        ),
        (
            "/spec/variables",
            json!([{"name": "a", "expression": "variables.a"}]),
            &[
                "spec.variables[0].expression: Invalid value: \"variables.a\": compilation failed: ERROR: <input>:1:10: undefined field 'a'\n | variables.a\n | .........^",
            ],
        ),
        (
            "/spec/variables",
            json!([{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]),
            &[
                "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed: ERROR: <input>:1:10: undefined field 'b'\n | variables.b\n | .........^",
            ],
        ),
        (
            "/spec/variables",
            json!([{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}, {"name": "c", "expression": "variables.b + 'c'"}]),
            &[
                "spec.variables[2].expression: Invalid value: \"variables.b + 'c'\": compilation failed: ERROR: <input>:1:13: found no matching overload for '_+_' applied to '(int, string)'\n | variables.b + 'c'\n | ............^",
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
            "/spec/variables",
            json!([{"name": "a", "expression": "quantity('1')"}, {"name": "b", "expression": "variables.a + 1"}]),
            &[],
        ),
        (
            "/spec/variables",
            json!([{"name": "a", "expression": "authorizer.path('/x').check('get').allowed() ? 1 : 'a'"}]),
            &[
                "spec.variables[0].expression: Invalid value: \"authorizer.path('/x').check('get').allowed() ? 1 : 'a'\": compilation failed: ERROR: <input>:1:46: found no matching overload for '_?_:_' applied to '(bool, int, string)'\n | authorizer.path('/x').check('get').allowed() ? 1 : 'a'\n | .............................................^",
            ],
        ),
        (
            "/spec/validations",
            json!([]),
            &[
                "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
                "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
            ],
        ),
        (
            "/spec/validations",
            json!([{"expression": " \n "}]),
            &["spec.validations[0].expression: Required value: expression is not specified"],
        ),
        (
            "/spec/validations",
            json!([{"expression": "['a']"}]),
            &[
                r#"spec.validations[0].expression: Invalid value: "['a']": must evaluate to bool but got list(string)"#,
            ],
        ),
        (
            "/spec/validations",
            json!([{"expression": "object.spec.valid"}]),
            &[
                r#"spec.validations[0].expression: Invalid value: "object.spec.valid": must evaluate to bool but got dyn"#,
            ],
        ),
        (
            "/spec/validations",
            json!([{"expression": "a && b"}]),
            &[
                "spec.validations[0].expression: Invalid value: \"a && b\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a && b\n | ^\nERROR: <input>:1:6: undeclared reference to 'b' (in container '')\n | a && b\n | .....^",
            ],
        ),
        (
            "/spec/validations",
            json!([{"expression": "object.a.matches('[')"}]),
            &[
                "spec.validations[0].expression: Invalid value: \"object.a.matches('[')\": compilation failed: ERROR: <input>:1:18: invalid matches argument\n | object.a.matches('[')\n | .................^",
            ],
        ),
        (
            "/spec/validations",
            json!([{"expression": "Object{}"}]),
            &[
                "spec.validations[0].expression: Invalid value: \"Object{}\": compilation failed: ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')\n | Object{}\n | ......^",
            ],
        ),
        (
            "/spec/validations",
            json!([{"expression": "params.a == 'b'", "messageExpression": "string(params.a)"}]),
            &[
                "spec.validations[0].expression: Invalid value: \"params.a == 'b'\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a == 'b'\n | ^",
                "spec.validations[0].messageExpression: Invalid value: \"string(params.a)\": compilation failed: ERROR: <input>:1:8: undeclared reference to 'params' (in container '')\n | string(params.a)\n | .......^",
            ],
        ),
        (
            "/spec/validations",
            json!([{"expression": "variables.b", "messageExpression": "variables.b"}]),
            &[
                "spec.validations[0].expression: Invalid value: \"variables.b\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.b\n | ^",
                "spec.validations[0].messageExpression: Invalid value: \"variables.b\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.b\n | ^",
            ],
        ),
        (
            "/spec/validations",
            json!([{"expression": "1"}, {"expression": "'a'"}]),
            &[
                r#"spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int"#,
                r#"spec.validations[1].expression: Invalid value: "'a'": must evaluate to bool but got string"#,
            ],
        ),
        (
            "/spec/validations/0/message",
            json!("  "),
            &[
                r#"spec.validations[0].message: Invalid value: "  ": must be non-empty if specified"#,
            ],
        ),
        (
            "/spec/validations/0/message",
            json!(" a\nb"),
            &[
                r#"spec.validations[0].message: Invalid value: " a\nb": must not contain line breaks"#,
            ],
        ),
        ("/spec/validations/0/message", json!("a\n"), &[]),
        (
            "/spec/validations/0/messageExpression",
            json!(" "),
            &[
                r#"spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified"#,
            ],
        ),
        (
            "/spec/validations/0/messageExpression",
            json!("object.spec.size"),
            &[
                r#"spec.validations[0].messageExpression: Invalid value: "object.spec.size": must evaluate to string but got dyn"#,
            ],
        ),
        (
            "/spec/validations/0/messageExpression",
            json!("  'a"),
            &[
                "spec.validations[0].messageExpression: Invalid value: \"  'a\": compilation failed: ERROR: <input>:1:3: Syntax error: token recognition error at: ''a'\n |   'a\n | ..^\nERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n |   'a\n | ....^",
            ],
        ),
        (
            "/spec/validations/0/messageExpression",
            json!("string(authorizer.path('/x').check('get').allowed())"),
            &[
                "spec.validations[0].messageExpression: Invalid value: \"string(authorizer.path('/x').check('get').allowed())\": compilation failed: ERROR: <input>:1:8: undeclared reference to 'authorizer' (in container '')\n | string(authorizer.path('/x').check('get').allowed())\n | .......^",
            ],
        ),
        (
            "/spec/validations/0/reason",
            json!("Unauthorized"),
            &[
                r#"spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge""#,
            ],
        ),
        (
            "/spec/validations/0/reason",
            json!(""),
            &[
                r#"spec.validations[0].reason: Unsupported value: "": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge""#,
            ],
        ),
        (
            "/spec/auditAnnotations",
            json!([{"key": "size", "valueExpression": "null"}]),
            &[],
        ),
        (
            "/spec/auditAnnotations",
            json!([{}]),
            &[
                r#"spec.auditAnnotations[0].key: Invalid value: "p/": name part must be non-empty"#,
                r#"spec.auditAnnotations[0].key: Invalid value: "p/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
                "spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified",
            ],
        ),
        (
            "/spec/auditAnnotations",
            json!([{"key": "a", "valueExpression": "'a'"}, {"key": "a", "valueExpression": "'b'"}, {"key": "a", "valueExpression": "'b'"}]),
            &[
                r#"spec.auditAnnotations[1].key: Duplicate value: "a""#,
                r#"spec.auditAnnotations[2].key: Duplicate value: "a""#,
            ],
        ),
        (
            "/spec/auditAnnotations",
            json!([{"key": "a", "valueExpression": "  1"}]),
            &[
                r#"spec.auditAnnotations[0].valueExpression: Invalid value: "  1": must evaluate to one of [string null_type] but got int"#,
            ],
        ),
        (
            "/spec/auditAnnotations",
            json!([{"key": "a", "valueExpression": "  object.\n"}]),
            &[
                "spec.auditAnnotations[0].valueExpression: Invalid value: \"  object.\\n\": compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | object.\n | .......^",
            ],
        ),
    ];
    for (pointer, value, expected) in rows {
        let errors = created(&sample, pointer, value.clone());
        assert_eq!(errors, *expected, "{pointer}");
    }
}

#[test]
fn changed_validating_policies_are_refused_with_the_api_servers_words() {
    let mut sample = validating_policy();
    sample.3["spec"] = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": {"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}]}, "matchConditions": [{"name": "a", "expression": "params.a == 'b'"}], "variables": [{"name": "v", "expression": "params.a"}], "validations": [{"expression": "params.a == variables.v", "messageExpression": "string(params.a)"}], "auditAnnotations": [{"key": "a", "valueExpression": "string(params.a)"}]});
    let rows: &[Row] = &[
        ("/spec/paramKind/kind", json!("Secret"), &[]),
        (
            "/spec/paramKind",
            Value::Null,
            &[
                "spec.matchConditions[0].expression: Invalid value: \"params.a == 'b'\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a == 'b'\n | ^",
                "spec.variables[0].expression: Invalid value: \"params.a\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a\n | ^",
                "spec.validations[0].expression: Invalid value: \"params.a == variables.v\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a == variables.v\n | ^",
                "spec.validations[0].messageExpression: Invalid value: \"string(params.a)\": compilation failed: ERROR: <input>:1:8: undeclared reference to 'params' (in container '')\n | string(params.a)\n | .......^",
                "spec.auditAnnotations[0].valueExpression: Invalid value: \"string(params.a)\": compilation failed: ERROR: <input>:1:8: undeclared reference to 'params' (in container '')\n | string(params.a)\n | .......^",
            ],
        ),
        (
            "/spec/matchConditions/0/expression",
            json!("1"),
            &[
                r#"spec.matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int"#,
            ],
        ),
        (
            "/spec/variables/0/name",
            json!("w"),
            &[
                "spec.validations[0].expression: Invalid value: \"params.a == variables.v\": compilation failed: ERROR: <input>:1:22: undefined field 'v'\n | params.a == variables.v\n | .....................^",
            ],
        ),
        (
            "/spec/validations/0/messageExpression",
            json!("1"),
            &[
                r#"spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int"#,
            ],
        ),
        ("/spec/validations", Value::Null, &[]),
    ];
    for (pointer, value, expected) in rows {
        let errors = updated(&sample, pointer, value.clone());
        assert_eq!(errors, *expected, "{pointer}");
    }
}
