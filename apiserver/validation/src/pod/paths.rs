//! Paths in volumes and on hosts.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::check::{Errors, one_of_if_set, required};

/// A directory of the node.
pub fn host_path(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !required(source, path, "path", errors) {
        return;
    }
    no_backsteps(source.text("path"), &path.child("path"), errors);
    let kinds = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    one_of_if_set(source, path, "type", &kinds, errors);
}

/// A share of an NFS server.
pub fn nfs(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    required(source, path, "server", errors);
    required(source, path, "path", errors);
    if !source.text("path").starts_with('/') {
        errors.push(FieldError::invalid(
            &path.child("path"),
            source.text("path"),
            "must be an absolute path",
        ));
    }
}

/// Checks that no part of a path is `..`.
pub fn no_backsteps(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if text.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid(path, text, "must not contain '..'"));
    }
}

/// Checks that a path is relative, and has no part `..`.
pub fn relative(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if text.starts_with('/') {
        errors.push(FieldError::invalid(path, text, "must be a relative path"));
    }
    no_backsteps(text, path, errors);
}

/// Checks that a path is one of a file in a volume: no name that is reserved, and no way out.
pub(super) fn local_path(text: &str, path: &Path<'_>, errors: &mut Errors) {
    relative(text, path, errors);
    if text.starts_with("..") && !text.starts_with("../") {
        errors.push(FieldError::invalid(path, text, "must not start with '..'"));
    }
}
