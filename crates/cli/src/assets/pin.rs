//! `kubewright.lock`: which version a repository uses, and the hashes that its archives must have.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::hash::Sha512;
use super::platform::Platform;
use super::version::Version;
use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};

/// The lock file of a repository, be it there already or not.
#[derive(Debug)]
pub(crate) struct LockFile {
    path: PathBuf,
    pinned: Option<Pinned>,
}

/// What a lock file says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pinned {
    pub(crate) version: Version,
    pub(crate) sha512: BTreeMap<Platform, Sha512>,
}

#[derive(Deserialize, Serialize)]
struct Document {
    assets: Option<Pinned>,
}

impl LockFile {
    /// The lock file that holds in `folder`: the nearest one above, at most up to where the repository begins.
    pub(crate) fn find(folder: &Path) -> Outcome<Option<Self>> {
        let folder = std::path::absolute(folder).context("cannot find the current folder")?;
        for above in folder.ancestors() {
            let path = above.join(NAME);
            if path.is_file() {
                let pinned = Self::read(&path)?;
                return Ok(Some(Self { path, pinned }));
            }
            if above.join(".git").exists() {
                let pinned = None;
                return Ok(Some(Self { path, pinned }));
            }
        }
        Ok(None)
    }

    fn read(path: &Path) -> Outcome<Option<Pinned>> {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let document: Document = toml::from_str(&text).map_err(|error| {
            Failure::new(format!("{} is no lock file: {error}", path.display()))
                .hint("restore it from version control, or delete it to have it made anew")
        })?;
        Ok(document.assets)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn pinned(&self) -> Option<&Pinned> {
        self.pinned.as_ref()
    }

    /// The hash that is pinned for the archive of a version for a platform.
    pub(crate) fn hash(&self, version: Version, platform: &Platform) -> Option<&Sha512> {
        let pinned = self.pinned().filter(|pinned| pinned.version == version)?;
        pinned.sha512.get(platform)
    }

    /// What it would say if these hashes were pinned: those of the same version stay.
    pub(crate) fn with(&self, version: Version, hashes: BTreeMap<Platform, Sha512>) -> Pinned {
        let same = self.pinned().filter(|pinned| pinned.version == version);
        let mut sha512 = hashes;
        sha512.extend(same.into_iter().flat_map(|pinned| pinned.sha512.clone()));
        Pinned { version, sha512 }
    }

    /// Writes it, unless it says this already. Says whether it was written.
    pub(crate) fn pin(&mut self, pinned: Pinned) -> Outcome<bool> {
        if self.pinned() == Some(&pinned) {
            return Ok(false);
        }
        let assets = Some(pinned.clone());
        let text = toml::to_string(&Document { assets }).context("cannot write a lock file")?;
        write(&self.path, &format!("{HEADER}\n{text}"), Readers::Everyone)?;
        self.pinned = Some(pinned);
        Ok(true)
    }
}

const NAME: &str = "kubewright.lock";
const HEADER: &str = "\
# Written by `kubewright assets use`: the Kubernetes that this repository is tested on. Check it in.
# `kubewright assets use 1.N!` moves it to the newest 1.N.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(digit: &str) -> Sha512 {
        digit.repeat(128).parse().unwrap()
    }

    #[test]
    fn what_is_pinned_is_read_again_from_any_folder_of_the_repository() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        let mut lock = LockFile::find(&deep).unwrap().unwrap();
        assert_eq!(lock.pinned(), None);
        let (version, linux) = (Version::new(1, 36, 2), Platform::of("linux", "amd64"));
        let pinned = lock.with(version, [(linux.clone(), hash("a"))].into());
        assert!(lock.pin(pinned.clone()).unwrap());
        assert!(!lock.pin(pinned.clone()).unwrap(), "nothing changes");

        let again = LockFile::find(&deep).unwrap().unwrap();
        assert_eq!(again.path(), root.path().join(NAME));
        assert_eq!(again.hash(version, &linux), Some(&hash("a")));
        assert_eq!(again.hash(Version::new(1, 36, 1), &linux), None);
    }

    #[test]
    fn a_hash_that_is_pinned_stays_and_another_version_takes_none_of_them_over() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        let mut lock = LockFile::find(root.path()).unwrap().unwrap();
        let (linux, mac) = (
            Platform::of("linux", "amd64"),
            Platform::of("darwin", "arm64"),
        );
        let version = Version::new(1, 36, 2);
        lock.pin(lock.with(version, [(linux.clone(), hash("a"))].into()))
            .unwrap();

        let more = [(linux.clone(), hash("b")), (mac.clone(), hash("c"))].into();
        let same = lock.with(version, more);
        assert_eq!(
            same.sha512,
            [(mac, hash("c")), (linux.clone(), hash("a"))].into()
        );
        let other = lock.with(Version::new(1, 37, 0), [(linux.clone(), hash("d"))].into());
        assert_eq!(other.sha512, [(linux, hash("d"))].into());
    }

    #[test]
    fn outside_of_a_repository_nothing_is_pinned() {
        let root = tempfile::tempdir().unwrap();
        assert!(LockFile::find(root.path()).unwrap().is_none());
    }

    #[test]
    fn a_lock_file_that_cannot_be_read_is_not_passed_over() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(NAME), "assets = 1").unwrap();
        let failure = LockFile::find(root.path()).unwrap_err();
        assert!(failure.lines()[0].contains("is no lock file"));
        assert!(
            failure
                .lines()
                .last()
                .unwrap()
                .starts_with("hint: restore it")
        );
    }
}
