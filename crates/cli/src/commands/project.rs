//! The folder of a project, for the commands that change one: read into a tree, and written from it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};
use crate::scaffold::{Change, RECORD, Refused, Tree};
use crate::ui::{Tone, Ui};

/// Which project is meant.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The directory of the project [default: the current directory or its nearest parent with a kubewright.toml]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Place {
    pub(crate) fn folder(&self) -> PathBuf {
        if let Some(folder) = &self.folder {
            return folder.clone();
        }
        let here = std::env::current_dir().unwrap_or_default();
        let mut above = here.ancestors();
        let project = above.find(|folder| folder.join(RECORD).is_file());
        project.unwrap_or(Path::new(".")).to_owned()
    }

    /// The name of the project, if there is one.
    pub(crate) fn name(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.folder().join(RECORD)).ok()?;
        let record: toml::Table = text.parse().ok()?;
        record.get("name")?.as_str().map(ToOwned::to_owned)
    }

    /// Changes the project. `next` is what to say when something has been changed.
    pub(crate) fn change(
        &self,
        ui: &Ui,
        next: &str,
        change: impl FnOnce(&mut Tree) -> Result<(), Refused>,
    ) -> Outcome {
        change_folder(ui, &self.folder(), next, change)
    }
}

/// Changes the project in a folder, or begins one.
pub(crate) fn change_folder(
    ui: &Ui,
    folder: &Path,
    next: &str,
    change: impl FnOnce(&mut Tree) -> Result<(), Refused>,
) -> Outcome {
    let mut tree = open(folder)?;
    change(&mut tree)?;
    let changed = write_changes(ui, folder, &tree, Write::Files)?;
    if !changed {
        ui.note("nothing to do: the project is up to date");
    }
    left_to_user(&tree)?;
    if changed {
        ui.note(next);
    }
    Ok(())
}

/// Reads the files of a project.
pub(crate) fn open(folder: &Path) -> Outcome<Tree> {
    let mut files = BTreeMap::new();
    if folder.exists() {
        read(folder, folder, &mut files)?;
    }
    let at = folder.to_owned();
    Ok(Tree::new(files, Box::new(move |text| rustfmt(&at, text))))
}

/// Whether changes are written, or only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    Files,
    Nothing,
}

/// Writes what has changed, and lists it. Returns whether there was anything.
pub(crate) fn write_changes(ui: &Ui, folder: &Path, tree: &Tree, what: Write) -> Outcome<bool> {
    let changes = tree.changes();
    for (path, change) in &changes {
        let whole = folder.join(path);
        if matches!(change, Change::Created(_)) && whole.symlink_metadata().is_ok() {
            return Err(
                Failure::new(format!("{} is there, and is no text file", whole.display()))
                    .hint("move it away; the scaffolder replaces nothing"),
            );
        }
    }
    for path in tree.overwritten() {
        ui.note(format!("overwriting {path}"));
    }
    for (path, change) in &changes {
        let whole = folder.join(path);
        let (mark, tone) = match change {
            Change::Created(text) | Change::Changed(text) => {
                if what == Write::Files {
                    write(&whole, text, Readers::Everyone)?;
                }
                match change {
                    Change::Created(_) => ("+", Tone::Added),
                    _ => ("~", Tone::Plain),
                }
            }
            Change::Removed => {
                if what == Write::Files {
                    remove(folder, &whole)?;
                }
                ("-", Tone::Removed)
            }
        };
        ui.line(ui.paint(tone, &format!("{mark} {path}")));
    }
    Ok(!changes.is_empty())
}

/// Fails with the changes that the scaffolder has left to the user, if there are any.
pub(crate) fn left_to_user(tree: &Tree) -> Outcome {
    let left = tree.by_hand();
    if left.is_empty() {
        return Ok(());
    }
    let mut failure = Failure::new(match left.len() {
        1 => "one change is left to you".to_owned(),
        n => format!("{n} changes are left to you"),
    });
    for by_hand in left {
        failure = failure.hint(format!(
            "in {} ({}), {}",
            by_hand.path,
            by_hand.why,
            by_hand.what.trim_end()
        ));
    }
    Err(failure)
}

/// Reads the text files of a project that the scaffolder makes or changes, and those beside them.
fn read(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) -> Outcome {
    let describe = || format!("cannot read {}", folder.display());
    for entry in folder.read_dir().with_context(describe)? {
        let entry = entry.with_context(describe)?;
        let path = entry.path();
        let kind = entry.file_type().with_context(describe)?;
        let is_ours = folder != root || FOLDERS.iter().any(|ours| entry.file_name() == *ours);
        if kind.is_dir() && is_ours {
            read(root, &path, files)?;
        } else if kind.is_file()
            && entry.metadata().with_context(describe)?.len() < LARGEST
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let parts = relative
                .components()
                .map(|part| part.as_os_str().to_string_lossy());
            files.insert(parts.collect::<Vec<_>>().join("/"), text);
        }
    }
    Ok(())
}

/// Removes a file, and the folders that are empty without it.
fn remove(root: &Path, path: &Path) -> Outcome {
    std::fs::remove_file(path).with_context(|| format!("cannot delete {}", path.display()))?;
    let folders = path
        .ancestors()
        .skip(1)
        .take_while(|folder| *folder != root);
    for folder in folders {
        // One that is not empty stays, and so do those above it.
        if std::fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// Rust in the form that `cargo fmt` gives it; `None` where there is no rustfmt.
fn rustfmt(folder: &Path, text: &str) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--emit", "stdout"]);
    if folder.is_dir() {
        rustfmt.current_dir(folder);
    }
    let mut child = rustfmt
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).ok())
        .flatten()
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let failure = Self::new(&refused.message);
        match refused.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// The folders that contain scaffolded files. Other folders of a project may be large.
const FOLDERS: [&str; 5] = [".github", "crds", "demo", "src", "tests"];

/// No source that a person edits is as long as this, and no definition that an API server takes.
const LARGEST: u64 = 1 << 21;
