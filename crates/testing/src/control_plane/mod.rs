//! A real kube-apiserver with a real etcd, for as long as a test needs them.

mod credentials;
mod error;
mod place;
mod process;
mod programs;
mod supervised;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tempfile::TempDir;
use tokio::net::TcpSocket;

use credentials::{Access, Credentials};
pub use error::ControlPlaneError;
pub(crate) use process::shared_kubeconfig;
use programs::Programs;
use supervised::{Holder, Supervised};

/// A kube-apiserver with an etcd, without nodes or controllers.
///
/// The binaries come from the folder that `KUBEBUILDER_ASSETS` names, or from `tests/kube-apiserver/build`. They stop when
/// this is dropped, and when the process that started them ends in any way, even if it is killed; their files are deleted
/// then.
///
/// The configuration is that of Kubernetes' envtest: RBAC, a client certificate of `system:masters`, and no ServiceAccount
/// admission, because no controller would create the ServiceAccounts.
pub struct ControlPlane {
    // Declared in the order in which they end.
    api_server: Supervised,
    _etcd: Supervised,
    place: TempDir,
    access: Access,
}

/// How a control plane starts.
#[derive(Clone, Debug, Default)]
#[must_use = "a control plane starts with `.start().await`"]
pub struct ControlPlaneBuilder {
    assets: Option<PathBuf>,
    flags: Vec<OsString>,
    audit_policy: Option<String>,
}

impl fmt::Debug for ControlPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlPlane")
            .field("url", &self.access.url)
            .field("folder", &self.folder())
            .finish_non_exhaustive()
    }
}

impl ControlPlane {
    /// A control plane to configure.
    pub fn builder() -> ControlPlaneBuilder {
        ControlPlaneBuilder::default()
    }

    /// Starts a control plane and waits until it is ready.
    ///
    /// # Errors
    /// The programs cannot be found, or do not start.
    ///
    /// # Cancel safety
    /// What has been started ends when the future is dropped.
    pub async fn start() -> Result<Self, ControlPlaneError> {
        Self::builder().start().await
    }

    /// The URL of the API server.
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// The CA that the API server's certificate is signed by, as PEM text.
    pub fn ca_pem(&self) -> &str {
        &self.access.ca
    }

    /// The admin's client certificate, as PEM text.
    pub fn client_certificate_pem(&self) -> &str {
        &self.access.certificate
    }

    /// The key of the admin's client certificate, as PEM text.
    pub fn client_key_pem(&self) -> &str {
        &self.access.key
    }

    /// A kubeconfig of the admin, with everything inside it.
    pub fn kubeconfig(&self) -> String {
        self.access.kubeconfig()
    }

    /// A client of the admin. It belongs to the runtime that it is made on.
    ///
    /// # Errors
    /// The client does not take the credentials.
    pub async fn client(&self) -> Result<Client, ControlPlaneError> {
        client(&self.kubeconfig()).await
    }

    /// The file that the audit log is written to, one JSON event a line, when [`ControlPlaneBuilder::audit`] was asked for.
    ///
    /// An event is written when its request has been answered: a client that has its answer may have to wait for it.
    pub fn audit_log(&self) -> PathBuf {
        self.api_server.folder().join(AUDIT_LOG)
    }

    /// The folder of everything that the control plane writes: it is removed with it.
    pub fn folder(&self) -> &Path {
        self.place.path()
    }

    /// Ends the control plane; when this returns, no process and no file of it is left.
    pub fn stop(self) {}
}

impl ControlPlaneBuilder {
    /// Takes kube-apiserver and etcd from this folder. The default is the folder that `KUBEBUILDER_ASSETS` names.
    pub fn assets(mut self, folder: impl Into<PathBuf>) -> Self {
        self.assets = Some(folder.into());
        self
    }

    /// Adds a flag of kube-apiserver, such as `--feature-gates=…`; the last one of a name holds. With
    /// `--enable-admission-plugins=…ServiceAccount…` that plugin is not switched off.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Writes an audit log under this policy, the YAML text of an `audit.k8s.io/v1` `Policy`.
    pub fn audit(mut self, policy: impl Into<String>) -> Self {
        self.audit_policy = Some(policy.into());
        self
    }

    /// Starts the control plane and waits until it is ready.
    ///
    /// # Errors
    /// The programs cannot be found, or do not start.
    ///
    /// # Cancel safety
    /// What has been started ends when the future is dropped.
    pub async fn start(self) -> Result<ControlPlane, ControlPlaneError> {
        let place = place::new_folder().map_err(ControlPlaneError::system(
            "make a folder for a control plane",
        ))?;
        let (etcd, api_server, access) = self.start_in(place.path(), Holder::This).await?;
        Ok(ControlPlane {
            api_server,
            _etcd: etcd,
            place,
            access,
        })
    }

    /// Starts the programs in a folder, which must be empty.
    async fn start_in(
        &self,
        folder: &Path,
        holder: Holder,
    ) -> Result<(Supervised, Supervised, Access), ControlPlaneError> {
        let programs = match &self.assets {
            Some(folder) => {
                Programs::in_folder(folder).ok_or_else(|| ControlPlaneError::NoPrograms {
                    looked_in: vec![folder.clone()],
                })?
            }
            None => Programs::find()?,
        };
        let deadline = Deadline(Instant::now() + START_TIMEOUT);

        let etcd = start_etcd(&programs.etcd, new_folder(folder, "etcd")?, holder)?;
        let socket = etcd.folder().join(ETCD_SOCKET);
        while UnixStream::connect(&socket).is_err() {
            deadline
                .wait("etcd", &etcd, || "etcd has no socket".to_owned())
                .await?;
        }

        let credentials = Credentials::new()?;
        // Reserves a port that the API server may share: no other process can take it in between.
        let (port, reserved) = reserve_port()?;
        let api_server = self.start_api_server(
            &programs.kube_apiserver,
            new_folder(folder, "kube-apiserver")?,
            holder,
            &credentials,
            &[
                format!("--secure-port={port}"),
                format!("--etcd-servers=unix://{}", socket.display()),
            ],
        )?;
        let access = credentials.access(format!("https://127.0.0.1:{port}"));
        let client = client(&access.kubeconfig()).await?;
        while let Err(last) = ready(&client).await {
            deadline
                .wait("kube-apiserver", &api_server, || last)
                .await?;
        }
        drop(reserved);
        Ok((etcd, api_server, access))
    }

