//! A.11: what the client sees for each answer, row by row.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::status::Status;
use serde_json::{Value, json};

use super::hook::{Hook, Received, Reply, answer, but, patch, review, webhook};
use super::setting::{Setting, config_map, create, delete, request};
use crate::Operation;

const NAME: &str = "one.example.com";

/// The Status that a mutating webhook with this script leads to.
async fn outcome(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Status {
    let hook = Hook::start(script).await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    setting.mutate(&mut create(config_map())).await.unwrap_err()
}

async fn validating(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Status {
    let hook = Hook::start(script).await;
    let setting = Setting::new().validating("a", [hook.webhook(NAME)]);
    setting.validate(&create(config_map())).await.unwrap_err()
}

/// The reason behind `failed calling webhook "…": `, with the whole shape of a call error checked.
fn call_error(status: &Status) -> String {
    let why = r#"failed calling webhook "one.example.com": "#;
    let message = status
        .message()
        .strip_prefix("Internal error occurred: ")
        .unwrap();
    assert_eq!(
        status.to_value(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": status.message(), "reason": "InternalError",
            "details": {"causes": [{"message": message}]}, "code": 500,
        })
    );
    message.strip_prefix(why).unwrap().to_owned()
}

async fn denied(status: Value) -> Value {
    let script = move |call: &Received| {
        let mut response = json!({"allowed": false});
        if !status.is_null() {
            response["status"] = status.clone();
        }
        answer(call, response)
    };
    outcome(script).await.to_value()
}

fn failure(code: u16, reason: &str, message: &str) -> Value {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("admission webhook \"one.example.com\" denied the request{message}"), "code": code,
    });
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    status
}

#[tokio::test]
async fn a11_a_denial_without_status_is_400_without_explanation() {
    assert_eq!(
        denied(Value::Null).await,
        failure(400, "", " without explanation")
    );
    assert_eq!(
        denied(json!({})).await,
        failure(400, "", " without explanation")
    );
}

#[tokio::test]
async fn a11_a_denial_shows_its_message() {
    let status = json!({"message": "no", "code": 403});
    assert_eq!(denied(status).await, failure(403, "", ": no"));
}

#[tokio::test]
async fn a11_a_denial_with_only_a_reason_shows_the_reason() {
    let status = json!({"reason": "Forbidden"});
    assert_eq!(
        denied(status).await,
        failure(400, "Forbidden", ": Forbidden")
    );
}

#[tokio::test]
async fn a11_a_denial_is_never_below_400() {
    for code in [0, 200, 300, 399, 400] {
        let status = json!({"message": "no", "code": code});
        assert_eq!(denied(status).await, failure(400, "", ": no"), "{code}");
    }
    assert_eq!(
        denied(json!({"message": "no", "code": 418})).await["code"],
        418
    );
}

/// A real server crashes on these.
#[tokio::test]
async fn a11_a_denial_with_a_code_beyond_those_of_http_is_a_denial() {
    for code in [1000, 70_000, -1] {
        let status = denied(json!({"message": "no", "code": code})).await;
        let message = status["message"].as_str().unwrap();
        assert!(
            message.ends_with("denied the request: no"),
            "{code}: {message}"
        );
    }
}

#[tokio::test]
async fn a11_a_denial_is_a_failure_whatever_its_status_word_unless_it_is_a_third_one() {
    for (word, shown) in [
        ("", "Failure"),
        ("Success", "Failure"),
        ("Failure", "Failure"),
        ("Maybe", "Maybe"),
    ] {
        assert_eq!(denied(json!({"status": word})).await["status"], shown);
    }
}

#[tokio::test]
async fn a11_reason_and_details_of_a_denial_are_copied() {
    let details =
        json!({"name": "n", "group": "g", "kind": "k", "causes": [{"field": "f", "message": "m"}]});
    let shown =
        denied(json!({"reason": "Invalid", "message": "no", "details": details, "code": 422}))
            .await;
    assert_eq!(shown["reason"], "Invalid");
    assert_eq!(shown["details"], details);
    assert_eq!(shown["code"], 422);
}

