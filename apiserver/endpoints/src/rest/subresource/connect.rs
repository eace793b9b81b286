//! `exec`, `attach`, `portforward` and `proxy`: the connection passes admission, and then leads to the pod.

use std::net::IpAddr;

use http::{Method, Response};
use kubewright_admission::Operation;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View;
use kubewright_auth::{About, Question};
use kubewright_kubelet::Unanswered;
use kubewright_storage::At;
use serde_json::{Map, Value};

use super::proxy::{self, Target};
use super::streams::Asked;
use crate::body::Body;
use crate::rest::call::Call;
use crate::rest::query::go_words;

const SLICES: &str = "endpointslices.discovery.k8s.io";

/// Whether a subresource of the core group is a connection.
pub(super) fn is_connect(name: &str) -> bool {
    matches!(name, "attach" | "exec" | "portforward" | "proxy")
}

/// Runs admission for a connection, and then connects.
///
/// # Errors
/// The real server's error for pods without a node and services without endpoints, and 501 where a kubelet would have to answer.
pub(super) async fn connect(call: &Call, method: &Method) -> Result<Response<Body>> {
    if !call.query.text("dryRun").is_empty() {
        return Err(Status::bad_request("dryRun is not supported"));
    }
    let part = call.path.subresource.as_str();
    let kind = kind(&call.resource.kind, part);
    let mut attributes = call.attributes(Operation::Connect, Value::Null);
    attributes.object = options(call, part, &kind)?;
    attributes.kind = GroupVersionKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind,
    };
    call.mutate(&mut attributes).await?;
    call.validate(&attributes).await?;
    match (call.resource.plural.as_str(), part) {
        ("pods", "proxy") => {
            let target = to_pod(call).await?;
            return proxy::forward(call, method, &target).await;
        }
        ("services", _) => {
            let target = to_service(call).await?;
            return proxy::forward(call, method, &target).await;
        }
        ("pods", _) => return to_container(call, part, &attributes.object).await,
        _ => drop(call.stored()?),
    }
    Err(Unanswered::Node.into())
}

/// Checks that the container exists and that its pod is bound to an existing node, whose kubelet answers then.
async fn to_container(call: &Call, part: &str, options: &Value) -> Result<Response<Body>> {
    // The verb of a GET is another one, which many may use that must not run commands.
    let about = About::Resource {
        group: &call.path.group,
        resource: &call.path.plural,
        subresource: &call.path.subresource,
        namespace: &call.path.namespace,
        name: &call.path.name,
        fields: None,
    };
    let (user, verb) = (&call.user, "create");
    let question = Question { user, verb, about };
    kubewright_auth::check(&*call.shared.access.authorizer, &question)?;
    let stored = call.stored()?;
    let pod = call.value(&stored).await?;
    let container = match part {
        "portforward" => String::new(),
        _ => check_container(&pod, options["container"].as_str().unwrap_or_default())?,
    };
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        return Err(Status::bad_request(format!(
            "pod {} does not have a host assigned",
            call.path.name
        )));
    }
    if call.shared.store.get("nodes", node).is_none() {
        // A real server names the resource of the request, though it is the node that is not found.
        return Err(Status::not_found("", "pods", node));
    }
    let asked = Asked {
        call,
        pod: &pod,
        revision: stored.revision,
        options,
    };
    if part == "portforward" {
        asked.ports()
    } else {
        asked.command(&container, part == "exec")
    }
}

/// Checks that a pod has a container of this name, or a single one if there is no name, and returns its name.
pub(super) fn check_container(pod: &Value, container: &str) -> Result<String> {
    let spec = &pod["spec"];
    let names = |list: &str| {
        let list = spec[list].as_array().cloned().unwrap_or_default();
        let name = |item: &Value| item["name"].as_str().unwrap_or_default().to_owned();
        list.iter().map(name).collect::<Vec<_>>()
    };
    let own = names("containers");
    let all = [
        names("initContainers"),
        own.clone(),
        names("ephemeralContainers"),
    ]
    .concat();
    let pod = meta_text(pod, "name");
    if let ([own], "") = (own.as_slice(), container) {
        return Ok(own.clone());
    }
    if all.iter().any(|name| name == container) {
        return Ok(container.to_owned());
    }
    Err(Status::bad_request(if container.is_empty() {
        let all = all.join(" ");
        format!("a container name must be specified for pod {pod}, choose one of: [{all}]")
    } else {
        format!("container {container} is not valid for pod {pod}")
    }))
}

/// The pod that `[scheme:]name[:port]` names, which has a public address; without a port, the first one that it declares.
async fn to_pod(call: &Call) -> Result<Target<'_>> {
    let Named { scheme, name, port } = named(call, "pod")?;
    let pod = call.value(&*call.stored_as(name)?).await?;
    let address = pod["status"]["podIP"].as_str().unwrap_or_default();
    let is_public = |address: IpAddr| {
        let is_local = match address {
            IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        };
        !is_local && !address.is_unspecified() && !address.is_loopback() && !address.is_multicast()
    };
    let Some(address) = address.parse().ok().filter(|address| is_public(*address)) else {
        return Err(Status::bad_request("address not allowed"));
    };
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let mut declared =
        containers.filter_map(|container| container["ports"][0]["containerPort"].as_u64());
    let mut declared = || u16::try_from(declared.next()?).ok();
    let default = if scheme == "https" { 443 } else { 80 };
    let port = match port {
        "" => declared().unwrap_or(default),
        port => port.parse().map_err(|_| {
            unavailable(format!(
                "error trying to reach service: address tcp/{port}: unknown port"
            ))
        })?,
    };
    Ok(Target {
        scheme,
        address: (address, port),
    })
}

