//! Providing a version: what is pinned, what is installed, and what has to be downloaded.

use std::path::PathBuf;

use super::hash::Sha512;
use super::index::Archive;
use super::pin::LockFile;
use super::platform::Platform;
use super::sources::Sources;
use super::store::{Installed, Store};
use super::version::{Newest, Selector, Version};
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// A request for a version, and the means that are allowed to provide it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// None selects the pinned version, or else the newest one.
    pub(crate) selector: Option<Selector>,
    pub(crate) platform: Platform,
    pub(crate) network: Network,
    pub(crate) pins: Pins,
    pub(crate) presence: Presence,
}

/// Whether mirrors may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    Allowed,
    Forbidden,
}

/// Whether the lock file may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pins {
    Written,
    Kept,
}

/// Whether an existing installation is used or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Used,
    Replaced,
}

/// An installed version.
#[derive(Debug)]
pub(crate) struct Provided {
    pub(crate) installed: Installed,
    /// Whether it was missing at first, even if another process has installed it meanwhile.
    pub(crate) downloaded: bool,
    /// The lock file that pins it, if there is a repository.
    pub(crate) lock: Option<PathBuf>,
}

/// Installs and pins the requested version.
pub(crate) async fn provide(
    ui: &Ui,
    store: &Store,
    mut sources: Sources<'_>,
    mut lock: Option<LockFile>,
    wanted: &Wanted,
) -> Outcome<Provided> {
    if wanted.pins == Pins::Kept && lock.as_ref().and_then(LockFile::pinned).is_none() {
        return Err(Failure::new("no kubewright.lock pins a version")
            .hint("run `kubewright assets use` without --locked, and check kubewright.lock in"));
    }
    let (version, mut published) = choose(store, &mut sources, lock.as_ref(), wanted).await?;
    let platform = &wanted.platform;
    let pinned = lock
        .as_ref()
        .and_then(|lock| lock.hash(version, platform))
        .cloned();
    if wanted.pins == Pins::Kept && pinned.is_none() {
        return Err(Failure::new(format!(
            "kubewright.lock does not pin {version} for {platform}, and --locked keeps it as it is"
        ))
        .hint("run the same without --locked, and check kubewright.lock in"));
    }

    let there = ready(store, version, wanted, pinned.as_ref())?;
    let downloaded = there.is_none();
    let installed = if let Some(installed) = there {
        installed
    } else {
        let guard = store.lock(ui, version, platform)?;
        // Another process may have installed it while this one waited for the lock.
        if let Some(installed) = ready(store, version, wanted, pinned.as_ref())? {
            installed
        } else {
            if published.is_empty() {
                let exactly = Selector::exactly(version);
                published = sources.newest(&exactly, platform).await?;
            }
            let archive = find(&published, platform)?;
            agree(archive, pinned.as_ref())?;
            let step = ui.step(&format!("downloading {version} for {platform}"));
            let part = store.download(&archive.hash)?;
            sources.fetch(archive, &part).await?;
            let hash = archive.hash.clone();
            let installed = store.install(&guard, version, platform, &part, hash)?;
            // It is of no more use, and `cleanup` would find it.
            let _ = std::fs::remove_file(&part);
            step.done(&format!("installed {version} for {platform}"));
            installed
        }
    };

    if let Some(lock) = lock.as_mut().filter(|_| wanted.pins == Pins::Written) {
        let mut hashes: std::collections::BTreeMap<_, _> = published
            .into_iter()
            .map(|archive| (archive.platform, archive.hash))
            .collect();
        hashes.insert(platform.clone(), installed.archive().clone());
        if lock.pin(lock.with(version, hashes))? {
            ui.note(format!("{} pins {version}", lock.path().display()));
        }
    }
    Ok(Provided {
        installed,
        downloaded,
        lock: lock.map(|lock| lock.path().to_owned()),
    })
}

