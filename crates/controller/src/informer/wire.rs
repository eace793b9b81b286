//! What the API server says: lines of a watch, pages of a list, and why it refuses.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A line of a watch.
#[derive(Deserialize)]
pub(crate) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) object: &'a RawValue,
}

/// What a bookmark holds.
#[derive(Deserialize)]
pub(crate) struct Bookmark {
    pub(crate) metadata: BookmarkMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BookmarkMetadata {
    pub(crate) resource_version: String,
    annotations: Option<BTreeMap<String, String>>,
}

impl BookmarkMetadata {
    /// Whether everything that was there at the start of the watch has been sent.
    pub(crate) fn ends_the_list(&self) -> bool {
        let annotations = self.annotations.as_ref();
        annotations.is_some_and(|all| all.get(INITIAL_EVENTS_END).is_some_and(|end| end == "true"))
    }
}

/// A page of a list.
#[derive(Deserialize)]
pub(crate) struct Page<'a> {
    pub(crate) metadata: PageMetadata,
    #[serde(borrow)]
    pub(crate) items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageMetadata {
    pub(crate) resource_version: String,
    #[serde(rename = "continue")]
    pub(crate) token: Option<String>,
}

/// The resources of an API group and version, as discovery lists them.
#[derive(Deserialize)]
pub(crate) struct Resources<'a> {
    #[serde(borrow)]
    resources: Vec<NamedResource<'a>>,
}

#[derive(Deserialize)]
struct NamedResource<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl Resources<'_> {
    pub(crate) fn have(&self, plural: &str) -> bool {
        self.resources.iter().any(|known| known.name == plural)
    }
}

/// Why the API server refuses: a `Status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    reason: String,
    message: String,
    details: Option<Details>,
    #[serde(skip)]
    retry_after: Option<Duration>,
    /// Whether it came within a watch that was granted.
    #[serde(skip)]
    is_within: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Details {
    retry_after_seconds: u32,
    causes: Option<Vec<Cause>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
    message: String,
}

impl Refusal {
    /// Reads an answer that is no success.
    pub(crate) async fn of(answer: Response<Body>) -> Self {
        let code = answer.status().as_u16();
        let header = answer.headers().get(RETRY_AFTER);
        let retry_after = header
            .and_then(|seconds| seconds.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        let body = Limited::new(answer.into_body(), LARGEST_STATUS).collect();
        let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            // The refusal matters more than its Status, so an unreadable body counts as an empty one.
            Ok(Err(_)) | Err(_) => Bytes::new(),
        };
        Self {
            code,
            retry_after,
            ..Self::said(&body)
        }
    }

    /// Reads the object of an error that comes within a watch.
    pub(crate) fn within(object: &str) -> Self {
        Self {
            is_within: true,
            ..Self::said(object.as_bytes())
        }
    }

    fn said(status: &[u8]) -> Self {
        serde_json::from_slice(status).unwrap_or_default()
    }

    /// Whether what was asked for is so old that the API server has forgotten it, or newer than anything it knows, as
    /// after it was restored from a backup.
    pub(crate) fn is_out_of_time(&self) -> bool {
        let causes = self
            .details
            .iter()
            .flat_map(|details| details.causes.iter().flatten());
        self.code == StatusCode::GONE
            || matches!(self.reason.as_str(), "Expired" | "Gone")
            || causes.into_iter().any(|cause| {
                cause.reason == "ResourceVersionTooLarge"
                    || cause.message.starts_with("Too large resource version")
            })
    }

    /// Whether it knows nothing of what the request names.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code == StatusCode::NOT_FOUND && !self.is_within
    }

    /// Whether it may well grant the same request in a while.
    pub(crate) fn passes(&self) -> bool {
        let is_away = self.code > 500 || (self.code == 500 && !self.is_within);
        is_away || matches!(self.code, 401 | 403 | 404 | 429)
    }

    /// Whether another request would fare no better.
    pub(crate) fn is_the_servers_fault(&self) -> bool {
        self.code >= 500
    }

    /// How long the API server wants to be left alone.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let details = self
            .details
            .as_ref()
            .map(|details| details.retry_after_seconds);
        let said = details.filter(|seconds| *seconds > 0);
        self.retry_after
            .or(said.map(|seconds| Duration::from_secs(seconds.into())))
            .map(|pause| pause.min(LONGEST_PAUSE))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the API server answers {}", self.code)?;
        match self.message.as_str() {
            "" => Ok(()),
            message => write!(formatter, ": {message}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Reads a page of a list, whole: objects of it are parts of one document.
pub(crate) async fn page(
    answer: Response<Body>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    Ok(Limited::new(answer.into_body(), LARGEST_PAGE)
        .collect()
        .await?
        .to_bytes())
}

const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
const LARGEST_STATUS: usize = 256 * 1024;
/// 500 objects of the largest size that etcd takes would be three times this; no cluster has those.
const LARGEST_PAGE: usize = 256 * 1024 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
