//! Webhook configurations and answers, good and broken, and the requests that they see.

use serde_json::{Map, Value, json};

use crate::generate::random::Random;

/// One to three webhooks, and some requests.
pub(crate) fn entry(random: &mut Random) -> Map<String, Value> {
    let count = random.one_of(&[1, 1, 2, 3]);
    let mut hooks: Vec<Value> = (0..count).map(|number| hook(random, number)).collect();
    // Validating webhooks are called in parallel, and a real server reports the rejection that it receives first. With one that
    // may reject, the answer is always the same.
    let validating = hooks
        .iter_mut()
        .filter(|hook| hook.get("validating").is_some());
    for hook in validating.filter(|hook| !always_allows(hook)).skip(1) {
        make_mutating(hook);
    }
    let mut steps = Vec::new();
    for _ in 0..random.between(2, 6) {
        steps.push(step(random));
    }
    let mut entry = Map::new();
    entry.insert("name".into(), "webhooks".into());
    if random.one_in(8) {
        entry.insert("audit".into(), true.into());
    }
    entry.insert("hooks".into(), hooks.into());
    entry.insert("steps".into(), steps.into());
    entry
}

fn hook(random: &mut Random, number: usize) -> Value {
    let mutating = random.one_in(2);
    let name = ["a", "b", "c"][number % 3];
    let mut hook = json!({"rules": rules(random), "with": fields(random, mutating)});
    hook[if mutating { "mutating" } else { "validating" }] = name.into();
    match random.below(6) {
        0 => hook["raw"] = raw(random),
        1 => {}
        2 => hook["answer"] = json!([answer(random, mutating), answer(random, mutating)]),
        _ => hook["answer"] = answer(random, mutating),
    }
    hook
}

/// Whether a webhook allows every request.
fn always_allows(hook: &Value) -> bool {
    let is_plain = |field: &str| hook["with"].get(field).is_none();
    let answer = hook.get("answer");
    hook.get("raw").is_none()
        && answer.is_none_or(|answer| *answer == json!({"allowed": true}))
        && is_plain("matchConditions")
        && is_plain("admissionReviewVersions")
}

fn make_mutating(hook: &mut Value) {
    if let Value::Object(fields) = hook
        && let Some(name) = fields.remove("validating")
    {
        fields.insert("mutating".to_owned(), name);
    }
}

fn rules(random: &mut Random) -> Value {
    let rule = |random: &mut Random| {
        let mut rule = json!({
            "operations": random.one_of(&[json!(["*"]), json!(["CREATE"]), json!(["CREATE", "UPDATE"]), json!(["UPDATE", "DELETE"]), json!(["DELETE"])]),
            "apiGroups": random.one_of(&[json!([""]), json!(["*"]), json!(["", "apps"]), json!(["apps"])]),
            "apiVersions": random.one_of(&[json!(["*"]), json!(["v1"]), json!(["v1beta1"])]),
            "resources": random.one_of(&[
                json!(["configmaps"]), json!(["*"]), json!(["*/*"]), json!(["deployments", "configmaps"]), json!(["*/scale"]), json!(["deployments/*"]), json!(["*/status"]),
                json!(["deployments/scale"]), json!(["configmaps", "deployments/status"]),
            ]),
        });
        if random.one_in(5) {
            rule["scope"] = random.pick(&["*", "Namespaced", "Cluster"]).into();
        }
        rule
    };
    // Probes are of a kind that no rule may see: their webhook is the only one to do so.
    let mut rules = vec![rule(random)];
    if random.one_in(4) {
        rules.push(rule(random));
    }
    rules.into()
}

