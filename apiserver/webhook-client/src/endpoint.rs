//! The client for one URL or service: requests, redirects, retries (A.13).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::Full;
use kubewright_apimachinery::go_text::quoted;
use rustls::ClientConfig;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::certificate::ClientCertificate;
use super::connect::Place;
use super::error::CallError;
use super::exchange::{Answered, Connection, Unanswered};
use super::pool::Pool;
use super::reply::Reply;
use super::services::{Found, ServiceTable, Services};
use super::target::{Key, NoClient, Purpose, Site};
use super::{fault, trust};

/// How often an answer with `Retry-After` is tried again.
const RETRIES: usize = 10;

/// How many requests a chain of redirects may take.
const HOPS: usize = 10;

/// The most that a compressed answer may become.
const UNPACKED: u64 = 64 << 20;

/// The client of one webhook, with its connections.
pub struct Endpoint {
    key: Arc<Key>,
    services: ServiceTable,
    remote_hooks: bool,
    tls: Arc<ClientConfig>,
    pool: Pool,
}

/// One request of a chain of redirects.
#[derive(Clone)]
struct Hop {
    method: Method,
    uri: Uri,
    referer: Option<String>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    pub(super) fn new(
        key: &Arc<Key>,
        services: ServiceTable,
        remote_hooks: bool,
        certificate: Option<&ClientCertificate>,
    ) -> Result<Self, NoClient> {
        let certificate = certificate.filter(|_| key.purpose == Purpose::Admission);
        let tls = trust::client_config(&key.ca_bundle, key.site.may_use_http2(), certificate)
            .map_err(NoClient::Plain)?;
        Ok(Self {
            key: Arc::clone(key),
            services,
            remote_hooks,
            tls: Arc::new(tls),
            pool: Pool::default(),
        })
    }

    /// Sends the review.
    ///
    /// # Errors
    /// The text behind `failed to call webhook: `.
    ///
    /// # Cancel safety
    /// Dropping the future ends the call.
    pub async fn post(
        &self,
        cluster: &dyn Services,
        body: Bytes,
        deadline: Instant,
    ) -> Result<Reply, CallError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(fault::DEADLINE.to_owned().into());
        }
        let first = self.first_hop(left)?;
        for attempt in 0.. {
            let answer = self.follow(cluster, first.clone(), &body, deadline).await?;
            match retry_after(&answer) {
                Some(wait) if attempt < RETRIES => {
                    let until = Instant::now() + wait;
                    sleep_until(until.min(deadline)).await;
                    if until >= deadline {
                        return Err(failed(&first.uri, fault::DEADLINE).into());
                    }
                }
                _ => return judge(answer),
            }
        }
        unreachable!("the loop ends with its last attempt")
    }

    fn first_hop(&self, left: Duration) -> Result<Hop, String> {
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        let Key { site, path, .. } = &*self.key;
        let uri = format!("https://{}{path}?timeout={seconds}s", site.authority());
        let uri = uri
            .parse()
            .map_err(|error| format!("parse {}: {error}", quoted(&uri)))?;
        Ok(Hop {
            method: Method::POST,
            uri,
            referer: None,
        })
    }

    async fn follow(
        &self,
        cluster: &dyn Services,
        mut hop: Hop,
        body: &Bytes,
        deadline: Instant,
    ) -> Result<Answered, String> {
        for requests in 1.. {
            let answer = self.ask(cluster, &hop, body, deadline).await?;
            let Some(next) = hop.next(&answer).map_err(|why| failed(&hop.uri, &why))? else {
                return Ok(answer);
            };
            if requests == HOPS {
                return Err(failed(&hop.uri, "stopped after 10 redirects"));
            }
            hop = next;
        }
        unreachable!("the loop ends after ten requests")
    }

    /// One request; the body of the answer may be broken.
    async fn ask(
        &self,
        cluster: &dyn Services,
        hop: &Hop,
        body: &Bytes,
        deadline: Instant,
    ) -> Result<Answered, String> {
        let place = self
            .place(cluster, &hop.uri)
            .map_err(|why| failed(&hop.uri, &why))?;
        let has_head = AtomicBool::new(false);
        match timeout_at(deadline, self.exchange(&place, hop, body, &has_head)).await {
            Ok(answer) => answer.map_err(|why| failed(&hop.uri, &why)),
            Err(_) if has_head.load(Ordering::Relaxed) => Err(fault::body(fault::DEADLINE)),
            Err(_) => Err(failed(&hop.uri, fault::DEADLINE)),
        }
    }

    async fn exchange(
        &self,
        place: &Place,
        hop: &Hop,
        body: &Bytes,
        has_head: &AtomicBool,
    ) -> Result<Answered, String> {
        while let Some(mut connection) = self.pool.shared(place) {
            match connection.exchange(hop.request(body, true), has_head).await {
                Ok(answer) => return Ok(answer),
                Err(Unanswered::Unsent) if connection.sender.is_closed() => {}
                Err(Unanswered::Unsent) => return Err("http2: client connection lost".to_owned()),
                Err(Unanswered::Failed(why)) => return Err(why),
            }
        }
        while let Some(mut connection) = self.pool.take(place).await {
            match connection
                .exchange(hop.request(body, false), has_head)
                .await
            {
                Ok(answer) => {
                    self.keep(place, connection, &answer).await;
                    return Ok(answer);
                }
                Err(Unanswered::Unsent) => {}
                Err(Unanswered::Failed(why)) => return Err(why),
            }
        }
        match place
            .connect(&self.tls, self.remote_hooks)
            .await?
            .ready()
            .await?
        {
            Connection::Http2(mut connection) => {
                self.pool.share(place, connection.clone());
                let answer = connection.exchange(hop.request(body, true), has_head).await;
                answer.map_err(Unanswered::into_text)
            }
            Connection::Http1(mut connection) => {
                let answer = connection
                    .exchange(hop.request(body, false), has_head)
                    .await;
                let answer = answer.map_err(Unanswered::into_text)?;
                self.keep(place, connection, &answer).await;
                Ok(answer)
            }
        }
    }

    async fn keep(&self, place: &Place, connection: Box<super::pool::Http1>, answer: &Answered) {
        if answer.body.is_ok() {
            self.pool.put(place, connection).await;
        }
    }

    /// Where a request goes. A service is looked up anew for each call.
    fn place(&self, cluster: &dyn Services, uri: &Uri) -> Result<Place, String> {
        let host = uri.host().unwrap_or_default();
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let port = uri.port_u16().unwrap_or(443);
        let site = &self.key.site;
        let Site::Service {
            namespace,
            name,
            port: service_port,
        } = site
        else {
            return Ok(Place {
                server_name: host.clone(),
                host,
                port,
                address: None,
            });
        };
        let server_name = site.host();
        if host != server_name || port != *service_port {
            return Ok(Place {
                host,
                port,
                address: None,
                server_name,
            });
        }
        let remote = self.remote_hooks;
        let found = self.services.find(cluster, namespace, name, port, remote)?;
        let (host, address) = match found {
            Found::Address(address) => (host, Some(address)),
            Found::Host(host) => (host, None),
        };
        Ok(Place {
            host,
            port,
            address,
            server_name,
        })
    }
}

