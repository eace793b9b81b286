//! The crates that a program compiles, and those that its tests add.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::tree::root;

/// Crates for tests only.
#[cfg(test)]
const FOR_TESTS: [&str; 13] = [
    "kubewright-admission",
    "kubewright-apiextensions",
    "kubewright-apimachinery",
    "kubewright-apiserver",
    "kubewright-auth",
    "kubewright-cel",
    "kubewright-controllers",
    "kubewright-endpoints",
    "kubewright-fieldmanagement",
    "kubewright-kubelet",
    "kubewright-storage",
    "kubewright-testing",
    "kubewright-webhook-client",
];

#[test]
fn programs_do_not_compile_the_api_server() {
    let (program, tests) = (built_with(""), built_with("testing"));
    for name in FOR_TESTS {
        let of = |built: &Built| built.keys().any(|package| package.starts_with(name));
        assert!(!of(&program), "a program is built with {name}");
        assert!(of(&tests), "tests are built without {name}");
    }
}

/// Cargo compiles a crate, and every crate above it, once per set of features.
#[test]
fn tests_recompile_no_crate_of_the_program() {
    let (program, tests) = (built_with(""), built_with("testing"));
    for (package, features) in program {
        if !package.starts_with("kubewright ") {
            assert_eq!(tests.get(&package), Some(&features), "{package}");
        }
    }
}

/// The packages, with each set of features that they are compiled with.
pub type Built = BTreeMap<String, BTreeSet<String>>;

/// Returns what `kubewright` is compiled from with these of its features.
///
/// # Panics
///
/// If Cargo cannot resolve the workspace without the network.
pub fn built_with(features: &str) -> Built {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package=kubewright"])
        .args(["--edges=normal,build", "--features", features])
        .args(["--prefix=none", "--no-dedupe", "--format={p}|{f}"])
        .current_dir(root())
        .output()
        .expect("cargo lists what a crate is built with");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("names are UTF-8");
    let mut built = Built::new();
    for (package, features) in text.lines().filter_map(|line| line.split_once('|')) {
        let sets = built.entry(package.to_owned()).or_default();
        sets.insert(features.to_owned());
    }
    built
}