    fn start_api_server(
        &self,
        program: &Path,
        folder: PathBuf,
        holder: Holder,
        credentials: &Credentials,
        addresses: &[String],
    ) -> Result<Supervised, ControlPlaneError> {
        credentials
            .write(&folder)
            .map_err(ControlPlaneError::system(
                "write the certificates of a control plane",
            ))?;
        let mut arguments: Vec<OsString> = [
            "--bind-address=127.0.0.1",
            "--permit-port-sharing",
            "--cert-dir=.",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=Node,RBAC",
            "--allow-privileged=true",
        ]
        .into_iter()
        .chain(Credentials::FLAGS)
        .map(OsString::from)
        .collect();
        // kube-apiserver does not start with a plugin that is both enabled and disabled.
        let enables = |flag: &OsString| {
            let flag = flag.to_string_lossy();
            let plugins = flag.strip_prefix("--enable-admission-plugins=");
            plugins.is_some_and(|plugins| plugins.split(',').any(|name| name == SERVICE_ACCOUNT))
        };
        if !self.flags.iter().any(enables) {
            arguments.push(format!("--disable-admission-plugins={SERVICE_ACCOUNT}").into());
        }
        arguments.extend(addresses.iter().map(OsString::from));
        if let Some(policy) = &self.audit_policy {
            fs::write(folder.join("audit-policy.yaml"), policy)
                .map_err(ControlPlaneError::system("write the audit policy"))?;
            arguments.push("--audit-policy-file=audit-policy.yaml".into());
            arguments.push(format!("--audit-log-path={AUDIT_LOG}").into());
            arguments.push("--audit-log-mode=blocking".into());
        }
        arguments.extend(self.flags.iter().cloned());
        Supervised::start(folder, holder, program, arguments)
            .map_err(ControlPlaneError::system("start kube-apiserver"))
    }
}

fn start_etcd(
    program: &Path,
    folder: PathBuf,
    holder: Holder,
) -> Result<Supervised, ControlPlaneError> {
    let arguments = [
        "--name=test",
        "--data-dir=data",
        "--unsafe-no-fsync",
        "--log-level=warn",
        // No TCP ports at all. Peer URLs need the form of a host and port; no process connects to them.
        &format!(
            "--listen-client-urls=unix://{}",
            folder.join(ETCD_SOCKET).display()
        ),
        "--advertise-client-urls=http://localhost:0",
        "--listen-peer-urls=unix://peer:0",
        "--initial-advertise-peer-urls=unix://peer:0",
        "--initial-cluster=test=unix://peer:0",
    ]
    .map(OsString::from);
    Supervised::start(folder, holder, program, arguments)
        .map_err(ControlPlaneError::system("start etcd"))
}

/// When to give up.
struct Deadline(Instant);

impl Deadline {
    /// Waits a moment for a program that is starting.
    async fn wait(
        &self,
        name: &'static str,
        program: &Supervised,
        last: impl FnOnce() -> String,
    ) -> Result<(), ControlPlaneError> {
        if let Some(code) = program.ended() {
            return Err(ControlPlaneError::Ended {
                program: name,
                code,
                log: program.last_words(),
            });
        }
        if Instant::now() >= self.0 {
            return Err(ControlPlaneError::NotReady {
                waited: START_TIMEOUT,
                last: last(),
                program: name,
                log: program.last_words(),
            });
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok(())
    }
}

fn new_folder(parent: &Path, name: &str) -> Result<PathBuf, ControlPlaneError> {
    let folder = parent.join(name);
    fs::create_dir(&folder).map_err(ControlPlaneError::system(format!(
        "make the folder of {name}"
    )))?;
    Ok(folder)
}

fn reserve_port() -> Result<(u16, TcpSocket), ControlPlaneError> {
    let reserve = || {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        Ok((socket.local_addr()?.port(), socket))
    };
    reserve().map_err(ControlPlaneError::system(
        "reserve a port for kube-apiserver",
    ))
}

async fn client(kubeconfig: &str) -> Result<Client, ControlPlaneError> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig)
        .map_err(|error| ControlPlaneError::Client(error.into()))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| ControlPlaneError::Client(error.into()))?;
    Client::try_from(config).map_err(|error| ControlPlaneError::Client(error.into()))
}

/// Whether the API server says that it is ready, and has made the namespaces that every cluster has; if not, why.
async fn ready(client: &Client) -> Result<(), String> {
    for path in [
        "/readyz",
        // They are made after the server is ready.
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/kube-system",
    ] {
        let request = http::Request::get(path)
            .body(Vec::new())
            .map_err(|error| error.to_string())?;
        client
            .request_text(request)
            .await
            .map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// How long a start may take: it is about two seconds, more where others use the processors.
const START_TIMEOUT: Duration = Duration::from_mins(2);
const ETCD_SOCKET: &str = "etcd.sock";
const AUDIT_LOG: &str = "audit.log";
const SERVICE_ACCOUNT: &str = "ServiceAccount";
