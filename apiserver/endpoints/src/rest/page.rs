//! Continue tokens: where the next page of a list begins, and at which revision.

use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use kubewright_apimachinery::json::parse;
use kubewright_apimachinery::status::{Result, Status};
use serde_json::json;

/// The place where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The revision of the first page; -1 for a list that goes on with newer objects after its revision expired.
    pub(crate) revision: i64,
    /// The first key that may be shown.
    pub(crate) start: String,
}

impl Page {
    /// The page behind the object at `key`.
    pub(crate) fn after(revision: i64, key: &str) -> Self {
        Self {
            revision,
            start: format!("{key}\0"),
        }
    }

    /// The token for the client.
    pub(crate) fn token(&self) -> String {
        let token = json!({"v": VERSION, "rv": self.revision, "start": self.start});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    /// Reads a token.
    ///
    /// # Errors
    /// 400 if it is none of ours.
    pub(crate) fn parse(token: &str) -> Result<Self> {
        read(token).map_err(|why| {
            Status::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        })
    }
}

fn read(token: &str) -> std::result::Result<Page, String> {
    let bytes = URL_SAFE_NO_PAD
        .decode(token)
        .or_else(|_| URL_SAFE.decode(token))
        .map_err(|error| match error {
            base64::DecodeError::InvalidByte(at, _)
            | base64::DecodeError::InvalidLastSymbol(at, _) => {
                format!("illegal base64 data at input byte {at}")
            }
            // Go counts to the beginning of the group that is not whole.
            _ => format!("illegal base64 data at input byte {}", token.len() / 4 * 4),
        })?;
    let token = parse(&bytes).map_err(|error| error.to_string())?.value;
    let version = token["v"].as_str().unwrap_or_default();
    if version != VERSION {
        return Err(format!(
            "server does not recognize this encoded version {version}"
        ));
    }
    let revision = token["rv"].as_i64().unwrap_or_default();
    if revision == 0 {
        return Err(format!(
            "incorrect encoded start resourceVersion (version {VERSION})"
        ));
    }
    let start = token["start"].as_str().unwrap_or_default();
    if start.is_empty() {
        return Err(format!("encoded start key empty (version {VERSION})"));
    }
    if start.split('/').any(|part| part == "..") {
        return Err(start.to_owned());
    }
    Ok(Page {
        revision,
        start: start.to_owned(),
    })
}

const VERSION: &str = "meta.k8s.io/v1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_back_to_its_page() {
        let page = Page::after(17, "default/web");
        assert_eq!(Page::parse(&page.token()).unwrap(), page);
        assert_eq!(page.start, "default/web\0");
    }

    #[test]
    fn tokens_of_others_are_refused() {
        let message = |token: &str| Page::parse(token).unwrap_err().message().to_owned();
        let encoded = |text: &str| message(&URL_SAFE_NO_PAD.encode(text));
        assert_eq!(
            message("???"),
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
        );
        assert_eq!(
            encoded(r#"{"v":"v2","rv":1,"start":"a"}"#),
            "invalid continue token: continue key is not valid: server does not recognize this encoded version v2",
        );
        assert_eq!(
            encoded(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#),
            "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        );
        assert!(encoded(r#"{"v":"meta.k8s.io/v1","rv":3}"#).contains("encoded start key empty"));
        assert!(encoded(r#"{"v":"meta.k8s.io/v1","rv":3,"start":"../x"}"#).ends_with("../x"));
    }
}
