//! WATCH: the changes of a resource as a stream of lines (spec section C.7).

mod shape;
mod socket;
mod stream;

use std::collections::VecDeque;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_registry::Verb;
use kubewright_storage::{At, Change};
use tokio::time::{Duration, Instant};

use crate::body::Body;
use crate::rest::call::Call;
use crate::rest::negotiate::{Encoding, Form};
use crate::rest::read::{ListOptions, too_new};
use shape::{Shape, no_object_fits, written};
use socket::Handshake;
use stream::Stream;

/// Starts a watch.
pub(crate) async fn watch(mut call: Call) -> Result<Response<Body>> {
    if !call.resource.allows(Verb::Watch) {
        let resource = &call.resource;
        if !resource.allows(Verb::List) {
            return Err(Status::method_not_allowed());
        }
        let (group, plural) = (&resource.group, &resource.plural);
        return Err(Status::verb_not_supported(group, plural, "watch"));
    }
    let ListOptions {
        timeout,
        selection,
        version,
        ..
    } = ListOptions::read(&call, true)?;
    let bookmarks = call.query.flag("allowWatchBookmarks");
    let wants_initial = version.initial_events == Some(true);
    let says_nothing = call.query.get("sendInitialEvents").is_none();
    let shape = shape(&call)?;
    let lasts = match timeout {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
        Some(..0) => Duration::ZERO,
        _ => Duration::from_secs(1800 + u64::from(rand_below(1800))),
    };

    let store = &call.shared.store;
    let current = store.revision();
    let fresh = matches!(version.text.as_str(), "" | "0");
    let mut lines = VecDeque::new();
    // A watch that has lasted long enough before it begins has no events.
    let mut over = lasts.is_zero();
    if wants_initial && version.number > current {
        let status = too_new(version.number, current).to_value();
        lines.push_back(written(&call, "ERROR", &status));
        over = true;
    }
    let cached_since =
        Custom::of(&call.resource).map_or(0, |custom| custom.definition.cached_since);
    if !fresh && !wants_initial && version.number < cached_since {
        let (wanted, oldest) = (version.number, cached_since);
        let why = format!("too old resource version: {wanted} ({oldest})");
        lines.push_back(written(&call, "ERROR", &Status::expired(why).to_value()));
        over = true;
    }
    let mut shape = shape;
    let after = if over {
        current
    } else if wants_initial || (fresh && version.initial_events.is_none()) {
        let namespace = if call.resource.namespaced {
            call.path.namespace.as_str()
        } else {
            ""
        };
        let listed = store
            .list(&call.table, namespace, "", usize::MAX, At::Now)
            .map_err(|_| too_new(current, current))?;
        for object in &listed.objects {
            if call.is_for(object.name()) && selection.matches(&call, object).await {
                over |= no_object_fits(&call);
                if over {
                    break;
                }
                lines.push_back(shape.line(&call, Change::Added, object).await?);
            }
        }
        if wants_initial && bookmarks {
            over |= no_object_fits(&call);
            if !over {
                lines.push_back(shape.bookmark(&call, listed.revision, true));
            }
        }
        listed.revision
    } else if fresh {
        current
    } else {
        version.number
    };
    let content_type = match call.output.encoding {
        Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        _ => "application/json",
    };
    let namespace = if call.resource.namespaced {
        call.path.namespace.as_str()
    } else {
        ""
    };
    let watcher = store.watch_in(&call.table, namespace, after);
    let handshake = Handshake::of(&mut call);
    let mut stream = Stream::new(
        call,
        selection,
        shape,
        watcher,
        lines,
        Instant::now() + lasts,
        bookmarks,
    );
    // A watch from no state in particular has a bookmark as soon as it has seen one.
    if fresh && says_nothing {
        stream.end_with_bookmark();
    }
    if over {
        stream.end();
    }
    let events = stream.into_events();
    if let Some(handshake) = handshake {
        return Ok(handshake.accept(events));
    }
    let mut response = Response::new(Body::stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

fn shape(call: &Call) -> Result<Shape> {
    if call.output.encoding == Encoding::Yaml {
        return Err(Status::not_acceptable(&[
            "application/json;stream=watch",
            "application/vnd.kubernetes.protobuf;stream=watch",
        ]));
    }
    match call.output.form {
        Form::Object => Ok(Shape::Object),
        Form::Table(version) => Shape::table(call, version),
        Form::Metadata(version) | Form::MetadataList(version) => Ok(Shape::metadata(version)),
    }
}

fn rand_below(limit: u32) -> u32 {
    let random = uuid::Uuid::new_v4().as_u128();
    u32::try_from(random % u128::from(limit)).unwrap_or_default()
}
