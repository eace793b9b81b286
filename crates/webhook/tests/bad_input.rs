//! The table of bad input: each has one answer, with a sentence that says what was wrong.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{Change, Review, Undecodable, Validated, Webhooks, validating};
use serde_json::{Value, json};

use crate::calls::{create, pod, post, review, send};

async fn allow(_: Change<Pod>, _: Review) -> Validated {
    Ok(())
}

fn webhooks() -> Webhooks {
    Webhooks::new("example.com")
        .with(validating("pods", allow))
        .with(validating("lenient", allow).when_undecodable(Undecodable::PassThrough))
        .with(validating("strict", allow).when_undecodable(Undecodable::Deny))
}

async fn refused(body: impl Into<Bytes>) -> (u16, String) {
    let answer = post(&webhooks(), "/pods", body).await;
    assert_eq!(answer.body["kind"], "Status");
    assert_eq!(answer.body["status"], "Failure");
    assert_eq!(answer.body["code"], answer.code);
    (answer.code, answer.message().to_owned())
}

fn request(method: Method, path: &str, headers: &[(&'static str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": create(pod())});
    request.body(Full::from(body.to_string())).unwrap()
}

#[tokio::test]
async fn a_call_has_a_method_a_path_and_a_content_type() {
    let webhooks = webhooks();
    let json = ("content-type", "application/json");
    let cases = [
        (
            request(Method::GET, "/pods", &[json]),
            405,
            "a webhook is called with POST, and this call was GET",
        ),
        (
            request(Method::POST, "/nope", &[json]),
            404,
            "there is no webhook at /nope, only at /pods, /lenient, /strict",
        ),
        (
            request(Method::POST, "/pods", &[]),
            415,
            "a review has the content type application/json, and this call had none",
        ),
        (
            request(
                Method::POST,
                "/pods",
                &[("content-type", "application/yaml")],
            ),
            415,
            "a review has the content type application/json, and this call had application/yaml",
        ),
        (
            request(Method::POST, "/pods", &[json, ("content-encoding", "gzip")]),
            415,
            "a review is sent as plain JSON, and this call had a content encoding",
        ),
    ];
    for (request, code, message) in cases {
        let answer = send(&webhooks, request).await;
        assert_eq!((answer.code, answer.message()), (code, message));
    }
    let long = "9999999999999999999s".repeat(2);
    let path = format!("/pods?timeout={long}");
    let answer = send(&webhooks, request(Method::POST, &path, &[json])).await;
    let message = format!(
        "reading the timeout in the query: `{long}` is not a duration; pass one such as 10s or 500ms"
    );
    assert_eq!((answer.code, answer.message()), (400, &*message));
    let charset = [("content-type", "Application/JSON; charset=utf-8")];
    assert!(
        send(&webhooks, request(Method::POST, "/pods", &charset))
            .await
            .allowed()
    );
}

#[tokio::test]
async fn a_body_is_the_json_of_a_review() {
    let good = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": create(pod())}).to_string();
    let not_json = "the body is not the JSON of an AdmissionReview: ";
    let cases: [(&[u8], String); 13] = [
        (b"", "the body is empty".into()),
        (
            b" \n",
            format!("{not_json}the text ends where an object belongs at byte 2"),
        ),
        (b"hello", format!("{not_json}expected an object at byte 0")),
        (b"[]", format!("{not_json}expected an object at byte 0")),
        (b"null", format!("{not_json}expected an object at byte 0")),
        (
            &good.as_bytes()[..good.len() - 1],
            format!(
                "{not_json}the text ends where a comma or the end of the object belongs at byte {}",
                good.len() - 1
            ),
        ),
        (
            b"{} x",
            format!("{not_json}text follows the JSON value at byte 3"),
        ),
        (
            b"\xef\xbb\xbf{}",
            format!("{not_json}expected an object at byte 0"),
        ),
        (
            b"{\"a\":\"\xff\"}",
            "the body is not UTF-8 from byte 6 on".into(),
        ),
        (
            b"{\"a\":\"\x00\"}",
            format!("{not_json}a string has a control character at byte 6"),
        ),
        (
            b"{\"a\":\"\\x\"}",
            format!("{not_json}a string has an escape that JSON does not know at byte 6"),
        ),
        (
            b"{\"a\":01}",
            format!("{not_json}a number is malformed at byte 7"),
        ),
        (
            b"{\"request\":[]}",
            format!("{not_json}expected an object at byte 11"),
        ),
    ];
    for (body, message) in cases {
        assert_eq!(
            refused(body.to_vec()).await,
            (400, message),
            "{}",
            String::from_utf8_lossy(body)
        );
    }
}

#[tokio::test]
async fn a_review_has_a_version_a_request_a_uid_and_an_operation() {
    let review = |api_version: &str, kind: &str, request: Value| {
        json!({"apiVersion": api_version, "kind": kind, "request": request}).to_string()
    };
    let without = |field: &str| {
        let mut request = create(pod());
        request.as_object_mut().unwrap().remove(field);
        review("admission.k8s.io/v1", "AdmissionReview", request)
    };
    let other = |api_version: &str, kind: &str| {
        format!(
            "the body is kind `{kind}` of `{api_version}`, not an AdmissionReview of `admission.k8s.io/v1` or `admission.k8s.io/v1beta1`"
        )
    };
    let cases = [
        (review("admission.k8s.io/v2", "AdmissionReview", create(pod())), other("admission.k8s.io/v2", "AdmissionReview")),
        (review("v1", "Pod", Value::Null), other("v1", "Pod")),
        ("{}".to_owned(), other("", "")),
        (review("admission.k8s.io/v1", "AdmissionReview", Value::Null), "the AdmissionReview has no request".to_owned()),
        (without("uid"), "the request of the AdmissionReview has no uid".to_owned()),
        (
            without("operation"),
            "the operation of the AdmissionReview's request is none of CREATE, UPDATE, DELETE and CONNECT".to_owned(),
        ),
    ];
    for (body, message) in cases {
        assert_eq!(refused(body).await, (400, message));
    }
}

#[tokio::test]
async fn the_answer_has_the_version_of_the_request() {
    for version in ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"] {
        let body =
            json!({"apiVersion": version, "kind": "AdmissionReview", "request": create(pod())});
        let answer = post(&webhooks(), "/pods", body.to_string()).await;
        assert!(answer.allowed());
        assert_eq!(answer.body["apiVersion"], version);
        assert_eq!(
            answer.response()["uid"],
            "705ab4f5-6393-11e8-b7cc-42010a800002"
        );
    }
}

#[tokio::test]
async fn an_invalid_user_is_not_an_anonymous_one() {
    async fn not_alice(_: Change<Pod>, review: Review) -> Validated {
        if review.user().username == "alice" {
            return kubewright_webhook::deny("not alice");
        }
        Ok(())
    }
    let webhooks = Webhooks::new("example.com").with(validating("not-alice", not_alice));
    let mut request = create(pod());
    request["userInfo"] = json!({"username": ["alice"]});
    let answer = review(&webhooks, "/not-alice", request.clone()).await;
    assert_eq!(answer.code, 400);
    assert_eq!(
        answer.message(),
        "the userInfo of the AdmissionReview's request 705ab4f5-6393-11e8-b7cc-42010a800002 is not what the protocol says"
    );
    request["userInfo"] = Value::Null;
    assert!(review(&webhooks, "/not-alice", request).await.allowed());
}

#[tokio::test]
async fn depth_costs_no_stack() {
    let body = |field: &str, depth: usize| {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        let object =
            format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{}},"{field}":{deep}}}"#);
        format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE","kind":{{"group":"","version":"v1","kind":"Pod"}},"object":{object}}}}}"#
        )
    };
    assert!(
        post(&webhooks(), "/pods", body("unknown", 9_000))
            .await
            .allowed()
    );
    let (code, message) = refused(body("unknown", 1_000_000)).await;
    assert_eq!(code, 400);
    assert!(
        message.contains("nested more than 9984 levels deep"),
        "{message}"
    );
    let (code, message) = refused(body("spec", 9_000)).await;
    assert_eq!(code, 422);
    assert_eq!(
        message,
        "cannot read object.spec: expected PodSpec, found list (request u)"
    );
}

