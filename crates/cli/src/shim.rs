//! The programs of a control plane, as this program called by another name: `kube-apiserver` and `etcd` for envtest.

mod apiserver;
mod etcd;
mod flags;
pub(crate) mod links;
mod settings;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// A program that envtest starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    ApiServer,
    Etcd,
}

/// Why a program does not serve.
#[derive(Debug)]
struct Failed {
    message: String,
    /// The exit code of the real program.
    code: u8,
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

impl Failed {
    /// A failure behind the command line.
    fn of(failure: &Failure) -> Self {
        Self {
            message: failure.lines().join("\n"),
            code: 1,
        }
    }
}

/// The runtime of a program: one thread for etcd, which waits most of the time.
fn runtime(threads: usize) -> Outcome<tokio::runtime::Runtime> {
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    Ok(builder.enable_all().build()?)
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
