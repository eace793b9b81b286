//! `exec`, `attach` and `portforward` as the kubelet of the pod's node answers them.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::header::{
    CONNECTION, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View;
use kubewright_kubelet::streaming::{
    ACCEPTED_PROTOCOLS, ForwardedPorts, Interruption, Negotiated, Refusal, RemoteCommand,
    STREAM_PROTOCOL, Wanted, is_upgrade_request,
};
use kubewright_storage::{Change, Object, Watcher};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Duration, sleep};

use crate::body::Body;
use crate::rest::answer;
use crate::rest::call::Call;
use crate::rest::upgrade::{accept_key, no_connection};

/// What a client asks of the kubelet of a pod.
pub(super) struct Asked<'a> {
    pub(super) call: &'a Call,
    pub(super) pod: &'a Value,
    /// The revision of the pod.
    pub(super) revision: u64,
    /// The options of the request.
    pub(super) options: &'a Value,
}

/// A connection that is about to be upgraded.
struct Accepted {
    response: Response<Body>,
    upgrade: OnUpgrade,
}

impl Asked<'_> {
    /// Runs a command in a container, or attaches to it.
    ///
    /// # Errors
    /// 400 for a request that is no upgrade, 501 for a command that nothing answers. What a kubelet refuses is an answer in plain
    /// text.
    pub(super) fn command(&self, container: &str, exec: bool) -> Result<Response<Body>> {
        self.check_upgrade()?;
        let flag = |name: &str| self.options[name] == true;
        let tty = flag("tty");
        let streams = Wanted {
            stdin: flag("stdin"),
            stdout: flag("stdout"),
            // A terminal has one output.
            stderr: flag("stderr") && !tty,
            tty,
        };
        if !streams.stdin && !streams.stdout && !streams.stderr {
            let why = "you must specify at least 1 of stdin, stdout, stderr";
            return Ok(answer::text(StatusCode::BAD_REQUEST, why));
        }
        let Some(started) = started(self.pod, container) else {
            let why = format!("container not found (\"{container}\")");
            return Ok(answer::text(StatusCode::INTERNAL_SERVER_ERROR, why));
        };
        let command = exec.then(|| {
            let words = self.options["command"].as_array().into_iter().flatten();
            let words = words.filter_map(Value::as_str);
            words.map(str::to_owned).collect::<Vec<String>>()
        });
        if command.as_ref().is_some_and(Vec::is_empty) {
            return Err(Status::bad_request("the request names no command"));
        }
        let (call, pod) = (self.call, self.pod);
        let run = call
            .shared
            .pods
            .run(pod, container, command.as_deref(), streams);
        let run = run.map_err(Status::from)?;
        let negotiated = match Negotiated::command(&call.headers) {
            Ok(negotiated) => negotiated,
            Err(refusal) => return Ok(refused(&refusal)),
        };
        let Accepted { response, upgrade } = match self.accept(negotiated) {
            Ok(accepted) => accepted,
            Err(refused) => return Ok(*refused),
        };
        let remote = RemoteCommand {
            negotiated,
            namespace: meta_text(pod, "namespace").to_owned(),
            pod: meta_text(pod, "name").to_owned(),
            container: container.to_owned(),
            command,
            streams,
        };
        let name = container.to_owned();
        let ended = self.ends(move |pod| self::started(pod, &name).as_ref() != Some(&started));
        serve(upgrade, call.stopped.clone(), ended, |stream, ended| {
            Box::pin(remote.serve(stream, run, ended))
        });
        Ok(response)
    }

    /// Forwards connections to ports.
    ///
    /// # Errors
    /// 400 for a request that is no upgrade. What a kubelet refuses is an answer in plain text.
    pub(super) fn ports(&self) -> Result<Response<Body>> {
        /// Two streams for each, with numbers of one byte.
        const MOST: usize = 127;
        self.check_upgrade()?;
        let negotiated = match Negotiated::ports(&self.call.headers) {
            Ok(negotiated) => negotiated,
            Err(refusal) => return Ok(refused(&refusal)),
        };
        let listed = self.options.list("ports");
        let ports: Vec<u16> = listed
            .iter()
            .filter_map(|port| u16::try_from(port.as_u64()?).ok())
            .filter(|port| *port != 0)
            .collect();
        let why = match ports.len() {
            _ if negotiated.names_ports() => None,
            0 if listed.is_empty() => Some("query parameter \"port\" is required"),
            count if count < listed.len() => Some("\"port\" must be > 0"),
            count if count > MOST => Some("too many ports"),
            _ => None,
        };
        if let Some(why) = why {
            return Ok(answer::text(StatusCode::BAD_REQUEST, why));
        }
        let Accepted { response, upgrade } = match self.accept(negotiated) {
            Ok(accepted) => accepted,
            Err(refused) => return Ok(*refused),
        };
        let connect = self.call.shared.pods.connect(self.pod);
        let ended = self.ends(|_| false);
        let forwarded = ForwardedPorts { negotiated, ports };
        serve(
            upgrade,
            self.call.stopped.clone(),
            ended,
            |stream, ended| Box::pin(forwarded.serve(stream, connect, ended)),
        );
        Ok(response)
    }

    fn check_upgrade(&self) -> Result<()> {
        if is_upgrade_request(&self.call.headers) {
            return Ok(());
        }
        Err(Status::bad_request("Upgrade request required"))
    }

    /// Answers the handshake. The error is a refusal in plain text.
    fn accept(&self, negotiated: Negotiated) -> std::result::Result<Accepted, Box<Response<Body>>> {
        let mut response = Response::new(Body::from(""));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static(negotiated.upgrade()));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        let mut protocol = HeaderName::from_static(STREAM_PROTOCOL);
        if negotiated.upgrade() == "websocket" {
            let accept = match websocket_accept(&self.call.headers) {
                Ok(accept) => accept,
                Err(why) => return Err(Box::new(answer::text(StatusCode::BAD_REQUEST, why))),
            };
            headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
            protocol = SEC_WEBSOCKET_PROTOCOL;
        }
        if !negotiated.name().is_empty() {
            headers.insert(protocol, HeaderValue::from_static(negotiated.name()));
        }
        let Some(upgrade) = self.call.upgrade.clone() else {
            return Err(Box::new(no_connection()));
        };
        Ok(Accepted { response, upgrade })
    }

    /// Returns when the pod is gone, or is no more what it was.
    fn ends<F>(&self, changed: F) -> impl Future<Output = ()> + Send + use<F>
    where
        F: Fn(&Value) -> bool + Send,
    {
        let call = self.call;
        let (namespace, uid) = (&call.path.namespace, meta_text(self.pod, "uid").to_owned());
        let mut watcher = call
            .shared
            .store
            .watch_in(&call.table, namespace, self.revision);
        let name = call.path.name.clone();
        async move {
            loop {
                let Some(last) = next(&mut watcher, &name).await else {
                    continue;
                };
                let is_over = last.is_none_or(|pod| {
                    let pod = pod.value();
                    meta_text(&pod, "uid") != uid || changed(&pod)
                });
                if is_over {
                    return;
                }
            }
        }
    }
}

