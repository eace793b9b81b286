//! The `kubewright` command: reads the command line, runs one command, says what went wrong.

mod cluster;
mod commands;
mod dev;
mod failure;
mod files;
mod ui;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};

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
    /// Runs a program against an embedded API server and shows every review as it passes.
    Dev(commands::dev::Arguments),
    /// Serves an embedded Kubernetes API server until it is told to stop.
    Apiserver(commands::apiserver::Arguments),
    /// Makes a certificate authority and a server certificate.
    Certs(commands::certs::Arguments),
}

fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    let ui = Arc::new(Ui::new());
    let outcome = match command {
        Command::Dev(arguments) => commands::dev::run(&ui, arguments),
        Command::Apiserver(arguments) => commands::apiserver::run(&ui, arguments),
        Command::Certs(arguments) => commands::certs::run(&ui, arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let mut lines = failure.lines().into_iter();
            if let Some(error) = lines.next() {
                ui.note(ui.paint(Tone::Bad, &error));
            }
            lines.for_each(|hint| ui.note(hint));
            ExitCode::FAILURE
        }
    }
}
