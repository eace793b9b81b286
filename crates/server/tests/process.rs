//! A server in a separate process, with a paused clock that the test advances.

use std::convert::Infallible;
use std::io::{BufRead as _, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Bytes;
use kubewright_certificates::{Authority, Files, TrustBundle};
use kubewright_server::{Body, BodyError, Server};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tower::service_fn;

use crate::client::{Client, HTTP1, HTTP2};
use crate::running::{answer, length, quick, start, within};

/// Set in the process that is to serve: the directory with its certificate.
const SERVE: &str = "KUBEWRIGHT_TEST_SERVES_WITH";
/// What is said between the processes begins with this: the test harness prints lines, too.
const MARK: char = '@';
/// More file descriptors than any test needs, and what the system allows where that is less.
const MANY_FILES: &str =
    r#"ulimit -S -n 12000 2>/dev/null || ulimit -S -n "$(ulimit -H -n)"; exec "$0" "$@""#;

/// The server, as the test sees it.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    pub(crate) address: SocketAddr,
    pub(crate) trust: TrustBundle,
    _certificate: TempDir,
}

/// This test again, in a process that may open many files.
pub(crate) fn again(test: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", MANY_FILES])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .kill_on_drop(true);
    command
}

impl Process {
    /// Starts a server for this test, which has to begin with [`serve_if_told`].
    pub(crate) async fn start(test: &str) -> Self {
        let authority = Authority::new("test").unwrap();
        let day = Duration::from_hours(24);
        let issued = authority.sign_server(["localhost"], day).unwrap();
        let certificate = tempfile::tempdir().unwrap();
        std::fs::write(certificate.path().join("tls.crt"), issued.certificate_pem()).unwrap();
        std::fs::write(certificate.path().join("tls.key"), issued.key_pem()).unwrap();
        let mut child = again(test)
            .env(SERVE, certificate.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self {
            child,
            input,
            output,
            address: SocketAddr::from(([0; 4], 0)),
            trust: authority.trust(),
            _certificate: certificate,
        };
        process.address = process.heard().await.parse().unwrap();
        process
    }

    pub(crate) fn http1(&self) -> Client {
        Client::new(self.address, &self.trust, HTTP1)
    }

    pub(crate) fn http2(&self) -> Client {
        Client::new(self.address, &self.trust, HTTP2)
    }

    /// Lets the server's clock go on.
    pub(crate) async fn advance(&mut self, time: Duration) {
        let line = format!("{}\n", time.as_millis());
        self.input.write_all(line.as_bytes()).await.unwrap();
        assert_eq!(self.heard().await, "later");
    }

    /// What the server's counters say.
    pub(crate) async fn counts(&mut self) -> String {
        self.input.write_all(b"counts\n").await.unwrap();
        self.heard().await
    }

    /// Ends the server as the system does that has no memory left: without a word to anyone.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// The memory that the server has, in bytes, where the system tells it.
    pub(crate) fn memory(&self) -> Option<usize> {
        let status = format!("/proc/{}/status", self.child.id()?);
        let status = std::fs::read_to_string(status).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kibibytes = line.split_whitespace().nth(1)?;
        Some(kibibytes.parse::<usize>().ok()? * 1024)
    }

    async fn heard(&mut self) -> String {
        loop {
            let line = within(self.output.next_line(), "the other process").await;
            let line = line.unwrap().expect("the other process has ended");
            if let Some((_, said)) = line.split_once(MARK) {
                return said.to_owned();
            }
        }
    }
}

/// Serves until the test closes standard input, if this is the server's process. Returns whether it is.
pub(crate) fn serve_if_told() -> bool {
    let Some(certificate) = std::env::var_os(SERVE) else {
        return false;
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(serve(certificate.as_ref()));
    true
}

async fn serve(certificate: &Path) {
    let held = Arc::new(Semaphore::new(0));
    let service = service_fn(move |request| call(Arc::clone(&held), request));
    let running = start(Server::new(service, Files::in_dir(certificate)).drain(quick())).await;
    say(&running.address.to_string());
    loop {
        // The paused clock does not advance by itself while a blocking task runs.
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        let line = line.await.unwrap().unwrap();
        match line.trim_end() {
            "" => return,
            "counts" => say(&format!("{:?}", running.counts())),
            time => {
                let time = Duration::from_millis(time.parse().unwrap());
                tokio::time::advance(time).await;
                say("later");
            }
        }
    }
}

/// Answers with the length of the body. A call to `/hold` is answered after one to `/release`.
async fn call(
    held: Arc<Semaphore>,
    request: Request<Body>,
) -> Result<Response<Full<Bytes>>, BodyError> {
    let infallible = |answer: Result<_, Infallible>| answer.map_err(|never| match never {});
    match request.uri().path() {
        "/hold" => {
            held.acquire().await.unwrap().forget();
            infallible(answer("held"))
        }
        "/release" => {
            held.add_permits(1);
            infallible(answer("released"))
        }
        _ => length(request).await,
    }
}

fn say(text: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{MARK}{text}").unwrap();
    output.flush().unwrap();
}