#[tokio::test]
async fn a_million_keys_are_read_like_a_few() {
    let keys = r#""a":"","#.repeat(1_000_000);
    for object in [
        format!(r#"{{"metadata":{{"labels":{{{keys}"b":""}}}}}}"#),
        format!(r#"{{"metadata":{{}},"unknown":{{{keys}"b":""}}}}"#),
    ] {
        let body = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE","kind":{{"version":"v1","kind":"Pod"}},"object":{object}}}}}"#
        );
        assert!(post(&webhooks(), "/pods", body).await.allowed());
    }
}

#[tokio::test]
async fn of_a_field_that_comes_twice_the_last_one_counts() {
    async fn named_b(change: Change<Pod>, review: Review) -> Validated {
        assert_eq!(review.namespace(), Some("b"));
        assert_eq!(change.object().metadata.name.as_deref(), Some("b"));
        Ok(())
    }
    let webhooks = Webhooks::new("example.com").with(validating("pods", named_b));
    let body = r#"{"kind":"X","kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE",
        "namespace":"a","namespace":"b","namespace":null,"kind":{"version":"v1","kind":"Pod"},
        "object":{"metadata":{"name":"x"}},"object":{"metadata":{"name":"a","name":"b"}}}}"#;
    assert!(post(&webhooks, "/pods", body).await.allowed());
}

