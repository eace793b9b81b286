//! Ownership across namespaces, of several owners, and by adoption.

mod adoption;
mod kills;
mod kinds;
mod labelled;
mod programs;
mod shared;
mod world;
