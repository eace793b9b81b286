//! env-injector, from the function to the running program.

#![cfg(test)]

mod certificates;
mod manifests;
mod mutation;
mod running;
