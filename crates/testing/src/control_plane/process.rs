//! The control plane that tests share: one for a whole run of `cargo test`, or at least one for a process.
//!
//! `cargo test` starts one process after the other. The first that needs a control plane starts it and leaves it to their
//! parent: it ends when cargo does. The folder of the run has the kubeconfig, and is the lock under which it is looked for.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

use tokio::sync::OnceCell;

use super::supervised::Holder;
use super::{ControlPlane, ControlPlaneBuilder, ControlPlaneError, place, ready};

/// Returns the kubeconfig of the control plane that the tests of this process use. The first call starts it.
pub(crate) async fn shared_kubeconfig() -> Result<String, ControlPlaneError> {
    let shared = SHARED.get_or_try_init(async || match Run::of_this_process() {
        Some(run) => run.kubeconfig().await.map(Shared::ByRun),
        None => ControlPlane::start()
            .await
            .map(|own| Shared::ByProcess(Box::new(own))),
    });
    Ok(match shared.await? {
        Shared::ByRun(kubeconfig) => kubeconfig.clone(),
        Shared::ByProcess(control_plane) => control_plane.kubeconfig(),
    })
}

static SHARED: OnceCell<Shared> = OnceCell::const_new();

/// What the tests of this process use.
#[derive(Debug)]
enum Shared {
    /// Another process's child, and others use it, too.
    ByRun(String),
    /// This process's child. A static is never dropped: it ends with the process.
    ByProcess(Box<ControlPlane>),
}

/// A run of several test processes, known by the process that starts them all.
struct Run {
    parent: u32,
    folder: PathBuf,
}

impl Run {
    /// The run that this process belongs to, if its parent runs tests and can be told apart from later processes that get
    /// its number; that takes Linux.
    fn of_this_process() -> Option<Self> {
        let parent = parent_id();
        let stat = fs::read_to_string(format!("/proc/{parent}/stat")).ok()?;
        let (name, started) = name_and_start(&stat)?;
        RUNNERS.contains(&name).then(|| Self {
            parent,
            folder: place::base().join(format!("kubewright-run-{parent}-{started}")),
        })
    }

    async fn kubeconfig(self) -> Result<String, ControlPlaneError> {
        let opened = open(&self.folder).map_err(ControlPlaneError::system(format!(
            "open the folder of this run, {}",
            self.folder.display()
        )))?;
        // Other processes wait until the control plane is ready, or until the process that tried to start it has failed.
        let locked = tokio::task::spawn_blocking(move || opened.lock().map(|()| opened)).await;
        let _lock = locked
            .map_err(io::Error::other)
            .flatten()
            .map_err(ControlPlaneError::system("lock the folder of this run"))?;
        let file = self.folder.join("kube-apiserver").join("kubeconfig");
        if let Ok(kubeconfig) = fs::read_to_string(&file) {
            let client = super::client(&kubeconfig).await?;
            if ready(&client).await.is_ok() {
                return Ok(kubeconfig);
            }
        }
        let builder = ControlPlaneBuilder::default();
        let holder = Holder::Process(self.parent);
        let (etcd, api_server, access) = builder.start_in(&self.folder, holder).await?;
        let kubeconfig = access.kubeconfig();
        fs::write(&file, &kubeconfig).map_err(ControlPlaneError::system(
            "write the kubeconfig of this run",
        ))?;
        etcd.leave_to_holder();
        api_server.leave_to_holder();
        Ok(kubeconfig)
    }
}

/// Opens the folder of a run, which the first process creates. Any user may create folders there, so it has to be ours.
fn open(folder: &Path) -> io::Result<File> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let opened = File::open(folder)?;
    let (owner, us) = (opened.metadata()?.uid(), fs::metadata("/proc/self")?.uid());
    if owner == us {
        Ok(opened)
    } else {
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it belongs to another user",
        ))
    }
}

/// The name and the start time of a process, by its line in `/proc`.
fn name_and_start(stat: &str) -> Option<(&str, &str)> {
    // The name is in parentheses, and may have some itself.
    let (_, rest) = stat.split_once('(')?;
    let (name, rest) = rest.rsplit_once(") ")?;
    // The 22nd field is the start; the state, the first one here, is the 3rd.
    Some((name, rest.split(' ').nth(19)?))
}

/// What starts the processes of a run.
const RUNNERS: [&str; 2] = ["cargo", "cargo-nextest"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_name_and_its_start() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 99 100";
        assert_eq!(name_and_start(stat), Some(("a (b) c", "987654")));
        assert_eq!(name_and_start("42 cargo"), None);
    }
}
