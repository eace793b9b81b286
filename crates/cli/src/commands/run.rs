//! `kubewright run`: a program on this machine, with the rights of the user's kubeconfig.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tempfile::TempDir;
use tokio::process::Command;

use crate::cluster::Interrupt;
use crate::commands::certs;
use crate::current::ClusterFlags;
use crate::dev::program::Program;
use crate::dev::running::{apart, tell_to_end};
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The directory of the program's package
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    #[command(flatten)]
    cluster: ClusterFlags,

    /// Options of the program and its `run` command, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

pub(crate) fn run(ui: &Ui, arguments: &Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut interrupt = Interrupt::listen_to_all()?;
        tokio::select! {
            outcome = prepared(ui, arguments) => {
                let (program, command) = outcome?;
                to_its_end(ui, &program, command, &mut interrupt).await
            }
            () = interrupt.wait() => Ok(()),
        }
    })
}

/// A command, with the folder that it needs for as long as it runs.
struct Prepared {
    command: Command,
    _folder: TempDir,
}

async fn prepared(ui: &Ui, arguments: &Arguments) -> Outcome<(Program, Prepared)> {
    let Arguments {
        folder,
        cluster,
        options,
    } = arguments;
    let step = ui.step(&format!("building {}", folder.display()));
    let program = Program::build(folder).await?;
    step.done(&format!("built {}", program.name()));

    let place = tempfile::tempdir().context("cannot make a folder for the certificate")?;
    let mut command = Command::new(program.executable());
    command.arg("run");
    if let Some(kubeconfig) = cluster.kubeconfig(ui, place.path()).await? {
        command.env("KUBECONFIG", kubeconfig);
    }
    let is_said = |names: &[&str]| {
        let mut options = options.iter();
        options.any(|option| names.iter().any(|name| option.starts_with(name)))
    };
    if !is_said(&["--listen"]) {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    if !is_said(&["--certificates", "--self-signed"]) {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let (authority, certificate) = certs::issue(&names, CERTIFICATE_LIFETIME)?;
        certs::save(place.path(), &authority, &certificate)?;
        command.arg("--certificates").arg(place.path());
    }
    // No change of endpoints has to propagate: no installed object makes an API server call the program.
    if !is_said(&["--propagation"]) {
        command.args(["--propagation", "0"]);
    }
    command.args(options).stdin(Stdio::null());
    let prepared = Prepared {
        command,
        _folder: place,
    };
    Ok((program, prepared))
}

async fn to_its_end(
    ui: &Ui,
    program: &Program,
    mut prepared: Prepared,
    interrupt: &mut Interrupt,
) -> Outcome {
    // A Ctrl-C would come twice: from the terminal, and from here.
    apart(&mut prepared.command);
    let child = prepared.command.kill_on_drop(true).spawn();
    let mut child = child.with_context(|| format!("cannot run {}", program.name()))?;
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        () = interrupt.wait() => None,
    };
    let status = if let Some(status) = ended {
        status
    } else if tell_to_end(&child) {
        tokio::select! {
            status = child.wait() => status,
            () = interrupt.wait() => {
                ui.note("cut off");
                return Ok(());
            }
        }
    } else {
        return Ok(());
    };
    let status = status.with_context(|| format!("cannot run {}", program.name()))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("{} ended: {status}", program.name())))
    }
}

/// Lifetime of the certificate: longer than any run from a terminal.
const CERTIFICATE_LIFETIME: Duration = Duration::from_hours(30 * 24);
