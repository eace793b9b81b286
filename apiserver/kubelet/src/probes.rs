//! The probes of a container: HTTP requests, connections, and the program with other arguments.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout};

use crate::container::Container;
use crate::program::{Kind, Program};
use crate::transport::connect;

/// One probe.
#[derive(Debug)]
pub(crate) struct Probe<'a> {
    spec: &'a Value,
    /// The ports of the container, for those that have names.
    ports: &'a Value,
    container: &'a Container,
    program: &'a Program,
}

/// What a probe has found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Succeeded,
    Failed,
}

impl<'a> Probe<'a> {
    /// The probe of a field, such as `readinessProbe`.
    pub(crate) fn of(
        spec: &'a Value,
        field: &str,
        container: &'a Container,
        program: &'a Program,
    ) -> Option<Self> {
        Some(Self {
            spec: spec.get(field).filter(|probe| probe.is_object())?,
            ports: &spec["ports"],
            container,
            program,
        })
    }

    /// Asks once a period, and tells each verdict once it stands, until that returns false.
    pub(crate) async fn follow(&self, mut told: impl FnMut(Verdict) -> bool) {
        let period = self.seconds("periodSeconds", 10);
        let [successes, failures] = [("successThreshold", 1), ("failureThreshold", 3)]
            .map(|(field, default)| self.spec[field].as_u64().unwrap_or(default));
        sleep(self.seconds("initialDelaySeconds", 0)).await;
        let (mut last, mut count) = (Verdict::Failed, 0);
        let mut is_up = false;
        loop {
            let verdict = if is_up {
                self.ask().await
            } else {
                self.ask_within(period).await
            };
            count = if verdict == last { count + 1 } else { 1 };
            last = verdict;
            let enough = match verdict {
                Verdict::Succeeded => successes,
                Verdict::Failed => failures,
            };
            if count >= enough && !told(verdict) {
                return;
            }
            is_up |= verdict == Verdict::Succeeded;
            if is_up {
                sleep(period).await;
            }
        }
    }

    /// Asks a program that starts again and again in one period, so that none waits for its end.
    async fn ask_within(&self, period: Duration) -> Verdict {
        let end = Instant::now() + period;
        let mut pause = Duration::from_millis(20);
        loop {
            if self.ask().await == Verdict::Succeeded {
                return Verdict::Succeeded;
            }
            if Instant::now() + pause >= end {
                sleep_until(end).await;
                return Verdict::Failed;
            }
            sleep(pause).await;
            pause *= 2;
        }
    }

    async fn ask(&self) -> Verdict {
        let limit = self.seconds("timeoutSeconds", 1);
        match timeout(limit, self.succeeds()).await {
            Ok(true) => Verdict::Succeeded,
            _ => Verdict::Failed,
        }
    }

    async fn succeeds(&self) -> bool {
        if self.spec["httpGet"].is_object() {
            let status = self.get(&self.spec["httpGet"]).await;
            return status.is_some_and(|status| (200..400).contains(&status));
        }
        if self.spec["tcpSocket"].is_object() {
            let address = self.address(&self.spec["tcpSocket"]["port"]);
            return match address {
                Some(address) => connect(address, "tcp").await.is_ok(),
                None => false,
            };
        }
        if let Some(command) = self.spec["exec"]["command"].as_array() {
            let command: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
            return self.runs(&command).await;
        }
        false
    }

    async fn get(&self, get: &Value) -> Option<u16> {
        let text = |field: &str| get[field].as_str();
        let address = self.address(&get["port"])?;
        let connection = connect(address, text("scheme").unwrap_or("HTTP"))
            .await
            .ok()?;
        let (mut sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(connection))
            .await
            .ok()?;
        let path = match text("path").unwrap_or_default() {
            path if path.starts_with('/') => path.to_owned(),
            path => format!("/{path}"),
        };
        let mut request = Request::get(path)
            .header(
                header::HOST,
                text("host").map_or_else(|| address.to_string(), str::to_owned),
            )
            .header(header::USER_AGENT, "kube-probe/1.37")
            .header(header::ACCEPT, "*/*")
            .header(header::CONNECTION, "close");
        for header in get["httpHeaders"].as_array().into_iter().flatten() {
            let text = |field: &str| header[field].as_str().unwrap_or_default();
            request = request.header(text("name"), text("value"));
        }
        let request = request.body(Empty::<Bytes>::new()).ok()?;
        let answer = async {
            sender
                .send_request(request)
                .await
                .ok()
                .map(|answer| answer.status())
        };
        let driver = async {
            let _ = driver.await;
        };
        let mut driver = std::pin::pin!(driver);
        let mut answer = std::pin::pin!(answer);
        let status = tokio::select! {
            status = &mut answer => status,
            () = &mut driver => answer.await,
        };
        status.map(|status| status.as_u16())
    }

    async fn runs(&self, command: &[&str]) -> bool {
        let (Kind::Process(process), Some((program, args))) =
            (&self.program.0, command.split_first())
        else {
            return false;
        };
        if process.check(program).is_err() {
            return false;
        }
        let status = process.command(self.container).args(args).status().await;
        status.is_ok_and(|status| status.success())
    }

    fn address(&self, port: &Value) -> Option<SocketAddr> {
        let named = || {
            let mut ports = self.ports.as_array().into_iter().flatten();
            let known = ports.find(|known| known["name"] == *port)?;
            known["containerPort"].as_u64()
        };
        let port = port.as_u64().or_else(named)?;
        Some((self.container.address, u16::try_from(port).ok()?).into())
    }

    fn seconds(&self, field: &str, default: u64) -> Duration {
        Duration::from_secs(self.spec[field].as_u64().unwrap_or(default))
    }
}
