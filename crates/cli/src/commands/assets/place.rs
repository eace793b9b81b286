//! `kubewright assets use`.

use std::path::{Path, PathBuf};

use clap::{Args, Command, FromArgMatches as _, ValueEnum};
use serde_json::json;

use super::flags::{MirrorFlags, PlatformFlags, StoreFlag};
use crate::assets::pin::LockFile;
use crate::assets::provide::{Network, Pins, Presence, Provided, Wanted, provide};
use crate::assets::version::Selector;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The version: 1.36.2, 1.36, 1.36.x, ~1.36.1, <1.36, <=1.36.1, latest or latest-on-disk; a trailing `!` asks the index
    /// for the newest match [default: the version in kubewright.lock, or latest]
    #[arg(value_name = "VERSION")]
    selector: Option<Selector>,

    /// Do not contact any mirror; a version that is not installed is an error
    #[arg(short, long, visible_alias = "installed-only")]
    installed: bool,

    /// Do not change kubewright.lock; a version that it does not pin is an error
    #[arg(long)]
    locked: bool,

    /// Download the version even if it is installed
    #[arg(long, conflicts_with = "installed")]
    force: bool,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Format,

    #[command(flatten)]
    platform: PlatformFlags,

    #[command(flatten)]
    mirrors: MirrorFlags,

    #[command(flatten)]
    store: StoreFlag,
}

impl Arguments {
    pub(super) fn json(&self) -> bool {
        self.output == Format::Json
    }
}

/// How the place is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The path only
    #[default]
    Path,
    /// A line for `eval` in a shell; fails in the shell if this command fails
    Env,
    /// All details
    Json,
}

pub(super) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    let format = arguments.output;
    let outcome = place(ui, arguments);
    if outcome.is_err() && format == Format::Env {
        // `eval "$(…)"` takes the exit code of what it evaluates, and nothing is a success.
        ui.line("false");
    }
    outcome
}

/// As `assets use` does without a flag, in a folder.
pub(super) fn provided(ui: &Ui, folder: &Path, version: Option<Selector>) -> Outcome<PathBuf> {
    // By way of the command line, which knows what is not said: that is in variables, too.
    let command = Arguments::augment_args(Command::new("use"));
    let matches = command.get_matches_from(["use"]);
    let arguments = Arguments::from_arg_matches(&matches).map_err(Failure::internal)?;
    let arguments = Arguments {
        selector: version,
        ..arguments
    };
    let provided = bring(ui, folder, arguments)?;
    Ok(provided.installed.folder)
}

fn bring(ui: &Ui, folder: &Path, arguments: Arguments) -> Outcome<Provided> {
    let wanted = Wanted {
        selector: arguments.selector,
        platform: arguments.platform.one()?,
        network: if arguments.installed {
            Network::Forbidden
        } else {
            Network::Allowed
        },
        pins: if arguments.locked {
            Pins::Kept
        } else {
            Pins::Written
        },
        presence: if arguments.force {
            Presence::Replaced
        } else {
            Presence::Used
        },
    };
    let store = arguments.store.open()?;
    let sources = arguments.mirrors.sources(ui)?;
    let lock = LockFile::find(folder)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::internal)?;
    runtime.block_on(provide(ui, &store, sources, lock, &wanted))
}

fn place(ui: &Ui, arguments: Arguments) -> Outcome {
    let format = arguments.output;
    let provided = bring(ui, Path::new("."), arguments)?;
    let installed = &provided.installed;
    let Some(path) = installed.folder.to_str() else {
        return Err(Failure::new(format!(
            "the path of the store is no UTF-8: {}",
            installed.folder.display()
        ))
        .hint("choose another one with --store"));
    };
    match format {
        Format::Path => ui.line(path),
        Format::Env => ui.line(format!(
            "export KUBEBUILDER_ASSETS='{}'",
            path.replace('\'', r"'\''")
        )),
        Format::Json => ui.json(&json!({
            "version": installed.version,
            "platform": installed.platform,
            "path": path,
            "sha512": installed.archive(),
            "downloaded": provided.downloaded,
            "lock": provided.lock,
        })),
    }
    Ok(())
}
