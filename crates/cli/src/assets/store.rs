//! Where installed programs are: a folder for each version and platform, which is there whole or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::hash::Sha512;
use super::platform::Platform;
use super::unpack::unpack;
use super::version::Version;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// The folder with everything that is installed.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    root: PathBuf,
}

/// The programs of one version for one platform, as they were installed.
#[derive(Clone, Debug)]
pub(crate) struct Installed {
    pub(crate) version: Version,
    pub(crate) platform: Platform,
    pub(crate) folder: PathBuf,
    record: Record,
}

/// What was installed.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Record {
    archive: Sha512,
    files: BTreeMap<String, Sha512>,
}

/// The right to change one version for one platform; other processes wait until it is dropped.
#[derive(Debug)]
pub(crate) struct Guard {
    _file: File,
}

impl Store {
    /// The store in this folder, or where programs of this system keep their data.
    pub(crate) fn at(folder: Option<PathBuf>) -> Outcome<Self> {
        let root = match folder {
            Some(folder) => folder,
            None => data_folder().ok_or_else(|| {
                Failure::new("cannot tell where programs keep their data here")
                    .hint("set KUBEWRIGHT_ASSETS_STORE or pass --store")
            })?,
        };
        let root = std::path::absolute(root).context("cannot name the store")?;
        Ok(Self { root })
    }

    /// What is installed of a version.
    pub(crate) fn get(&self, version: Version, platform: &Platform) -> Outcome<Option<Installed>> {
        let folder = self.root.join(format!("{version}-{platform}"));
        let path = folder.join(RECORD);
        if !path.is_file() {
            return Ok(None);
        }
        let describe = || format!("cannot read {}", path.display());
        let text = fs::read(&path).with_context(describe)?;
        let record = serde_json::from_slice(&text).with_context(describe)?;
        let platform = platform.clone();
        Ok(Some(Installed {
            version,
            platform,
            folder,
            record,
        }))
    }

    /// Everything that is installed, the newest version first.
    pub(crate) fn list(&self) -> Outcome<Vec<Installed>> {
        let mut all = Vec::new();
        if !self.root.exists() {
            return Ok(all);
        }
        let describe = || format!("cannot read {}", self.root.display());
        for entry in fs::read_dir(&self.root).with_context(describe)? {
            let name = entry.with_context(describe)?.file_name();
            let named = name.to_str().and_then(|name| name.split_once('-'));
            let Some((version, platform)) = named else {
                continue;
            };
            if let (Ok(version), Ok(platform)) = (version.parse(), platform.parse()) {
                all.extend(self.get(version, &platform)?);
            }
        }
        all.sort_by(|a, b| (b.version, &a.platform).cmp(&(a.version, &b.platform)));
        Ok(all)
    }

    /// Waits until no other process changes this version.
    pub(crate) fn lock(&self, ui: &Ui, version: Version, platform: &Platform) -> Outcome<Guard> {
        let path = self.root.join(format!("{version}-{platform}.lock"));
        let describe = || format!("cannot lock {}", path.display());
        fs::create_dir_all(&self.root).with_context(describe)?;
        let file = File::create(&path).with_context(describe)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                ui.note(format!(
                    "another process works on {version} for {platform}; waiting for it"
                ));
                file.lock().with_context(describe)?;
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(describe)?,
        }
        Ok(Guard { _file: file })
    }

    /// The folder of the programs for envtest.
    pub(crate) fn shim(&self) -> PathBuf {
        self.root.join("shim")
    }

    /// Where a download waits until it is whole.
    pub(crate) fn download(&self, hash: &Sha512) -> Outcome<PathBuf> {
        let folder = self.root.join(DOWNLOADS);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder.join(format!("{}.part", hash.short())))
    }

    /// Removes what downloads that never ended have left.
    pub(crate) fn forget_downloads(&self) -> Outcome {
        let folder = self.root.join(DOWNLOADS);
        if folder.exists() {
            let describe = || format!("cannot remove {}", folder.display());
            fs::remove_dir_all(&folder).with_context(describe)?;
        }
        Ok(())
    }

    /// Installs what is in an archive, in place of what is there.
    pub(crate) fn install(
        &self,
        _guard: &Guard,
        version: Version,
        platform: &Platform,
        archive: &Path,
        hash: Sha512,
    ) -> Outcome<Installed> {
        let describe = || format!("cannot install {version} for {platform}");
        let fresh = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(&self.root)
            .with_context(describe)?;
        unpack(archive, fresh.path(), platform).with_context(describe)?;
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(fresh.path()).with_context(describe)? {
            let entry = entry.with_context(describe)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let hash = Sha512::of_file(&entry.path()).with_context(describe)?;
            files.insert(name, hash);
        }
        let archive = hash;
        let record = Record { archive, files };
        let text = serde_json::to_vec_pretty(&record).with_context(describe)?;
        fs::write(fresh.path().join(RECORD), text).with_context(describe)?;
        open_for_others(fresh.path()).with_context(describe)?;

        let folder = self.root.join(format!("{version}-{platform}"));
        self.clear(&folder).with_context(describe)?;
        fs::rename(fresh.keep(), &folder).with_context(describe)?;
        let platform = platform.clone();
        Ok(Installed {
            version,
            platform,
            folder,
            record,
        })
    }

    /// Removes what is installed.
    pub(crate) fn remove(&self, _guard: &Guard, installed: &Installed) -> Outcome {
        let describe = || format!("cannot remove {}", installed.folder.display());
        Ok(self.clear(&installed.folder).with_context(describe)?)
    }

    /// Renames a folder before deleting it, so that no process sees half of it.
    fn clear(&self, folder: &Path) -> std::io::Result<()> {
        if folder.exists() {
            let old = tempfile::Builder::new()
                .prefix(".old-")
                .tempdir_in(&self.root)?;
            fs::rename(folder, old.path().join("old"))?;
            old.close()?;
        }
        Ok(())
    }
}

impl Installed {
    /// The hash of the archive that it was installed from.
    pub(crate) fn archive(&self) -> &Sha512 {
        &self.record.archive
    }

    /// What is missing of it, at a glance.
    pub(crate) fn missing(&self) -> Option<&str> {
        let names = self.record.files.keys();
        names
            .map(String::as_str)
            .find(|name| !self.folder.join(name).is_file())
    }

    /// Reads every installed file, and returns the files that are missing or changed.
    pub(crate) fn damage(&self) -> Outcome<Vec<String>> {
        let mut damage = Vec::new();
        for (name, hash) in &self.record.files {
            let path = self.folder.join(name);
            if !path.is_file() {
                damage.push(format!("{name} is missing"));
                continue;
            }
            let now = Sha512::of_file(&path);
            if now.with_context(|| format!("cannot read {}", path.display()))? != *hash {
                damage.push(format!("{name} is not what was installed"));
            }
        }
        Ok(damage)
    }
}

fn data_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = if cfg!(windows) {
        PathBuf::from(variable("LOCALAPPDATA")?)
    } else if cfg!(target_os = "macos") {
        PathBuf::from(variable("HOME")?).join("Library/Application Support")
    } else {
        match variable("XDG_DATA_HOME") {
            Some(folder) => folder.into(),
            None => PathBuf::from(variable("HOME")?).join(".local/share"),
        }
    };
    Some(base.join("kubewright").join("assets"))
}

/// Temporary folders are their owner's alone; a store may be for several users.
#[cfg(unix)]
fn open_for_others(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn open_for_others(_: &Path) -> std::io::Result<()> {
    Ok(())
}

const RECORD: &str = ".kubewright.json";
const DOWNLOADS: &str = "downloads";
