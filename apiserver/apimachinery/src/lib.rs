#![doc = include_str!("../README.md")]

pub mod conform;
mod depth;
pub mod equality;
pub mod field;
pub mod fuzzer;
pub mod go_text;
pub mod json;
pub mod meta;
pub mod names;
pub mod patch;
pub mod protobuf;
pub mod quantity;
pub mod selectors;
pub mod status;
pub mod types;
pub mod view;
pub mod yaml;
