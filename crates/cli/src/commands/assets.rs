//! `kubewright assets`: the programs of a real control plane, for `KUBEBUILDER_ASSETS`.

mod flags;
mod inventory;
mod place;
mod shim;
mod sideload;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::assets::version::Selector;
use crate::failure::Outcome;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Installs a version if it is missing, pins it in kubewright.lock, and prints its path.
    Use(place::Arguments),
    /// Lists installed and available versions.
    List(inventory::List),
    /// Removes installed versions and incomplete downloads.
    Cleanup(inventory::Cleanup),
    /// Installs a version from a local archive.
    Sideload(sideload::Arguments),
    /// Creates kube-apiserver and etcd for envtest, both links to this binary, and prints their directory.
    Shim(shim::Arguments),
    /// Verifies the checksums of installed versions.
    Verify(inventory::Verify),
}

impl Arguments {
    /// How the result is to be printed.
    pub(crate) fn json(&self) -> bool {
        match &self.command {
            Command::Use(arguments) => arguments.json(),
            Command::List(arguments) => arguments.output.json(),
            Command::Cleanup(arguments) => arguments.output.json(),
            Command::Sideload(arguments) => arguments.output.json(),
            Command::Shim(_) => false,
            Command::Verify(arguments) => arguments.output.json(),
        }
    }
}

pub(crate) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    match arguments.command {
        Command::Use(arguments) => place::run(ui, arguments),
        Command::List(arguments) => inventory::list(ui, arguments),
        Command::Cleanup(arguments) => inventory::cleanup(ui, &arguments),
        Command::Sideload(arguments) => sideload::run(ui, arguments),
        Command::Shim(arguments) => shim::run(ui, arguments),
        Command::Verify(arguments) => inventory::verify(ui, &arguments),
    }
}

/// The folder of the version that a project is tested on, or of another one, which is installed and pinned unless it is.
pub(crate) fn provided(ui: &Ui, folder: &Path, version: Option<Selector>) -> Outcome<PathBuf> {
    place::provided(ui, folder, version)
}
