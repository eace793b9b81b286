//! Where programs are: in pods, behind the API server, or at an address.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, Error};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::failure::{Failure, Outcome};

/// The way to a program.
pub(crate) type Place = Box<dyn Way>;

/// A stream to a program.
pub(crate) trait Way: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Way for S {}

/// Returns the pods of these names, or all running ones of a program.
pub(crate) async fn pods(
    client: &Client,
    namespace: &str,
    names: &[String],
    program: Option<&str>,
) -> Outcome<Vec<Pod>> {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    if !names.is_empty() {
        let mut pods = Vec::new();
        for name in names {
            let pod = api.get(name).await;
            pods.push(pod.with_context(|| format!("cannot read the Pod {namespace}/{name}"))?);
        }
        return Ok(pods);
    }
    let program = program.ok_or_else(|| {
        Failure::new("cannot tell which program is meant").hint(
            "name a pod, or the program with --program, or run this in the directory of a project",
        )
    })?;
    let of_program = ListParams::default().labels(&format!("{LABEL}={program}"));
    let pods = api.list(&of_program).await;
    let pods =
        pods.with_context(|| format!("cannot list the pods in the namespace {namespace}"))?;
    let running = pods.items.into_iter().filter(|pod| {
        let status = pod.status.as_ref();
        status.and_then(|status| status.phase.as_deref()) == Some("Running")
    });
    let running: Vec<Pod> = running.collect();
    if running.is_empty() {
        return Err(Failure::new(format!(
            "no pod with the label {LABEL}={program} runs in the namespace {namespace}"
        ))
        .hint("name the namespace with --namespace, or a pod"));
    }
    Ok(running)
}

/// Opens a stream to a pod's port for metrics, through the API server.
pub(crate) async fn in_pod(client: &Client, pod: &Pod) -> Outcome<Place> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let port = metrics_port(pod);
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let mut forwarded = api.portforward(name, &[port]).await.map_err(|error| {
        let is_forbidden = matches!(&error, Error::Api(status) if status.code == 403)
            || error.to_string().contains("403");
        let what = format!("cannot reach port {port} of the Pod {namespace}/{name} through the API server");
        let failure = Failure::from(anyhow::Error::from(error).context(what));
        if is_forbidden {
            failure.hint(format!("have an administrator let you `get` and `create` pods/portforward in the namespace {namespace}"))
        } else {
            failure
        }
    })?;
    let stream = forwarded.take_stream(port);
    let stream = stream
        .context("the API server forwards no port")
        .map_err(Failure::internal)?;
    Ok(Box::new(stream))
}

/// Opens a stream to an address.
pub(crate) async fn at_address(address: &str) -> Outcome<Place> {
    let stream = TcpStream::connect(address).await;
    let stream = stream.with_context(|| format!("cannot connect to {address}"))?;
    Ok(Box::new(stream))
}

fn metrics_port(pod: &Pod) -> u16 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    let metrics = ports.find(|port| port.name.as_deref() == Some("metrics"));
    let port = metrics.and_then(|port| u16::try_from(port.container_port).ok());
    port.unwrap_or(SECURED_METRICS)
}

/// The label by which manifests name the pods of a program.
pub(crate) const LABEL: &str = "app.kubernetes.io/name";
/// The port of manifests whose metrics are secured.
const SECURED_METRICS: u16 = 8443;
