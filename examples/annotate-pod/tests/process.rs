//! The program as a process: what it prints, and how signals end it.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

struct Process {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    log: Lines<BufReader<ChildStderr>>,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_annotate-pod"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, output, log }
    }

    /// Starts to serve on a port that is free, and returns when it does.
    async fn serve(propagation: &str) -> Self {
        let arguments = ["--listen", "127.0.0.1:0", "--self-signed", "127.0.0.1"];
        let mut process = Self::start(&[&arguments[..], &["--propagation", propagation]].concat());
        let line = process.output.next_line().await.unwrap().unwrap();
        let port = line
            .strip_prefix("serving webhooks on https://127.0.0.1:")
            .unwrap();
        assert_ne!(port.parse::<u16>().unwrap(), 0);
        process
    }

    async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(
            Command::new("kill")
                .args([name, &id])
                .status()
                .await
                .unwrap()
                .success()
        );
    }
}

#[tokio::test]
async fn sigterm_and_ctrl_c_end_it_with_success() {
    for signal in ["-TERM", "-INT"] {
        let mut process = Process::serve("0").await;
        process.signal(signal).await;
        assert_eq!(
            process.child.wait().await.unwrap().code(),
            Some(0),
            "{signal}"
        );
        assert_eq!(
            process.output.next_line().await.unwrap(),
            None,
            "one line and no more"
        );
    }
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let mut process = Process::serve("25").await;
    process.signal("-TERM").await;
    loop {
        let line = process
            .log
            .next_line()
            .await
            .unwrap()
            .expect("the log tells of the first signal");
        if line.contains("shutting down") {
            break;
        }
    }
    process.signal("-TERM").await;
    assert_eq!(process.child.wait().await.unwrap().code(), Some(1));
}

#[tokio::test]
async fn a_program_that_waits_for_its_certificate_can_be_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let log = ["--log-format", "json", "--log-level", "debug"];
    let mut process = Process::start(
        &[
            &["run", "--listen", "127.0.0.1:0", "--certificates", path][..],
            &log,
        ]
        .concat(),
    );
    // Its first line shows that it has come so far; there is no certificate to go further.
    let line = process.log.next_line().await.unwrap().unwrap();
    assert!(
        serde_json::from_str::<serde_json::Value>(&line).is_ok(),
        "{line}"
    );
    process.signal("-TERM").await;
    assert_eq!(process.child.wait().await.unwrap().code(), Some(0));
    assert_eq!(process.output.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn a_taken_port_is_an_error_with_its_cause() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut process = Process::start(&["--listen", &address, "--self-signed", "127.0.0.1"]);
    assert_eq!(process.child.wait().await.unwrap().code(), Some(1));
    let mut last = String::new();
    while let Some(line) = process.log.next_line().await.unwrap() {
        last = line;
    }
    assert!(
        last.starts_with(&format!(
            "error: cannot start the server: cannot listen on {address}: "
        )),
        "{last}"
    );
}

#[tokio::test]
async fn what_it_signs_itself_can_be_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.crt");
    let file = path.to_str().unwrap();
    let run = [
        "--listen",
        "127.0.0.1:0",
        "--self-signed",
        "127.0.0.1",
        "--write-ca",
        file,
    ];
    let mut serving = Process::start(&run);
    let line = serving.output.next_line().await.unwrap().unwrap();
    assert!(line.starts_with("serving "), "{line}");

    let url = [
        "manifests",
        "--url",
        "https://127.0.0.1:8080",
        "--ca-file",
        file,
    ];
    let mut manifests = Process::start(&url);
    let mut lines = Vec::new();
    while let Some(line) = manifests.output.next_line().await.unwrap() {
        lines.push(line);
    }
    assert_eq!(manifests.child.wait().await.unwrap().code(), Some(0));
    let bundle = lines
        .iter()
        .find_map(|line| line.trim().strip_prefix("caBundle: "))
        .unwrap();
    let pem = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, bundle).unwrap();
    assert_eq!(pem, std::fs::read(&path).unwrap());
}

#[tokio::test]
async fn help_says_what_it_does() {
    let mut process = Process::start(&["--help"]);
    let first = process.output.next_line().await.unwrap().unwrap();
    assert_eq!(first, "Annotates every pod that is created");
    assert_eq!(process.child.wait().await.unwrap().code(), Some(0));
}
