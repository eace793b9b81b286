//! Where the programs of a control plane are.

use std::env;
use std::path::{Path, PathBuf};

use super::ControlPlaneError;

/// The programs that a control plane consists of.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) kube_apiserver: PathBuf,
    pub(super) etcd: PathBuf,
}

impl Programs {
    /// Those of `KUBEBUILDER_ASSETS`, or else those that `tests/kube-apiserver/build` has put into a folder above this one.
    pub(super) fn find() -> Result<Self, ControlPlaneError> {
        if let Some(assets) = env::var_os("KUBEBUILDER_ASSETS") {
            return Self::in_folder(assets.as_ref()).ok_or_else(|| ControlPlaneError::NoPrograms {
                looked_in: vec![assets.into()],
            });
        }
        let here =
            env::current_dir().map_err(ControlPlaneError::system("find the current directory"))?;
        let looked_in: Vec<PathBuf> = here.ancestors().map(|above| above.join(BUILT)).collect();
        looked_in
            .iter()
            .find_map(|folder| Self::in_folder(folder))
            .ok_or(ControlPlaneError::NoPrograms { looked_in })
    }

    pub(super) fn in_folder(folder: &Path) -> Option<Self> {
        let (kube_apiserver, etcd) = (folder.join("kube-apiserver"), folder.join("etcd"));
        (kube_apiserver.is_file() && etcd.is_file()).then_some(Self {
            kube_apiserver,
            etcd,
        })
    }
}

/// The newest build, below the root of a repository.
const BUILT: &str = ".kubewright/kube-apiserver/current";
