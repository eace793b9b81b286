//! What `clientConfig` says: where a webhook is and whom to trust.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use kubewright_apimachinery::go_text::quoted;
use serde_json::Value;

/// A `clientConfig`, read once per configuration change.
#[derive(Debug)]
pub struct Target(Result<Arc<Key>, NoClient>);

/// What one client is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) purpose: Purpose,
    pub(super) site: Site,
    pub(super) path: String,
    pub(super) ca_bundle: Vec<u8>,
}

/// What a webhook is asked for. The API server shows its client certificate for admission only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Admission,
    Conversion,
}

/// Where a webhook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// The host and, if it was given, the port of a URL.
    Url { host: String, port: Option<u16> },
    Service {
        namespace: String,
        name: String,
        port: u16,
    },
}

/// Why there is no client for a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoClient {
    /// A text that names the webhook itself: `failed calling webhook "<name>": <why>`.
    Named(String),
    /// The whole text.
    Plain(String),
}

impl NoClient {
    /// Returns the message for the webhook of a name.
    pub fn shown(&self, webhook: &str) -> String {
        match self {
            Self::Named(why) => calling(webhook, why),
            Self::Plain(why) => why.clone(),
        }
    }
}

/// `failed calling webhook "<name>": <why>`.
pub fn calling(webhook: &str, why: &str) -> String {
    format!("failed calling webhook {}: {why}", quoted(webhook))
}

impl Target {
    /// Reads the `clientConfig` of a webhook that admits.
    pub fn of_admission(config: &Value) -> Self {
        Self(read(config, Purpose::Admission).map(Arc::new))
    }

    /// Reads the `clientConfig` of a webhook that converts.
    pub fn of_conversion(config: &Value) -> Self {
        Self(read(config, Purpose::Conversion).map(Arc::new))
    }

    /// The host that is called, if it is known.
    pub fn host(&self) -> Option<String> {
        Some(self.0.as_ref().ok()?.site.host())
    }

    pub(super) fn key(&self) -> Result<&Arc<Key>, NoClient> {
        self.0.as_ref().map_err(Clone::clone)
    }
}

impl Site {
    /// The host as it is dialled, verified and shown.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Url { host, .. } => host.clone(),
            Self::Service {
                namespace, name, ..
            } => format!("{name}.{namespace}.svc"),
        }
    }

    pub(super) fn port(&self) -> u16 {
        match self {
            Self::Url { port, .. } => port.unwrap_or(443),
            Self::Service { port, .. } => *port,
        }
    }

    /// Host and port as they stand in the URL: a service always shows its port.
    pub(super) fn authority(&self) -> String {
        let host = self.host();
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host
        };
        match self {
            Self::Url { port: None, .. } => host,
            _ => format!("{host}:{}", self.port()),
        }
    }

    /// HTTP/2 is negotiated with URLs on this machine only.
    pub(super) fn may_use_http2(&self) -> bool {
        matches!(self, Self::Url { host, .. } if is_loopback(host))
    }
}

/// `localhost` or a loopback address.
pub(super) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn read(config: &Value, purpose: Purpose) -> Result<Key, NoClient> {
    let ca_bundle = match config["caBundle"].as_str() {
        Some(text) => STANDARD.decode(text).map_err(|_| {
            NoClient::Plain("unable to load root certificates: illegal base64 data".to_owned())
        })?,
        None => Vec::new(),
    };
    let service = &config["service"];
    let (site, path) = if service.is_object() {
        let text = |field: &str| service[field].as_str().unwrap_or_default();
        let port = service["port"]
            .as_u64()
            .and_then(|port| u16::try_from(port).ok());
        let site = Site::Service {
            namespace: text("namespace").to_owned(),
            name: text("name").to_owned(),
            port: port.filter(|port| *port != 0).unwrap_or(443),
        };
        (site, clean(text("path")))
    } else {
        by_url(config["url"].as_str().unwrap_or_default())?
    };
    Ok(Key {
        purpose,
        site,
        path,
        ca_bundle,
    })
}

fn by_url(url: &str) -> Result<(Site, String), NoClient> {
    if url.is_empty() {
        let why = "webhook configuration must have either service or URL";
        return Err(NoClient::Named(why.to_owned()));
    }
    let unparsable = |why: &str| NoClient::Named(format!("Unparsable URL: {why}"));
    let uri: Uri = url
        .parse()
        .map_err(|error: http::uri::InvalidUri| unparsable(&error.to_string()))?;
    let host = uri.host().ok_or_else(|| unparsable("it has no host"))?;
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    Ok((
        Site::Url {
            host,
            port: uri.port_u16(),
        },
        clean(uri.path()),
    ))
}

/// `path.Clean("/" + path)`: one leading slash, none at the end, no empty, `.` or `..` segments.
fn clean(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a13_paths_are_cleaned_as_gos_client_cleans_them() {
        let rows = [
            ("", "/"),
            ("/", "/"),
            ("/a/", "/a"),
            ("//a//b", "/a/b"),
            ("/a/../b/.", "/b"),
            ("/..", "/"),
        ];
        for (path, cleaned) in rows {
            assert_eq!(clean(path), cleaned, "{path}");
        }
    }

    #[test]
    fn a13_http2_is_for_urls_on_this_machine_only() {
        let url = |host: &str| Site::Url {
            host: host.to_owned(),
            port: None,
        };
        for (site, allowed) in [
            (url("localhost"), true),
            (url("LOCALHOST"), true),
            (url("127.0.0.1"), true),
            (url("127.8.8.8"), true),
            (url("::1"), true),
            (url("10.0.0.1"), false),
            (url("localhost.example.com"), false),
            (
                Site::Service {
                    namespace: "a".into(),
                    name: "localhost".into(),
                    port: 443,
                },
                false,
            ),
        ] {
            assert_eq!(site.may_use_http2(), allowed, "{site:?}");
        }
    }
}
