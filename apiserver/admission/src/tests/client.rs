//! A.13: how the client talks to webhooks.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::hook::{Authority, Hook, Received, Reply, allow, review, webhook};
use super::setting::{Setting, config_map, create};
use crate::Chain;

const NAME: &str = "one.example.com";

fn service(hook: &Hook) -> serde_json::Value {
    json!({
        "service": {"namespace": "blue", "name": "hook", "path": "/mutate", "port": 443},
        "caBundle": hook.ca_bundle(),
    })
}

fn call_error(message: &str) -> &str {
    let start = r#"Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: "#;
    message.strip_prefix(start).unwrap()
}

async fn refused(setting: Setting) -> String {
    call_error(&setting.create().await.unwrap_err()).to_owned()
}

async fn scripted(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> (String, String) {
    let hook = Hook::start(script).await;
    let why = refused(Setting::new().mutating("a", [hook.webhook(NAME)])).await;
    (
        why,
        format!("Post \"https://{}/?timeout=10s\"", hook.address),
    )
}

#[tokio::test]
async fn a13_a_request_has_the_real_clients_headers() {
    let hook = Hook::start(allow).await;
    Setting::new()
        .mutating("a", [hook.webhook_at(NAME, "/mutate")])
        .create()
        .await
        .unwrap();
    let call = hook.received().remove(0);
    assert_eq!(
        (call.method.as_str(), call.target.as_str()),
        ("POST", "/mutate?timeout=10s")
    );
    let expected = [
        ("accept", "application/json, */*".to_owned()),
        ("accept-encoding", "gzip".to_owned()),
        ("content-length", call.raw.len().to_string()),
        ("content-type", "application/json".to_owned()),
        ("host", hook.address.to_string()),
        ("user-agent", "kube-apiserver-admission".to_owned()),
    ];
    let expected: Vec<_> = expected
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect();
    assert_eq!(call.headers.into_iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a13_a_service_is_found_through_the_table_under_its_own_name() {
    let hook = Hook::start(allow).await;
    let setting = Setting::new().mutating("a", [webhook(NAME, &service(&hook))]);
    setting
        .chain
        .services()
        .set("blue", "hook", 443, hook.address);
    setting.create().await.unwrap();
    let call = hook.received().remove(0);
    assert_eq!(call.target, "/mutate?timeout=10s");
    assert_eq!(call.headers["host"], "hook.blue.svc:443");
}

#[tokio::test]
async fn a11_a_service_that_is_not_there_is_named() {
    let hook = Hook::start(allow).await;
    let why = refused(Setting::new().mutating("a", [webhook(NAME, &service(&hook))])).await;
    assert_eq!(
        why,
        "Post \"https://hook.blue.svc:443/mutate?timeout=10s\": service \"hook\" not found"
    );
}

#[tokio::test]
async fn a13_port_and_path_of_a_service_have_defaults() {
    let hook = Hook::start(allow).await;
    let config =
        json!({"service": {"namespace": "blue", "name": "hook"}, "caBundle": hook.ca_bundle()});
    let why = refused(Setting::new().mutating("a", [webhook(NAME, &config)])).await;
    assert_eq!(
        why,
        "Post \"https://hook.blue.svc:443/?timeout=10s\": service \"hook\" not found"
    );
}

#[tokio::test]
async fn a13_a_moved_service_is_called_where_it_is_now() {
    let authority = Authority::new("ca");
    let start = || Hook::start_as(authority.clone(), authority.sign(&["hook.blue.svc"]), allow);
    let (first, second) = (start().await, start().await);
    let setting = Setting::new().mutating("a", [webhook(NAME, &service(&first))]);
    setting
        .chain
        .services()
        .set("blue", "hook", 443, first.address);
    setting.create().await.unwrap();
    setting
        .chain
        .services()
        .set("blue", "hook", 443, second.address);
    setting.create().await.unwrap();
    assert_eq!((first.calls(), second.calls()), (1, 1));
    setting.chain.services().remove("blue", "hook", 443);
    assert!(
        setting
            .create()
            .await
            .unwrap_err()
            .ends_with("service \"hook\" not found")
    );
}

#[tokio::test]
async fn a13_connections_are_kept() {
    let hook = Hook::start(allow).await;
    let setting =
        Setting::new().mutating("a", [hook.webhook(NAME), hook.webhook("two.example.com")]);
    for _ in 0..5 {
        setting.create().await.unwrap();
    }
    assert_eq!((hook.calls(), hook.connections()), (10, 1));
}

#[tokio::test]
async fn a13_a_changed_ca_bundle_gets_a_fresh_client() {
    let hook = Hook::start(allow).await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    setting.create().await.unwrap();
    let both = format!("{}{}", hook.authority.pem, Authority::new("next").pem);
    let config = json!({
        "url": format!("https://{}/", hook.address),
        "caBundle": base64::Engine::encode(&base64::engine::general_purpose::STANDARD, both),
    });
    setting.configure(
        "mutatingwebhookconfigurations",
        "a",
        [webhook(NAME, &config)],
    );
    setting.create().await.unwrap();
    assert_eq!(hook.connections(), 2);
    setting.configure(
        "mutatingwebhookconfigurations",
        "b",
        [hook.webhook("other.example.com")],
    );
    setting.create().await.unwrap();
    assert_eq!((hook.calls(), hook.connections()), (4, 2));
}

#[tokio::test]
async fn a13_a_connection_that_was_closed_while_it_waited_is_replaced() {
    let hook = Hook::start(|call| {
        let body = review(call, json!({"allowed": true})).to_string();
        Reply::Bytes(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .into_bytes(),
        )
    })
    .await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    setting.create().await.unwrap();
    hook.closed(1).await;
    setting.create().await.unwrap();
    assert_eq!((hook.calls(), hook.connections()), (2, 2));
}

#[tokio::test]
async fn a11_nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = json!({"url": format!("https://{address}/x")});
    let why = refused(Setting::new().mutating("a", [webhook(NAME, &config)])).await;
    assert_eq!(
        why,
        format!(
            "Post \"https://{address}/x?timeout=10s\": dial tcp {address}: connect: connection refused"
        )
    );
}

#[tokio::test]
async fn a11_a_connection_that_ends_without_an_answer_is_eof() {
    let (why, post) = scripted(|_| Reply::Bytes(Vec::new())).await;
    assert_eq!(why, format!("{post}: EOF"));
}

#[tokio::test]
async fn a11_an_answer_that_is_no_http_is_shown() {
    let (why, post) = scripted(|_| Reply::Bytes(b"garbage\r\n\r\n".to_vec())).await;
    assert_eq!(
        why,
        format!(
            "{post}: net/http: HTTP/1.x transport connection broken: malformed HTTP response \"garbage\""
        )
    );
}

#[tokio::test]
async fn a11_a_head_that_is_cut_off_is_an_unexpected_eof() {
    let (why, post) = scripted(|_| Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-".to_vec())).await;
    assert_eq!(
        why,
        format!("{post}: net/http: HTTP/1.x transport connection broken: unexpected EOF")
    );
}

#[tokio::test]
async fn a11_a_body_that_is_cut_off_says_where_it_went_wrong() {
    let (why, _) =
        scripted(|_| Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_vec())).await;
    assert_eq!(
        why,
        "unexpected error when reading response body. Please retry. Original error: unexpected EOF"
    );
}

#[tokio::test]
async fn a13_gzip_answers_are_unpacked() {
    let hook = Hook::start(|call| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer
            .write_all(
                review(call, json!({"allowed": true}))
                    .to_string()
                    .as_bytes(),
            )
            .unwrap();
        Reply::Http {
            status: 200,
            headers: vec![("Content-Encoding", "gzip".to_owned())],
            body: packer.finish().unwrap(),
        }
    })
    .await;
    Setting::new()
        .mutating("a", [hook.webhook(NAME)])
        .create()
        .await
        .unwrap();
    let (why, _) =
        scripted(|_| Reply::status(200, "plain").header("Content-Encoding", "gzip")).await;
    assert_eq!(
        why,
        "unexpected error when reading response body. Please retry. Original error: gzip: invalid header"
    );
}

#[tokio::test]
async fn a13_307_and_308_repeat_the_post() {
    for code in [307, 308] {
        let hook = Hook::start(move |call| {
            if call.target.starts_with("/old") {
                Reply::status(code, "").header("Location", "/new?x=1")
            } else {
                allow(call)
            }
        })
        .await;
        Setting::new()
            .mutating("a", [hook.webhook_at(NAME, "/old")])
            .create()
            .await
            .unwrap();
        let calls = hook.received();
        assert_eq!(
            (calls[1].method.as_str(), calls[1].target.as_str()),
            ("POST", "/new?x=1")
        );
        assert_eq!(calls[1].raw, calls[0].raw);
        assert_eq!(
            calls[1].headers["referer"],
            format!("https://{}/old?timeout=10s", hook.address)
        );
    }
}

#[tokio::test]
async fn a13_301_302_and_303_become_a_get() {
    for code in [301, 302, 303] {
        let hook = Hook::start(move |call| {
            if call.method == "POST" {
                Reply::status(code, "").header("Location", "/new")
            } else {
                Reply::status(404, "")
            }
        })
        .await;
        let why = refused(Setting::new().mutating("a", [hook.webhook(NAME)])).await;
        assert_eq!(why, "the server could not find the requested resource");
        let calls = hook.received();
        assert_eq!(
            (calls[1].method.as_str(), calls[1].target.as_str()),
            ("GET", "/new")
        );
        assert_eq!(
            (calls[1].raw.len(), calls[1].headers.get("content-type")),
            (0, None)
        );
    }
}

#[tokio::test]
async fn a13_ten_requests_are_the_most_that_redirects_may_cause() {
    let hook = Hook::start(|_| Reply::status(307, "").header("Location", "/again")).await;
    let why = refused(Setting::new().mutating("a", [hook.webhook(NAME)])).await;
    assert_eq!(
        why,
        format!(
            "Post \"https://{}/again\": stopped after 10 redirects",
            hook.address
        )
    );
    assert_eq!(hook.calls(), 10);
}

#[tokio::test]
async fn a13_an_answer_with_retry_after_is_tried_again() {
    for code in [429, 500, 503] {
        let hook = Hook::start(move |_| Reply::status(code, "").header("Retry-After", "0")).await;
        refused(Setting::new().mutating("a", [hook.webhook(NAME)])).await;
        assert_eq!(hook.calls(), 11, "{code}");
    }
}

#[tokio::test]
async fn a13_only_429_and_5xx_with_a_number_of_seconds_are_tried_again() {
    for (code, after) in [
        (404, "0"),
        (400, "0"),
        (503, "Wed, 21 Oct 2026 07:28:00 GMT"),
    ] {
        let hook = Hook::start(move |_| Reply::status(code, "").header("Retry-After", after)).await;
        refused(Setting::new().mutating("a", [hook.webhook(NAME)])).await;
        assert_eq!(hook.calls(), 1, "{code}");
    }
    let hook = Hook::start(|_| Reply::status(503, "")).await;
    refused(Setting::new().mutating("a", [hook.webhook(NAME)])).await;
    assert_eq!(hook.calls(), 1);
}

#[tokio::test]
async fn a13_a_retry_that_would_come_too_late_ends_at_the_deadline() {
    let hook = Hook::start(|_| Reply::status(503, "").header("Retry-After", "3600")).await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    let mut attributes = create(config_map());
    attributes.deadline = Instant::now() + Duration::from_millis(150);
    let status = setting.mutate(&mut attributes).await.unwrap_err();
    let post = format!("Post \"https://{}/?timeout=1s\"", hook.address);
    assert_eq!(
        call_error(status.message()),
        format!("{post}: context deadline exceeded")
    );
    assert_eq!(hook.calls(), 1);
}

#[tokio::test]
async fn urls_outside_loopback_are_refused_unless_allowed() {
    let config = json!({"url": "https://10.255.255.1/x"});
    let why = refused(Setting::new().mutating("a", [webhook(NAME, &config)])).await;
    assert_eq!(
        why,
        "Post \"https://10.255.255.1/x?timeout=10s\": this server calls webhooks on loopback addresses only, and 10.255.255.1 is none; allow remote webhooks to call it"
    );
    let config = json!({"url": "https://hooks.invalid/x"});
    let setting = Setting::with(Chain::builder().allow_remote_hooks())
        .mutating("a", [webhook(NAME, &config)]);
    assert_eq!(
        refused(setting).await,
        "Post \"https://hooks.invalid/x?timeout=10s\": dial tcp: lookup hooks.invalid: no such host"
    );
}

#[tokio::test]
async fn redirects_outside_loopback_are_refused_too() {
    let hook =
        Hook::start(|_| Reply::status(307, "").header("Location", "https://10.255.255.1/x")).await;
    let why = refused(Setting::new().mutating("a", [hook.webhook(NAME)])).await;
    assert!(
        why.starts_with("Post \"https://10.255.255.1/x\": this server calls webhooks on loopback"),
        "{why}"
    );
}
