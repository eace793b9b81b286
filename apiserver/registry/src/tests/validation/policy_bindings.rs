//! Bindings of admission policies: errors as a real API server returned them.

use super::samples::policy_binding;
use super::*;

#[test]
fn bindings_of_validating_policies_are_refused_with_the_api_servers_words() {
    let sample = policy_binding("ValidatingAdmissionPolicyBinding");
    let rows: &[Row] = &[
        (
            "/spec/validationActions",
            json!(["Log", "Log"]),
            &[
                r#"spec.validationActions[0]: Unsupported value: "Log": supported values: "Audit", "Deny", "Warn""#,
                r#"spec.validationActions[1]: Unsupported value: "Log": supported values: "Audit", "Deny", "Warn""#,
                r#"spec.validationActions[1]: Duplicate value: "Log""#,
            ],
        ),
        (
            "/spec/validationActions",
            json!(["Audit", "Audit", "Audit"]),
            &[
                r#"spec.validationActions[1]: Duplicate value: "Audit""#,
                r#"spec.validationActions[2]: Duplicate value: "Audit""#,
            ],
        ),
        (
            "/spec/validationActions",
            json!(["Warn", "Deny"]),
            &[
                r#"spec.validationActions: Invalid value: ["Warn","Deny"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"#,
            ],
        ),
        (
            "/spec/validationActions",
            json!(["Deny", "Audit", "Warn", "Audit"]),
            &[
                r#"spec.validationActions[3]: Duplicate value: "Audit""#,
                r#"spec.validationActions: Invalid value: ["Deny","Audit","Warn","Audit"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"#,
            ],
        ),
        (
            "/spec",
            json!({}),
            &[
                "spec.policyName: Required value",
                "spec.validationActions: Required value",
            ],
        ),
        (
            "/spec/policyName",
            Value::Null,
            &["spec.policyName: Required value"],
        ),
        (
            "/spec/policyName",
            json!("A_b"),
            &[
                r#"spec.policyName: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            ],
        ),
        (
            "/spec/paramRef",
            json!({}),
            &[
                "spec.paramRef: Required value: one of name or selector must be specified",
                "spec.paramRef.parameterNotFoundAction: Required value",
            ],
        ),
        (
            "/spec/paramRef",
            json!({"name": "a/%b", "parameterNotFoundAction": "Allow"}),
            &[
                r#"spec.paramRef.name: Invalid value: "a/%b": may not contain '/'"#,
                r#"spec.paramRef.name: Invalid value: "a/%b": may not contain '%'"#,
            ],
        ),
        (
            "/spec/paramRef",
            json!({"name": "a/b", "selector": {"matchExpressions": [{"key": "a", "operator": "X"}]}, "parameterNotFoundAction": "Allow"}),
            &[
                r#"spec.paramRef.name: Invalid value: "a/b": may not contain '/'"#,
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                r#"spec.paramRef.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator"#,
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
            ],
        ),
        (
            "/spec/paramRef",
            json!({"name": "a", "selector": {}, "parameterNotFoundAction": "Allow"}),
            &[
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
            ],
        ),
        (
            "/spec/paramRef",
            json!({"name": "a"}),
            &["spec.paramRef.parameterNotFoundAction: Required value"],
        ),
        (
            "/spec/paramRef",
            json!({"name": "a", "parameterNotFoundAction": "Warn"}),
            &[
                r#"spec.paramRef.parameterNotFoundAction: Unsupported value: "Warn": supported values: "Deny", "Allow""#,
            ],
        ),
        (
            "/spec/matchResources",
            json!({"matchPolicy": "X"}),
            &[
                r#"spec.matchResources.matchPolicy: Unsupported value: "X": supported values: "Equivalent", "Exact""#,
            ],
        ),
        (
            "/spec/matchResources",
            json!({"namespaceSelector": {"matchLabels": {"a": "b c"}}, "objectSelector": {"matchExpressions": [{"key": "", "operator": "X"}]}}),
            &[
                r#"spec.matchResources.namespaceSelector.matchLabels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#,
                r#"spec.matchResources.objectSelector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator"#,
                r#"spec.matchResources.objectSelector.matchExpressions[0].key: Invalid value: "": name part must be non-empty"#,
                r#"spec.matchResources.objectSelector.matchExpressions[0].key: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
            ],
        ),
        (
            "/spec/matchResources",
            json!({"resourceRules": [{}]}),
            &[
                "spec.matchResources.resourceRules[0].operations: Required value",
                "spec.matchResources.resourceRules[0].apiGroups: Required value",
                "spec.matchResources.resourceRules[0].apiVersions: Required value",
                "spec.matchResources.resourceRules[0].resources: Required value",
            ],
        ),
        (
            "/spec/matchResources",
            json!({"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["DELETE", "X"], "resources": ["nothings"], "resourceNames": ["a", "a", "."]}]}),
            &[
                r#"spec.matchResources.resourceRules[0].resourceNames[1]: Duplicate value: "a""#,
                r#"spec.matchResources.resourceRules[0].resourceNames[2]: Invalid value: ".": may not be '.'"#,
                r#"spec.matchResources.resourceRules[0].operations[1]: Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE""#,
            ],
        ),
        (
            "/spec/matchResources",
            json!({"excludeResourceRules": [{"scope": "X"}]}),
            &[
                "spec.matchResources.excludeResourceRules[0].operations: Required value",
                "spec.matchResources.excludeResourceRules[0].apiGroups: Required value",
                "spec.matchResources.excludeResourceRules[0].apiVersions: Required value",
                "spec.matchResources.excludeResourceRules[0].resources: Required value",
                r#"spec.matchResources.excludeResourceRules[0].scope: Unsupported value: "X": supported values: "*", "Cluster", "Namespaced""#,
            ],
        ),
    ];
    for (pointer, value, expected) in rows {
        let errors = created(&sample, pointer, value.clone());
        assert_eq!(errors, *expected, "{pointer}");
    }
}

#[test]
fn bindings_of_mutating_policies_are_refused_with_the_api_servers_words() {
    let sample = policy_binding("MutatingAdmissionPolicyBinding");
    let rows: &[Row] = &[
        ("/spec", json!({}), &["spec.policyName: Required value"]),
        (
            "/spec/matchResources",
            json!({"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["DELETE", "X"], "resources": ["nothings"], "resourceNames": ["a", "a", "."]}]}),
            &[
                r#"spec.matchResources.resourceRules[0].resourceNames[1]: Duplicate value: "a""#,
                r#"spec.matchResources.resourceRules[0].resourceNames[2]: Invalid value: ".": may not be '.'"#,
                r#"spec.matchResources.resourceRules[0].operations[1]: Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE""#,
                r#"spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE""#,
                r#"spec.matchResources.resourceRules.operations: Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "UPDATE""#,
            ],
        ),
    ];
    for (pointer, value, expected) in rows {
        let errors = created(&sample, pointer, value.clone());
        assert_eq!(errors, *expected, "{pointer}");
    }
}