impl Hop {
    fn request(&self, body: &Bytes, http2: bool) -> Request<Full<Bytes>> {
        let posts = self.method == Method::POST;
        let mut request = Request::new(if posts {
            Full::new(body.clone())
        } else {
            Full::default()
        });
        *request.method_mut() = self.method.clone();
        let headers = request.headers_mut();
        if !http2
            && let Some(host) = self
                .uri
                .authority()
                .and_then(|host| HeaderValue::from_str(host.as_str()).ok())
        {
            headers.insert(header::HOST, host);
        }
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static("kube-apiserver-admission"),
        );
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, */*"),
        );
        if posts {
            headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
        }
        if let Some(referer) = self
            .referer
            .as_ref()
            .and_then(|text| HeaderValue::from_str(text).ok())
        {
            headers.insert(header::REFERER, referer);
        }
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        *request.uri_mut() = if http2 {
            self.uri.clone()
        } else {
            let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
            path.parse().unwrap_or_default()
        };
        request
    }

    /// Where the answer sends the request on to, by Go's rules: 307 and 308 repeat it, the others turn it into a GET.
    fn next(&self, answer: &Answered) -> Result<Option<Self>, String> {
        let method = match answer.head.status.as_u16() {
            301..=303 => Method::GET,
            307 | 308 => self.method.clone(),
            _ => return Ok(None),
        };
        let Some(location) = answer.head.headers.get(header::LOCATION) else {
            return Ok(None);
        };
        let location = location.to_str().unwrap_or_default();
        let uri = resolve(&self.uri, location).ok_or_else(|| {
            format!(
                "failed to parse Location header {}: invalid URL",
                quoted(location)
            )
        })?;
        if uri.scheme_str() != Some("https") {
            return Err(format!(
                "this server follows redirects to https only, not to {}",
                quoted(location)
            ));
        }
        Ok(Some(Self {
            method,
            uri,
            referer: Some(self.uri.to_string()),
        }))
    }
}

impl Unanswered {
    fn into_text(self) -> String {
        match self {
            Self::Unsent => "EOF".to_owned(),
            Self::Failed(why) => why,
        }
    }
}

/// A Location, absolute or relative to where it came from.
fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    if location.contains("://") {
        return location.parse().ok();
    }
    let mut parts = base.clone().into_parts();
    if let Some(rest) = location.strip_prefix("//") {
        let elsewhere: Uri = format!("https://{rest}").parse().ok()?;
        return Some(elsewhere);
    }
    let path = location;
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        let directory = base
            .path()
            .rsplit_once('/')
            .map_or("", |(directory, _)| directory);
        format!("{directory}/{path}")
    };
    parts.path_and_query = Some(path.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// `Post "<url>": <why>`: the first request's method, whatever a redirect made of it.
fn failed(uri: &Uri, why: &str) -> String {
    format!("Post {}: {why}", quoted(&uri.to_string()))
}

/// 429 and 5xx with a number of seconds in Retry-After.
fn retry_after(answer: &Answered) -> Option<Duration> {
    let status = answer.head.status;
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return None;
    }
    let seconds = answer
        .head
        .headers
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

fn judge(answer: Answered) -> Result<Reply, CallError> {
    let Answered { head, body } = answer;
    let body = body.map_err(|why| fault::body(&why))?;
    let body = unpacked(&head.headers, body).map_err(|why| fault::body(&why))?;
    Reply::judge(head.status, &head.headers, body)
}

fn unpacked(headers: &HeaderMap, body: Bytes) -> Result<Bytes, String> {
    use std::io::Read as _;
    let packed = headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"gzip"));
    if !packed {
        return Ok(body);
    }
    let mut out = Vec::new();
    let mut reader = MultiGzDecoder::new(&*body).take(UNPACKED + 1);
    reader
        .read_to_end(&mut out)
        .map_err(|_| "gzip: invalid header".to_owned())?;
    if out.len() as u64 > UNPACKED {
        return Err(format!("the response is longer than {UNPACKED} bytes"));
    }
    Ok(out.into())
}
