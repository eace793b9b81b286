//! The pages of the guide that are made from the code: writing them, and holding them to it.

#![expect(clippy::panic, reason = "only tests call it")]

use std::path::PathBuf;

mod commands;
mod source;

pub use commands::{commands, options};
pub use source::value;

/// Checks that a page of the guide is what was made of the code, or writes it where `KUBEWRIGHT_WRITE` is set.
///
/// # Panics
///
/// If the page is another one. It shows the difference and says how to write it.
pub fn hold(page: &str, made: &str, package: &str, test: &str) {
    let guide = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide"));
    let path = guide.join(page);
    if std::env::var_os("KUBEWRIGHT_WRITE").is_some() {
        std::fs::write(&path, made).expect("a page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == made,
        "docs/guide/{page} is not what the code says: run `KUBEWRIGHT_WRITE=1 cargo test -p {package} {test}`\n{}",
        diffy::create_patch(&written, made)
    );
}

/// Escapes a string for a cell of a table.
#[must_use]
pub fn cell(text: &str) -> String {
    text.replace('|', r"\|")
        .replace('<', "&lt;")
        .replace('\n', " ")
}
