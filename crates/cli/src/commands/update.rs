//! `kubewright update`: moves a project to the version of this command.

use std::path::Path;
use std::process::Command;

use clap::Args;
use diffy::DiffOptions;

use super::project::{Place, Write, left_to_user, open, write_changes};
use crate::failure::{Failure, Outcome};
use crate::scaffold::{Elsewhere, Updated, update};
use crate::ui::{Tone, Ui};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Update to this version [default: the version of this command]
    #[arg(long, value_name = "VERSION", value_parser = version)]
    to: Option<String>,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Update although the project has changes that are not committed
    #[arg(long)]
    allow_dirty: bool,

    #[command(flatten)]
    place: Place,
}

fn version(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if parts.len() == 3 && parts.iter().all(is_number) {
        return Ok(text.to_owned());
    }
    Err("a version is such as 0.2.0".to_owned())
}

pub(crate) fn run(ui: &Ui, arguments: &Arguments) -> Outcome {
    let folder = arguments.place.folder();
    let mut tree = open(&folder)?;
    let updated = update(&mut tree, arguments.to.as_deref())?;
    if !(arguments.dry_run || arguments.allow_dirty || is_clean(&folder)) {
        return Err(
            Failure::new("the project has changes that are not committed").hint(
                "commit them, so that what the update changes can be seen, or pass --allow-dirty",
            ),
        );
    }
    let Updated {
        from,
        to,
        elsewhere,
        differing,
        changes,
    } = updated;
    ui.note(format!("from {from} to {to}"));
    let what = if arguments.dry_run {
        Write::Nothing
    } else {
        Write::Files
    };
    let changed = write_changes(ui, &folder, &tree, what)?;
    for (path, new) in &differing {
        let known = tree.text(path).unwrap_or_default();
        ui.line(format!(
            "{path} is left as it is, since you have changed it. A new project has this:"
        ));
        let mut options = DiffOptions::new();
        options
            .set_original_filename(path.clone())
            .set_modified_filename(format!("{path} of {to}"));
        for line in options.create_patch(known, new).to_string().lines() {
            let tone = match line.as_bytes().first() {
                Some(b'+') => Tone::Added,
                Some(b'-') => Tone::Removed,
                _ => Tone::Plain,
            };
            ui.line(ui.paint(tone, line));
        }
    }
    if !changes.concern.is_empty() {
        ui.line("What has changed of what this project uses:");
    }
    for entry in &changes.concern {
        ui.line(format!("* {entry}"));
    }
    if changes.others > 0 {
        ui.note(format!(
            "{} more changes are in CHANGELOG.md, about what this project does not use",
            changes.others
        ));
    }
    match elsewhere {
        Some(Elsewhere::Path(path)) => ui.note(format!(
            "the crate kubewright is taken from {path}: update that checkout yourself"
        )),
        Some(Elsewhere::Git(url)) => ui.note(format!(
            "the crate kubewright is taken from {url}: `cargo update` updates it, or change its tag"
        )),
        Some(Elsewhere::Workspace) => ui.note(
            "the crate kubewright is a dependency of the workspace: change its version there",
        ),
        None => {}
    }
    left_to_user(&tree)?;
    ui.note(match (changed, arguments.dry_run) {
        (false, _) => "nothing to do: the project is up to date",
        (true, true) => "nothing was changed: --dry-run",
        (true, false) => "next: `cargo test`",
    });
    Ok(())
}

/// Whether version control has all that is in the folder, as far as that can be found out.
fn is_clean(folder: &Path) -> bool {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder);
    let output = git.args(["status", "--porcelain", "--", "."]).output();
    output.map_or(true, |output| {
        !output.status.success() || output.stdout.is_empty()
    })
}
