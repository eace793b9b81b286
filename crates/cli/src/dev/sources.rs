//! The files that a program is made from, and when they change.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::failure::Outcome;

/// Watches the folders of packages.
#[derive(Debug)]
pub(crate) struct Sources {
    watcher: RecommendedWatcher,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    notify: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    packages: Vec<PathBuf>,
    /// What cargo writes to, which changes with every build.
    target: Option<PathBuf>,
    changed: BTreeSet<PathBuf>,
}

impl Sources {
    /// Begins to watch the packages that an executable is made from.
    pub(crate) fn watch(packages: &[PathBuf], executable: &Path) -> Outcome<Self> {
        let seen = Arc::new(Seen::default());
        let own = Arc::clone(&seen);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event {
                own.take(&event);
            }
        });
        let mut sources = Self {
            watcher: watcher.context("cannot watch the sources of the program")?,
            seen,
        };
        sources.follow(packages, executable);
        Ok(sources)
    }

    /// Watches these packages from now on, too, with folders that have come since.
    pub(crate) fn follow(&mut self, packages: &[PathBuf], executable: &Path) {
        let packages: Vec<PathBuf> = packages
            .iter()
            .filter_map(|package| package.canonicalize().ok())
            .collect();
        {
            let mut state = self.seen.state();
            state.packages.clone_from(&packages);
            state.target = executable.canonicalize().ok();
        }
        for package in packages {
            self.follow_one(&package);
        }
    }

    /// What changes, once nothing more has changed for a moment.
    ///
    /// # Cancel safety
    /// Dropping the future loses no change.
    pub(crate) async fn changed(&mut self) -> Vec<PathBuf> {
        if !self.have_changed() {
            self.seen.notify.notified().await;
        }
        while timeout(QUIET, self.seen.notify.notified()).await.is_ok() {}
        let packages = self.seen.state().packages.clone();
        for package in packages {
            self.follow_one(&package);
        }
        let changed = std::mem::take(&mut self.seen.state().changed);
        changed.into_iter().collect()
    }

    /// Whether more has changed since.
    pub(crate) fn have_changed(&self) -> bool {
        !self.seen.state().changed.is_empty()
    }

    /// A package's folder for itself, and each folder in it with all that is below: what cargo builds is below it, too, in so
    /// many folders that watching them is a burden.
    fn follow_one(&mut self, package: &Path) {
        let _ = self.watcher.watch(package, RecursiveMode::NonRecursive);
        let Ok(entries) = package.read_dir() else {
            return;
        };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() && self.seen.state().is_source(&path) {
                // A folder that cannot be watched is as one that does not change.
                let _ = self.watcher.watch(&path, RecursiveMode::Recursive);
            }
        }
    }
}

impl Seen {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, event: &notify::Event) {
        // The compiler's reads are events, too.
        if event.kind.is_access() {
            return;
        }
        let mut state = self.state();
        let paths = event.paths.iter().filter(|path| state.is_source(path));
        let paths: Vec<PathBuf> = paths.cloned().collect();
        if !paths.is_empty() {
            state.changed.extend(paths);
            self.notify.notify_one();
        }
    }
}

impl State {
    /// Whether the program may be made from a file: cargo knows it better, and is quick to say so.
    fn is_source(&self, path: &Path) -> bool {
        let package = self
            .packages
            .iter()
            .filter(|package| path.starts_with(package))
            .max_by_key(|package| package.components().count());
        let Some(relative) = package.and_then(|package| path.strip_prefix(package).ok()) else {
            return false;
        };
        let mut names = relative.components().filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        let Some(first) = names.clone().next() else {
            return false;
        };
        let is_of_cargo = self.target.as_ref().is_some_and(|target| {
            package.is_some_and(|package| target.starts_with(package.join(first)))
        });
        let is_temporary =
            |name: &str| name.starts_with('.') || name.ends_with('~') || name.starts_with('#');
        !is_of_cargo && !OTHERS.contains(&first) && !names.any(is_temporary)
    }
}

/// What is beside the sources of a package and not among them; a `Cargo.lock` is written by cargo itself.
const OTHERS: [&str; 6] = [
    "target",
    "deploy",
    "tests",
    "benches",
    "examples",
    "Cargo.lock",
];

/// For how long nothing must change: an editor writes several files, and a file in several steps.
const QUIET: Duration = Duration::from_millis(100);
