//! `kubewright apiserver`: the embedded API server on a port, for kubectl and other clients.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kubewright_apiserver::admission::AdmissionPlugin;
use kubewright_apiserver::audit::{Audit, Level};
use kubewright_apiserver::{ApiServer, AuthorizationMode};

use crate::cluster::{Controller, Interrupt, KubeconfigFile, controllers, listen};
use crate::data;
use crate::failure::{Failure, Outcome};
use crate::files::{Readers, append};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Listen on this port; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Write the kubeconfig to this file
    #[arg(long, value_name = "FILE", default_value = ".kubewright/kubeconfig")]
    kubeconfig: PathBuf,

    /// Keep objects and keys in this directory, and start with those that it holds
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

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

    /// Enable these admission plugins in addition to the default ones, such as ServiceAccount
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    enable_admission_plugins: Vec<AdmissionPlugin>,

    /// Disable these admission plugins
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    disable_admission_plugins: Vec<AdmissionPlugin>,
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
        port,
        kubeconfig,
        data: directory,
        controllers: named,
        nodes,
        audit_log,
        audit_level,
        authorization_mode,
        enable_admission_plugins: enabled,
        disable_admission_plugins: disabled,
        latency,
    } = arguments;
    if let Some(both) = enabled.iter().find(|plugin| disabled.contains(plugin)) {
        let message = format!("the admission plugin {both} is both enabled and disabled");
        return Err(Failure::new(message).hint("name it in one of the two flags"));
    }
    let modes = authorization_mode.into_iter().map(AuthorizationMode::from);
    let mut server = ApiServer::builder()
        .controllers(controllers(&named, nodes))
        .authorization(modes)
        .enable_admission_plugins(enabled)
        .disable_admission_plugins(disabled)
        .write_latency(Duration::from_millis(latency.into()))
        .compaction_interval(COMPACTION_INTERVAL);
    if let Some(path) = &audit_log {
        let log = append(path, Readers::Owner)?;
        server = server.audit(Audit::to_writer(log).level(audit_level.into()));
    }
    if let Some(directory) = &directory {
        server = data::keep(server, directory)?;
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut interrupt = Interrupt::listen()?;
        let server = server.start();
        let listening = listen(&server, port).await?;
        let kubeconfig = KubeconfigFile::write(&kubeconfig, &listening.kubeconfig())?;
        ui.line(format!("ready: https://{}", listening.local_addr()));
        ui.note(format!("export KUBECONFIG={}", kubeconfig.path().display()));
        ui.note(match &directory {
            Some(directory) => format!(
                "a test and development server: its objects are kept in {}. Ctrl-C ends it.",
                directory.display()
            ),
            None => "a test and development server: nothing is kept when it ends. Ctrl-C ends it."
                .to_owned(),
        });
        interrupt.wait().await;
        Ok(())
    })
}

/// As of a real API server: history is kept for five to ten minutes.
const COMPACTION_INTERVAL: Duration = Duration::from_mins(5);
