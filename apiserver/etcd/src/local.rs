//! An etcd of one's own, for tests and benchmarks: a process that ends with the value.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// Where the binaries of a control plane are, as for envtest.
const ASSETS: &str = "KUBEBUILDER_ASSETS";
/// What `tests/kube-apiserver/build` has built.
const BUILT: &str = ".kubewright/kube-apiserver/current";
/// If this variable is set, a missing etcd is an error.
const REQUIRED: &str = "KUBEWRIGHT_REQUIRE_ETCD";

/// What etcd logs with the address on which it serves clients.
const SERVING: &str = "serving client traffic";

/// How long a start may take.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running etcd with an empty directory.
#[derive(Debug)]
pub struct LocalEtcd {
    process: Child,
    url: String,
    program: PathBuf,
    data: TempDir,
}

impl LocalEtcd {
    /// Starts an etcd, if the program is in `KUBEBUILDER_ASSETS` or was built by `tests/kube-apiserver/build`.
    ///
    /// # Panics
    /// etcd does not start; or there is none, and `KUBEWRIGHT_REQUIRE_ETCD` is set.
    pub fn start() -> Option<Self> {
        let Some(program) = find() else {
            let is_required = std::env::var_os(REQUIRED).is_some();
            assert!(
                !is_required,
                "{REQUIRED} is set, but there is no etcd in {ASSETS} or {BUILT}"
            );
            return None;
        };
        let data = tempfile::tempdir().expect("a directory");
        // A port that is chosen here could be another's before etcd listens, whose answers would be taken for etcd's.
        let (process, url) = run(&program, data.path(), 0).expect("etcd starts");
        Some(Self {
            process,
            url,
            program,
            data,
        })
    }

    /// Returns the URL for clients.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the id of the process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends it as a crash does, and starts it again with its data.
    ///
    /// # Panics
    /// It does not start again.
    pub fn crash(&mut self) {
        self.stop();
        let port = self
            .url
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        let port = port.expect("the URL has a port");
        // A connection of another program can have the port for a moment.
        let started = (0..10).find_map(|_| run(&self.program, self.data.path(), port).ok());
        let (process, _) = started.expect("etcd starts again");
        self.process = process;
    }

    fn stop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for LocalEtcd {
    fn drop(&mut self) {
        self.stop();
    }
}

fn find() -> Option<PathBuf> {
    let given = std::env::var_os(ASSETS).map(PathBuf::from);
    let here = std::env::current_dir().ok()?;
    let built = here.ancestors().map(|folder| folder.join(BUILT));
    let mut places = given.into_iter().chain(built);
    places.find_map(|folder| Some(folder.join("etcd")).filter(|program| program.is_file()))
}

/// Starts etcd, and waits until it says where it listens; on a free port, if `port` is 0.
fn run(program: &Path, data: &Path, port: u16) -> io::Result<(Child, String)> {
    let clients = format!("http://127.0.0.1:{port}");
    let mut process = Command::new(program)
        .arg("--data-dir")
        .arg(data.join("etcd"))
        .args(["--listen-client-urls", &clients])
        .args(["--advertise-client-urls", &clients])
        .args(["--listen-peer-urls", "http://127.0.0.1:0"])
        .args(["--log-level", "info", "--log-outputs", "stdout"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let (found, address) = mpsc::channel();
    // It reads to the end of the log: etcd would end if its output were closed.
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(address) = client_address(&line) {
                // The start may have been given up.
                let _ = found.send(address.to_owned());
            }
        }
    });
    let Ok(address) = address.recv_timeout(START_TIMEOUT) else {
        // It has ended, or is of no use.
        let _ = process.kill();
        process.wait()?;
        return Err(io::Error::other("etcd does not serve clients"));
    };
    Ok((process, format!("http://{address}")))
}

/// Finds the address for clients in a line of the log of an etcd.
fn client_address(line: &str) -> Option<&str> {
    let (_, address) = line.split_once(SERVING)?.1.split_once(r#""address":""#)?;
    Some(address.split_once('"')?.0)
}
