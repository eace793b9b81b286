//! The `kubewright` command: reads the command line, runs one command, says what went wrong.

mod assets;
mod cluster;
mod commands;
mod current;
mod dev;
mod doctor;
mod failure;
mod files;
mod output;
mod ownership;
#[cfg(test)]
mod reference;
mod scaffold;
mod shim;
mod ui;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::{Failure, Outcome};
use crate::ui::{Tone, Ui};

/// The embedded API server's objects are trees of many small pieces, which the system's allocator makes a quarter dearer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The toolkit for Kubernetes admission webhooks and controllers.
#[derive(Debug, Parser)]
#[command(name = "kubewright", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Creates a project.
    Init(commands::init::Arguments),
    /// Adds an API or a webhook to a project.
    #[command(subcommand)]
    Create(commands::create::Arguments),
    /// Deletes an API or a webhook of a project.
    #[command(subcommand)]
    Delete(commands::delete::Arguments),
    /// Edits the settings of a project.
    Edit(commands::edit::Arguments),
    /// Generates the install manifests of a program.
    Manifests(commands::manifests::Arguments),
    /// Runs a program against an embedded API server and shows every admission review.
    Dev(commands::dev::Arguments),
    /// Runs a program on this machine against the cluster of the current context, without installing anything.
    Run(commands::run::Arguments),
    /// Runs the tests of a project.
    Test(commands::test::Arguments),
    /// Replays recorded admission reviews and shows answers that differ.
    Replay(commands::replay::Arguments),
    /// Runs an embedded Kubernetes API server until SIGTERM or SIGINT.
    Apiserver(commands::apiserver::Arguments),
    /// Creates a certificate authority and a server certificate.
    Certs(commands::certs::Arguments),
    /// Manages kube-apiserver and etcd binaries for tests.
    Assets(commands::assets::Arguments),
    /// Installs the CustomResourceDefinitions of a program into the cluster of the current context.
    Install(commands::install::Install),
    /// Deletes the CustomResourceDefinitions of a program.
    Uninstall(commands::install::Uninstall),
    /// Deploys a program to the cluster of the current context.
    Deploy(commands::install::Deploy),
    /// Removes a deployed program, its webhook configurations first.
    Undeploy(commands::install::Undeploy),
    /// Diagnoses the webhooks of the current context: reachability, TLS trust and lockouts.
    Doctor(commands::doctor::Arguments),
    /// Prints the shell completion script.
    Completions(commands::completions::Arguments),
}

impl Command {
    /// Whether a program reads the result.
    fn json(&self) -> bool {
        match self {
            Self::Certs(arguments) => arguments.json(),
            Self::Assets(arguments) => arguments.json(),
            Self::Install(arguments) => arguments.json(),
            Self::Uninstall(arguments) => arguments.json(),
            Self::Deploy(arguments) => arguments.json(),
            Self::Undeploy(arguments) => arguments.json(),
            Self::Doctor(arguments) => arguments.json(),
            _ => false,
        }
    }

    fn run(self, ui: &Arc<Ui>) -> Outcome {
        match self {
            Self::Init(arguments) => commands::init::run(ui, arguments),
            Self::Create(arguments) => commands::create::run(ui, arguments),
            Self::Delete(arguments) => commands::delete::run(ui, arguments),
            Self::Edit(arguments) => commands::edit::run(ui, &arguments),
            Self::Manifests(arguments) => commands::manifests::run(ui, arguments),
            Self::Dev(arguments) => commands::dev::run(ui, &arguments),
            Self::Run(arguments) => commands::run::run(ui, &arguments),
            Self::Test(arguments) => commands::test::run(ui, arguments),
            Self::Replay(arguments) => commands::replay::run(ui, arguments),
            Self::Apiserver(arguments) => commands::apiserver::run(ui, arguments),
            Self::Certs(arguments) => commands::certs::run(ui, arguments),
            Self::Assets(arguments) => commands::assets::run(ui, arguments),
            Self::Install(arguments) => commands::install::install(ui, &arguments),
            Self::Uninstall(arguments) => commands::install::uninstall(ui, &arguments),
            Self::Deploy(arguments) => commands::install::deploy(ui, &arguments),
            Self::Undeploy(arguments) => commands::install::undeploy(ui, &arguments),
            Self::Doctor(arguments) => commands::doctor::run(ui, &arguments),
            Self::Completions(arguments) => {
                commands::completions::run(ui, &arguments, Arguments::command())
            }
        }
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    if let Some(program) = shim::Program::of(words.next().as_deref()) {
        return program.run(words.map(|word| word.to_string_lossy().into_owned()));
    }
    let Arguments { command } = Arguments::parse();
    let ui = Arc::new(Ui::new());
    let json = command.json();
    // A panic has said what it had to say; what is left is the exit code.
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| command.run(&ui)));
    let outcome = outcome.unwrap_or_else(|_| {
        let defect = anyhow::anyhow!("kubewright has a defect, and stopped at it");
        Err(Failure::internal(defect).hint("report it with what stands above"))
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(&ui, &failure, json);
            ExitCode::from(failure.kind().code())
        }
    }
}

fn tell(ui: &Ui, failure: &Failure, json: bool) {
    if json {
        return ui.note(failure.json().to_string());
    }
    let mut lines = failure.lines().into_iter();
    if let Some(error) = lines.next() {
        ui.note(ui.paint(Tone::Bad, &error));
    }
    lines.for_each(|hint| ui.note(hint));
}
