//! The rules of ARCHITECTURE.md and CONTRIBUTING.md, as tests; and the figures of the repository's structure, which `just house` prints.

#[cfg(test)]
mod coming_from;
pub mod cycles;
#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod edges;
pub mod house;
#[cfg(test)]
mod links;
pub mod phrases;
pub mod programs;
#[cfg(test)]
mod prose;
#[cfg(test)]
mod sources;
pub mod tree;
#[cfg(test)]
mod ways;
