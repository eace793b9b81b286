//! From a path and a method to the handler.

use std::sync::Arc;

use http::{Method, Response};
use kubewright_apiextensions::definitions;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_auth::{Decision, forbidden};
use kubewright_registry::{Resource, Verb};
use kubewright_validation::is_review;

use super::call::{Call, table_of};
use super::commit::catch_up;
use super::negotiate::{Limits, Output, with_streams};
use super::not_found::{not_found, nowhere};
use super::path::{Path, ResourcePath};
use super::request::Request;
use super::shared::Shared;
use super::target::Target;
use super::{create, delete, patch, read, reviews, subresource, table, update};
use crate::body::Body;
use crate::{aggregation, discovery, watch};

/// Answers a request that is allowed.
pub(crate) async fn dispatch(
    shared: Arc<Shared>,
    request: Request,
    path: Path,
) -> Result<Response<Body>> {
    match path {
        Path::Resource(path) => {
            if shared.store.is_shared() && must_be_current(&request) {
                catch_up(&shared.store).await?;
            }
            to_resource(shared, request, path).await
        }
        Path::Broken(group, _) => nowhere(&shared, group.as_deref()),
        Path::Other(segments) => {
            let words: Vec<&str> = segments.iter().map(String::as_str).collect();
            discovery::answer(&shared, &request, &words)
        }
    }
}

/// Whether a request is about the present. Writes are: they are compared with it. A read may ask for any state by
/// `resourceVersion=0`.
fn must_be_current(request: &Request) -> bool {
    request.parts.method != Method::GET || request.query.text("resourceVersion") != "0"
}

async fn to_resource(
    shared: Arc<Shared>,
    mut request: Request,
    path: ResourcePath,
) -> Result<Response<Body>> {
    let registry = shared.served.now();
    let Some(resource) = registry.find(&path.group, &path.version, &path.plural) else {
        return nowhere(&shared, Some(&path.group));
    };
    let placed = if resource.namespaced {
        path.name.is_empty() || !path.namespace.is_empty()
    } else {
        path.namespace.is_empty() || resource.plural == "namespaces"
    };
    // What can only be created, such as a review, has no path with a name.
    let nameless = resource.verbs == [Verb::Create] && !path.name.is_empty();
    let reads = request.parts.method == Method::GET && path.name.is_empty();
    let lost = resource.namespaced && path.namespace.is_empty() && !reads;
    if !resource.strategy.installs_routes() && (!placed || lost) {
        return Ok(not_found());
    }
    if !placed || nameless {
        return Err(Status::no_such_resource());
    }
    let (storage_group, storage_version) = &resource.storage;
    let storage = registry
        .find(storage_group, storage_version, &resource.plural)
        .unwrap_or_else(|| resource.clone());
    let listed = path.name.is_empty() && request.parts.method == Method::GET;
    let mut output = request.output;
    let limits = Limits {
        no_tables: !table::exists(&resource, &path.subresource),
        no_messages: resource.strategy.is_unstructured(),
    };
    if output.as_ref().is_ok_and(|output| output.exceeds(limits)) {
        output = Output::within(limits, &request.parts.headers, &request.query);
    }
    if !resource.strategy.installs_routes() && output.is_err() {
        return Err(Output::not_acceptable());
    }
    let call = Call {
        table: table_of(&storage),
        resource,
        storage,
        path,
        method: request.parts.method.clone(),
        query: request.query,
        uri: std::mem::take(&mut request.parts.uri),
        headers: request.parts.headers,
        output: if listed {
            output.map_err(with_streams)?
        } else {
            output?
        },
        user: request.user,
        deadline: request.deadline,
        notes: request.notes,
        versions: Arc::default(),
        trail: request.trail,
        upgrade: request.parts.extensions.remove(),
        stopped: request.stopped,
        body: request.body,
        shared,
    };
    let method = &request.parts.method;
    if *method == Method::HEAD {
        return Err(Status::method_not_allowed());
    }
    check_name(&call)?;
    warn_of_deprecation(&call, method);
    let writes = *method != Method::GET;
    let settles = (writes && concerns_definitions(&call.resource)).then(|| call.shared.clone());
    let registers = (writes && registers_apis(&call.resource)).then(|| call.shared.clone());
    let answered = if call.path.subresource.is_empty() {
        to_object(call, method).await
    } else {
        subresource::serve(call, method).await
    };
    if let Some(shared) = settles {
        shared.definitions.settle();
    }
    if let Some(shared) = registers {
        shared.aggregator.look();
        aggregation::settle(&shared);
    }
    answered
}