fn fields(random: &mut Random, mutating: bool) -> Value {
    let mut fields = Map::new();
    let selector = random.one_of(&[
        Value::Null,
        Value::Null,
        Value::Null,
        json!({"matchLabels": {"a": "1"}}),
        json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}),
        json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
        json!({}),
    ]);
    if !selector.is_null() {
        fields.insert("objectSelector".into(), selector);
    }
    if random.one_in(3) {
        fields.insert(
            "failurePolicy".into(),
            random.pick(&["Fail", "Ignore"]).into(),
        );
    }
    if random.one_in(3) {
        fields.insert(
            "matchPolicy".into(),
            random.pick(&["Exact", "Equivalent"]).into(),
        );
    }
    if random.one_in(4) {
        fields.insert("timeoutSeconds".into(), random.between(1, 30).into());
    }
    if random.one_in(5) {
        fields.insert(
            "sideEffects".into(),
            random.pick(&["None", "NoneOnDryRun"]).into(),
        );
    }
    if random.one_in(5) {
        fields.insert(
            "admissionReviewVersions".into(),
            random.one_of(&[
                json!(["v1beta1"]),
                json!(["v1beta1", "v1"]),
                json!(["v9", "v1"]),
            ]),
        );
    }
    if mutating && random.one_in(3) {
        fields.insert(
            "reinvocationPolicy".into(),
            random.pick(&["Never", "IfNeeded"]).into(),
        );
    }
    if random.one_in(4) {
        let expressions = [
            "true",
            "false",
            "request.operation == 'CREATE'",
            "object.metadata.name == 'a'",
            "object.data.k == 'v'",
            "has(object.data)",
            "oldObject == null",
            "request.dryRun",
            "object.spec.replicas > 1",
            "request.userInfo.username == 'kubernetes-admin'",
            "request.resource.resource == 'configmaps'",
            "object == null || object.kind == 'ConfigMap'",
            "request.namespace.startsWith('c-')",
            "!(request.subResource != '')",
            "object.metadata.labels['a'] == '1'",
            "authorizer.group('').resource('pods').check('get').allowed()",
            "has(request.options.dryRun)",
            "1 / 0 == 1",
            "object.metadata.?labels.?a.orValue('') == '1'",
            "request.kind.kind.matches('^Conf')",
            "request.name != 'x'",
        ];
        let condition = |random: &mut Random, name: &str| json!({"name": name, "expression": random.pick(&expressions)});
        let mut conditions = vec![condition(random, "one")];
        if random.one_in(3) {
            conditions.push(condition(random, "two"));
        }
        fields.insert("matchConditions".into(), conditions.into());
    }
    fields.into()
}

fn answer(random: &mut Random, mutating: bool) -> Value {
    let mut answer = match random.below(12) {
        0 => json!({"allowed": false}),
        1 => {
            json!({"allowed": false, "status": {"message": "no", "code": random.one_of(&[403, 400, 200, 0, 599, 418])}})
        }
        2 => {
            json!({"allowed": false, "status": {"message": "no", "reason": random.pick(&["Forbidden", "Nosuch", "Invalid", ""]), "details": {"causes": [{"message": "m", "field": "f"}]}}})
        }
        3 => json!({"allowed": true, "status": {"message": "ignored", "code": 403}}),
        4 => json!({}),
        5 => random.one_of(&[
            json!({"allowed": "true"}),
            json!({"allowed": 1}),
            json!({"allowed": null}),
            json!({"allowed": true, "nosuch": 1}),
            json!({"allowed": false, "status": "no"}),
            json!({"allowed": true, "warnings": "a"}),
            json!({"allowed": true, "uid": "other"}),
            json!({"allowed": true, "patchType": "JSONPatch"}),
            json!({"Allowed": true}),
            json!({"allowed": false, "status": {"code": "403"}}),
        ]),
        _ => json!({"allowed": true}),
    };
    if random.one_in(5) {
        answer["warnings"] = random.one_of(&[
            json!(["one"]),
            json!(["one", "two", "one"]),
            json!([""]),
            json!(["a\nb"]),
            json!([]),
            json!(["ä \"q\" \\"]),
            json!([1]),
        ]);
    }
    if random.one_in(6) {
        answer["auditAnnotations"] = random.one_of(&[
            json!({"k": "v"}),
            json!({"a/b": "c"}),
            json!({"": "x"}),
            json!({"k": 1}),
            json!({}),
        ]);
    }
    if random.one_in(if mutating { 2 } else { 12 }) {
        let patch = |random: &mut Random| {
            random.one_of(&[
                json!({"op": "add", "path": "/metadata/labels", "value": {"a": "1"}}),
                json!({"op": "add", "path": "/metadata/labels/x", "value": "y"}),
                json!({"op": "add", "path": "/metadata/annotations", "value": {"n/o": "p"}}),
                json!({"op": "add", "path": "/data", "value": {"k": "w"}}),
                json!({"op": "replace", "path": "/data/k", "value": "z"}),
                json!({"op": "remove", "path": "/data/k"}),
                json!({"op": "remove", "path": "/nosuch"}),
                json!({"op": "add", "path": "/nosuch", "value": 1}),
                json!({"op": "test", "path": "/metadata/name", "value": "a"}),
                json!({"op": "add", "path": "/metadata/name", "value": "other"}),
                json!({"op": "add", "path": "/spec/replicas", "value": 4}),
                json!({"op": "replace", "path": "/spec/replicas", "value": "x"}),
                json!({"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "s", "image": "t"}}),
                json!({"op": "copy", "from": "/metadata/name", "path": "/metadata/generateName"}),
                json!({"op": "move", "from": "/data", "path": "/binaryData"}),
                json!({"op": "add", "path": "/data/", "value": "e"}),
                json!({"op": "add", "path": "", "value": {}}),
                json!({"op": "nosuch", "path": "/a"}),
                json!({"path": "/a"}),
                json!({"op": "add", "path": "/metadata/finalizers", "value": ["x.y/z"]}),
                json!({"op": "add", "path": "/metadata/labels", "value": null}),
                json!({"op": "add", "path": "/kind", "value": "Secret"}),
                json!({"op": "add", "path": "/data/a b", "value": "c"}),
            ])
        };
        let mut operations = vec![patch(random)];
        if random.one_in(3) {
            operations.push(patch(random));
        }
        answer["patch"] = operations.into();
    }
    answer
}

/// An answer over HTTP that is no response of a webhook.
fn raw(random: &mut Random) -> Value {
    let review = |response: Value| json!({"body": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}});
    match random.below(14) {
        0 => {
            json!({"status": random.one_of(&[500, 404, 302, 204, 400, 503, 401]), "body": random.pick(&["oops", "", "{}"])})
        }
        1 => json!({"body": "oops"}),
        2 => json!({"body": ""}),
        3 => json!({"close": true}),
        4 => json!({"body": {}}),
        5 => json!({"body": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}}),
        6 => review(
            json!({"uid": "{uid}", "allowed": true, "patchType": random.pick(&["JSONPatch", "Nosuch", ""]), "patch": random.pick(&["W10=", "?", "", "e30=", "bnVsbA=="])}),
        ),
        7 => review(json!({"uid": random.pick(&["{uid}", "", "x"]), "allowed": true})),
        8 => {
            json!({"body": {"apiVersion": random.pick(&["admission.k8s.io/v1beta1", "v1", "", "admission.k8s.io/v2"]), "kind": random.pick(&["AdmissionReview", "Nosuch", ""]), "response": {"uid": "{uid}", "allowed": true}}})
        }
        9 => {
            json!({"body": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": random.one_of(&[json!("x"), json!(null), json!({}), json!(1)]), "response": {"uid": "{uid}", "allowed": true}}})
        }
        10 => review(random.one_of(&[
            json!(null),
            json!("x"),
            json!([]),
            json!({"uid": 1, "allowed": true}),
            json!({"uid": "{uid}"}),
        ])),
        11 => {
            json!({"headers": {"content-type": random.pick(&["text/plain", "application/yaml", "application/x"])}, "body": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "{uid}", "allowed": true}}})
        }
        12 => {
            json!({"body": "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: {uid: '{uid}', allowed: true}\n"})
        }
        _ => review(
            json!({"uid": "{uid}", "allowed": false, "status": random.one_of(&[json!({"status": "Success"}), json!({"message": 1}), json!({"metadata": {"x": 1}}), json!({"code": 999}), json!({"reason": "Conflict"})])}),
        ),
    }
}