#[tokio::test]
async fn numbers_and_surrogates_out_of_range_have_an_answer() {
    let with = |value: &str| {
        format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE","kind":{{"version":"v1","kind":"Pod"}},"object":{{"spec":{{"containers":[],"priority":{value}}}}}}}}}"#
        )
    };
    let place = "cannot read object.spec.priority: ";
    for (value, message) in [
        ("1e999", "a number is out of range"),
        ("99999999999999999999999", "expected i32, found number"),
        ("3000000000", "expected i32, found another integer"),
        ("\"secret\"", "expected i32, found string"),
    ] {
        assert_eq!(
            refused(with(value)).await,
            (422, format!("{place}{message} (request u)"))
        );
    }
    let lone = with("1").replace(r#""containers""#, r#""nodeName":"\ud800x","containers""#);
    assert!(post(&webhooks(), "/pods", lone).await.allowed());
}

#[tokio::test]
async fn an_undecodable_object_fails_unless_the_hook_says_otherwise() {
    let mut request = create(pod());
    request["object"]["spec"]["containers"][0]["env"] = json!([{"name": "A", "value": 5}]);
    let message =
        "cannot read object.spec.containers[0].env[0].value: expected a string, found integer";
    let answer = review(&webhooks(), "/pods", request.clone()).await;
    assert_eq!(answer.code, 422);
    assert_eq!(
        answer.message(),
        format!("{message} (request 705ab4f5-6393-11e8-b7cc-42010a800002)")
    );
    assert!(
        review(&webhooks(), "/lenient", request.clone())
            .await
            .allowed()
    );
    let denied = review(&webhooks(), "/strict", request).await;
    assert!(!denied.allowed());
    assert_eq!(denied.response()["status"]["message"], message);
    assert_eq!(denied.response()["status"]["code"], 422);
}