/// Whether writes of a resource concern the controllers of CustomResourceDefinitions: the resource is
/// `customresourcedefinitions`, or its definition is being deleted and waits until the objects are gone.
fn concerns_definitions(resource: &Resource) -> bool {
    definitions::are(resource) || resource.strategy.refuses_new().is_some()
}

/// Whether writes of a resource concern aggregated API servers.
fn registers_apis(resource: &Resource) -> bool {
    resource.group == "apiregistration.k8s.io" && resource.plural == "apiservices"
}

async fn to_object(call: Call, method: &Method) -> Result<Response<Body>> {
    let named = !call.path.name.is_empty();
    let everywhere = call.resource.namespaced && call.path.namespace.is_empty();
    match *method {
        Method::GET if call.path.watch => watch::watch(call).await,
        Method::GET if named => read::get(&call).await,
        Method::GET if call.query.flag("watch") => watch::watch(call).await,
        Method::GET => read::list(&call).await,
        // The handler of custom resources reads the body before it checks the name.
        Method::POST if named && !call.resource.strategy.installs_routes() => {
            create::create(&call).await
        }
        Method::PUT if !named && !call.resource.strategy.installs_routes() => {
            Err(Status::bad_request("name must be provided"))
        }
        Method::POST if !named && !everywhere => {
            let resource = &call.resource;
            if is_review(&resource.group, &resource.plural) {
                reviews::create(&call).await
            } else if resource.group.is_empty() && resource.plural == "bindings" {
                subresource::bind_by_body(&call).await
            } else {
                create::create(&call).await
            }
        }
        Method::PUT if named => update::update(&call).await,
        Method::PATCH if named => patch::patch(&call).await,
        Method::DELETE if named => delete::delete(&call).await,
        Method::DELETE if !everywhere => delete::delete_collection(&call).await,
        _ => Err(Status::method_not_allowed()),
    }
}

/// Checks that the user may send the request, before anything else is checked.
///
/// # Errors
/// 403 if the user may not.
pub(super) fn authorize(shared: &Shared, request: &Request, path: &Path) -> Result<()> {
    let Request {
        parts,
        query,
        user,
        notes,
        ..
    } = request;
    let target = Target::of(&parts.method, path, query, parts.uri.path());
    let question = target.question(user);
    let decided = shared.access.authorizer.decide(&question);
    let (decision, why) = match decided {
        Decision::Allow(why) => ("allow", why),
        Decision::NoOpinion(why) => ("forbid", why),
    };
    notes.annotate("authorization.k8s.io/decision", decision);
    notes.annotate("authorization.k8s.io/reason", why.as_str());
    if decision == "allow" {
        return Ok(());
    }
    Err(forbidden(&question, &why).refusing_access())
}

/// Versions of definitions, and the two built-in kinds, that are deprecated and still served.
fn warn_of_deprecation(call: &Call, method: &Method) {
    if let Some(warning) = call.resource.strategy.deprecation() {
        call.notes.warn(warning);
        return;
    }
    let core = call.resource.group.is_empty();
    let warning = match call.resource.plural.as_str() {
        "endpoints" if core && call.path.subresource.is_empty() => {
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        }
        "componentstatuses" if core && *method == Method::GET => {
            "v1 ComponentStatus is deprecated in v1.19+"
        }
        _ => return,
    };
    call.notes.warn(warning);
    call.notes.annotate("k8s.io/deprecated", "true");
}

/// A name that no path can lead to is refused before anything is looked up.
fn check_name(call: &Call) -> Result<()> {
    let name = &call.path.name;
    let problem = match name.as_str() {
        "." => "may not be '.'",
        ".." => "may not be '..'",
        name if name.contains('/') => "may not contain '/'",
        name if name.contains('%') => "may not contain '%'",
        _ => return Ok(()),
    };
    let name = quoted(name);
    let message = format!("Name parameter invalid: {name}: {problem}");
    Err(Status::bad_request(message))
}
