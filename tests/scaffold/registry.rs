//! The packages that would be published, in place of those of crates.io: cargo packages them, and a configuration beside them has
//! projects in the same folder resolve them from a registry. Other crates come from where they always come from, so that what is
//! compiled of them is shared with all other builds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use serde_json::Value;
use tar::Archive;

use crate::command::{clean, completes, errors, root};
use crate::programs::profiles;

/// A registry, unpacked as `cargo vendor` does it.
pub(crate) struct Registry {
    /// What is below depends on the packages of this registry.
    pub(crate) folder: PathBuf,
    pub(crate) packages: BTreeSet<PathBuf>,
}

/// The registry with all packages that are published.
pub(crate) static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("registry");
    let unpacked = folder.join("unpacked");
    let (published, others) = members();
    let files = package(&folder, &others);
    let packages: BTreeSet<_> = files.iter().map(|file| unpack(file, &unpacked)).collect();
    assert_eq!(packages.len(), published.len(), "{packages:?}");
    let configuration = folder.join(".cargo/config.toml");
    write(&configuration, configured(&published).as_bytes());
    remove_others(&unpacked, &packages);
    Registry { folder, packages }
});

/// The packages of the workspace: those that are published, and the others.
fn members() -> (BTreeSet<String>, BTreeSet<String>) {
    let output = cargo(&["metadata", "--no-deps", "--format-version=1"]);
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let (published, others): (Vec<&Value>, _) = packages
        .iter()
        .partition(|package| package["publish"].is_null());
    let names = |packages: Vec<&Value>| {
        let names = packages
            .iter()
            .filter_map(|package| package["name"].as_str());
        names.map(str::to_owned).collect()
    };
    (names(published), names(others))
}

/// Packages all but these, and returns the files that would be uploaded.
fn package(folder: &Path, others: &BTreeSet<String>) -> Vec<PathBuf> {
    let target = folder.join("packaged");
    // What an earlier run has left.
    let _ = std::fs::remove_dir_all(&target);
    let target = target.to_str().expect("paths are UTF-8");
    let mut arguments = vec!["package", "--workspace", "--no-verify", "--allow-dirty"];
    arguments.extend(["--target-dir", target]);
    arguments.extend(others.iter().flat_map(|name| ["--exclude", name]));
    let output = cargo(&arguments);
    let said = errors(&output);
    assert!(!said.contains("warning"), "cargo package:\n{said}");
    let files = Path::new(target).join("package").read_dir();
    let files = files.expect("a folder of packages").flatten();
    let packages = files.map(|file| file.path());
    packages
        .filter(|file| file.extension().is_some_and(|end| end == "crate"))
        .collect()
}

/// Unpacks a package into a folder named after its contents, so that no file of an earlier one is left in it.
fn unpack(file: &Path, unpacked: &Path) -> PathBuf {
    let bytes = std::fs::read(file).expect("a package");
    let mut archive = Archive::new(GzDecoder::new(bytes.as_slice()));
    let mut contents = BTreeMap::new();
    for entry in archive.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path");
        let path: PathBuf = path.components().skip(1).collect();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("a file");
        contents.insert(path, bytes);
    }
    // It names the commit, and most commits leave a package as it is.
    contents.remove(Path::new(".cargo_vcs_info.json"));
    let mut hasher = DefaultHasher::new();
    contents.hash(&mut hasher);
    let name = file.file_stem().expect("a file").to_string_lossy();
    let folder = unpacked.join(format!("{name}-{:016x}", hasher.finish()));
    for (path, bytes) in &contents {
        write(&folder.join(path), bytes);
    }
    write(&folder.join(".cargo-checksum.json"), b"{\"files\":{}}");
    folder
}

/// What has cargo take these packages from the folder, and compile other crates as this workspace does.
fn configured(published: &BTreeSet<String>) -> String {
    let mut text = format!(
        "[registries.published]\nindex = \"{INDEX}\"\n\n\
         [source.published]\nregistry = \"{INDEX}\"\nreplace-with = \"unpacked\"\n\n\
         [source.unpacked]\ndirectory = \"unpacked\"\n\n\
         [patch.crates-io]\n"
    );
    for name in published {
        let version = env!("CARGO_PKG_VERSION");
        let _ = writeln!(
            text,
            "{name} = {{ registry = \"published\", version = \"={version}\" }}"
        );
    }
    format!("{text}\n{}", profiles())
}

fn remove_others(unpacked: &Path, packages: &BTreeSet<PathBuf>) {
    let entries = unpacked.read_dir().expect("it was made").flatten();
    for folder in entries.map(|entry| entry.path()) {
        if !packages.contains(&folder) {
            std::fs::remove_dir_all(folder).expect("a folder can be removed");
        }
    }
}

/// Writes a file. One that is the same already stays as it is, so that cargo does not build it again.
fn write(file: &Path, bytes: &[u8]) {
    if std::fs::read(file).is_ok_and(|known| known == bytes) {
        return;
    }
    std::fs::create_dir_all(file.parent().expect("it is in a folder")).expect("a folder");
    std::fs::write(file, bytes).expect("a file can be written");
}

fn cargo(arguments: &[&str]) -> Output {
    let mut command = clean(Path::new(env!("CARGO")));
    completes(command.args(arguments).current_dir(root()))
}

/// Where the registry would be, were it not replaced by a folder.
const INDEX: &str = "sparse+https://registry.invalid/";
