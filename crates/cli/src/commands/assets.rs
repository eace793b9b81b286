//! `kubewright assets`: the programs of a real control plane, for `KUBEBUILDER_ASSETS`.

mod inventory;
mod place;
mod shim;
mod sideload;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::http::Uri;
use clap::{Args, Subcommand};

use crate::assets::http::Http;
use crate::assets::index::PUBLISHED;
use crate::assets::platform::Platform;
use crate::assets::sources::Sources;
use crate::assets::store::Store;
use crate::assets::version::Selector;
use crate::failure::Outcome;
use crate::output::Output;
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

/// Where installed versions are.
#[derive(Debug, Args)]
struct StoreFlag {
    /// The folder of the installed versions; kubewright/assets among the data of programs unless given
    #[arg(long, value_name = "DIRECTORY", env = "KUBEWRIGHT_ASSETS_STORE")]
    store: Option<PathBuf>,
}

impl StoreFlag {
    fn open(self) -> Outcome<Store> {
        Store::at(self.store)
    }
}

/// The platform.
#[derive(Debug, Args)]
struct PlatformFlags {
    /// The operating system, by Go's name
    #[arg(long, value_name = "OS", default_value = Platform::os_here())]
    os: String,

    /// The processor, by Go's name
    #[arg(long, value_name = "ARCH", default_value = Platform::arch_here())]
    arch: String,
}

impl PlatformFlags {
    /// One platform: no `*`.
    fn one(&self) -> Outcome<Platform> {
        let platform = format!("{}-{}", self.os, self.arch).parse();
        platform.map_err(|error: String| crate::failure::Failure::new(error))
    }
}

/// Where archives are looked for.
#[derive(Debug, Args)]
struct MirrorFlags {
    /// The addresses of indexes, asked in this order; archives may lie beside them
    #[arg(
        long,
        value_name = "URLS",
        value_delimiter = ',',
        env = "KUBEWRIGHT_ASSETS_INDEX",
        default_value = PUBLISHED,
        value_parser = address
    )]
    index: Vec<Uri>,

    /// How long a mirror may say nothing before the next one is asked
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

impl MirrorFlags {
    fn sources(self, ui: &Ui) -> Outcome<Sources<'_>> {
        let http = Http::new(Duration::from_secs(self.timeout))?;
        Ok(Sources::new(ui, http, self.index))
    }
}

fn address(text: &str) -> Result<Uri, String> {
    let uri: Uri = text.parse().map_err(|error| format!("{error}"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(_)) => Ok(uri),
        _ => Err("it has to begin with https:// or http://".to_owned()),
    }
}

/// Whether people or programs read the result.
#[derive(Debug, Args)]
struct OutputFlag {
    /// How the result is printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,
}

impl OutputFlag {
    fn json(&self) -> bool {
        self.output == Output::Json
    }
}
