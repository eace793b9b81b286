//! Files that are made from code, and held to it.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use diffy::{DiffOptions, Line};

/// Generated files: their contents by path. Paths are relative and use `/`.
///
/// ```
/// use kubewright_manifests::Tree;
///
/// let directory = std::env::temp_dir().join("kubewright-tree-example");
/// let tree = Tree::made_by("policy").with("a.yaml", "a: 1\n");
/// tree.write(&directory)?;
/// tree.check(&directory)?;
///
/// let drift = Tree::made_by("policy").with("a.yaml", "a: 2\n").check(&directory).unwrap_err();
/// assert!(drift.to_string().contains("-a: 1\n+a: 2\n"));
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Tree {
    mark: String,
    flags: &'static str,
    files: BTreeMap<String, String>,
}

/// The reason why a file could not be written.
///
/// ```
/// use kubewright_manifests::Tree;
///
/// let file = std::env::temp_dir().join(format!("kubewright-write-error-{}", std::process::id()));
/// std::fs::write(&file, "in the way")?;
/// let error = Tree::made_by("policy").with("a.yaml", "a: 1\n").write(&file).unwrap_err();
/// assert!(error.to_string().starts_with("cannot write "));
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct WriteError {
    path: PathBuf,
    source: io::Error,
}

/// The difference between the files in a directory and those that the code generates.
///
/// It is shown as a diff from the files to the generated ones, also by `{:?}`, so that a test that unwraps it is readable.
///
/// ```
/// use kubewright_manifests::Tree;
///
/// let nowhere = std::env::temp_dir().join("kubewright-no-such-directory");
/// let drift = Tree::made_by("policy").with("a.yaml", "a: 1\n").check(&nowhere).unwrap_err();
/// assert!(drift.to_string().contains("a.yaml is missing"));
/// ```
pub struct Drift {
    directory: PathBuf,
    flags: &'static str,
    problems: Vec<Problem>,
}

enum Problem {
    Differs {
        path: String,
        found: String,
        made: String,
    },
    Missing(String),
    Unreadable(String, io::Error),
    Stale(String),
}

impl Tree {
    /// Starts a tree without files. A comment in each file names the program that generates it.
    ///
    /// ```
    /// use kubewright_manifests::Tree;
    ///
    /// let tree = Tree::made_by("policy").with("a.yaml", "a: 1\n");
    /// let first = tree.text("a.yaml").unwrap().lines().next().unwrap();
    /// assert!(first.starts_with('#') && first.contains("policy"));
    /// ```
    pub fn made_by(program: &str) -> Self {
        let mark = format!(
            "# Made from the code of {program} by `manifests`: change that, not this file.\n"
        );
        Self {
            mark,
            flags: "",
            files: BTreeMap::new(),
        }
    }

    /// Says by which more flags of `manifests` it is written.
    pub(crate) fn written_with(mut self, flags: &'static str) -> Self {
        self.flags = flags;
        self
    }

    /// Adds a file, or replaces the one at this path. A comment that names the program becomes its first line.
    ///
    /// ```
    /// use kubewright_manifests::Tree;
    ///
    /// let tree = Tree::made_by("policy").with("a.yaml", "a: 1\n").with("a.yaml", "a: 2\n");
    /// assert!(tree.text("a.yaml").unwrap().ends_with("\na: 2\n"));
    /// assert_eq!(tree.files().count(), 1);
    /// ```
    pub fn with(mut self, path: impl Into<String>, text: impl AsRef<str>) -> Self {
        let text = format!("{}{}", self.mark, text.as_ref());
        self.files.insert(path.into(), text);
        self
    }

    /// Returns the paths and contents of the files, ordered by path.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let tree = Installer::new(&Parts::new("policy"), &Install::default())?.tree();
    /// let paths: Vec<_> = tree.files().map(|(path, _)| path).collect();
    /// assert_eq!(paths, ["kustomization.yaml", "program.yaml"]);
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter();
        files.map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the content of the file at this path, or `None` if there is no such file.
    ///
    /// ```
    /// use kubewright_manifests::Tree;
    ///
    /// let tree = Tree::made_by("policy").with("a/b.yaml", "a: 1\n");
    /// assert!(tree.text("a/b.yaml").is_some_and(|text| text.ends_with("a: 1\n")));
    /// assert_eq!(tree.text("b.yaml"), None);
    /// ```
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Writes the files into a directory, which is created if it is missing, and removes files that an earlier version of the
    /// program generated and this one does not. Other files stay.
    ///
    /// ```
    /// use kubewright_manifests::Tree;
    ///
    /// # let directory = std::env::temp_dir().join(format!("kubewright-tree-write-{}", std::process::id()));
    /// Tree::made_by("policy").with("old.yaml", "a: 1\n").write(&directory)?;
    /// std::fs::write(directory.join("own.yaml"), "a: 1\n")?;
    /// Tree::made_by("policy").with("new.yaml", "a: 1\n").write(&directory)?;
    /// assert!(!directory.join("old.yaml").exists());
    /// assert!(directory.join("own.yaml").exists() && directory.join("new.yaml").exists());
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When a file or a directory cannot be written.
    pub fn write(&self, directory: impl AsRef<Path>) -> Result<(), WriteError> {
        let directory = directory.as_ref();
        for (path, text) in &self.files {
            let path = directory.join(path);
            let parent = path.parent().unwrap_or(directory);
            let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
            written.map_err(|source| WriteError { path, source })?;
        }
        for path in self.stale(directory) {
            let path = directory.join(path);
            fs::remove_file(&path).map_err(|source| WriteError { path, source })?;
        }
        Ok(())
    }

