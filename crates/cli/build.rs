//! Links the program to a fixed address: a server that is started for every test should not spend its start on relocations.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = [
        "CARGO_CFG_TARGET_ARCH",
        "CARGO_CFG_TARGET_OS",
        "CARGO_CFG_TARGET_ENV",
    ]
    .map(|name| env::var(name).unwrap_or_default());
    // Other targets are not measured, and some systems require position-independent executables.
    if target == ["x86_64", "linux", "gnu"] {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