fn step(random: &mut Random) -> Value {
    const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
    const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/{ns}/deployments";
    let query = random.pick(&[
        "",
        "",
        "",
        "",
        "?dryRun=All",
        "?fieldManager=m",
        "?fieldValidation=Strict",
    ]);
    let labels = random.one_of(&[json!({}), json!({"a": "1"}), json!({"a": "2"})]);
    let map = || json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}, "data": {"k": "v"}});
    let deployment = || {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": labels}, "spec": {
            "selector": {"matchLabels": {"x": "y"}},
            "template": {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        }})
    };
    let merge = json!({"Content-Type": "application/merge-patch+json"});
    match random.below(14) {
        0..4 => json!({"send": format!("POST {MAPS}{query}"), "body": map()}),
        4 => json!({"send": format!("PUT {MAPS}/a{query}"), "body": map()}),
        5 => {
            json!({"send": format!("PATCH {MAPS}/a{query}"), "headers": merge, "body": {"data": {"k": random.pick(&["v", "x"])}}})
        }
        6 => json!({"send": format!("DELETE {MAPS}/a{}", random.pick(&["", "?dryRun=All"]))}),
        7..9 => json!({"send": format!("POST {DEPLOYMENTS}{query}"), "body": deployment()}),
        9 => {
            json!({"send": format!("PATCH {DEPLOYMENTS}/d/scale"), "headers": merge, "body": {"spec": {"replicas": 2}}})
        }
        10 => {
            json!({"send": format!("PATCH {DEPLOYMENTS}/d/status"), "headers": merge, "body": {"status": {"replicas": 1}}})
        }
        11 => {
            json!({"send": format!("PATCH {DEPLOYMENTS}/d?fieldManager=m"), "headers": {"Content-Type": "application/apply-patch+yaml"}, "body": deployment()})
        }
        12 => json!({"send": format!("DELETE {MAPS}")}),
        _ => {
            json!({"send": format!("PATCH {MAPS}/n?fieldManager=m"), "headers": {"Content-Type": "application/apply-patch+yaml"}, "body": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n", "labels": labels}, "data": {"k": "v"}}})
        }
    }
}