/// An endpoint of a service at a port that is named or numbered; the service has the port, and endpoints that are pods.
async fn to_service(call: &Call) -> Result<Target<'_>> {
    let Named { scheme, name, port } = named(call, "service")?;
    let mut port_name = port.to_owned();
    if let Ok(number) = port.parse::<i64>() {
        let service = call.value(&*call.stored_as(name)?).await?;
        let mut ports = service.at("spec").list("ports").iter();
        let Some(port) = ports.find(|known| known["port"] == number) else {
            let name = quoted(name);
            return Err(unavailable(format!(
                "no service port {number} found for service {name}"
            )));
        };
        port.text("name").clone_into(&mut port_name);
    }
    let (store, namespace) = (&call.shared.store, &call.path.namespace);
    let slices = store.list(SLICES, namespace, "", usize::MAX, At::Now);
    let slices = slices.map(|listed| listed.objects).unwrap_or_default();
    let address = slices.iter().find_map(|slice| {
        let slice = slice.value();
        let labels = slice.at("metadata").at("labels");
        if labels.text("kubernetes.io/service-name") != name {
            return None;
        }
        let mut ports = slice.list("ports").iter();
        let port = ports.find(|port| port.has("port") && port["name"] == *port_name)?;
        let mut endpoints = slice.list("endpoints").iter();
        let endpoint = endpoints.find(|endpoint| {
            endpoint.at("conditions").at("ready") != false && is_of_pod(call, endpoint)
        })?;
        let address = endpoint.list("addresses").first()?.as_str()?.parse().ok()?;
        Some((address, port["port"].as_u64()?.try_into().ok()?))
    });
    address
        .map(|address| Target { scheme, address })
        .ok_or_else(|| {
            let name = quoted(name);
            unavailable(format!("no endpoints available for service {name}"))
        })
}

/// Whether an endpoint is a pod that has its address: a proxy leads nowhere else.
fn is_of_pod(call: &Call, endpoint: &Value) -> bool {
    let (target, namespace) = (endpoint.at("targetRef"), &call.path.namespace);
    let key = format!("{namespace}/{}", target.text("name"));
    let pod = call.shared.store.get("pods", &key);
    let address = endpoint.list("addresses").first();
    let has_address = |pod: Value| {
        let mut own = pod.at("status").list("podIPs").iter();
        own.any(|own| own.get("ip") == address)
    };
    target.text("namespace") == namespace && pod.is_some_and(|pod| has_address(pod.value()))
}

fn unavailable(message: String) -> Status {
    Status::new(503, "ServiceUnavailable", message)
}

/// What `name`, `name:port` or `scheme:name:port` says.
#[derive(Debug)]
struct Named<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

fn named<'a>(call: &'a Call, what: &str) -> Result<Named<'a>> {
    let whole = call.path.name.as_str();
    let parts: Vec<&str> = whole.split(':').collect();
    let (scheme, name, port) = match parts[..] {
        [name] => ("", name, ""),
        [name, port] => ("", name, port),
        [scheme, name, port] => (scheme, name, port),
        _ => ("", "", ""),
    };
    if name.is_empty() || !matches!(scheme, "" | "http" | "https") {
        let whole = quoted(whole);
        return Err(Status::bad_request(format!(
            "invalid {what} request {whole}"
        )));
    }
    Ok(Named { scheme, name, port })
}

fn kind(parent: &str, part: &str) -> String {
    let what = match part {
        "attach" => "Attach",
        "exec" => "Exec",
        "portforward" => "PortForward",
        _ => "Proxy",
    };
    format!("{parent}{what}Options")
}

/// The query as the options object that admission sees.
///
/// # Errors
/// 400 for a port that is no number.
fn options(call: &Call, part: &str, kind: &str) -> Result<Value> {
    let query = &call.query;
    let mut options = Map::new();
    options.insert("kind".to_owned(), kind.into());
    options.insert("apiVersion".to_owned(), "v1".into());
    match part {
        "attach" | "exec" => {
            for name in ["stdin", "stdout", "stderr", "tty"] {
                if query.flag(name) {
                    options.insert(name.to_owned(), true.into());
                }
            }
            if let Some(container) = query.get("container") {
                options.insert("container".to_owned(), container.into());
            }
            let command: Vec<&str> = query.all("command").collect();
            if part == "exec" {
                let command = Some(command).filter(|command| !command.is_empty());
                options.insert("command".to_owned(), command.into());
            }
        }
        "portforward" => {
            let ports = query.all("ports").flat_map(|ports| ports.split(','));
            let ports: Vec<u16> = ports.map(port_number).collect::<Result<_>>()?;
            if !ports.is_empty() {
                options.insert("ports".to_owned(), ports.into());
            }
        }
        _ => {
            let rest = &call.path.rest;
            let path = match (rest.is_empty(), call.path.slash) {
                (true, false) => String::new(),
                (true, true) => "/".to_owned(),
                (false, false) => format!("/{rest}"),
                (false, true) => format!("/{rest}/"),
            };
            if !path.is_empty() {
                options.insert("path".to_owned(), path.into());
            }
        }
    }
    Ok(Value::Object(options))
}

fn port_number(text: &str) -> Result<u16> {
    text.parse().map_err(|error| {
        let (text, why) = (quoted(text), go_words(&error));
        let message =
            format!("cannot convert to []int32: strconv.ParseUint: parsing {text}: {why}");
        Status::bad_request(message)
    })
}
