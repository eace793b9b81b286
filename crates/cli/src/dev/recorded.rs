//! The reviews that a program answers on a given cluster, read from the program's recordings: only the embedded API server reports
//! them itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use kubewright_testing::Recording;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use serde_json::Value;
use tempfile::TempDir;

use crate::failure::Outcome;
use crate::ui::{Tone, Ui};

/// Shows each review that comes into a folder of recordings.
pub(crate) struct RecordedReviews {
    folder: Folder,
    shown: Arc<Shown>,
    _watcher: RecommendedWatcher,
}

enum Folder {
    /// That of the person at the terminal, where recordings stay.
    Theirs(PathBuf),
    Own(TempDir),
}

struct Shown {
    ui: Arc<Ui>,
    /// Those that are shown or were there before.
    files: Mutex<BTreeSet<PathBuf>>,
}

impl RecordedReviews {
    /// Starts to show each review that the program records in `folder`, or in a temporary folder.
    pub(crate) fn start(ui: &Arc<Ui>, folder: Option<&Path>) -> Outcome<Self> {
        let folder = match folder {
            Some(folder) => Folder::Theirs(folder.to_owned()),
            None => Folder::Own(tempfile::tempdir().context("cannot make a folder for reviews")?),
        };
        let path = folder.path();
        let describe = || format!("cannot watch {} for reviews", path.display());
        std::fs::create_dir_all(path).with_context(describe)?;
        let shown = Arc::new(Shown {
            ui: Arc::clone(ui),
            files: Mutex::new(files(path).collect()),
        });
        let own = Arc::clone(&shown);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event {
                for path in &event.paths {
                    own.show(path);
                }
            }
        });
        let mut watcher = watcher.with_context(describe)?;
        let watched = watcher.watch(path, RecursiveMode::NonRecursive);
        watched.with_context(describe)?;
        Ok(Self {
            folder,
            shown,
            _watcher: watcher,
        })
    }

    /// Where the program is to record.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Shows what has come and was not shown yet.
    pub(crate) fn rest(&self) {
        let mut files: Vec<PathBuf> = files(self.path()).collect();
        files.sort();
        for path in &files {
            self.shown.show(path);
        }
    }
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Self::Theirs(path) => path,
            Self::Own(folder) => folder.path(),
        }
    }
}

impl Shown {
    fn show(&self, path: &Path) {
        if path.extension().is_none_or(|end| end != "json") {
            return;
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if files.contains(path) {
            return;
        }
        // One that is not whole yet comes again.
        let text = std::fs::read(path).unwrap_or_default();
        if let Ok(recording) = serde_json::from_slice(&text) {
            files.insert(path.to_owned());
            for line in described(&self.ui, &recording) {
                self.ui.line(line);
            }
        }
    }
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = folder.read_dir().into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

fn described(ui: &Ui, recording: &Recording) -> Vec<String> {
    let answer = recording.answer().cloned().unwrap_or_default();
    let patch = answer["patch"].as_array().cloned().unwrap_or_default();
    let verdict = match answer["allowed"].as_bool() {
        Some(true) if !patch.is_empty() => ui.paint(Tone::Good, "changed"),
        Some(true) => ui.paint(Tone::Good, "allowed"),
        Some(false) => {
            let why = answer["status"]["message"].as_str().unwrap_or_default();
            format!("{}: {why}", ui.paint(Tone::Bad, "denied"))
        }
        None => ui.paint(Tone::Bad, "failed"),
    };
    let is_shadow = answer["auditAnnotations"]["shadow"].is_string();
    let mode = if is_shadow {
        ", without effect (shadow)"
    } else {
        ""
    };
    let mut lines = vec![format!(
        "{}  {verdict}{mode}",
        ui.paint(Tone::Strong, &headline(recording))
    )];
    let warnings = answer["warnings"].as_array().into_iter().flatten();
    lines.extend(warnings.map(|warning| format!("    warning: {}", plain(warning))));
    lines.extend(patch.iter().map(|operation| {
        let what = format!("{} {}", plain(&operation["op"]), plain(&operation["path"]));
        match operation.get("value") {
            Some(value) => ui.paint(Tone::Added, &format!("    {what}: {}", plain(value))),
            None => ui.paint(Tone::Removed, &format!("    {what}")),
        }
    }));
    lines
}

/// Such as `team CREATE Pod blue/web`.
fn headline(recording: &Recording) -> String {
    let request = &recording.review()["request"];
    let name = [
        &request["name"],
        &request["object"]["metadata"]["generateName"],
    ];
    let mut names = name.into_iter().filter_map(Value::as_str);
    let name = names.find(|name| !name.is_empty()).unwrap_or_default();
    let place = match request["namespace"].as_str() {
        Some(namespace) if !namespace.is_empty() => format!("{namespace}/{name}"),
        _ => name.to_owned(),
    };
    format!(
        "{} {} {} {place}",
        recording.hook(),
        plain(&request["operation"]),
        plain(&request["kind"]["kind"]),
    )
}

/// Text without the quotes of JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(answer: Option<&Value>) -> Vec<String> {
        let review = json!({"request": {
            "uid": "u", "operation": "CREATE", "namespace": "blue", "name": "web", "kind": {"kind": "Pod"},
            "object": {"metadata": {"name": "web"}},
        }});
        let answer = answer.map(|answer| json!({"response": answer}).to_string().into_bytes());
        let recording = Recording::of("/team", "team", &review.to_string(), answer.as_deref());
        described(&Ui::new(), &recording.unwrap())
    }

    #[test]
    fn a_review_is_shown_with_its_outcome() {
        assert_eq!(
            said(Some(
                &json!({"allowed": true, "warnings": ["soon no more"]})
            )),
            [
                "team CREATE Pod blue/web  allowed",
                "    warning: soon no more"
            ]
        );
        let denied = json!({"allowed": false, "status": {"message": "it has no team"}});
        assert_eq!(
            said(Some(&denied)),
            ["team CREATE Pod blue/web  denied: it has no team"]
        );
        assert_eq!(said(None), ["team CREATE Pod blue/web  failed"]);
        let shadowed =
            json!({"allowed": true, "patch": [], "auditAnnotations": {"shadow": "allowed"}});
        assert_eq!(
            said(Some(&shadowed)),
            ["team CREATE Pod blue/web  allowed, without effect (shadow)"]
        );
    }

    #[test]
    fn what_comes_into_the_folder_is_shown_once_and_what_was_there_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("1.json"), "{}").unwrap();
        let told = RecordedReviews::start(&Arc::new(Ui::new()), Some(folder.path())).unwrap();
        std::fs::write(path("2.json"), "{\"path\": ").unwrap();
        std::fs::write(path("note.txt"), "{}").unwrap();
        let review = json!({"path": "/a", "hook": "a", "review": {}, "answer": null}).to_string();
        std::fs::write(path("3.json"), review).unwrap();
        told.rest();
        let shown = told.shown.files.lock().unwrap().clone();
        assert_eq!(shown, BTreeSet::from([path("1.json"), path("3.json")]));
    }
}