#[tokio::test]
async fn a11_a_webhook_without_url_and_service_cannot_be_called() {
    let setting = Setting::new().mutating("a", [webhook(NAME, &json!({}))]);
    let status = setting.mutate(&mut create(config_map())).await.unwrap_err();
    assert_eq!(
        call_error(&status),
        "could not get REST client: failed calling webhook \"one.example.com\": webhook configuration must have either service or URL"
    );
}

#[tokio::test]
async fn a11_a_webhook_without_a_known_review_version_cannot_be_called() {
    let hook = Hook::start(|_| Reply::Hang).await;
    let unknown = but(
        hook.webhook(NAME),
        json!({"admissionReviewVersions": ["v2", "v1alpha1"]}),
    );
    let setting = Setting::new().mutating("a", [unknown]);
    let status = setting.mutate(&mut create(config_map())).await.unwrap_err();
    assert_eq!(
        call_error(&status),
        "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
    );
}

#[tokio::test]
async fn a11_an_empty_body_shows_the_content_type_or_the_requests() {
    let status = outcome(|_| Reply::status(200, "").header("Content-Type", "text/plain")).await;
    assert_eq!(
        call_error(&status),
        "failed to call webhook: 0-length response with status code: 200 and content type: text/plain"
    );
    let status = outcome(|_| Reply::status(202, "")).await;
    assert_eq!(
        call_error(&status),
        "failed to call webhook: 0-length response with status code: 202 and content type: application/json"
    );
}

#[tokio::test]
async fn a11_a_content_type_that_cannot_be_parsed_fails_the_call() {
    for (content_type, why) in [
        ("/json", "no media type"),
        ("application/", "expected token after slash"),
        (
            "application/json x",
            "unexpected content after media subtype",
        ),
        ("application/json; charset", "invalid media parameter"),
    ] {
        let status =
            outcome(move |_| Reply::status(200, "{}").header("Content-Type", content_type)).await;
        assert_eq!(
            call_error(&status),
            format!("failed to call webhook: Internal error occurred: mime: {why}")
        );
    }
}

#[tokio::test]
async fn a11_text_is_read_as_yaml_and_is_no_review() {
    for body in ["<html>oops</html>", "plain text"] {
        let status = outcome(move |_| Reply::status(200, body)).await;
        assert_eq!(
            call_error(&status),
            "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }"
        );
    }
}

