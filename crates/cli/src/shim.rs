//! The programs of a control plane, as this program called by another name: `kube-apiserver` and `etcd` for envtest.

mod apiserver;
mod etcd;
mod failed;
mod flags;
pub(crate) mod links;
mod settings;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use self::failed::Failed;
use crate::ui::Ui;

/// A program that envtest starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    ApiServer,
    Etcd,
}

impl Program {
    /// Every program that this one is called as.
    pub(crate) const ALL: [Self; 2] = [Self::ApiServer, Self::Etcd];

    /// The name of the program's file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ApiServer => "kube-apiserver",
            Self::Etcd => "etcd",
        }
    }

    /// The program that this process was called as, from the first word of its command line.
    pub(crate) fn of(called: Option<&OsStr>) -> Option<Self> {
        let name = Path::new(called?).file_stem()?;
        Self::ALL.into_iter().find(|program| name == program.name())
    }

    /// Runs the program until SIGTERM.
    pub(crate) fn run(self, arguments: impl IntoIterator<Item = String>) -> ExitCode {
        let ui = Ui::new();
        let served = match self {
            Self::ApiServer => apiserver::run(&ui, arguments),
            Self::Etcd => etcd::run(&ui, arguments),
        };
        match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failed { message, code }) => {
                ui.note(message);
                ExitCode::from(code)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_recognized_by_the_name_of_its_file() {
        let program = |called: &str| Program::of(Some(OsStr::new(called)));
        for called in [
            "kube-apiserver",
            "/a/b/kube-apiserver",
            "kube-apiserver.exe",
        ] {
            assert_eq!(program(called), Some(Program::ApiServer), "{called}");
        }
        assert_eq!(program("./etcd"), Some(Program::Etcd));
        for called in ["kubewright", "/etcd/kubewright", "kube-apiserver-old", ""] {
            assert_eq!(program(called), None, "{called}");
        }
        assert_eq!(Program::of(None), None);
    }
}
