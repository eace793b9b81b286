//! JSON read in one pass over borrowed text, with every limit checked.

mod error;
mod keys;
mod reader;
mod skip;
mod strings;
mod typed;

pub(crate) use error::JsonError;
pub(crate) use reader::Reader;
pub(crate) use strings::write_string;
pub(crate) use typed::{Member, Members, Part, RAW_VALUE, Typed};
