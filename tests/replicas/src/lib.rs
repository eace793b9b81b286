//! Replicas of small programs as processes of their own, which are told to end or killed while others watch.

mod confined;
pub mod hand_over;
mod process;
pub mod rotation;
pub mod sharing;

pub use confined::{Confined, Memory};
pub use process::Ending;
