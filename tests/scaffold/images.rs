//! Containerfiles, without a container: what they copy is enough for what they run, for every architecture.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{clean, completes, root, succeeds, target};
use crate::containerfile::{Copy, Instruction, instructions, stages};
use crate::programs::profiles;
use crate::registry::REGISTRY;

#[test]
fn the_image_of_a_project_is_built_from_a_checkout() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("image");
    // The library is where a build with a context of this name has it.
    let checkout = place.join("kubewright");
    let expected = [
        "Cargo.lock",
        "Cargo.toml",
        "README.md",
        "apiserver",
        "crates",
        "docs/guide",
    ];
    for path in expected {
        copy(&root().join(path), &checkout.join(path));
    }
    // The profiles that dependencies were built with: with others, they would be built anew.
    std::fs::create_dir_all(place.join(".cargo")).expect("a folder");
    let profiled = std::fs::write(place.join(".cargo/config.toml"), profiles());
    profiled.expect("a file can be written");
    fetch();
    let library = checkout.join("crates/kubewright");
    let library = library.to_str().expect("paths are UTF-8");
    let project = project(&place, "from-checkout", &["--kubewright-path", library]);
    let text = containerfile(&project);
    let mut of_library = BTreeSet::new();
    for copy in instructions(&text).iter().filter_map(Instruction::copy) {
        if copy.from == Some("kubewright") {
            assert!(
                Path::new(copy.to).starts_with(&checkout),
                "{} is not where Cargo.toml has the library",
                copy.to
            );
            of_library.extend(copy.paths);
        }
    }
    assert_eq!(of_library, BTreeSet::from(expected), "left: what is copied");
    build(&text, &project, &place.join("src"), "from-checkout");
}

#[test]
fn the_image_of_a_project_is_built_from_a_registry() {
    fetch();
    let place = &REGISTRY.folder;
    let project = project(place, "from-registry", &["--from-registry"]);
    let text = containerfile(&project);
    build(&text, &project, &place.join("src"), "from-registry");
}

#[test]
fn published_packages_have_every_file_that_they_include() {
    fetch();
    for package in &REGISTRY.packages {
        for path in included(&package.join("src")) {
            assert!(path.is_file(), "{} is not packaged", path.display());
        }
    }
}

#[test]
fn the_image_of_every_sample_has_what_cargo_needs() {
    let text = std::fs::read_to_string(root().join("examples/Containerfile"));
    let text = text.expect("samples have a Containerfile");
    let rust = format!("rust:{}-alpine", env!("CARGO_PKG_RUST_VERSION"));
    assert!(text.contains(&rust), "it builds with {rust}");
    let place = tempfile::tempdir().expect("there is room for the sources");
    let copies = instructions(&text);
    let copies = copies.iter().filter_map(Instruction::copy);
    for (path, to) in copies.flat_map(Copy::of_context) {
        copy(&root().join(path), &place.path().join(to));
    }
    fetch();
    cargo(
        place.path(),
        &["metadata", "--offline", "--locked", "--format-version=1"],
    );
    for folder in ["apiserver", "crates"].map(|folder| place.path().join(folder)) {
        for package in folder.read_dir().expect("packages").flatten() {
            for path in included(&package.path().join("src")) {
                assert!(path.is_file(), "{} is not copied", path.display());
            }
        }
    }
    let samples = root().join("examples").read_dir().expect("samples");
    for sample in samples.flatten().filter(|sample| sample.path().is_dir()) {
        let readme = std::fs::read_to_string(sample.path().join("README.md"));
        let name = sample.file_name().into_string().expect("names are UTF-8");
        let command =
            format!("docker build --file examples/Containerfile --build-arg SAMPLE={name} .");
        assert!(readme.is_ok_and(|text| text.contains(&command)), "{name}");
    }
}

#[test]
fn images_are_for_every_architecture_and_have_no_shell() {
    let files = [
        "examples/Containerfile",
        "tests/scaffold/cases/init/out/Containerfile",
    ];
    for file in files {
        let text = std::fs::read_to_string(root().join(file)).expect("a Containerfile");
        assert!(
            text.contains("#   docker buildx build --platform linux/amd64,linux/arm64 "),
            "{file} says how to build for several architectures"
        );
        for Instruction { keyword, arguments } in instructions(&text) {
            let named = ARCHITECTURES.iter().find(|name| arguments.contains(**name));
            assert!(
                named.is_none(),
                "{file}: {keyword} {arguments} is for {named:?}"
            );
        }
        let mut stages = stages(&text);
        let last = stages.pop().expect("a stage");
        assert_eq!(
            stages.len(),
            1,
            "{file} has a stage that builds, and the last"
        );
        for Instruction { keyword, arguments } in &last {
            match *keyword {
                "ARG" => {}
                "FROM" => assert_eq!(*arguments, "gcr.io/distroless/static:nonroot", "{file}"),
                "USER" => assert_eq!(*arguments, "65532:65532", "{file}"),
                "COPY" => assert!(
                    arguments.starts_with("--from=build /src/target/release/"),
                    "{file}: {arguments}"
                ),
                // A list is run as it is, and a string by a shell.
                "ENTRYPOINT" => {
                    let words: Vec<PathBuf> = serde_json::from_str(arguments).expect("a list");
                    let program = last.iter().find_map(Instruction::copy).expect("a program");
                    assert_eq!(words, [Path::new(program.to)], "{file}");
                }
                _ => panic!("{file}: {keyword} {arguments} in the last stage"),
            }
        }
    }
}

