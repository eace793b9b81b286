//! Files, folders and standard input, and the documents in them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The most bytes that are read of one file. A cluster stores no object of more than 1.5 MiB.
pub const LARGEST_FILE: u64 = 64 << 20;

/// The extensions of the files that are read of a folder, as kubectl has them.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// A file, or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers make sources of any text"
)]
pub struct Source {
    /// What diagnostics call it: the path as it was given.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// What a source is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an object is on the cluster before or is checked"
)]
pub enum Role {
    /// Its objects are on the cluster before: definitions, policies and their bindings, and params.
    Cluster,
    /// Its objects are checked. Definitions and policies among them apply to the others.
    Manifests,
}

/// A file or a folder that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers make sources of any text"
)]
pub struct Unreadable {
    /// The path.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// Where a document is in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) bytes: Range<usize>,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is too large, or is not UTF-8.
    pub fn read(path: &Path) -> Result<Self, Unreadable> {
        let name = path.display().to_string();
        let unreadable = |why: String| Unreadable {
            name: name.clone(),
            why,
        };
        let file = fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
        Self::from_reader(&name, file)
    }

    /// Reads everything that a reader has, such as standard input.
    ///
    /// # Errors
    /// It cannot be read, is too large, or is not UTF-8.
    pub fn from_reader(name: &str, reader: impl Read) -> Result<Self, Unreadable> {
        let unreadable = |why: String| Unreadable {
            name: name.to_owned(),
            why,
        };
        let mut bytes = Vec::new();
        let read = reader.take(LARGEST_FILE + 1).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(error.to_string()))?;
        if bytes.len() as u64 > LARGEST_FILE {
            let mebibytes = LARGEST_FILE >> 20;
            return Err(unreadable(format!("it is larger than {mebibytes} MiB")));
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.contains('\0') => Err(unreadable("it is a binary file".to_owned())),
            Ok(text) => Ok(Self {
                name: name.to_owned(),
                text,
            }),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                Err(unreadable(format!("it is not UTF-8 at byte {at}")))
            }
        }
    }

    /// Its documents, split as kubectl splits them: at lines that begin with `---`, with nothing but a comment behind it.
    pub(crate) fn documents(&self) -> Vec<Document> {
        let mut documents = Vec::new();
        let mut start = 0;
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let next = at + line.len();
            let rest = line.strip_prefix("---").map(str::trim);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#')) {
                documents.push(Document { bytes: start..at });
                start = next;
            }
            at = next;
        }
        documents.push(Document { bytes: start..at });
        documents.retain(|document| has_content(&self.text[document.bytes.clone()]));
        documents
    }
}

/// Whether a document has more than blanks, comments and directives.
fn has_content(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    lines.any(|line| !line.is_empty() && !line.starts_with(['#', '%']) && line != "...")
}

/// Finds the manifests below a path, in the order of their names. A file is taken whatever its extension.
///
/// Folders whose names begin with a dot are left out, and so is a folder that a symbolic link leads to a second time.
pub fn files(path: &Path) -> (Vec<PathBuf>, Vec<Unreadable>) {
    let mut walk = Walk::default();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => walk.folder(path),
        Ok(_) => walk.files.push(path.to_owned()),
        Err(error) => walk.refuse(path, error.to_string()),
    }
    (walk.files, walk.unreadable)
}

#[derive(Default)]
struct Walk {
    files: Vec<PathBuf>,
    unreadable: Vec<Unreadable>,
    seen: BTreeSet<PathBuf>,
}

impl Walk {
    fn folder(&mut self, folder: &Path) {
        let canonical = match fs::canonicalize(folder) {
            Ok(canonical) => canonical,
            Err(error) => return self.refuse(folder, error.to_string()),
        };
        if !self.seen.insert(canonical) {
            return;
        }
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.refuse(folder, error.to_string()),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    let name = entry.file_name();
                    if !name.to_string_lossy().starts_with('.') {
                        self.folder(&path);
                    }
                }
                Ok(metadata) if metadata.is_file() && is_manifest(&path) => self.files.push(path),
                Err(error) if is_manifest(&path) => self.refuse(&path, error.to_string()),
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn refuse(&mut self, path: &Path, why: String) {
        self.unreadable.push(Unreadable {
            name: path.display().to_string(),
            why,
        });
    }
}

fn is_manifest(path: &Path) -> bool {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy());
    extension.is_some_and(|extension| EXTENSIONS.contains(&&*extension))
}
