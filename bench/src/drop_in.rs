//! How soon the `kube-apiserver` that `kubewright assets shim` writes answers, started as envtest starts it.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use kubewright_certificates::{Authority, TrustBundle};
use tokio::time::Instant;

/// How fast the first answer has to come.
pub(crate) const START: Duration = Duration::from_millis(10);

/// What envtest writes before it starts the program.
pub(crate) struct Prepared {
    program: PathBuf,
    folder: PathBuf,
    trust: TrustBundle,
}

/// A process that ends when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Prepared {
    /// Writes the certificates and the keys.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("kubewright");
        ensure!(
            program.exists(),
            "there is no {}: build it with `cargo build --release -p kubewright-cli`",
            program.display()
        );
        let folder = folder.join("drop-in");
        std::fs::create_dir_all(&folder)?;
        let day = Duration::from_hours(24);
        let authority = Authority::new("envtest")?;
        let serving = authority.sign_server(["localhost", "127.0.0.1"], day)?;
        for (name, text) in [
            ("apiserver.crt", serving.certificate_pem()),
            ("apiserver.key", serving.key_pem()),
            ("client-ca.crt", authority.certificate_pem()),
            ("sa-signer.crt", authority.certificate_pem()),
            ("sa-signer.key", authority.key_pem()),
        ] {
            std::fs::write(folder.join(name), text)?;
        }
        Ok(Self {
            program,
            folder,
            trust: authority.trust(),
        })
    }

    /// Starts the program, and says how long it takes until `/readyz` answers.
    pub(crate) async fn start(&self) -> Result<Duration> {
        // As envtest finds a port; nothing else takes it in between.
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let mut command = Command::new(&self.program);
        command
            .arg0("kube-apiserver")
            .args(self.arguments(address))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let connector = crate::load::connector(&self.trust)?;
        let begin = Instant::now();
        let mut running = Running(command.spawn().context("cannot start the drop-in")?);
        loop {
            if let Ok(mut sender) = crate::load::connect(address, &connector).await {
                let request = Request::get("https://localhost/readyz");
                let request = request.body(Full::new(Bytes::new()))?;
                let status = sender.send_request(request).await?.status();
                ensure!(status.is_success(), "/readyz answers {status}");
                return Ok(begin.elapsed());
            }
            if let Some(status) = running.0.try_wait()? {
                bail!("the drop-in ended: {status}");
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "the runtime's own clock has steps of a millisecond"
            )]
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// The flags of envtest.
    fn arguments(&self, address: SocketAddr) -> Vec<String> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        vec![
            "--allow-privileged=true".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            format!("--bind-address={}", address.ip()),
            format!("--cert-dir={}", self.folder.display()),
            format!("--client-ca-file={}", file("client-ca.crt")),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--etcd-servers=http://127.0.0.1:2379".to_owned(),
            format!("--secure-port={}", address.port()),
            format!("--service-account-issuer=https://{address}/"),
            format!("--service-account-key-file={}", file("sa-signer.crt")),
            format!(
                "--service-account-signing-key-file={}",
                file("sa-signer.key")
            ),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        ]
    }
}