    /// Compares the files in a directory with the generated ones. A test that calls it fails until changed files are generated
    /// again.
    ///
    /// ```
    /// use kubewright_manifests::Tree;
    ///
    /// # let directory = std::env::temp_dir().join(format!("kubewright-tree-check-{}", std::process::id()));
    /// let tree = Tree::made_by("policy").with("a.yaml", "a: 1\n");
    /// tree.write(&directory)?;
    /// assert!(tree.check(&directory).is_ok());
    /// std::fs::write(directory.join("a.yaml"), "edited: true\n")?;
    /// assert!(tree.check(&directory).is_err());
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When a file differs, is missing or cannot be read, or an earlier version of the program generated a file that this one
    /// does not.
    pub fn check(&self, directory: impl AsRef<Path>) -> Result<(), Drift> {
        let directory = directory.as_ref();
        let files = self.files.iter();
        let mut problems: Vec<Problem> = files
            .filter_map(|(path, made)| {
                let path = path.clone();
                match fs::read_to_string(directory.join(&path)) {
                    // On Windows, Git checks out text files with CRLF line endings.
                    Ok(found) if found.replace("\r\n", "\n") == *made => None,
                    Ok(found) => Some(Problem::Differs {
                        path,
                        found,
                        made: made.clone(),
                    }),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        Some(Problem::Missing(path))
                    }
                    Err(error) => Some(Problem::Unreadable(path, error)),
                }
            })
            .collect();
        problems.extend(self.stale(directory).into_iter().map(Problem::Stale));
        if problems.is_empty() {
            return Ok(());
        }
        Err(Drift {
            directory: directory.to_owned(),
            flags: self.flags,
            problems,
        })
    }

    /// The files that were made earlier, beside those of this tree.
    fn stale(&self, directory: &Path) -> BTreeSet<String> {
        let folder = |path: &String| {
            path.rsplit_once('/')
                .map_or("", |(folder, _)| folder)
                .to_owned()
        };
        let folders: BTreeSet<String> = self.files.keys().map(folder).collect();
        let mut stale = BTreeSet::new();
        for folder in folders {
            let Ok(entries) = fs::read_dir(directory.join(&folder)) else {
                continue;
            };
            for entry in entries.flatten() {
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                let path = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                let is_ours = || {
                    let text = fs::read_to_string(entry.path());
                    text.is_ok_and(|text| text.starts_with(self.mark.trim_end()))
                };
                if !self.files.contains_key(&path) && is_ours() {
                    stale.insert(path);
                }
            }
        }
        stale
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directory = self.directory.display();
        writeln!(
            formatter,
            "the files in {directory} are not those that the code makes"
        )?;
        for problem in &self.problems {
            match problem {
                Problem::Differs { path, found, made } => {
                    writeln!(formatter, "{path} differs:")?;
                    formatter.write_str(&difference(found, made))?;
                }
                Problem::Missing(path) => writeln!(formatter, "{path} is missing")?,
                Problem::Unreadable(path, error) => {
                    writeln!(formatter, "{path} cannot be read: {error}")?;
                }
                Problem::Stale(path) => {
                    writeln!(formatter, "{path} was made earlier and is no longer made")?;
                }
            }
        }
        let flags = if self.flags.is_empty() { "" } else { " " };
        let flags = format!("{flags}{}", self.flags);
        write!(
            formatter,
            "write them anew with: cargo run -- manifests{flags} --into {directory}"
        )
    }
}

impl fmt::Debug for Drift {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Error for Drift {}

/// The lines that differ, each with two around it.
fn difference(found: &str, made: &str) -> String {
    let mut options = DiffOptions::new();
    options.set_context_len(2);
    let mut text = String::new();
    for (place, hunk) in options.create_patch(found, made).hunks().iter().enumerate() {
        if place > 0 {
            text.push_str("  …\n");
        }
        for line in hunk.lines() {
            let (sign, line) = match line {
                Line::Delete(line) => ('-', line),
                Line::Insert(line) => ('+', line),
                Line::Context(line) => (' ', line),
            };
            // Writing into a `String` cannot fail.
            let _ = writeln!(text, "{sign}{}", line.trim_end_matches('\n'));
        }
    }
    text
}
