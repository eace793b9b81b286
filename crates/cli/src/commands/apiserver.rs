//! `kubewright apiserver`: the embedded API server on a port, for kubectl and whoever else.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::audit::{Audit, Level};

use crate::cluster::{Controller, Interrupt, KubeconfigFile, controllers, listen};
use crate::failure::Outcome;
use crate::files::{Readers, append};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Where to write the kubeconfig
    #[arg(long, value_name = "FILE", default_value = ".kubewright/kubeconfig")]
    kubeconfig: PathBuf,

    /// Which controllers run beside the API server
    #[arg(
        long,
        value_name = "NAMES",
        value_enum,
        value_delimiter = ',',
        default_value = "none"
    )]
    controllers: Vec<Controller>,

    /// Append an audit log to this file: a JSON event of audit.k8s.io/v1 a line
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,

    /// How much the audit log tells; above `metadata` it has the contents of Secrets
    #[arg(
        long,
        value_name = "LEVEL",
        value_enum,
        default_value_t,
        requires = "audit_log"
    )]
    audit_level: AuditLevel,

    /// Who may do what: everybody everything, or what roles and bindings say
    #[arg(
        long,
        value_name = "MODE",
        value_enum,
        ignore_case = true,
        default_value_t
    )]
    authorization_mode: AuthorizationMode,
}

/// The authorization modes, with the names that kube-apiserver has for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum AuthorizationMode {
    #[default]
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
    #[value(name = "RBAC")]
    Rbac,
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
        controllers: named,
        audit_log,
        audit_level,
        authorization_mode,
    } = arguments;
    let mut server = ApiServer::builder().controllers(controllers(&named));
    if authorization_mode == AuthorizationMode::Rbac {
        server = server.rbac();
    }
    if let Some(path) = &audit_log {
        let log = append(path, Readers::Owner)?;
        server = server.audit(Audit::to_writer(log).level(audit_level.into()));
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut interrupt = Interrupt::listen()?;
        let server = server.start();
        let listening = listen(&server, port).await?;
        let kubeconfig = KubeconfigFile::write(&kubeconfig, &listening.kubeconfig())?;
        ui.line(format!("ready: https://{}", listening.local_addr()));
        ui.note(format!("export KUBECONFIG={}", kubeconfig.path().display()));
        ui.note("a test and development server: nothing is kept when it ends. Ctrl-C ends it.");
        interrupt.wait().await;
        Ok(())
    })
}
