#![doc = include_str!("../README.md")]

pub mod builtin;
pub mod custom;
pub mod definitions;
pub mod structural;
