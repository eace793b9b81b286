//! The HTTP answer, and what its status code means (A.11.1).

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use kubewright_apimachinery::go_text::quoted;
use serde_json::Value;

use super::error::CallError;

/// How much of an unknown answer is shown.
const SHOWN: usize = 2048;

/// A 2xx answer with a body.
#[derive(Debug)]
pub struct Reply(Bytes);

impl Reply {
    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.0
    }

    /// Judges status and headers; the error is the text behind `failed to call webhook: `.
    pub(super) fn judge(
        status: StatusCode,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Self, CallError> {
        // Go's client makes an internal error of it.
        let internal = |why| CallError::answered(500, why);
        let content_type = match headers.get(header::CONTENT_TYPE) {
            Some(value) if !value.is_empty() => checked(value).map_err(internal)?,
            _ => "application/json",
        };
        if !(200..=206).contains(&status.as_u16()) {
            return Err(status_of(&body).unwrap_or_else(|| {
                CallError::answered(status.as_u16(), generic(status, headers, &body))
            }));
        }
        if body.is_empty() {
            let code = status.as_u16();
            let why = format!(
                "0-length response with status code: {code} and content type: {content_type}"
            );
            return Err(why.into());
        }
        Ok(Self(body))
    }
}

/// The message and the code of a failure Status in the body.
fn status_of(body: &[u8]) -> Option<CallError> {
    let status: Value = serde_json::from_slice(body).ok()?;
    let is_status = status["kind"] == "Status" && status["apiVersion"] == "v1";
    (is_status && status["status"] != "Success").then(|| {
        let code = status["code"]
            .as_u64()
            .and_then(|code| code.try_into().ok());
        let message = status["message"].as_str().unwrap_or_default();
        CallError::answered(code.unwrap_or_default(), message.to_owned())
    })
}

fn generic(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> String {
    let said = said(headers, body);
    let fixed = match status.as_u16() {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        406 if said.is_empty() || said == "unknown" => {
            "the server was unable to respond with a content type that the client supports"
        }
        403 | 406 | 415 => return said,
        code if code >= 500 => {
            let said = quoted(&said);
            return format!(
                "an error on the server ({said}) has prevented the request from succeeding"
            );
        }
        code => {
            return format!(
                "the server responded with the status code {code} but did not return more information"
            );
        }
    };
    fixed.to_owned()
}

/// The body as a sentence: only text counts.
fn said(headers: &HeaderMap, body: &[u8]) -> String {
    let is_text = match headers.get(header::CONTENT_TYPE) {
        None => true,
        Some(value) => value.to_str().is_ok_and(|value| {
            value
                .trim_start()
                .get(..5)
                .is_some_and(|start| start.eq_ignore_ascii_case("text/"))
        }),
    };
    if is_text {
        let shown = &body[..body.len().min(SHOWN)];
        String::from_utf8_lossy(shown).trim().to_owned()
    } else {
        "unknown".to_owned()
    }
}

/// Refuses what Go's `mime.ParseMediaType` refuses.
fn checked(value: &http::HeaderValue) -> Result<&str, String> {
    let wrong = |why: &str| format!("Internal error occurred: mime: {why}");
    let value = value
        .to_str()
        .map_err(|_| wrong("invalid media parameter"))?;
    let mut parts = value.split(';');
    let media = parts.next().unwrap_or_default().trim();
    if media.is_empty() {
        return Err(wrong("no media type"));
    }
    let (main, sub) = media
        .split_once('/')
        .map_or((media, None), |(main, sub)| (main, Some(sub)));
    if main.is_empty() {
        return Err(wrong("no media type"));
    }
    if !is_token(main) {
        return Err(wrong("expected slash after first token"));
    }
    match sub {
        Some("") => return Err(wrong("expected token after slash")),
        Some(sub) if !is_token(sub) => return Err(wrong("unexpected content after media subtype")),
        _ => {}
    }
    let mut keys: Vec<&str> = Vec::new();
    for part in parts {
        let part = part.trim();
        let key = part.split_once('=').map_or("", |(key, _)| key.trim());
        if !key.is_empty() && keys.contains(&key) {
            return Err(wrong("duplicate parameter name"));
        }
        keys.push(key);
        let well_formed = part.split_once('=').is_some_and(|(key, value)| {
            is_token(key.trim())
                && (is_token(value)
                    || value.starts_with('"') && value.ends_with('"') && value.len() > 1)
        });
        if !part.is_empty() && !well_formed {
            return Err(wrong("invalid media parameter"));
        }
    }
    Ok(value)
}

fn is_token(text: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_graphic() && !br#"()<>@,;:\"/[]?="#.contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}
