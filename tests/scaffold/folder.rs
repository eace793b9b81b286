//! Folders as values: read, copied and compared.

use std::collections::BTreeMap;
use std::path::Path;

/// The files of a folder by their paths, without what a build leaves.
pub(crate) fn read(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    collect(folder, "", &mut files);
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    let Ok(entries) = folder.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().into_string().expect("names are UTF-8");
        let path = format!("{prefix}{name}");
        if entry.path().is_dir() {
            if name != "target" && name != ".kubewright" {
                collect(&entry.path(), &format!("{path}/"), files);
            }
        } else {
            let text = std::fs::read_to_string(entry.path()).expect("files are text");
            files.insert(path, text);
        }
    }
}

/// Writes files into a folder.
pub(crate) fn write(folder: &Path, files: &BTreeMap<String, String>) {
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("it is in the folder"))
            .expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    }
}

/// How files are different from what is expected; empty when they are the same.
pub(crate) fn difference(
    expected: &BTreeMap<String, String>,
    found: &BTreeMap<String, String>,
) -> String {
    let mut paths: Vec<&String> = expected.keys().chain(found.keys()).collect();
    paths.sort();
    paths.dedup();
    let mut text = String::new();
    for path in paths {
        let (before, after) = (expected.get(path), found.get(path));
        if before == after {
            continue;
        }
        let [before, after] = [before, after].map(|text| text.map_or("", String::as_str));
        let mut options = diffy::DiffOptions::new();
        options
            .set_original_filename(format!("expected {path}"))
            .set_modified_filename(path.clone());
        text += &options.create_patch(before, after).to_string();
    }
    text
}
