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
    /// Installs a version unless it is there, pins it in kubewright.lock, and prints where it is.
    Use(place::Arguments),
    /// Lists the versions that are installed and those that can be had.
    List(inventory::List),
    /// Removes installed versions, and downloads that were not finished.
    Cleanup(inventory::Cleanup),
    /// Installs a version from an archive that was brought here in some other way.
    Sideload(sideload::Arguments),
    /// Writes kube-apiserver and etcd for envtest, which are this program by other names, and prints where they are.
    Shim(shim::Arguments),
    /// Reads installed versions again and says what is not as it was installed.
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