#[tokio::test]
async fn an_object_of_another_kind_or_none_is_undecodable() {
    let mut request = create(pod());
    request["kind"] = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    let answer = review(&webhooks(), "/pods", request).await;
    assert_eq!(answer.code, 422);
    assert!(answer.message().starts_with(
        "cannot read object: the handler takes Pod of v1, and the review has Deployment of apps/v1"
    ));
    let answer = review(&webhooks(), "/pods", create(Value::Null)).await;
    assert_eq!(answer.code, 422);
    assert!(
        answer
            .message()
            .starts_with("cannot read object: it is null")
    );
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_not_read() {
    let webhooks = webhooks().body_limit(100);
    let answer = post(&webhooks, "/pods", "x".repeat(101)).await;
    assert_eq!(answer.code, 413);
    assert_eq!(
        answer.message(),
        "the body is larger than the limit of 100 bytes"
    );
    assert_eq!(answer.body["reason"], "RequestEntityTooLarge");
    assert_eq!(post(&webhooks, "/pods", "x".repeat(100)).await.code, 400);

    let endless = Request::post("/pods")
        .header("content-type", "application/json")
        .body(Repeating {
            frame: Some("x".repeat(30).into()),
        })
        .unwrap();
    assert_eq!(send(&webhooks, endless).await.code, 413);
}

#[tokio::test]
async fn a_review_takes_memory_for_what_is_decoded_from_it() {
    let webhooks = webhooks().memory(8 << 20);
    let with = |annotations: serde_json::Map<String, Value>| {
        let mut request = create(pod());
        request["object"]["metadata"]["annotations"] = annotations.into();
        request
    };
    let many = (0..80_000).map(|number| (format!("{number:x}"), "".into()));
    let (many, one) = (
        with(many.collect()),
        with(
            [("a".to_owned(), "x".repeat(1 << 20).into())]
                .into_iter()
                .collect(),
        ),
    );
    assert!(many.to_string().len() < one.to_string().len());
    let answer = review(&webhooks, "/pods", many).await;
    assert_eq!(answer.code, 413);
    assert_eq!(
        answer.message(),
        "the review takes about 16 MiB of memory, and all large reviews together have 6 MiB"
    );
    assert_eq!(review(&webhooks, "/pods", one).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up_at_the_deadline() {
    let start = tokio::time::Instant::now();
    let silent = Request::post("/pods?timeout=3s")
        .header("content-type", "application/json")
        .body(Repeating { frame: None })
        .unwrap();
    let answer = send(&webhooks(), silent).await;
    assert_eq!(answer.code, 408);
    assert_eq!(
        answer.message(),
        "the body did not arrive before the deadline"
    );
    let waited = tokio::time::Instant::now() - start;
    assert!(
        waited < Duration::from_secs(3) && waited > Duration::from_secs(2),
        "{waited:?}"
    );
}

/// A body that sends the same frame for ever, or nothing for ever.
struct Repeating {
    frame: Option<Bytes>,
}

impl Body for Repeating {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &self.frame {
            Some(frame) => Poll::Ready(Some(Ok(Frame::data(frame.clone())))),
            None => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[tokio::test]
async fn a_uid_that_no_api_server_sends_is_refused_and_not_repeated() {
    for uid in ["u".repeat(257), "u\nERROR".to_owned()] {
        let mut request = create(pod());
        request["uid"] = uid.clone().into();
        let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        let (code, message) = refused(body.to_string()).await;
        assert_eq!(code, 400);
        let start = format!(
            "the request of the AdmissionReview has a uid of {} bytes",
            uid.len()
        );
        assert!(message.starts_with(&start), "{message}");
    }
}

#[tokio::test]
async fn a_key_in_a_message_is_escaped_and_cut() {
    let refused = async |key: &str| {
        let mut pod = pod();
        pod["metadata"]["labels"] = json!({key: 7});
        let answer = review(&webhooks(), "/pods", create(pod)).await;
        assert_eq!(answer.code, 422);
        answer.message().to_owned()
    };
    let forged = refused("team\nERROR").await;
    assert!(
        forged.contains(r"object.metadata.labels.team\nERROR: "),
        "{forged}"
    );
    let long = refused(&"k".repeat(1 << 20)).await;
    assert!(
        long.len() < 1500 && long.contains("kkk… (1048576 bytes)"),
        "{}",
        long.len()
    );
}
