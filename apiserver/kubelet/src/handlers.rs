//! What answers `exec`, `attach` and `portforward` of pods: functions of a test.

use std::fmt;
use std::io;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::RwLock;
use serde_json::Value;

use crate::images::fits;
use crate::streaming::{PortForward, Session};

/// The handlers of `exec`, `attach` and `portforward` of a server's pods.
///
/// A handler answers for all pods, or for those to which it was narrowed. Of several that fit, the last one counts. Handlers may
/// be added at any time, and serve the sessions that begin from then on. Clones share them.
///
/// ```
/// use kubewright_kubelet::PodHandlers;
/// use tokio::io::AsyncWriteExt as _;
///
/// let pods = PodHandlers::default();
/// pods.image("postgres:*").on_exec(async |mut session| {
///     match session.command.join(" ").as_str() {
///         "pg_isready" => {
///             session.stdout.write_all(b"accepting connections\n").await.unwrap();
///             0
///         }
///         other => {
///             let error = format!("{other}: command not found\n");
///             session.stderr.write_all(error.as_bytes()).await.unwrap();
///             127
///         }
///     }
/// });
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct PodHandlers {
    all: Arc<RwLock<All>>,
    scope: Scope,
}

/// All handlers of a server, in the order in which they were added.
#[derive(Default)]
struct All {
    exec: Vec<(Scope, Exec)>,
    attach: Vec<(Scope, Attach)>,
    port_forward: Vec<(Scope, Forward)>,
}

/// The pods and containers that a handler answers for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Scope {
    namespace: Option<String>,
    name: Option<String>,
    container: Option<String>,
    image: Option<String>,
}

/// A command in a container, to its exit code.
pub type Exec = Arc<dyn Fn(Session) -> BoxFuture<'static, i32> + Send + Sync>;
/// A connection to the program of a container, to its end.
pub type Attach = Arc<dyn Fn(Session) -> BoxFuture<'static, ()> + Send + Sync>;
/// A connection to a port, to its end.
pub type Forward = Arc<dyn Fn(PortForward) -> BoxFuture<'static, io::Result<()>> + Send + Sync>;

impl PodHandlers {
    /// Narrows to the pods of a namespace.
    pub fn in_namespace(&self, namespace: impl Into<String>) -> Self {
        self.narrowed(|scope| scope.namespace = Some(namespace.into()))
    }

    /// Narrows to the pod of a name, in every namespace.
    pub fn named(&self, pod: impl Into<String>) -> Self {
        self.narrowed(|scope| scope.name = Some(pod.into()))
    }

    /// Narrows to the container of a name; for ports, to pods that have one.
    pub fn container(&self, name: impl Into<String>) -> Self {
        self.narrowed(|scope| scope.container = Some(name.into()))
    }

    /// Narrows to the containers of an image, or for ports to pods that have one; an image that ends with `*` is every one
    /// that begins so.
    pub fn image(&self, image: impl Into<String>) -> Self {
        self.narrowed(|scope| scope.image = Some(image.into()))
    }

    /// Answers `exec` by a function that returns the exit code of the command.
    ///
    /// Its future is dropped when the client is gone, the container has ended or the server is stopped. If it panics, the
    /// client gets the message as an error.
    pub fn on_exec<F, R>(&self, handler: F)
    where
        F: Fn(Session) -> R + Send + Sync + 'static,
        R: Future<Output = i32> + Send + 'static,
    {
        let handler: Exec = Arc::new(move |session| handler(session).boxed());
        self.all.write().exec.push((self.scope.clone(), handler));
    }

