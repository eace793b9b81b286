//! An etcd of one's own, for tests and benchmarks: a process that ends with the value.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Where the binaries of a control plane are, as for envtest.
const ASSETS: &str = "KUBEBUILDER_ASSETS";
/// What `tests/kube-apiserver/build` has built.
const BUILT: &str = ".kubewright/kube-apiserver/current";
/// If this variable is set, a missing etcd is an error.
const REQUIRED: &str = "KUBEWRIGHT_REQUIRE_ETCD";

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
        // Another process may take a free port before etcd does: then others are tried.
        let started = (0..5).find_map(|_| run(&program, data.path(), free_port()).ok());
        let (process, url) = started.expect("etcd starts");
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
        let (process, _) = run(&self.program, self.data.path(), port).expect("etcd starts again");
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

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.expect("a free port").port()
}

/// Starts etcd, and waits until it accepts connections.
#[expect(
    clippy::disallowed_methods,
    reason = "etcd does not tell when it listens, and no call waits on this thread"
)]
fn run(program: &Path, data: &Path, port: u16) -> io::Result<(Child, String)> {
    let url = format!("http://127.0.0.1:{port}");
    let peers = format!("http://127.0.0.1:{}", free_port());
    let mut process = Command::new(program)
        .arg("--data-dir")
        .arg(data.join("etcd"))
        .args([
            "--listen-client-urls",
            &url,
            "--advertise-client-urls",
            &url,
        ])
        .args(["--listen-peer-urls", &peers, "--log-level", "error"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let end = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if process.try_wait()?.is_some() || Instant::now() > end {
            // It has ended, or is of no use.
            let _ = process.kill();
            process.wait()?;
            return Err(io::Error::other("etcd does not accept connections"));
        }
        sleep(Duration::from_millis(5));
    }
    Ok((process, url))
}
