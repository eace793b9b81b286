//! The file with the objects that `dev` changed in a cluster, as they were before. It survives a killed process and a power failure.

use std::fmt::Write as _;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::files::{Readers, folder_of, sync_folder, write_durably};

/// The earlier states of objects, in the order of their changes.
#[derive(Debug, Default)]
pub(crate) struct Record {
    kept: Option<Kept>,
    contents: Contents,
}

/// The file of a record, locked against other processes.
#[derive(Debug)]
struct Kept {
    file: PathBuf,
    /// The lock file stays when the lock is released: otherwise a waiting process would lock a file that no other one can find.
    _locked: File,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    /// The context that leads to the cluster.
    #[serde(default)]
    context: Option<String>,
    objects: Vec<Entry>,
    program: Option<Process>,
}

/// A program that runs for as long as objects are borrowed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) executable: PathBuf,
}

/// An object, and its earlier state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Its kind and its name.
    pub(crate) object: Value,
    pub(crate) before: Option<Value>,
    /// Whether it is of the program, and not of its demo.
    pub(crate) is_of_program: bool,
}

impl Record {
    /// The record of a cluster, in a folder, with whatever an earlier run has left there. `cluster` is what tells it from all
    /// others, whatever its context is called today.
    pub(crate) fn of_cluster(folder: &Path, cluster: &str, context: &str) -> Outcome<Self> {
        let name = file_name(cluster);
        let [file, lock] = ["json", "lock"].map(|end| folder.join(format!("{name}.{end}")));
        let made = std::fs::create_dir_all(folder).and_then(|()| sync_folder(folder_of(folder)));
        made.with_context(|| format!("cannot make {}", folder.display()))?;
        let describe = || format!("cannot lock {}", lock.display());
        let locked = File::create(&lock).with_context(describe)?;
        match locked.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(
                    "another `kubewright dev` of this program works with the same cluster",
                )
                .hint("end it first"));
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(describe)?,
        }
        let kept = Kept {
            file,
            _locked: locked,
        };
        let mut record = Self {
            contents: Contents::default(),
            kept: Some(kept),
        };
        record.read()?;
        record.contents.context = Some(context.to_owned());
        Ok(record)
    }

    /// The contexts of the clusters that have records in a folder.
    pub(crate) fn contexts(folder: &Path) -> Outcome<Vec<String>> {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                Err(error).with_context(|| format!("cannot read {}", folder.display()))?
            }
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_record = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("cluster-") && name.ends_with(".json")
        };
        let mut contexts = Vec::new();
        for path in paths.filter(is_record) {
            let contents = Contents::read(&path)?.unwrap_or_default();
            contexts.push(contents.context.with_context(|| {
                format!(
                    "{} does not name the context of its cluster",
                    path.display()
                )
            })?);
        }
        contexts.sort();
        Ok(contexts)
    }

    fn read(&mut self) -> Outcome {
        if let Some(kept) = &self.kept {
            self.contents = Contents::read(&kept.file)?.unwrap_or_default();
        }
        Ok(())
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.contents.objects
    }

    /// The program that is recorded as running.
    pub(crate) fn program(&self) -> Option<&Process> {
        self.contents.program.as_ref()
    }

    /// Records the running program, or that none runs.
    pub(crate) fn runs(&mut self, program: Option<Process>) -> Outcome {
        self.contents.program = program;
        self.save()
    }

    /// The file of the record, if it has one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.kept.as_ref().map(|kept| kept.file.as_path())
    }

    pub(crate) fn has(&self, object: &Value) -> bool {
        self.entries().iter().any(|entry| entry.is_of(object))
    }

    /// Records the earlier state of an object, which may then be changed.
    pub(crate) fn add(&mut self, entry: Entry) -> Outcome {
        self.contents.objects.push(entry);
        self.save()
    }

    /// Removes an object, which has been restored.
    pub(crate) fn remove(&mut self, entry: &Entry) -> Outcome {
        self.contents
            .objects
            .retain(|known| known.object != entry.object);
        self.save()
    }

    fn save(&self) -> Outcome {
        let Some(kept) = &self.kept else {
            return Ok(());
        };
        if self.contents.objects.is_empty() && self.contents.program.is_none() {
            let removed = match std::fs::remove_file(&kept.file) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
                Ok(()) => sync_folder(folder_of(&kept.file)),
            };
            return Ok(removed.with_context(|| format!("cannot delete {}", kept.file.display()))?);
        }
        let text = serde_json::to_string_pretty(&self.contents)?;
        write_durably(&kept.file, &text, Readers::Owner)
    }
}

impl Contents {
    fn read(path: &Path) -> Outcome<Option<Self>> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display()))?,
        };
        let contents = serde_json::from_str(&text);
        let path = path.display();
        Ok(Some(contents.with_context(|| {
            format!("{path} does not say what the cluster was like")
        })?))
    }
}

impl Entry {
    /// What is known of an object before it is changed.
    pub(crate) fn new(object: &Value, before: Option<Value>, is_of_program: bool) -> Self {
        Self {
            object: identity(object),
            before,
            is_of_program,
        }
    }

    pub(crate) fn is_of(&self, object: &Value) -> bool {
        self.object == identity(object)
    }

    pub(crate) fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }
}

fn identity(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
    })
}

/// A cluster may be told from others by any text, and a file not.
fn file_name(cluster: &str) -> String {
    let hash = digest(&SHA256, cluster.as_bytes());
    let hash: String = hash
        .as_ref()
        .iter()
        .take(8)
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
    format!("cluster-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "uid": "7"}});
        Entry::new(&object, Some(object.clone()), true)
    }

    #[test]
    fn what_is_kept_is_found_again_and_gone_when_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Record::of_cluster(folder.path(), "here", "lab");
        let mut record = open().unwrap();
        let file = record.file().unwrap().to_owned();
        record.add(entry("one")).unwrap();
        record.add(entry("two")).unwrap();
        drop(record);
        let mut record = open().unwrap();
        let names = record
            .entries()
            .iter()
            .map(|entry| entry.object["metadata"]["name"].clone());
        assert_eq!(names.collect::<Vec<_>>(), ["one", "two"]);
        assert!(record.has(&entry("one").object) && !record.has(&entry("three").object));
        for name in ["one", "two"] {
            assert!(file.exists());
            assert_eq!(Record::contexts(folder.path()).unwrap(), ["lab"]);
            record.remove(&entry(name)).unwrap();
        }
        assert!(!file.exists());
        assert!(Record::contexts(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn two_runs_do_not_have_one_record() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("kept");
        let open = |cluster: &str| Record::of_cluster(&folder, cluster, "lab");
        let record = open("here").unwrap();
        let error = open("here").unwrap_err();
        assert!(error.lines()[0].contains("another `kubewright dev`"));
        open("there").unwrap();
        drop(record);
        open("here").unwrap();
    }

    #[test]
    fn a_lock_file_stays_when_its_lock_is_released() {
        let folder = tempfile::tempdir().unwrap();
        drop(Record::of_cluster(folder.path(), "here", "lab").unwrap());
        // Opened while the file had its name, as by a process that waits for the lock.
        let lock = folder.path().join(format!("{}.lock", file_name("here")));
        let waiting = File::open(&lock).unwrap();
        drop(Record::of_cluster(folder.path(), "here", "lab").unwrap());
        waiting.lock().unwrap();
        assert!(Record::of_cluster(folder.path(), "here", "lab").is_err());
    }
}
