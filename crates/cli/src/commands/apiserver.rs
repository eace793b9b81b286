//! `kubewright apiserver`: the embedded API server on a port, for kubectl and other clients.

mod snapshot;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kubewright_apiserver::admission::AdmissionPlugin;
use kubewright_apiserver::audit::{Audit, Level};
use kubewright_apiserver::{ApiServer, AuthorizationMode, KubernetesVersion};

use crate::cluster::{
    ContainerProgram, Controller, Interrupt, KubeconfigFile, controllers, listen,
};
use crate::data;
use crate::etcd::{Etcd, Storage};
use crate::failure::{Failure, Outcome};
use crate::files::{Readers, append};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<snapshot::Command>,

    /// Listen on this port; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Write the kubeconfig to this file
    #[arg(long, value_name = "FILE", default_value = ".kubewright/kubeconfig")]
    kubeconfig: PathBuf,

    /// Keep objects and keys in this directory, and start with those that it holds
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

    /// Start with the objects of a snapshot, or of what `kubectl get -A -o json` wrote, in memory
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "storage"])]
    snapshot: Option<PathBuf>,

    /// Keep the objects in the directory of --data, or in etcd; the keys are in the directory in both cases
    #[arg(long, value_name = "STORAGE", value_enum, default_value_t)]
    storage: Storage,

    #[command(flatten)]
    etcd: Etcd,

    /// Emulate this version of Kubernetes: what came later is neither served nor kept
    #[arg(
        long,
        visible_alias = "emulate",
        value_name = "VERSION",
        default_value_t
    )]
    emulated_version: KubernetesVersion,

    /// Run these controllers beside the API server
    #[arg(
        long,
        value_name = "NAMES",
        value_enum,
        value_delimiter = ',',
        default_value = "none"
    )]
    controllers: Vec<Controller>,

    /// Simulate this many nodes, if the controllers of workloads run
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    nodes: usize,

    /// Run this program in place of the containers of an image; `*` at the end of the image is every tag. Arguments behind the
    /// program are those of containers without any. Needs the controller `workloads`
    #[arg(long = "container", value_name = "IMAGE=PROGRAM")]
    containers: Vec<ContainerProgram>,

    /// Append audit events of audit.k8s.io/v1 to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,

    /// Set the audit level; levels above `metadata` include the contents of Secrets
    #[arg(
        long,
        value_name = "LEVEL",
        value_enum,
        default_value_t,
        requires = "audit_log"
    )]
    audit_level: AuditLevel,

    /// Use these authorization modes, in this order, such as Node,RBAC
    #[arg(
        long,
        value_name = "MODES",
        value_enum,
        value_delimiter = ',',
        ignore_case = true,
        default_value = "AlwaysAllow"
    )]
    authorization_mode: Vec<Mode>,

    /// Enable these admission plugins in addition to the default ones; ServiceAccount is one of them with all controllers
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    enable_admission_plugins: Vec<AdmissionPlugin>,

    /// Disable these admission plugins
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    disable_admission_plugins: Vec<AdmissionPlugin>,

    /// Forget history that is older than this many seconds, and by twice this time at the latest
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    compaction_interval: u32,

    /// Delay every write by this many milliseconds, to emulate the latency of etcd
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0)]
    latency: u32,
}

/// The authorization modes, with the names that kube-apiserver has for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Allow every request of authenticated users
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
    /// Authorize requests of kubelets by the pods of their node
    #[value(name = "Node")]
    Node,
    /// Authorize requests by roles and role bindings
    #[value(name = "RBAC")]
    Rbac,
}

impl From<Mode> for AuthorizationMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::AlwaysAllow => Self::AlwaysAllow,
            Mode::Node => Self::Node,
            Mode::Rbac => Self::Rbac,
        }
    }
}

/// The levels of an audit policy.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum AuditLevel {
    #[default]
    Metadata,
    Request,
    RequestResponse,
}

impl From<AuditLevel> for Level {
    fn from(level: AuditLevel) -> Self {
        match level {
            AuditLevel::Metadata => Self::Metadata,
            AuditLevel::Request => Self::Request,
            AuditLevel::RequestResponse => Self::RequestResponse,
        }
    }
}

pub(crate) fn run(ui: &Arc<Ui>, arguments: Arguments) -> Outcome {
    let Arguments {
        command,
        port,
        kubeconfig,
        data: directory,
        snapshot,
        storage,
        etcd,
        emulated_version,
        controllers: named,
        containers,
        nodes,
        audit_log,
        audit_level,
        authorization_mode,
        enable_admission_plugins: enabled,
        disable_admission_plugins: disabled,
        compaction_interval,
        latency,
    } = arguments;
    if let Some(command) = command {
        return command.run(ui);
    }
    if let Some(both) = enabled.iter().find(|plugin| disabled.contains(plugin)) {
        let message = format!("the admission plugin {both} is both enabled and disabled");
        return Err(Failure::new(message).hint("name it in one of the two flags"));
    }
    let simulates = [Controller::All, Controller::Workloads];
    if !containers.is_empty() && !named.iter().any(|one| simulates.contains(one)) {
        let message = "no pod runs its containers, because the controller workloads does not run";
        return Err(Failure::new(message).hint("add --controllers workloads"));
    }
    let modes = authorization_mode.into_iter().map(AuthorizationMode::from);
    // The account of each pod is there where its controller is.
    let is_whole = named.contains(&Controller::All);
    let with_all = is_whole.then_some(AdmissionPlugin::ServiceAccount);
    let mut server = ApiServer::builder()
        .emulated_version(emulated_version)
        .controllers(controllers(&named, nodes, &containers))
        .authorization(modes)
        .enable_admission_plugins(with_all)
        .enable_admission_plugins(enabled)
        .disable_admission_plugins(disabled)
        .write_latency(Duration::from_millis(latency.into()))
        .compaction_interval(Duration::from_secs(compaction_interval.into()));
    if let Some(path) = &audit_log {
        let log = append(path, Readers::Owner)?;
        server = server.audit(Audit::to_writer(log).level(audit_level.into()));
    }
    if let Some(directory) = &directory {
        data::make_private(directory)
            .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    }
    // First of all: a directory is locked while a server uses its objects.
    server = match (storage, &directory) {
        (Storage::Etcd, _) => etcd.keep(server)?,
        (Storage::File, Some(directory)) => data::keep_objects(server, directory)?,
        (Storage::File, None) => match &snapshot {
            Some(file) => server.snapshot(snapshot::read(file)?),
            None => server,
        },
    };
    if let Some(directory) = &directory {
        server = data::keep_keys(server, directory)?;
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut interrupt = Interrupt::listen()?;
        let server = server.start();
        let listening = listen(&server, port).await?;
        let kubeconfig = KubeconfigFile::write(&kubeconfig, &listening.kubeconfig())?;
        ui.line(format!("ready: https://{}", listening.local_addr()));
        ui.note(format!("export KUBECONFIG={}", kubeconfig.path().display()));
        ui.note(match (storage, &directory) {
            (Storage::Etcd, _) => {
                "a test and development server: its objects are kept in etcd. Ctrl-C ends it."
                    .to_owned()
            }
            (Storage::File, Some(directory)) => format!(
                "a test and development server: its objects are kept in {}. Ctrl-C ends it.",
                directory.display()
            ),
            (Storage::File, None) => {
                "a test and development server: nothing is kept when it ends. Ctrl-C ends it."
                    .to_owned()
            }
        });
        interrupt.wait().await;
        Ok(())
    })
}
