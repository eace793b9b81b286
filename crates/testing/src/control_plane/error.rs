//! Why there is no control plane.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kubewright_certificates::CertificateError;

/// An error of starting a [`ControlPlane`](super::ControlPlane).
///
/// ```
/// use kubewright_testing::{ControlPlane, ControlPlaneError};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let empty = tempfile::tempdir().unwrap();
/// let error = ControlPlane::builder().assets(empty.path()).start().await.unwrap_err();
/// let ControlPlaneError::NoPrograms { looked_in } = error else { panic!("{error}") };
/// assert_eq!(looked_in, [empty.path()]);
/// # });
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlPlaneError {
    /// The programs are nowhere to be found.
    #[error(
        "cannot find kube-apiserver and etcd in {}; build them with tests/kube-apiserver/build, or set KUBEBUILDER_ASSETS to \
         the folder that has them, such as the one that `kubewright assets use` prints",
        list(.looked_in)
    )]
    NoPrograms {
        /// The folders that were looked into.
        looked_in: Vec<PathBuf>,
    },
    /// The file system, a socket or a process could not be had.
    #[error("cannot {what}")]
    System {
        /// What was being done.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// The certificates could not be made.
    #[error("cannot make the certificates of a control plane")]
    Certificates(#[from] CertificateError),
    /// The kube client does not take the credentials.
    #[error("cannot make a client for the control plane")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A program ended while it was starting.
    #[error("{program} ended with exit code {code} while it was starting; its last words:\n{log}")]
    Ended {
        /// Which.
        program: &'static str,
        /// Its exit code, or 128 and the number of the signal.
        code: String,
        /// The end of its log.
        log: String,
    },
    /// The API server does not become ready.
    #[error(
        "the control plane was not ready within {waited:?}: {last}; the last words of {program}:\n{log}"
    )]
    NotReady {
        /// How long it was waited for.
        waited: Duration,
        /// What is not ready.
        last: String,
        /// The program that is waited for.
        program: &'static str,
        /// The end of its log.
        log: String,
    },
}

impl ControlPlaneError {
    /// Says what was being done when the system refused.
    pub(super) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}

fn list(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders
        .iter()
        .map(|folder| {
            // The command that should have printed the path has failed, and a script has ignored its exit code.
            if folder.as_os_str().is_empty() {
                "a folder without a name".to_owned()
            } else {
                folder.display().to_string()
            }
        })
        .collect();
    folders.join(", ")
}
