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
    /// Makes a project.
    Init(commands::init::Arguments),
    /// Adds an API or a webhook to a project.
    #[command(subcommand)]
    Create(commands::create::Arguments),
    /// Takes an API or a webhook from a project.
    #[command(subcommand)]
    Delete(commands::delete::Arguments),
    /// Changes what a project is like.
    Edit(commands::edit::Arguments),
    /// Writes the files that install a program.
    Manifests(commands::manifests::Arguments),
    /// Runs a program against an embedded API server and shows every review as it passes.
    Dev(commands::dev::Arguments),
    /// Runs a program on this machine, with your rights in the cluster of the current context. Nothing is installed there.
    Run(commands::run::Arguments),
    /// Runs the tests of a project.
    Test(commands::test::Arguments),
    /// Asks a program recorded reviews again, and shows what it answers otherwise.
    Replay(commands::replay::Arguments),
    /// Serves an embedded Kubernetes API server until it is told to stop.
    Apiserver(commands::apiserver::Arguments),
    /// Makes a certificate authority and a server certificate.
    Certs(commands::certs::Arguments),
    /// Looks after the programs of a real control plane, for tests on one.
    Assets(commands::assets::Arguments),
    /// Defines a program's custom resources in the cluster of the current context.
    Install(commands::install::Install),
    /// Deletes the definitions of a program's custom resources.
    Uninstall(commands::install::Uninstall),
    /// Installs a program, with all that it needs, in the cluster of the current context.
    Deploy(commands::install::Deploy),
    /// Takes a program away again: first whatever has it called, then the program.
    Undeploy(commands::install::Undeploy),
    /// Examines the webhooks of the current context: can they be reached and believed, and do they lock anybody out?
    Doctor(commands::doctor::Arguments),
    /// Prints the completions of this command for a shell.
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
