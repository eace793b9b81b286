//! JSON read in one pass over borrowed text, with every limit checked.

mod block;
mod error;
mod escapes;
mod keys;
mod leap;
mod reader;
mod scalars;
mod skip;
mod strings;
mod typed;

pub(crate) use error::JsonError;
pub(crate) use reader::Reader;
pub(crate) use strings::write_string;
pub(crate) use typed::{Member, Members, Part, Typed, is_json_text};
