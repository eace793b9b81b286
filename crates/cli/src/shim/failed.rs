//! The runtime and the failures of the control plane programs.

use crate::failure::{Failure, Outcome};

/// Why a program does not serve.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) message: String,
    /// The exit code of the real program.
    pub(super) code: u8,
}

impl Failed {
    /// A failure behind the command line.
    pub(super) fn of(failure: &Failure) -> Self {
        Self {
            message: failure.lines().join("\n"),
            code: 1,
        }
    }
}

/// The runtime of a program: one thread for etcd, which waits most of the time.
pub(super) fn runtime(threads: usize) -> Outcome<tokio::runtime::Runtime> {
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    Ok(builder.enable_all().build()?)
}