/// Chooses the version, and returns its archives if that took a request to an index.
async fn choose(
    store: &Store,
    sources: &mut Sources<'_>,
    lock: Option<&LockFile>,
    wanted: &Wanted,
) -> Outcome<(Version, Vec<Archive>)> {
    let pinned = lock.and_then(LockFile::pinned).map(|pinned| pinned.version);
    if wanted.pins == Pins::Kept
        && let Some(pinned) = pinned
    {
        return match wanted.selector {
            Some(selector) if !selector.matches(pinned) => Err(Failure::new(format!(
                "kubewright.lock pins {pinned}, which is not {selector}, and --locked keeps it as it is"
            ))
            .hint("leave the version away, or run the same without --locked")),
            _ => Ok((pinned, Vec::new())),
        };
    }
    let selector = wanted.selector.unwrap_or(Selector::ANY);
    let newest = match selector.newest() {
        // Without a word and a pin, the newest there is.
        Newest::Known if wanted.selector.is_none() && pinned.is_none() => Newest::Published,
        newest => newest,
    };
    if newest == Newest::Known
        && let Some(pinned) = pinned.filter(|pinned| selector.matches(*pinned))
    {
        return Ok((pinned, Vec::new()));
    }
    let on_disk = newest != Newest::Published || wanted.network == Network::Forbidden;
    if on_disk {
        let installed = store.list()?.into_iter();
        let mut meant = installed
            .filter(|one| one.platform == wanted.platform && selector.matches(one.version));
        if let Some(found) = meant.next() {
            return Ok((found.version, Vec::new()));
        }
        if newest == Newest::Installed || wanted.network == Network::Forbidden {
            return Err(absent(&format!("{selector} for {}", wanted.platform)));
        }
    }
    let archives = sources.newest(&selector, &wanted.platform).await?;
    Ok((find(&archives, &wanted.platform)?.version, archives))
}

/// What is installed, if it will do as it is.
fn ready(
    store: &Store,
    version: Version,
    wanted: &Wanted,
    pinned: Option<&Sha512>,
) -> Outcome<Option<Installed>> {
    let found = store.get(version, &wanted.platform)?;
    let found = found.filter(|_| wanted.presence == Presence::Used);
    if let Some(installed) = found
        && installed.missing().is_none()
    {
        return match pinned {
            Some(pinned) if pinned != installed.archive() => Err(Failure::new(format!(
                "what is installed as {version} comes from another archive than the one that kubewright.lock pins: its \
                 sha512 is {}…, and not {}…",
                installed.archive().short(),
                pinned.short()
            ))
            .hint("run `kubewright assets use --force` to download the one that is pinned")),
            _ => Ok(Some(installed)),
        };
    }
    match wanted.network {
        Network::Allowed => Ok(None),
        Network::Forbidden => Err(absent(&format!("{version} for {}", wanted.platform))),
    }
}

fn absent(what: &str) -> Failure {
    Failure::new(format!("{what} is not installed"))
        .hint("leave --installed away to have it downloaded, or run `kubewright assets sideload`")
}

fn find<'a>(archives: &'a [Archive], platform: &Platform) -> Outcome<&'a Archive> {
    let found = archives
        .iter()
        .find(|archive| archive.platform == *platform);
    found.ok_or_else(|| Failure::new(format!("no index has an archive for {platform}")))
}

/// An index cannot overrule what was checked in.
fn agree(archive: &Archive, pinned: Option<&Sha512>) -> Outcome {
    match pinned {
        Some(pinned) if *pinned != archive.hash => Err(Failure::new(format!(
            "the index says that the sha512 of {} for {} is {}…, and kubewright.lock pins {}…; nothing was downloaded",
            archive.version,
            archive.platform,
            archive.hash.short(),
            pinned.short()
        ))
        .hint("find out who has changed the archive; if it is meant, delete the line from kubewright.lock")),
        _ => Ok(()),
    }
}
