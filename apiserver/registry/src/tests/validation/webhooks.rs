//! Webhook configurations: every row of the table in spec section A.16, with corrections 11 to 13.

use super::samples::webhooks;
use super::*;

#[test]
fn webhook_configurations_are_refused_with_the_api_servers_words() {
    let hook = "/webhooks/0";
    let rule = "/webhooks/0/rules/0";
    let form = "; desired format: https://host[/path]";
    let client = |client: Value| (format!("{hook}/clientConfig"), client);
    let url = |url: &str| client(json!({ "url": url }));
    let at = |field: &str, value: Value| (format!("{hook}/{field}"), value);
    let of_rule = |field: &str, value: Value| (format!("{rule}/{field}"), value);
    for ((pointer, value), expected) in [
        (at("name", json!("a.b")), "name: Invalid value: \"a.b\": should be a domain with at least three segments separated by dots".to_owned()),
        (at("name", json!("")), "name: Required value".to_owned()),
        (at("sideEffects", Value::Null), "sideEffects: Required value: must specify one of None, NoneOnDryRun".to_owned()),
        (at("sideEffects", json!("Some")), "sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"".to_owned()),
        (at("timeoutSeconds", json!(31)), "timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds".to_owned()),
        (at("timeoutSeconds", json!(0)), "timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds".to_owned()),
        (at("admissionReviewVersions", json!([])), "admissionReviewVersions: Required value: must specify one of v1, v1beta1".to_owned()),
        (at("admissionReviewVersions", json!(["v9"])),
            "admissionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1".to_owned()),
        (at("admissionReviewVersions", json!(["v1", "v1"])), "admissionReviewVersions[1]: Invalid value: \"v1\": duplicate version".to_owned()),
        (at("failurePolicy", json!("Maybe")), "failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"".to_owned()),
        (at("matchPolicy", json!("All")), "matchPolicy: Unsupported value: \"All\": supported values: \"Equivalent\", \"Exact\"".to_owned()),
        (at("reinvocationPolicy", json!("Always")),
            "reinvocationPolicy: Unsupported value: \"Always\": supported values: \"IfNeeded\", \"Never\"".to_owned()),
        (client(json!({})), "clientConfig: Required value: exactly one of url or service is required".to_owned()),
        (client(json!({ "url": "https://a", "service": { "name": "s", "namespace": "n" } })),
            "clientConfig: Required value: exactly one of url or service is required".to_owned()),
        (url("http://a"), format!("clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme{form}")),
        (url("https:///x"), format!("clientConfig.url: Invalid value: \"\": host must be specified{form}")),
        (url("https://u:p@a/x"), "clientConfig.url: Invalid value: \"u:p\": user information is not permitted in the URL".to_owned()),
        (url("https://a/x#f"), "clientConfig.url: Invalid value: \"f\": fragments are not permitted in the URL".to_owned()),
        (url("https://a/x?q=1"), "clientConfig.url: Invalid value: \"q=1\": query parameters are not permitted in the URL".to_owned()),
        // The real server swaps the two fields.
        (at("clientConfig/service/name", Value::Null), "clientConfig.service.namespace: Required value".to_owned()),
        (at("clientConfig/service/namespace", Value::Null), "clientConfig.service.name: Required value".to_owned()),
        (at("clientConfig/service/port", json!(0)),
            "clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive".to_owned()),
        (at("clientConfig/service/path", json!("/a//b")),
            "clientConfig.service.path: Invalid value: \"/a//b\": segment[1] may not be empty".to_owned()),
        (at("clientConfig/service/path", json!("//")),
            "clientConfig.service.path: Invalid value: \"//\": segment[0] may not be empty".to_owned()),
        (of_rule("operations", json!([])), "rules[0].operations: Required value".to_owned()),
        (of_rule("operations", json!(["*", "CREATE"])),
            "rules[0].operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations".to_owned()),
        (of_rule("operations", json!(["MOVE"])),
            "rules[0].operations[0]: Unsupported value: \"MOVE\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"".to_owned()),
        (of_rule("apiGroups", json!(["*", "a"])),
            "rules[0].apiGroups: Invalid value: [\"*\",\"a\"]: if '*' is present, must not specify other API groups".to_owned()),
        (of_rule("apiVersions", json!([""])), "rules[0].apiVersions[0]: Required value".to_owned()),
        (of_rule("resources", json!([])), "rules[0].resources: Required value".to_owned()),
        (of_rule("resources", json!([""])), "rules[0].resources[0]: Required value".to_owned()),
        (of_rule("resources", json!(["*/*", "pods"])),
            "rules[0].resources: Invalid value: [\"*/*\",\"pods\"]: if '*/*' is present, must not specify other resources".to_owned()),
        (of_rule("resources", json!(["*", "pods"])),
            "rules[0].resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other resources without subresources".to_owned()),
        (of_rule("resources", json!(["pods/*", "pods/status"])),
            "rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status".to_owned()),
        (of_rule("resources", json!(["*/status", "pods/status"])),
            "rules[0].resources[1]: Invalid value: \"pods/status\": if '*/status' is present, must not specify pods/status".to_owned()),
        (of_rule("scope", json!("Here")), "rules[0].scope: Unsupported value: \"Here\": supported values: \"*\", \"Cluster\", \"Namespaced\"".to_owned()),
        (at("objectSelector", json!({ "matchExpressions": [{ "key": "a", "operator": "Like" }] })),
            "objectSelector.matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector operator".to_owned()),
        (at("matchConditions", json!([{ "expression": "true" }])), "matchConditions[0].name: Required value".to_owned()),
        (at("matchConditions", json!([{ "name": "a", "expression": " " }])), "matchConditions[0].expression: Required value".to_owned()),
        (at("matchConditions", json!([{ "name": "a", "expression": "true" }, { "name": "a", "expression": "true" }])),
            "matchConditions[1].name: Duplicate value: \"a\"".to_owned()),
    ] {
        let errors = created(&webhooks("MutatingWebhookConfiguration"), &pointer, value);
        assert_eq!(errors, [format!("webhooks[0].{expected}")], "{pointer}");
    }
}

#[test]
fn names_are_unique_in_one_configuration() {
    let mut sample = webhooks("ValidatingWebhookConfiguration");
    let hook = sample.3["webhooks"][0].clone();
    sample.3["webhooks"].as_array_mut().unwrap().push(hook);
    assert_eq!(
        created(&sample, "/metadata/labels", json!({})),
        ["webhooks[1].name: Duplicate value: \"a.example.com\""]
    );
}

#[test]
fn sixty_four_match_conditions_are_enough() {
    let conditions: Vec<Value> = (0..65)
        .map(|n| json!({ "name": format!("c{n}"), "expression": "true" }))
        .collect();
    let errors = created(
        &webhooks("MutatingWebhookConfiguration"),
        "/webhooks/0/matchConditions",
        json!(conditions),
    );
    assert_eq!(
        errors,
        ["webhooks[0].matchConditions: Too many: 65: must have at most 64 items"]
    );
}

#[test]
fn a_bad_ca_bundle_is_accepted() {
    let sample = webhooks("MutatingWebhookConfiguration");
    assert_eq!(
        created(
            &sample,
            "/webhooks/0/clientConfig/caBundle",
            json!("bm8gY2VydGlmaWNhdGU=")
        ),
        [""; 0]
    );
}

#[test]
fn only_new_match_conditions_are_compiled() {
    let condition = |expression: &str| json!([{ "name": "a", "expression": expression }]);
    let mut sample = webhooks("MutatingWebhookConfiguration");
    let pointer = "/webhooks/0/matchConditions";
    let fine = condition("request.operation == 'CREATE'");
    assert_eq!(created(&sample, pointer, fine), [""; 0]);
    let errors = created(&sample, pointer, condition("object.x +"));
    let start = "webhooks[0].matchConditions[0].expression: Invalid value: \"object.x +\": compilation failed: ERROR: ";
    assert!(
        errors.len() == 1 && errors[0].starts_with(start),
        "{errors:?}"
    );
    assert_eq!(
        created(&sample, pointer, condition("1 + 1")),
        [
            "webhooks[0].matchConditions[0].expression: Invalid value: \"1 + 1\": must evaluate to bool but got int"
        ]
    );
    sample.3["webhooks"][0]["matchConditions"] = condition("object.x +");
    assert_eq!(
        updated(&sample, "/webhooks/0/timeoutSeconds", json!(5)),
        [""; 0]
    );
}