/// Waits for changes, and returns what became of the pod of a name: the inner is none for one that is gone, the outer if it did
/// not change.
async fn next(watcher: &mut Watcher, name: &str) -> Option<Option<Arc<Object>>> {
    // A log that forgot changes may have forgotten the end.
    let Ok(events) = watcher.next().await else {
        return Some(None);
    };
    let mut events = events.iter().rev();
    let last = events.find(|event| event.object.name() == name)?;
    Some((last.change != Change::Deleted).then(|| last.object.clone()))
}

/// When a container was started, if it runs.
fn started(pod: &Value, container: &str) -> Option<Value> {
    let status = pod.at("status");
    let lists = [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ];
    let mut containers = lists.iter().flat_map(|list| status.list(list));
    let known = containers.find(|known| known["name"] == container)?;
    let running = known["state"].get("running")?;
    Some(running.at("startedAt").clone())
}

/// Serves a connection once it is upgraded, until the container has ended or the server is stopped.
fn serve(
    upgrade: OnUpgrade,
    mut stopped: watch::Receiver<bool>,
    ended: impl Future<Output = ()> + Send + 'static,
    session: impl FnOnce(TokioIo<Upgraded>, BoxFuture<'static, Interruption>) -> BoxFuture<'static, ()>
    + Send
    + 'static,
) {
    /// How long a session has to tell its client.
    const CLOSING: Duration = Duration::from_secs(5);
    let mut stops = stopped.clone();
    let interrupted = Box::pin(async move {
        tokio::select! {
            () = ended => Interruption::ContainerEnded,
            // A server that is gone has stopped too.
            _ = stops.wait_for(|stopped| *stopped) => Interruption::ServerStopped,
        }
    });
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else {
            return;
        };
        let over = async {
            let _ = stopped.wait_for(|stopped| *stopped).await;
            sleep(CLOSING).await;
        };
        tokio::select! {
            () = session(TokioIo::new(upgraded), interrupted) => {}
            () = over => {}
        }
    });
}

/// The answer to the key of a client's handshake.
fn websocket_accept(headers: &HeaderMap) -> std::result::Result<HeaderValue, &'static str> {
    let header = |name| headers.get(name).map_or(&b""[..], HeaderValue::as_bytes);
    if header(SEC_WEBSOCKET_VERSION) != b"13" {
        return Err("missing or bad WebSocket Version");
    }
    let key = header(SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return Err("mismatch challenge/response");
    }
    HeaderValue::try_from(accept_key(key)).map_err(|_| "mismatch challenge/response")
}

fn refused(refusal: &Refusal) -> Response<Body> {
    let mut response = answer::text(refusal.status, refusal.message.clone());
    for protocol in refusal.accepted {
        let protocol = HeaderValue::from_static(protocol);
        response.headers_mut().append(ACCEPTED_PROTOCOLS, protocol);
    }
    response
}
