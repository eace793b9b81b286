//! Containerfiles, without a container: what they copy is enough for cargo.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{clean, errors, root, succeeds};
use crate::programs::profiles;

/// The `COPY` lines of a file: the build context that they take from, the paths in it and the path in the image.
fn copies(text: &str) -> Vec<(Option<String>, Vec<String>, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("COPY "));
    let copies = lines.map(|line| {
        let (options, mut paths): (Vec<&str>, Vec<&str>) = line
            .split(' ')
            .partition(|word| word.starts_with("--from="));
        let to = paths.pop().expect("a path in the image");
        let from = options
            .first()
            .map(|option| option["--from=".len()..].to_owned());
        (
            from,
            paths.into_iter().map(str::to_owned).collect(),
            to.to_owned(),
        )
    });
    copies.collect()
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
    let output = command.args(["fetch", "--locked", "--quiet"]);
    let output = output.current_dir(root()).output();
    let output = output.expect("cargo can be run");
    assert!(output.status.success(), "cargo fetch: {}", errors(&output));
}

fn cargo(folder: &Path, arguments: &[&str]) {
    let mut command: Command = clean(Path::new(env!("CARGO")));
    let output = command.args(arguments).current_dir(folder).output();
    let output = output.expect("cargo can be run");
    assert!(
        output.status.success(),
        "cargo {arguments:?}: {}",
        errors(&output)
    );
}

#[test]
fn the_image_of_a_project_is_built_from_what_its_file_copies() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("image");
    let (checkout, source) = (place.join("kubewright"), place.join("src"));
    let project = tempfile::tempdir().expect("there is room for a project");
    let project = project.path();
    // The library is where a build with a context of this name has it.
    let library = checkout.join("crates/kubewright");
    for path in [
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "apiserver",
        "crates",
        "docs/guide",
    ] {
        copy(&root().join(path), &checkout.join(path));
    }
    let library = library.to_str().expect("paths are UTF-8");
    succeeds(
        project,
        &[
            "init",
            ".",
            "--name",
            "imaged",
            "--domain",
            "example.com",
            "--kubewright-path",
            library,
        ],
    );
    succeeds(
        project,
        &["create", "webhook", "--kind", "Pod", "--validating"],
    );
    fetch();
    // What `cargo build` would write, with the versions that are here.
    copy(&root().join("Cargo.lock"), &project.join("Cargo.lock"));
    cargo(project, &["metadata", "--offline", "--format-version=1"]);

    let text = std::fs::read_to_string(project.join("Containerfile")).expect("it was made");
    let _ = std::fs::remove_dir_all(&source);
    let mut of_library = BTreeSet::new();
    for (from, paths, to) in copies(&text) {
        match from.as_deref() {
            None => {
                let paths = paths.iter().filter(|path| path.as_str() != "./");
                paths.for_each(|path| copy(&project.join(path), &source.join(path)));
            }
            Some("kubewright") => {
                let place = Path::new(&to).strip_prefix(&checkout);
                assert!(
                    place.is_ok(),
                    "{to} is not where Cargo.toml has the library"
                );
                of_library.extend(paths);
            }
            Some(_) => {}
        }
    }
    // Exactly what was copied above.
    let expected = [
        "Cargo.lock",
        "Cargo.toml",
        "README.md",
        "apiserver",
        "crates",
        "docs/guide",
    ];
    assert_eq!(
        of_library.iter().collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
    // The profiles that dependencies were built with are not those of the project, which would have them built anew.
    let manifest = std::fs::read_to_string(source.join("Cargo.toml")).expect("it was copied");
    let (before, after) = manifest
        .split_once("# No debug information")
        .expect("a profile");
    let (_, lints) = after.split_once("[lints").expect("lints");
    // It is below the folder of this workspace, and no member.
    let manifest = format!("{before}[lints{lints}\n[workspace]\n\n{}", profiles());
    std::fs::write(source.join("Cargo.toml"), manifest).expect("a file can be written");
    cargo(&source, &["build", "--offline", "--locked"]);
}

#[test]
fn the_image_of_every_sample_has_what_cargo_needs() {
    let text = std::fs::read_to_string(root().join("examples/Containerfile"));
    let text = text.expect("samples have a Containerfile");
    let rust = format!("rust:{}-alpine", env!("CARGO_PKG_RUST_VERSION"));
    assert!(text.contains(&rust), "it builds with {rust}");
    let place = tempfile::tempdir().expect("there is room for the sources");
    for (from, paths, _) in copies(&text) {
        let paths = paths.iter().filter(|_| from.is_none());
        paths.for_each(|path| copy(&root().join(path), &place.path().join(path)));
    }
    fetch();
    cargo(
        place.path(),
        &["metadata", "--offline", "--locked", "--format-version=1"],
    );
    for folder in ["apiserver", "crates"] {
        for path in included(&place.path().join(folder)) {
            assert!(path.is_file(), "{} is not copied", path.display());
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

/// The files that sources below a folder include from outside of their packages.
fn included(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(included(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let calls = text.split("include_str!(\"").skip(1);
            let paths = calls.filter_map(|call| Some(call.split_once('"')?.0.to_owned()));
            let outside = paths.filter(|included| included.starts_with("../../../"));
            found.extend(outside.map(|included| folder.join(included)));
        }
    }
    found
}
