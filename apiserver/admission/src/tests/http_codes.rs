//! A.11.1: error messages for webhook responses that are not 2xx.

use super::hook::{Hook, Reply};
use super::setting::Setting;

async fn call_error(reply: Reply) -> String {
    let hook = Hook::start(move |_| reply.clone()).await;
    let refused = Setting::new()
        .mutating("a", [hook.webhook("one.example.com")])
        .create()
        .await
        .unwrap_err();
    let start = r#"Internal error occurred: failed calling webhook "one.example.com": failed to call webhook: "#;
    refused.strip_prefix(start).unwrap().to_owned()
}

macro_rules! codes {
    ($($name:ident: $code:literal => $text:literal,)*) => {$(
        #[tokio::test]
        async fn $name() {
            assert_eq!(call_error(Reply::status($code, "said")).await, $text);
        }
    )*};
}

codes! {
    a11_1_400_is_an_unknown_reason: 400 => "the server rejected our request for an unknown reason",
    a11_1_401_asks_for_credentials: 401 => "the server has asked for the client to provide credentials",
    a11_1_403_is_what_the_body_says: 403 => "said",
    a11_1_404_is_not_found: 404 => "the server could not find the requested resource",
    a11_1_405_does_not_allow_the_method: 405 => "the server does not allow this method on the requested resource",
    a11_1_406_is_what_the_body_says: 406 => "said",
    a11_1_409_is_a_conflict: 409 => "the server reported a conflict",
    a11_1_415_is_what_the_body_says: 415 => "said",
    a11_1_422_is_an_error_in_our_request: 422 => "the server rejected our request due to an error in our request",
    a11_1_429_is_too_many_requests: 429 => "the server has received too many requests and has asked us to try again later",
    a11_1_500_shows_the_body: 500 => "an error on the server (\"said\") has prevented the request from succeeding",
    a11_1_502_shows_the_body: 502 => "an error on the server (\"said\") has prevented the request from succeeding",
    a11_1_503_is_unable_to_handle_it: 503 => "the server is currently unable to handle the request",
    a11_1_504_did_not_answer_in_time: 504 => "the server was unable to return a response in the time allotted, but may still be processing the request",
    a11_1_418_is_any_other_code: 418 => "the server responded with the status code 418 but did not return more information",
    a11_1_207_is_not_among_the_good_codes: 207 => "the server responded with the status code 207 but did not return more information",
    a11_1_302_without_location_is_any_other_code: 302 => "the server responded with the status code 302 but did not return more information",
}

#[tokio::test]
async fn a11_1_a_body_that_is_not_text_is_unknown() {
    let png = |code| Reply::status(code, "said").header("Content-Type", "image/png");
    assert_eq!(call_error(png(403)).await, "unknown");
    assert_eq!(call_error(png(415)).await, "unknown");
    assert_eq!(
        call_error(png(406)).await,
        "the server was unable to respond with a content type that the client supports"
    );
    assert_eq!(
        call_error(png(500)).await,
        "an error on the server (\"unknown\") has prevented the request from succeeding"
    );
}

#[tokio::test]
async fn a11_1_text_is_trimmed_and_cut_at_2048_bytes() {
    let text = format!("  {}  ", "x".repeat(3000));
    let reply = Reply::status(403, &text).header("Content-Type", "text/html; charset=utf-8");
    assert_eq!(call_error(reply).await, "x".repeat(2046));
}

#[tokio::test]
async fn a11_1_the_message_of_a_failure_status_is_preferred() {
    let body =
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"because","code":403}"#;
    let reply = Reply::status(500, body).header("Content-Type", "application/json");
    assert_eq!(call_error(reply).await, "because");
    let success = body.replace("Failure", "Success");
    let reply = Reply::status(404, &success).header("Content-Type", "application/json");
    assert_eq!(
        call_error(reply).await,
        "the server could not find the requested resource"
    );
}
