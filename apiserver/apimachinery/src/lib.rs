#![doc = include_str!("../README.md")]

pub mod accessor;
pub mod conform;
mod depth;
pub mod descriptions;
pub mod equality;
pub mod field;
pub mod fuzzer;
pub mod go_base64;
pub mod go_text;
pub mod json;
pub mod json_path;
pub mod meta;
pub mod names;
pub mod patch;
pub mod percent;
pub mod protobuf;
pub mod quantity;
pub mod selectors;
pub mod status;
pub mod time;
pub mod types;
pub mod unrecognized;
pub mod user;
pub mod version;
pub mod view;
pub mod yaml;