/// How architectures are named, and what chooses one.
const ARCHITECTURES: [&str; 7] = [
    "--platform",
    "--target",
    "aarch64",
    "amd64",
    "arm64",
    "TARGET",
    "x86_64",
];

/// A project with a webhook, with the versions of this workspace in its lock file.
fn project(place: &Path, name: &str, library: &[&str]) -> PathBuf {
    let project = place.join("project");
    // What an earlier run has left.
    let _ = std::fs::remove_dir_all(&project);
    let init = ["init", "project", "--name", name, "--domain", "example.com"];
    succeeds(place, &[&init, library].concat());
    succeeds(
        &project,
        &["create", "webhook", "--kind", "Pod", "--validating"],
    );
    copy(&root().join("Cargo.lock"), &project.join("Cargo.lock"));
    // What `cargo build` would write.
    cargo(&project, &["metadata", "--offline", "--format-version=1"]);
    project
}

fn containerfile(project: &Path) -> String {
    std::fs::read_to_string(project.join("Containerfile")).expect("it was made")
}

/// Follows the stage that builds, in the order of its instructions, and runs the program that the last one takes from there.
fn build(text: &str, project: &Path, image: &Path, name: &str) {
    // What an earlier run has left.
    let _ = std::fs::remove_dir_all(image);
    std::fs::create_dir_all(image).expect("a folder");
    let stages = stages(text);
    let [build, last] = stages.as_slice() else {
        panic!("a stage that builds, and the last");
    };
    for instruction in build {
        if let Some(copy) = instruction.copy() {
            for (path, to) in copy.of_context() {
                bring(&project.join(path), &image.join(to));
            }
        } else if instruction.keyword == "RUN" && instruction.arguments.contains("cargo ") {
            // What the workspace has built of dependencies is not optimized.
            let script = instruction.arguments.replace(" --release", "");
            let mut shell = clean(Path::new("sh"));
            completes(shell.args(["-c", &script]).current_dir(image));
        }
    }
    let copy = last.iter().find_map(Instruction::copy);
    let program = copy.expect("the last stage has a program");
    assert_eq!(program.paths, [format!("/src/target/release/{name}")]);
    let mut program = Command::new(target().join("debug").join(name));
    let said = completes(program.arg("--help")).stdout;
    assert!(!said.is_empty(), "it is the empty program");
}

/// Copies as `COPY` does: a file stays as old as it is.
fn bring(from: &Path, to: &Path) {
    if from.is_dir() {
        for entry in from.read_dir().expect("it is a folder").flatten() {
            bring(&entry.path(), &to.join(entry.file_name()));
        }
        return;
    }
    std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder");
    std::fs::copy(from, to).expect("a file can be copied");
    let modified = from.metadata().and_then(|file| file.modified());
    let modified = modified.expect("files have a time");
    let copied = File::options().write(true).open(to);
    let aged = copied.and_then(|file| file.set_modified(modified));
    aged.expect("a time can be set");
}

/// Copies a file or a folder. What is the same already stays as it is, so that cargo does not build it again.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        let name = from.file_name().unwrap_or_default();
        if name == "target" || name == ".kubewright" {
            return;
        }
        for entry in from.read_dir().expect("it is a folder").flatten() {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
        return;
    }
    let bytes = std::fs::read(from).expect("a file that is copied");
    if std::fs::read(to).is_ok_and(|known| known == bytes) {
        return;
    }
    std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("a folder");
    std::fs::write(to, bytes).expect("a file can be written");
}

/// Downloads every crate of the lock file, those for other systems included: `cargo metadata --offline` reads them all.
fn fetch() {
    let mut command = Command::new(env!("CARGO"));
    completes(
        command
            .args(["fetch", "--locked", "--quiet"])
            .current_dir(root()),
    );
}

fn cargo(folder: &Path, arguments: &[&str]) {
    let mut command = clean(Path::new(env!("CARGO")));
    completes(command.args(arguments).current_dir(folder));
}

/// The files that sources below a folder include.
fn included(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(included(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let calls = ["include!(", "include_bytes!(", "include_str!("];
            let calls = calls.iter().flat_map(|call| text.split(call).skip(1));
            let quoted = calls.filter_map(|call| call.trim_start().strip_prefix('"'));
            let paths = quoted.filter_map(|path| path.split_once('"'));
            found.extend(paths.map(|(path, _)| folder.join(path)));
        }
    }
    found
}
