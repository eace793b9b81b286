//! What answers a session: a handler of the test, the program of a container, or what is simulated of it.

use std::net::SocketAddr;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, DuplexStream, copy, split};
use tokio::net::TcpStream;

use crate::log::LogOptions;
use crate::pods::Pods;
use crate::streaming::{Connect, Outcome, PortForward, Run, Wanted};
use crate::unanswered::Unanswered;

impl Pods {
    /// What a client gets that runs a command in a container, or attaches to it if there is none.
    ///
    /// # Errors
    /// Nothing answers it.
    pub fn run(
        &self,
        pod: &Value,
        container: &str,
        command: Option<&[String]>,
        streams: Wanted,
    ) -> Result<Run, Unanswered> {
        match command {
            Some(command) => self.exec(pod, container, command),
            None => self.attach(pod, container, streams),
        }
    }

    /// What connects to the ports of a pod.
    pub fn connect(&self, pod: &Value) -> Connect {
        let metadata = &pod["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let (namespace, name, uid) = (text("namespace"), text("name"), text("uid"));
        let handler = self.handlers().port_forward(pod);
        let running = self.get(&uid);
        Arc::new(move |port, stream| {
            let (handler, running, uid) = (handler.clone(), running.clone(), uid.clone());
            let connection = PortForward {
                namespace: namespace.clone(),
                pod: name.clone(),
                port,
                stream,
            };
            let connected = async move {
                let connected = match (handler, running) {
                    (Some(handler), _) => {
                        let connected = handler(connection).await;
                        connected.map_err(|error| error.to_string())
                    }
                    (None, Some(running)) => {
                        let address = (running.listens_on(), port).into();
                        forward(address, connection.stream).await
                    }
                    (None, None) => Err(format!(
                        "dial tcp4 127.0.0.1:{port}: connect: connection refused: the containers of the pod are simulated; \
                         answer in a test with `on_port_forward` of the cluster's pods"
                    )),
                };
                connected.map_err(|why| {
                    format!("error forwarding port {port} to pod {uid}, uid : {why}")
                })
            };
            connected.boxed()
        })
    }

    fn exec(&self, pod: &Value, container: &str, command: &[String]) -> Result<Run, Unanswered> {
        if let Some(handler) = self.handlers().exec(pod, container) {
            return Ok(Box::new(move |session| {
                handler(session).map(Outcome::Exit).boxed()
            }));
        }
        let (of, line) = (container.to_owned(), command.join(" "));
        if self.has_program(pod, container) {
            return Err(Unanswered::Program {
                container: of,
                command: line,
            });
        }
        let script = self
            .simulator()
            .and_then(|simulator| simulator.exec(pod, container, command));
        let script = script.ok_or(Unanswered::Command {
            container: of,
            command: line,
        })?;
        Ok(Box::new(move |session| script.run(session).boxed()))
    }

    fn attach(&self, pod: &Value, container: &str, streams: Wanted) -> Result<Run, Unanswered> {
        if let Some(handler) = self.handlers().attach(pod, container) {
            return Ok(Box::new(move |session| {
                handler(session).map(|()| Outcome::Exit(0)).boxed()
            }));
        }
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
        let log = self.get(uid).and_then(|pod| pod.log(container, false));
        let container = container.to_owned();
        let Some(log) = log else {
            return Err(Unanswered::Output { container });
        };
        if streams.stdin {
            return Err(Unanswered::Input { container });
        }
        let lines = log.read(LogOptions {
            follow: true,
            tail: Some(0),
            ..LogOptions::default()
        });
        Ok(Box::new(move |mut session| {
            async move {
                let mut lines = std::pin::pin!(lines);
                while let Some(line) = lines.next().await {
                    if session.stdout.write_all(&line).await.is_err() {
                        break;
                    }
                }
                Outcome::Exit(0)
            }
            .boxed()
        }))
    }

    fn has_program(&self, pod: &Value, container: &str) -> bool {
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
        let running = self.get(uid);
        running.is_some_and(|running| running.status(container).is_some())
    }
}

/// Carries bytes between a client and a program, until the program has ended its side: what a client sends then has no reader.
async fn forward(address: SocketAddr, stream: DuplexStream) -> Result<(), String> {
    let port = address.port();
    let connected = TcpStream::connect(address).await;
    let connected = connected.map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
            _ => error.to_string(),
        };
        format!("dial tcp4 127.0.0.1:{port}: {why}")
    })?;
    let (mut from_program, mut to_program) = connected.into_split();
    let (mut from_client, mut to_client) = split(stream);
    let sends = async {
        // A program that has ended its side says so below.
        drop(copy(&mut from_client, &mut to_program).await);
        drop(to_program.shutdown().await);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = sends => Ok(()),
        carried = copy(&mut from_program, &mut to_client) => match carried {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        },
    }
}