#[tokio::test]
async fn a11_json_that_is_cut_short_says_so() {
    let status = outcome(|_| Reply::status(200, r#"{"kind":"#)).await;
    assert_eq!(
        call_error(&status),
        "failed to call webhook: couldn't get version/kind; json parse error: unexpected end of JSON input"
    );
}

#[tokio::test]
async fn a11_broken_json_and_yaml_say_what_is_wrong() {
    let status = outcome(|_| Reply::status(200, "{\"kind\": nope}")).await;
    assert_eq!(
        call_error(&status),
        "failed to call webhook: couldn't get version/kind; json parse error: invalid character 'o' in literal null (expecting 'u')"
    );
    let status = outcome(|_| Reply::status(200, "a: [b")).await;
    assert!(call_error(&status).starts_with("failed to call webhook: yaml: line "));
}

#[tokio::test]
async fn a11_a_review_of_the_other_version_is_not_converted() {
    let v1beta1 = json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"});
    let status = outcome(move |_| Reply::json(&v1beta1)).await;
    assert_eq!(
        call_error(&status),
        "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"
    );
    let v1 = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
    let hook = Hook::start(move |_| Reply::json(&v1)).await;
    let old = but(
        hook.webhook(NAME),
        json!({"admissionReviewVersions": ["v1beta1", "v1"]}),
    );
    let setting = Setting::new().mutating("a", [old]);
    let status = setting.mutate(&mut create(config_map())).await.unwrap_err();
    assert_eq!(
        call_error(&status),
        "failed to call webhook: converting (v1.AdmissionReview) to (v1beta1.AdmissionReview): unknown conversion"
    );
}

#[tokio::test]
async fn a11_correction_1_an_unknown_kind_is_refused_by_the_decoder() {
    for (api_version, kind) in [
        ("admission.k8s.io/v2", "AdmissionReview"),
        ("admission.k8s.io/v1", "Foo"),
        ("v1", "Pod"),
    ] {
        let body = json!({"apiVersion": api_version, "kind": kind, "response": {"allowed": true}});
        let status = outcome(move |_| Reply::json(&body)).await;
        assert_eq!(
            call_error(&status),
            format!(
                "failed to call webhook: no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/util/webhook/client.go:74\""
            )
        );
    }
}

#[tokio::test]
async fn a11_correction_1_a_missing_api_version_or_kind_is_refused_after_decoding() {
    for (meta, got) in [
        (json!({}), "/, Kind="),
        (
            json!({"apiVersion": "admission.k8s.io/v1"}),
            "admission.k8s.io/v1, Kind=",
        ),
        (
            json!({"kind": "AdmissionReview"}),
            "/, Kind=AdmissionReview",
        ),
    ] {
        let status = outcome(move |call| {
            let mut body = meta.clone();
            body["response"] = json!({"uid": call.body["request"]["uid"], "allowed": true});
            Reply::json(&body)
        })
        .await;
        assert_eq!(
            call_error(&status),
            format!(
                "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {got}"
            )
        );
    }
}

#[tokio::test]
async fn a11_correction_5_a_status_is_not_converted() {
    let body = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "no"});
    let status = outcome(move |_| Reply::json(&body)).await;
    assert_eq!(
        call_error(&status),
        "failed to call webhook: converting (v1.Status) to (v1.AdmissionReview): unknown conversion"
    );
}

#[tokio::test]
async fn a11_an_absent_response_is_refused() {
    for body in [
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}),
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": null}),
        json!({}),
    ] {
        let status = outcome(move |_| Reply::json(&body)).await;
        assert_eq!(
            call_error(&status),
            "received invalid webhook response: webhook response was absent"
        );
    }
}

#[tokio::test]
async fn a11_another_uid_is_refused() {
    let hook = Hook::start(|call| answer(call, json!({"uid": "other", "allowed": true}))).await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    let status = setting.mutate(&mut create(config_map())).await.unwrap_err();
    let sent = hook.received()[0].body["request"]["uid"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        call_error(&status),
        format!(
            "received invalid webhook response: expected response.uid=\"{sent}\", got \"other\""
        )
    );
}

#[tokio::test]
async fn a11_patch_and_patch_type_come_together() {
    let rows = [
        (
            json!({"patch": "W10="}),
            "webhook returned response.patch but not response.patchType",
        ),
        (
            json!({"patchType": "JSONPatch"}),
            "webhook returned response.patchType but not response.patch",
        ),
        (
            json!({"patchType": ""}),
            "webhook returned response.patchType but not response.patch",
        ),
        (
            json!({"patch": "W10=", "patchType": ""}),
            "webhook returned invalid response.patchType of \"\"",
        ),
    ];
    for (response, why) in rows {
        let status =
            outcome(move |call| answer(call, but(json!({"allowed": true}), response.clone())))
                .await;
        assert_eq!(
            call_error(&status),
            format!("received invalid webhook response: {why}")
        );
    }
}

#[tokio::test]
async fn a11_a_validating_webhook_may_not_patch() {
    let rows = [
        (
            json!({"patch": "W10="}),
            "validating webhook may not return response.patch",
        ),
        (
            json!({"patch": "W10=", "patchType": "JSONPatch"}),
            "validating webhook may not return response.patch",
        ),
        (
            json!({"patchType": "JSONPatch"}),
            "validating webhook may not return response.patchType",
        ),
    ];
    for (response, why) in rows {
        let status =
            validating(move |call| answer(call, but(json!({"allowed": true}), response.clone())))
                .await;
        assert_eq!(
            call_error(&status),
            format!("received invalid webhook response: {why}")
        );
    }
}

