//! Rows of the list of faults: whatever goes wrong, every object ends as it is wanted, and nothing is written twice for no
//! change. Those that are about what an informer tells are beside it.

mod f16;
mod f20;
mod f23;
mod f24;
mod history;
mod world;
