//! Which answers are the same, and what an audit event tells of one.

use serde_json::json;

use super::*;

fn recording() -> Recording {
    let review = json!({"request": {"uid": "u-1", "object": {"apiVersion": "v1", "kind": "Secret", "data": {"a": "b2xk"}}}});
    Recording::of("/a", "a", &review.to_string(), None).unwrap()
}

fn answer(response: &Value) -> Answer {
    let body = json!({"response": response}).to_string();
    let read = Answer::read(&recording(), StatusCode::OK, body.as_bytes());
    read.unwrap().0
}

fn patched(patch: &Value) -> Answer {
    let patch = STANDARD.encode(patch.to_string());
    answer(&json!({"uid": "u-1", "allowed": true, "patchType": "JSONPatch", "patch": patch}))
}

fn denied(message: &str) -> Answer {
    answer(&json!({"allowed": false, "status": {"code": 403, "message": message}}))
}

fn event(members: &Value) -> Event {
    serde_json::from_value(members.clone()).unwrap()
}

#[test]
fn a_decision_is_read_of_the_response() {
    let allowed = answer(&json!({"allowed": true}));
    assert_eq!(allowed.decision, Decision::Allowed);
    assert!(allowed.is(&Answer::not_called()), "the effect is the same");
    let changed = patched(&json!([{"op": "add", "path": "/a", "value": 1}]));
    assert_eq!(changed.decision, Decision::Changed);
    assert_eq!(denied("no").json()["message"], "no");
}

#[test]
fn values_that_are_not_shown_are_compared_all_the_same() {
    let value = |value: &str| json!([{"op": "replace", "path": "/data/a", "value": value}]);
    let [one, other] = ["b25l", "dHdv"].map(|text| patched(&value(text)));
    assert!(one.is(&patched(&value("b25l"))));
    assert!(!one.is(&other));
    assert!(
        !other.json().to_string().contains("dHdv"),
        "{}",
        other.json()
    );
    let lines = one.difference(&Ui::new(), &other);
    assert_eq!(lines, ["the answers differ in values that are not shown"]);
}

#[test]
fn the_mode_of_a_hook_is_no_difference() {
    let response = json!({"allowed": false, "status": {"code": 403, "message": "no"}, "auditAnnotations": {"shadow": "denied: no"}});
    let shadowed = answer(&response);
    assert!(shadowed.is_shadow);
    assert_eq!(shadowed.text(), "denied (shadow)");
    assert!(shadowed.is(&denied("no")));
    assert!(!shadowed.is(&denied("never")));
}

#[test]
fn a_failure_is_the_same_whatever_the_uid_of_the_request() {
    let failed = |uid: &str| {
        let review = json!({"request": {"uid": uid, "object": {}}}).to_string();
        let recording = Recording::of("/a", "a", &review, None).unwrap();
        let message = format!("the webhook failed on request {uid}; its log says why");
        let body = json!({"message": message}).to_string();
        let read = Answer::read(
            &recording,
            StatusCode::INTERNAL_SERVER_ERROR,
            body.as_bytes(),
        );
        read.unwrap().0
    };
    assert!(failed("u-1").is(&failed("u-2")));
    assert_eq!(failed("u-1").decision, Decision::Failed);
}

const HOOK: &str = "images.example.com";

#[test]
fn an_event_tells_a_denial_with_its_message() {
    let message = "admission webhook \"images.example.com\" denied the request: no";
    let event = event(&json!({"responseStatus": {"code": 403, "message": message}}));
    let told = Answer::of_event(&event, HOOK).unwrap();
    assert!(told.is_told_of(&denied("no")));
    assert!(!told.is_told_of(&denied("other")));
    assert!(!told.is_told_of(&answer(&json!({"allowed": true}))));
    assert!(Answer::of_event(&event, "other.example.com").is_none());
}

#[test]
fn an_event_tells_a_patch_and_at_a_low_level_that_there_was_one() {
    let patch = json!([{"op": "add", "path": "/a", "value": 1}]);
    let entry = |members: Value| {
        let mut entry = json!({"configuration": "c", "webhook": HOOK});
        for (name, value) in members.as_object().unwrap() {
            entry[name] = value.clone();
        }
        entry.to_string()
    };
    let mutated = entry(json!({"mutated": true}));
    let low = event(
        &json!({"annotations": {"mutation.webhook.admission.k8s.io/round_0_index_0": mutated}}),
    );
    let high = event(&json!({"annotations": {
        "mutation.webhook.admission.k8s.io/round_0_index_0": mutated,
        "patch.webhook.admission.k8s.io/round_0_index_0": entry(json!({"patch": patch, "patchType": "JSONPatch"})),
    }}));
    let other = json!([{"op": "add", "path": "/a", "value": 2}]);
    for (event, is_known) in [(low, false), (high, true)] {
        let told = Answer::of_event(&event, HOOK).unwrap();
        assert_eq!(told.decision, Decision::Changed);
        assert!(told.is_told_of(&patched(&patch)));
        assert_eq!(told.is_told_of(&patched(&other)), !is_known);
        assert!(!told.is_told_of(&Answer::not_called()));
    }
}

#[test]
fn an_event_tells_what_a_hook_in_shadow_mode_decided() {
    let told = |decided: &str| {
        let annotations = json!({"images.example.com/shadow": decided});
        Answer::of_event(&event(&json!({"annotations": annotations})), HOOK).unwrap()
    };
    assert!(told("denied: no").is_told_of(&denied("no")));
    assert!(told("denied: n…").is_told_of(&denied("no")));
    assert!(!told("denied: never").is_told_of(&denied("no")));
    assert!(told("allowed").is_told_of(&answer(&json!({"allowed": true}))));
    let patch =
        json!([{"op": "add", "path": "/a", "value": 1}, {"op": "add", "path": "/b", "value": 1}]);
    assert!(told("changed: /a, /b").is_told_of(&patched(&patch)));
    assert!(!told("changed: /c").is_told_of(&patched(&patch)));
    assert_eq!(told("denied: no").text(), "denied (shadow)");
}

#[test]
fn an_event_that_was_refused_otherwise_tells_nothing() {
    let refused = event(&json!({"responseStatus": {"code": 422, "message": "spec is invalid"}}));
    assert!(Answer::of_event(&refused, HOOK).is_none());
    let failed = "failed calling webhook \"images.example.com\": timeout";
    let failed = event(&json!({"responseStatus": {"code": 500, "message": failed}}));
    assert_eq!(
        Answer::of_event(&failed, HOOK).unwrap().decision,
        Decision::Failed
    );
    let open = event(
        &json!({"annotations": {"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": HOOK}}),
    );
    assert_eq!(
        Answer::of_event(&open, HOOK).unwrap().decision,
        Decision::Failed
    );
}
