//! What a program is made of, and how it is run.

mod command;
mod file;
mod live;
mod logging;
mod needs;
mod yaml;

pub use file::FileError;
pub use live::Live;
pub use needs::Needs;
