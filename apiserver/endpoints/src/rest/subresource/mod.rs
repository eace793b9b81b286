//! Sub-resources: the parts of an object that have a path of their own (spec section C.14).

mod binding;
mod connect;
mod eviction;
mod log;
mod proxy;
mod scale;
mod streams;
mod token;
mod token_request;

use http::{Method, Response};
use kubewright_apimachinery::status::{Result, Status};
use kubewright_registry::Verb;

use super::call::Call;
use super::{patch, read, update};
use crate::body::Body;

pub(crate) use binding::bind_by_body;

/// Answers a request for a sub-resource.
pub(crate) async fn serve(call: Call, method: &Method) -> Result<Response<Body>> {
    let Some(part) = call.resource.subresource(&call.path.subresource) else {
        if !call.resource.strategy.installs_routes() {
            return Err(call.not_found(&call.path.name));
        }
        return Err(Status::no_such_resource());
    };
    let name = part.name.as_str();
    // A custom object's path may go on behind its status.
    let goes_on = !call.path.rest.is_empty() && name != "proxy";
    if goes_on && call.resource.strategy.installs_routes() {
        return Err(Status::no_such_resource());
    }
    let core = call.resource.group.is_empty();
    if core && connect::is_connect(name) {
        return connect::connect(&call, method).await;
    }
    let verb = match *method {
        Method::GET => Verb::Get,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE => Verb::Delete,
        _ => return Err(Status::method_not_allowed()),
    };
    if !part.verbs.contains(&verb) {
        if !call.resource.strategy.installs_routes() {
            let (group, plural) = (&call.resource.group, &call.resource.plural);
            return Err(Status::verb_not_supported(group, plural, verb.as_str()));
        }
        return Err(Status::method_not_allowed());
    }
    let own_kind = part.kind == call.kind();
    match (name, verb) {
        ("log", _) => log::log(&call).await,
        ("binding", Verb::Create) => binding::bind(&call).await,
        ("eviction", Verb::Create) => eviction::evict(&call).await,
        ("token", Verb::Create) => token::request(&call).await,
        ("scale", Verb::Get) => scale::get(&call).await,
        ("scale", Verb::Update) => scale::update(&call).await,
        ("scale", Verb::Patch) => scale::patch(&call).await,
        (_, Verb::Get) if own_kind => read::get(&call).await,
        (_, Verb::Update) if own_kind => update::update(&call).await,
        (_, Verb::Patch) if own_kind => patch::patch(&call).await,
        _ => Err(Status::method_not_allowed()),
    }
}
