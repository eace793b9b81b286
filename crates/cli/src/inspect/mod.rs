//! Looking inside a running program: the way to it, whom to trust there, and what is printed of it.

mod call;
mod place;
mod report;
mod table;
mod token;
mod trust;

pub(crate) use self::call::{Told, call};
pub(crate) use self::place::{LABEL, Place, at_address, in_pod, pods};
pub(crate) use self::report::report;
pub(crate) use self::token::token;
pub(crate) use self::trust::{Verification, of_address, of_file, of_pod};

/// The page that programs show.
pub(crate) const PATH: &str = "/debug/program";
