//! What programs under test have sent.

use std::fmt;

use kubewright_apiserver::RequestInfo;

use super::requests::{Asked, WRITES};
use crate::permissions::shown;

/// A request that a program under test has sent, and what it was answered. Bodies are not kept, so that no value of an
/// object ever stands in what a failed test prints.
#[derive(Clone, Debug)]
pub struct Sent {
    pub(crate) asked: Asked,
    pub(crate) status: Option<u16>,
}

impl Sent {
    /// What it was for: its verb, resource, namespace and name.
    pub fn request(&self) -> &RequestInfo {
        &self.asked.info
    }

    /// Whether it writes.
    pub fn is_write(&self) -> bool {
        WRITES.contains(&self.asked.info.verb.as_str())
    }

    /// The status code of the answer; none if there was no answer, or none yet.
    pub fn status(&self) -> Option<u16> {
        self.status
    }
}

/// Such as: `patch configmaps `web` in the namespace `blue`: 409`.
impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.asked.info))?;
        match self.status {
            Some(status) => write!(f, ": {status}"),
            None => f.write_str(": no answer"),
        }
    }
}
