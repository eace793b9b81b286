//! What a cluster was like before `dev` changed it, in a file: whoever is cut off finds it again.

use std::fmt::Write as _;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};

/// What objects were, the first that was changed first.
#[derive(Debug, Default)]
pub(crate) struct Record {
    kept: Option<Kept>,
    contents: Contents,
}

/// Where it is kept. Nobody else has it meanwhile.
#[derive(Debug)]
struct Kept {
    file: PathBuf,
    lock: PathBuf,
    _locked: File,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    objects: Vec<Entry>,
    program: Option<Process>,
}

/// A program that runs for as long as objects are borrowed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) executable: PathBuf,
}

/// An object, and what it was.
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
    pub(crate) fn of_cluster(folder: &Path, cluster: &str) -> Outcome<Self> {
        let name = file_name(cluster);
        let [file, lock] = ["json", "lock"].map(|end| folder.join(format!("{name}.{end}")));
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
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
            lock,
            _locked: locked,
        };
        let mut record = Self {
            contents: Contents::default(),
            kept: Some(kept),
        };
        record.read()?;
        Ok(record)
    }

    fn read(&mut self) -> Outcome {
        let Some(kept) = &self.kept else {
            return Ok(());
        };
        let path = kept.file.display();
        let text = match std::fs::read_to_string(&kept.file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot read {path}"))?,
        };
        self.contents = serde_json::from_str(&text)
            .with_context(|| format!("{path} does not say what the cluster was like"))?;
        Ok(())
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.contents.objects
    }

    /// The program that runs meanwhile, as far as anybody knows.
    pub(crate) fn program(&self) -> Option<&Process> {
        self.contents.program.as_ref()
    }

    /// Keeps which program runs, or that none does.
    pub(crate) fn runs(&mut self, program: Option<Process>) -> Outcome {
        self.contents.program = program;
        self.save()
    }

    /// Where it is kept, if it is.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.kept.as_ref().map(|kept| kept.file.as_path())
    }

    pub(crate) fn has(&self, object: &Value) -> bool {
        self.entries().iter().any(|entry| entry.is_of(object))
    }

    /// Keeps what an object was. From then on it may be changed.
    pub(crate) fn add(&mut self, entry: Entry) -> Outcome {
        self.contents.objects.push(entry);
        self.save()
    }

    /// Forgets an object, which is what it was.
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
            return match std::fs::remove_file(&kept.file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(error).with_context(|| format!("cannot delete {}", kept.file.display()))?
                }
                _ => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(&self.contents)?;
        write(&kept.file, &text, Readers::Owner)
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

impl Drop for Kept {
    fn drop(&mut self) {
        // It is still locked: whoever comes now makes another one. A folder with something in it stays.
        let _ = std::fs::remove_file(&self.lock);
        let _ = self.lock.parent().map(std::fs::remove_dir);
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
        let open = || Record::of_cluster(folder.path(), "here");
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
            record.remove(&entry(name)).unwrap();
        }
        drop(record);
        assert!(!folder.path().exists());
    }

    #[test]
    fn two_runs_do_not_have_one_record() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("kept");
        let record = Record::of_cluster(&folder, "here").unwrap();
        let error = Record::of_cluster(&folder, "here").unwrap_err();
        assert!(error.lines()[0].contains("another `kubewright dev`"));
        Record::of_cluster(&folder, "there").unwrap();
        drop(record);
        Record::of_cluster(&folder, "here").unwrap();
        assert!(!folder.exists());
    }
}
