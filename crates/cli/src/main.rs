//! The `kubewright` command: reads the command line, runs one command, says what went wrong.

mod assets;
mod cluster;
mod commands;
mod current;
mod data;
mod dev;
mod doctor;
mod etcd;
mod failure;
mod files;
mod inspect;
mod output;
mod ownership;
#[cfg(test)]
mod reference;
mod replay;
mod scaffold;
mod shim;
#[cfg(test)]
mod troubleshooting;
mod ui;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;

use crate::commands::CommandLine;
use crate::failure::Failure;
use crate::ui::{Tone, Ui};

/// The embedded API server's objects are trees of many small pieces, which the system's allocator makes a quarter dearer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    if let Some(program) = shim::Program::of(words.next().as_deref()) {
        return program.run(words.map(|word| word.to_string_lossy().into_owned()));
    }
    let CommandLine { command } = CommandLine::parse();
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
