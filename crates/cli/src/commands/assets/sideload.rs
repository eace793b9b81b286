//! `kubewright assets sideload`.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::flags::{OutputFlag, PlatformFlags, StoreFlag};
use crate::assets::hash::Sha512;
use crate::assets::pin::LockFile;
use crate::assets::version::Version;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The version of the archive, such as 1.36.2
    #[arg(value_name = "VERSION")]
    version: Version,

    /// The archive, a .tar.gz as controller-tools publishes it; `-` reads standard input
    #[arg(value_name = "FILE", default_value = "-")]
    archive: PathBuf,

    /// The expected checksum of the archive [default: the checksum in kubewright.lock]
    #[arg(long, value_name = "HASH")]
    sha512: Option<Sha512>,

    #[command(flatten)]
    pub(super) output: OutputFlag,

    #[command(flatten)]
    platform: PlatformFlags,

    #[command(flatten)]
    store: StoreFlag,
}

pub(super) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    let Arguments { version, .. } = arguments;
    let platform = arguments.platform.one()?;
    let store = arguments.store.open()?;
    let lock = LockFile::find(Path::new("."))?;
    let pinned = lock.as_ref().and_then(|lock| lock.hash(version, &platform));
    let guard = store.lock(ui, version, &platform)?;

    let copy;
    let archive = if arguments.archive == Path::new("-") {
        let mut file = tempfile::NamedTempFile::new().context("cannot keep the archive")?;
        io::copy(&mut io::stdin().lock(), &mut file).context("cannot read the archive")?;
        copy = file;
        copy.path()
    } else {
        &arguments.archive
    };
    let hash = Sha512::of_file(archive);
    let hash = hash.with_context(|| format!("cannot read {}", archive.display()))?;
    if let Some(wanted) = arguments.sha512.as_ref().or(pinned)
        && *wanted != hash
    {
        return Err(Failure::new(format!(
            "the sha512 of the archive is {}…, and not {}…; nothing was installed",
            hash.short(),
            wanted.short()
        ))
        .hint("bring the archive here again"));
    }
    let installed = store.install(&guard, version, &platform, archive, hash)?;
    if arguments.output.json() {
        ui.json(&json!({
            "version": version,
            "platform": platform,
            "path": installed.folder,
            "sha512": installed.archive(),
        }));
    } else {
        ui.note(format!("installed {version} for {platform}"));
        ui.line(installed.folder.display().to_string());
    }
    Ok(())
}
