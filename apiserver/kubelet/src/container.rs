//! A container as its program sees it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use tokio::sync::watch;

use crate::log::Log;

/// A container that starts: what its program is given.
#[derive(Clone, Debug)]
pub struct Container {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) address: IpAddr,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) directory: PathBuf,
    pub(crate) log: Log,
    pub(crate) stopped: watch::Receiver<bool>,
}

/// A volume in a container, and where its files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) path: String,
    pub(crate) files: PathBuf,
}

impl Container {
    /// The name of the container.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// The value of an environment variable.
    pub fn env(&self, name: &str) -> Option<&str> {
        let mut known = self.env.iter().rev();
        known
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The address on which the program listens. It is the pod's own on the loopback network.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Where a file of a volume is, by its path in the container; a path outside of all volumes stays as it is.
    pub fn path(&self, path: &str) -> PathBuf {
        let mut mounts: Vec<&Mount> = self.mounts.iter().collect();
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.path.len()));
        let below = |mount: &&Mount| {
            Some((
                mount.files.clone(),
                Path::new(path).strip_prefix(&mount.path).ok()?,
            ))
        };
        match mounts.iter().find_map(below) {
            Some((files, rest)) if rest.as_os_str().is_empty() => files,
            Some((files, rest)) => files.join(rest),
            None => path.into(),
        }
    }

    /// Adds a line to the log.
    pub fn log(&self, line: impl AsRef<str>) {
        self.log.write(format!("{}\n", line.as_ref()).into());
    }

    /// Waits until the container is stopped.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn stopped(&self) {
        let mut stopped = self.stopped.clone();
        // A pod that is gone has stopped too.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }
}