    /// Answers `attach` by a function, which has the program's side of the streams. There is no exit code: a client that
    /// attaches reads that of the container in the status of its pod.
    ///
    /// Its future is dropped as that of [`on_exec`](Self::on_exec).
    pub fn on_attach<F, R>(&self, handler: F)
    where
        F: Fn(Session) -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let handler: Attach = Arc::new(move |session| handler(session).boxed());
        self.all.write().attach.push((self.scope.clone(), handler));
    }

    /// Answers connections to ports by a function, which has the server's side of each. The connection ends when the function
    /// returns; the client gets an error as that of a kubelet that cannot connect.
    ///
    /// Its future is dropped as that of [`on_exec`](Self::on_exec).
    ///
    /// ```
    /// use kubewright_kubelet::PodHandlers;
    /// use tokio::io::AsyncWriteExt as _;
    ///
    /// let pods = PodHandlers::default();
    /// pods.named("web-0").on_port_forward(async |mut connection| match connection.port {
    ///     7000 => connection.stream.write_all(b"hello\n").await,
    ///     _ => Err(std::io::ErrorKind::ConnectionRefused.into()),
    /// });
    /// ```
    pub fn on_port_forward<F, R>(&self, handler: F)
    where
        F: Fn(PortForward) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<()>> + Send + 'static,
    {
        let handler: Forward = Arc::new(move |connection| handler(connection).boxed());
        self.all
            .write()
            .port_forward
            .push((self.scope.clone(), handler));
    }

    /// The handler of `exec` in a container.
    pub fn exec(&self, pod: &Value, container: &str) -> Option<Exec> {
        let all = self.all.read();
        last(&all.exec, |scope| scope.fits(pod, Some(container)))
    }

    /// The handler of `attach` to a container.
    pub fn attach(&self, pod: &Value, container: &str) -> Option<Attach> {
        let all = self.all.read();
        last(&all.attach, |scope| scope.fits(pod, Some(container)))
    }

    /// The handler of `portforward` of a pod.
    pub fn port_forward(&self, pod: &Value) -> Option<Forward> {
        let all = self.all.read();
        last(&all.port_forward, |scope| scope.fits(pod, None))
    }

    fn narrowed(&self, narrow: impl FnOnce(&mut Scope)) -> Self {
        let mut narrowed = self.clone();
        narrow(&mut narrowed.scope);
        narrowed
    }
}

fn last<H: Clone>(handlers: &[(Scope, H)], fits: impl Fn(&Scope) -> bool) -> Option<H> {
    let mut handlers = handlers.iter().rev();
    let found = handlers.find(|(scope, _)| fits(scope));
    found.map(|(_, handler)| handler.clone())
}

impl Scope {
    /// Whether a handler answers for a container of a pod, or without one for the pod.
    fn fits(&self, pod: &Value, container: Option<&str>) -> bool {
        let is = |wanted: &Option<String>, field: &str| {
            let wanted = wanted.as_deref();
            wanted.is_none_or(|wanted| pod["metadata"][field] == wanted)
        };
        if !is(&self.namespace, "namespace") || !is(&self.name, "name") {
            return false;
        }
        if container.is_none() && self.container.is_none() && self.image.is_none() {
            return true;
        }
        let lists = ["containers", "initContainers", "ephemeralContainers"];
        let mut containers = lists
            .iter()
            .flat_map(|list| pod["spec"][*list].as_array().into_iter().flatten());
        containers.any(|known| {
            let name = known["name"].as_str().unwrap_or_default();
            let image = known["image"].as_str().unwrap_or_default();
            container.is_none_or(|wanted| wanted == name)
                && self
                    .container
                    .as_deref()
                    .is_none_or(|wanted| wanted == name)
                && self
                    .image
                    .as_deref()
                    .is_none_or(|pattern| fits(pattern, image))
        })
    }
}

impl fmt::Debug for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("All")
            .field("exec", &self.exec.len())
            .field("attach", &self.attach.len())
            .field("port_forward", &self.port_forward.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Value {
        json!({
            "metadata": {"namespace": "blue", "name": "db-0"},
            "spec": {"containers": [
                {"name": "db", "image": "postgres:18"},
                {"name": "proxy", "image": "envoy:1"},
            ]},
        })
    }

    #[test]
    fn a_handler_answers_for_what_it_was_narrowed_to() {
        let pods = PodHandlers::default;
        for (narrowed, db, proxy) in [
            (pods(), true, true),
            (pods().in_namespace("blue"), true, true),
            (pods().in_namespace("green"), false, false),
            (pods().named("db-0").container("proxy"), false, true),
            (pods().image("postgres:*"), true, false),
            (pods().image("postgres:*").container("proxy"), false, false),
        ] {
            narrowed.on_exec(async |_| 0);
            let answers = |container| narrowed.exec(&pod(), container).is_some();
            assert_eq!(
                (answers("db"), answers("proxy")),
                (db, proxy),
                "{narrowed:?}"
            );
        }
    }

    #[tokio::test]
    async fn of_several_handlers_that_fit_the_last_one_counts() {
        let pods = PodHandlers::default();
        pods.named("db-0").on_port_forward(async |_| Ok(()));
        pods.on_port_forward(async |_| Err(io::ErrorKind::ConnectionRefused.into()));
        pods.image("mysql").on_port_forward(async |_| Ok(()));
        let handler = pods.port_forward(&pod()).unwrap();
        let (stream, _) = tokio::io::duplex(1);
        let connection = PortForward {
            namespace: String::new(),
            pod: String::new(),
            port: 1,
            stream,
        };
        assert!(handler(connection).await.is_err());
    }
}
