//! `cargo +nightly fuzz run graft`: every patch applies, and results in the object that the handler returned.
#![no_main]

#[expect(dead_code, reason = "every target has one of the checks")]
#[path = "../../crates/review/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::graft(data));
