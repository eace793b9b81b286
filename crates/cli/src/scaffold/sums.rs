//! The table `scaffold` of the record: the version that wrote the files of a project, and the hashes of their text.
//!
//! A file whose hash is recorded is as the scaffolder left it, so that a deletion or an update loses nothing of a user's.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use toml_edit::{DocumentMut, Item, Table, Value};

/// The file with the record of a project.
pub(crate) const RECORD: &str = "kubewright.toml";

/// Writes the table behind all others.
pub(super) fn write(document: &mut DocumentMut, version: &str, files: &BTreeMap<String, String>) {
    let mut table = Table::new();
    table.decor_mut().set_prefix(ABOUT);
    table.insert("version", toml_edit::value(version));
    let mut hashes = Table::new();
    for (path, hash) in files {
        hashes.insert(path, toml_edit::value(hash));
    }
    table.insert("files", Item::Table(hashes));
    document.remove(TABLE);
    document.insert(TABLE, Item::Table(table));
}

/// The version that the files are of.
pub(super) fn version(document: &DocumentMut) -> Option<String> {
    let version = document.get(TABLE)?.get("version")?.as_str()?;
    Some(version.to_owned())
}

/// The recorded hashes by path.
pub(super) fn recorded(document: &DocumentMut) -> BTreeMap<String, String> {
    let files = document.get(TABLE).and_then(|table| table.get("files"));
    let files = files.and_then(Item::as_table).into_iter().flatten();
    let hashes = files.filter_map(|(path, hash)| {
        let hash = hash.as_value().and_then(Value::as_str)?;
        Some((path.to_owned(), hash.to_owned()))
    });
    hashes.collect()
}

/// Whether a record has the hash of a file with this text.
pub(super) fn is_recorded(record: &str, path: &str, text: &str) -> bool {
    let hash = record.parse().ok();
    let hash = hash.and_then(|document| recorded(&document).remove(path));
    hash.is_some_and(|hash| hash == sum(text))
}

/// The first digits of a SHA-256, with line ends as on Unix: version control may change those.
pub(super) fn sum(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let hash = digest(&SHA256, text.as_bytes());
    let start = hash.as_ref().first_chunk().copied().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(start))
}

const TABLE: &str = "scaffold";
const ABOUT: &str = "\n# The version that wrote these files, and hashes of their text: `kubewright update` changes only files that you have not.\n";