#[tokio::test]
async fn a11_a_patch_that_is_no_list_of_operations_is_a_call_error() {
    let status = outcome(|call| patch(call, &json!({"op": "add"}))).await;
    assert_eq!(
        call_error(&status),
        "received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch"
    );
}

#[tokio::test]
async fn a11_a_patch_that_is_no_json_is_a_call_error() {
    let status = outcome(|call| {
        answer(
            call,
            json!({"allowed": true, "patch": STANDARD.encode("[nope]"), "patchType": "JSONPatch"}),
        )
    })
    .await;
    assert_eq!(
        call_error(&status),
        "received undecodable patch in webhook response: invalid character 'o' in literal null (expecting 'u')"
    );
}

#[tokio::test]
async fn a11_only_json_patches_are_known() {
    let status = outcome(|call| {
        answer(
            call,
            json!({"allowed": true, "patch": "W3t9XQ==", "patchType": "Merge"}),
        )
    })
    .await;
    assert_eq!(call_error(&status), "unsupported patch type \"Merge\"");
}

#[tokio::test]
async fn a11_a_patch_that_does_not_apply_fails_the_request_even_under_ignore() {
    let hook =
        Hook::start(|call| patch(call, &json!([{"op": "remove", "path": "/data/absent"}]))).await;
    for policy in ["Fail", "Ignore"] {
        let setting = Setting::new().mutating(
            "a",
            [but(hook.webhook(NAME), json!({"failurePolicy": policy}))],
        );
        let status = setting.mutate(&mut create(config_map())).await.unwrap_err();
        assert_eq!(
            (status.code(), status.reason(), status.message()),
            (
                500,
                "InternalError",
                "Internal error occurred: error in remove for path: '/data/absent': Unable to remove nonexistent key: absent: missing value"
            )
        );
    }
}

