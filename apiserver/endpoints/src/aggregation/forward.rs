//! A request that an aggregated API server answers.

use std::net::IpAddr;

use futures::{FutureExt as _, StreamExt as _};
use http::header::{CONNECTION, HOST, UPGRADE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, BodyStream};
use hyper::body::Incoming as Answer;
use hyper::upgrade::OnUpgrade;
use kubewright_webhook_client::Located;
use tokio::sync::watch;

use super::exchange::send;
use super::identity::identify;
use super::registration::Registration;
use crate::body::Body;
use crate::rest::answer;
use crate::rest::forward::{headers, without_connection};
use crate::rest::request::{Incoming, Request};
use crate::rest::shared::Shared;
use crate::rest::upgrade::{is_upgrade, join};

/// Sends a request that is allowed to the service of an APIService, and returns what the service answers. Failures are
/// plain text, as those of a real API server.
pub(crate) async fn forward(
    shared: &Shared,
    registration: &Registration,
    request: Request,
    sender: Option<IpAddr>,
    body: Incoming,
) -> Response<Body> {
    let unavailable = |why: &str| answer::text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"));
    let failed = |why: &str| answer::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n"));
    let Some(service) = registration
        .service
        .as_ref()
        .filter(|_| registration.is_available)
    else {
        return unavailable("service unavailable");
    };
    let certificate = shared.aggregator.certificate();
    let tls = match certificate.and_then(|it| registration.tls(it).map_err(str::to_owned)) {
        Ok(tls) => tls,
        Err(why) => return failed(&why),
    };
    let reach = shared.reach();
    let Ok(located) = reach.locate(service) else {
        return unavailable("service unavailable");
    };
    let mut request = request;
    let client = request.parts.extensions.remove::<OnUpgrade>();
    let upgrade = client.filter(|_| is_upgrade(&request.parts.headers));
    let passed = match passed_on(&request, &located, sender, upgrade.is_some(), body) {
        Ok(passed) => passed,
        Err(why) => return failed(&why),
    };
    match send(reach, &located, tls, passed).await {
        Ok(answer) => answered(answer, upgrade, request.stopped),
        Err(why) => unavailable(&format!("error trying to reach service: {why}")),
    }
}

/// The request without what is the client's own: its credentials, and what it says of other users.
fn passed_on(
    request: &Request,
    located: &Located,
    sender: Option<IpAddr>,
    upgrades: bool,
    body: Incoming,
) -> Result<http::Request<Incoming>, String> {
    let parts = &request.parts;
    let uri = parts.uri.path_and_query().map_or("/", |it| it.as_str());
    let mut passed = http::Request::new(body);
    *passed.method_mut() = parts.method.clone();
    *passed.uri_mut() = uri.parse().map_err(|_| "the path cannot be forwarded")?;
    let mut kept = headers(&parts.headers);
    kubewright_auth::remove_token(&mut kept);
    identify(&mut kept, &request.user)?;
    let host = located.authority();
    let value = |text: &str| HeaderValue::from_str(text).map_err(|error| error.to_string());
    kept.insert(HOST, value(&host)?);
    kept.insert(FORWARDED_URI, value(parts.uri.path())?);
    kept.insert(FORWARDED_HOST, value(&host)?);
    kept.insert(FORWARDED_PROTO, HeaderValue::from_static("https"));
    if let Some(sender) = sender {
        let before = kept.get_all(FORWARDED_FOR).iter();
        let before = before.filter_map(|value| value.to_str().ok());
        let all: Vec<String> = before
            .map(str::to_owned)
            .chain([sender.to_string()])
            .collect();
        kept.insert(FORWARDED_FOR, value(&all.join(", "))?);
    }
    if upgrades && let Some(protocol) = parts.headers.get(UPGRADE) {
        kept.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        kept.insert(UPGRADE, protocol.clone());
    }
    *passed.headers_mut() = kept;
    Ok(passed)
}

fn answered(
    mut answer: Response<Answer>,
    upgrade: Option<OnUpgrade>,
    mut stopped: watch::Receiver<bool>,
) -> Response<Body> {
    if let (StatusCode::SWITCHING_PROTOCOLS, Some(client)) = (answer.status(), upgrade) {
        let service = hyper::upgrade::on(&mut answer);
        tokio::spawn(join(client, service, stopped));
        return answer.map(|_| Body::from(""));
    }
    let (head, body) = answer.into_parts();
    // An answer that breaks off ends the body, as the length tells the client.
    let frames = BodyStream::new(body.map_err(drop));
    let data = frames.filter_map(async |frame| frame.ok()?.into_data().ok());
    let over = async move { stopped.wait_for(|stopped| *stopped).await.is_ok() };
    let mut response = Response::new(Body::stream(Box::pin(data.take_until(over.boxed()))));
    *response.status_mut() = head.status;
    let mut kept = without_connection(&head.headers);
    // Which origins may read an answer is for this server to say.
    for name in ["origin", "methods", "headers", "credentials"] {
        kept.remove(format!("access-control-allow-{name}"));
    }
    *response.headers_mut() = kept;
    response
}

const FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
