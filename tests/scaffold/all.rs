//! The scaffolder: what it makes, compared with folders that were read critically, and what that does.

#![cfg(test)]

mod cases;
mod combinations;
mod command;
mod containerfile;
mod deployed;
mod folder;
mod images;
mod programs;
mod refusals;
mod registry;
mod tutorial;
mod updates;
