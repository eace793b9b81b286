//! `cargo +nightly fuzz run decode`: no body makes the reader panic, and every accepted body is JSON.
#![no_main]

#[expect(dead_code, reason = "every target has one of the checks")]
#[path = "../../crates/review/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::decode(data));