#[tokio::test]
async fn a11_a_patch_where_there_is_no_object_fails_the_request() {
    let hook =
        Hook::start(|call| patch(call, &json!([{"op": "add", "path": "/data", "value": {}}])))
            .await;
    let rules = json!([{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
    let deleting = but(
        hook.webhook(NAME),
        json!({"rules": rules, "failurePolicy": "Ignore"}),
    );
    let setting = Setting::new().mutating("a", [deleting]);
    let status = setting.mutate(&mut delete(config_map())).await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (
            500,
            "Internal error occurred: admission webhook \"one.example.com\" attempted to modify the object, which is not supported for this operation"
        )
    );
}

#[tokio::test]
async fn a11_an_answer_of_the_wrong_type_names_the_field() {
    let status = outcome(|call| answer(call, json!({"allowed": "yes"}))).await;
    assert_eq!(
        call_error(&status),
        "failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool"
    );
    let status = outcome(|call| {
        answer(
            call,
            json!({"allowed": true, "patch": "%%", "patchType": "JSONPatch"}),
        )
    })
    .await;
    assert_eq!(
        call_error(&status),
        "failed to call webhook: illegal base64 data at input byte 0"
    );
}

#[tokio::test]
async fn a11_ignore_covers_call_errors() {
    let broken = Hook::start(|_| Reply::status(500, "")).await;
    let setting = Setting::new()
        .mutating(
            "a",
            [but(
                broken.webhook(NAME),
                json!({"failurePolicy": "Ignore"}),
            )],
        )
        .validating(
            "a",
            [but(
                broken.webhook(NAME),
                json!({"failurePolicy": "Ignore"}),
            )],
        );
    let mut attributes = create(config_map());
    setting.mutate(&mut attributes).await.unwrap();
    setting.validate(&attributes).await.unwrap();
    assert_eq!(attributes.object, config_map());
    let annotations = setting.notes.annotations();
    assert_eq!(
        annotations["failed-open.mutation.webhook.admission.k8s.io/round_0_index_0"],
        NAME
    );
    assert_eq!(
        annotations["failed-open.validating.webhook.admission.k8s.io/round_0_index_0"],
        NAME
    );
}

#[tokio::test]
async fn a11_ignore_does_not_cover_denials() {
    let hook = Hook::start(|call| answer(call, json!({"allowed": false}))).await;
    let ignoring = but(hook.webhook(NAME), json!({"failurePolicy": "Ignore"}));
    let setting = Setting::new()
        .mutating("a", [ignoring.clone()])
        .validating("a", [ignoring]);
    let status = setting.mutate(&mut create(config_map())).await.unwrap_err();
    assert_eq!(status.code(), 400);
    let status = setting.validate(&create(config_map())).await.unwrap_err();
    assert_eq!(status.code(), 400);
}

#[tokio::test]
async fn a15_v1beta1_answers_need_no_uid_kind_or_patch_type() {
    let hook = Hook::start(|_| Reply::json(&json!({"response": {"allowed": true, "patch": "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2RhdGEifV0="}}))).await;
    let old = but(
        hook.webhook(NAME),
        json!({"admissionReviewVersions": ["v1beta1"]}),
    );
    let setting = Setting::new()
        .mutating("a", [old.clone()])
        .validating("a", [old]);
    let object = setting.create().await.unwrap();
    assert_eq!(object.get("data"), None);
    setting.validate(&create(config_map())).await.unwrap();
    assert_eq!(
        hook.received()[0].body["apiVersion"],
        "admission.k8s.io/v1beta1"
    );
}

#[tokio::test]
async fn a15_the_first_known_review_version_is_used() {
    let hook = Hook::start(|call| Reply::json(&review(call, json!({"allowed": true})))).await;
    let mixed = but(
        hook.webhook(NAME),
        json!({"admissionReviewVersions": ["v9", "v1beta1", "v1"]}),
    );
    Setting::new()
        .mutating("a", [mixed])
        .create()
        .await
        .unwrap();
    assert_eq!(
        hook.received()[0].body["apiVersion"],
        "admission.k8s.io/v1beta1"
    );
}

#[tokio::test]
async fn a11_yaml_answers_are_accepted() {
    let hook = Hook::start(|call| {
        let uid = &call.body["request"]["uid"];
        Reply::status(
            200,
            &format!("apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse:\n  uid: {uid}\n  allowed: true\n"),
        )
        .header("Content-Type", "application/yaml")
    })
    .await;
    Setting::new()
        .mutating("a", [hook.webhook(NAME)])
        .create()
        .await
        .unwrap();
    assert_eq!(hook.calls(), 1);
}

#[tokio::test]
async fn a11_the_content_type_of_an_answer_plays_no_part() {
    for content_type in ["text/plain", "application/x-anything", "image/png"] {
        let hook = Hook::start(move |call| {
            let body = review(call, json!({"allowed": true})).to_string();
            Reply::status(200, &body).header("Content-Type", content_type)
        })
        .await;
        Setting::new()
            .mutating("a", [hook.webhook(NAME)])
            .create()
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a10_an_update_carries_both_objects() {
    let hook = Hook::start(super::hook::allow).await;
    let rules = json!([{"operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
    let setting = Setting::new().mutating("a", [but(hook.webhook(NAME), json!({"rules": rules}))]);
    let new = but(config_map(), json!({"data": {"start": "there"}}));
    setting
        .mutate(&mut request(Operation::Update, new.clone(), config_map()))
        .await
        .unwrap();
    let sent = &hook.received()[0].body["request"];
    assert_eq!((&sent["object"], &sent["oldObject"]), (&new, &config_map()));
    assert_eq!(sent["operation"], "UPDATE");
}
