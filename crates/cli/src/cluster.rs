//! The embedded API server as commands run it: on a port, with a kubeconfig file, until a signal interrupts it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use kubewright_apiserver::{ApiServer, Controllers, Listening, Program, Workloads};

use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};

/// The controllers that a command line can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Controller {
    /// Every one of them
    All,
    /// None, as with an API server alone
    None,
    /// Deletes what no owner keeps
    GarbageCollection,
    /// Empties namespaces that are deleted, and lets them go
    Namespaces,
    /// Gives every namespace its default ServiceAccount
    ServiceAccounts,
    /// Counts what is used of each ResourceQuota
    Quotas,
    /// Gives every Service the Endpoints and EndpointSlices of its pods
    Endpoints,
    /// Signs approved CertificateSigningRequests, and approves those of kubelets
    Certificates,
    /// Aggregates ClusterRoles
    ClusterRoles,
    /// Counts how many pods of each PodDisruptionBudget may be evicted
    DisruptionBudgets,
    /// Checks the types of ValidatingAdmissionPolicies
    TypeChecking,
    /// Scales the targets of HorizontalPodAutoscalers by metrics in annotations
    Autoscalers,
    /// Binds PersistentVolumeClaims, and lets volumes go that are no longer used
    Volumes,
    /// Makes pods of Deployments and other workloads, and lets them seem to run
    Workloads,
}

/// The controllers that are named on a command line; workloads run on so many nodes, with the programs of images.
pub(crate) fn controllers(
    named: &[Controller],
    nodes: usize,
    containers: &[ContainerProgram],
) -> Controllers {
    let workloads = || {
        containers
            .iter()
            .fold(workloads(nodes), |workloads, container| {
                workloads.container(&container.image, container.program.clone())
            })
    };
    named
        .iter()
        .fold(Controllers::none(), |chosen, controller| match controller {
            Controller::All => Controllers::all().workloads(workloads()),
            Controller::None => chosen,
            Controller::GarbageCollection => chosen.garbage_collection(),
            Controller::Namespaces => chosen.namespaces(),
            Controller::ServiceAccounts => chosen.service_accounts(),
            Controller::Quotas => chosen.quotas(),
            Controller::Endpoints => chosen.endpoints(),
            Controller::Certificates => chosen.certificates(),
            Controller::ClusterRoles => chosen.cluster_roles(),
            Controller::DisruptionBudgets => chosen.disruption_budgets(),
            Controller::TypeChecking => chosen.type_checking(),
            Controller::Autoscalers => chosen.autoscalers(),
            Controller::Volumes => chosen.volumes(),
            Controller::Workloads => chosen.workloads(workloads()),
        })
}

/// The program that runs in place of the containers of an image: `IMAGE=PROGRAM`, with the arguments of containers without
/// any behind the program.
#[derive(Clone, Debug)]
pub(crate) struct ContainerProgram {
    image: String,
    program: Program,
}

impl FromStr for ContainerProgram {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (image, command) = text.split_once('=').unwrap_or((text, ""));
        let mut words = command.split_whitespace();
        let path = words.next().filter(|_| !image.is_empty());
        let path =
            path.ok_or("expected IMAGE=PROGRAM, such as registry.example.com/web:*=./web")?;
        let path = std::path::absolute(path).map_err(|error| format!("{path}: {error}"))?;
        if !path.is_file() {
            return Err(format!("there is no program {}", path.display()));
        }
        Ok(Self {
            image: image.to_owned(),
            program: Program::process(path).default_args(words),
        })
    }
}

/// The workloads of a command: a pod that is deleted can be seen ending, as on a node, where no container stops at once. In
/// process, nothing takes time that a test does not ask for.
fn workloads(nodes: usize) -> Workloads {
    Workloads::default()
        .nodes(nodes)
        .stopped_after(Duration::from_millis(200))
}

/// Opens a port of the loopback interface.
pub(crate) async fn listen(server: &ApiServer, port: u16) -> Outcome<Listening> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    server.listen(address).await.map_err(|error| {
        let failure = Failure::from(error);
        if port == 0 {
            failure
        } else {
            failure.hint("pass --port 0 to take a free port")
        }
    })
}

/// A kubeconfig on disk, removed when its cluster ends unless another one has replaced it.
#[derive(Debug)]
pub(crate) struct KubeconfigFile {
    path: PathBuf,
    contents: String,
}

impl KubeconfigFile {
    /// Writes the kubeconfig; only its owner may read it, since it holds a key.
    pub(crate) fn write(path: &Path, contents: &str) -> Outcome<Self> {
        write(path, contents, Readers::Owner)?;
        let path = std::path::absolute(path).context("cannot name the kubeconfig")?;
        Ok(Self {
            path,
            contents: contents.to_owned(),
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        let found = std::fs::read_to_string(&self.path);
        if found.is_ok_and(|found| found == self.contents) {
            // A user may have removed it at this moment.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Ctrl-C, or a request to terminate.
///
/// It is listened for from the moment this is made, so that a signal between then and [`Interrupt::wait`] is not lost.
#[derive(Debug)]
pub(crate) struct Interrupt {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    from_keyboard: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Interrupt {
    /// Starts to listen. Needs a running runtime.
    #[cfg(unix)]
    pub(crate) fn listen() -> Outcome<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            from_keyboard: listen(SignalKind::interrupt())?,
            hang_up: None,
        })
    }

    /// Starts to listen, also for SIGHUP: for commands that must clean up when their terminal closes.
    #[cfg(unix)]
    pub(crate) fn listen_to_all() -> Outcome<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hang_up = signal(SignalKind::hangup()).context("cannot listen for signals")?;
        Ok(Self {
            hang_up: Some(hang_up),
            ..Self::listen()?
        })
    }

    /// Waits for the signal.
    ///
    /// # Cancel safety
    /// A signal that came before the future was dropped is seen by the next call.
    #[cfg(unix)]
    pub(crate) async fn wait(&mut self) {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.from_keyboard.recv() => {}
            _ = hung_up => {}
        }
    }

    /// Starts to listen.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> Outcome<Self> {
        Ok(Self {})
    }

    /// Starts to listen.
    #[cfg(not(unix))]
    pub(crate) fn listen_to_all() -> Outcome<Self> {
        Self::listen()
    }

    /// Waits for Ctrl-C.
    #[cfg(not(unix))]
    pub(crate) async fn wait(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
