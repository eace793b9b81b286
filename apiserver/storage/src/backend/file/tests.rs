//! A file as a backend: it survives a kill of its process, and only one process opens it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use super::*;
use crate::{Draft, Store};

/// The environment variable by which a test starts its own program as the process that is killed.
const FILE: &str = "KUBEWRIGHT_STORAGE_FILE";

fn config_map(name: &str) -> Draft {
    Draft::new(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}))
}

#[test]
fn what_was_committed_is_loaded_and_what_was_deleted_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.redb");
    let backend = FileBackend::open(&path).unwrap();
    let empty = backend.load().unwrap();
    assert_eq!((empty.revision, empty.entries.len()), (0, 0));
    let write = |key: &str, value: Option<&str>| Write {
        key: key.to_owned(),
        value: value.map(|value| value.as_bytes().to_vec()),
    };
    backend.commit(&[write("pods/a/x", Some("1"))], 2).unwrap();
    let both = [
        write("pods/a/y", Some("1")),
        write("pods/a/x", Some("2")),
        write("pods/a/y", None),
    ];
    backend.commit(&both, 5).unwrap();
    drop(backend);

    let contents = FileBackend::open(&path).unwrap().load().unwrap();
    assert_eq!(contents.revision, 5);
    assert_eq!(contents.entries, [("pods/a/x".to_owned(), b"2".to_vec())]);
}

#[test]
fn a_file_that_is_open_or_of_another_kind_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.redb");
    let open = FileBackend::open(&path).unwrap();
    let refused = FileBackend::open(&path).unwrap_err();
    assert_eq!(refused.to_string(), format!("opening {}", path.display()));
    let cause = refused.source().unwrap().to_string();
    assert!(cause.contains("already open"), "{cause}");
    drop(open);
    FileBackend::open(&path).unwrap();

    let other = folder.path().join("notes.txt");
    std::fs::write(&other, "buy milk").unwrap();
    let refused = FileBackend::open(&other).unwrap_err();
    assert_eq!(refused.to_string(), format!("opening {}", other.display()));
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "buy milk");
}

#[test]
fn a_store_in_a_file_passes_the_suite() {
    use crate::conformance::{Lifetime, Suite};
    let folder = tempfile::tempdir().unwrap();
    let suite = Suite::new(Lifetime::Lasts, |name: &str| {
        let backend = FileBackend::open(folder.path().join(name)).unwrap();
        std::sync::Arc::new(Store::open(backend).unwrap())
    });
    suite.run();
}

/// Is the process that is killed, if the parent test has started it: names each object that the store has acknowledged.
#[test]
fn writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    let store = Store::open(FileBackend::open(path).unwrap()).unwrap();
    for number in store.revision().. {
        let name = format!("x{number}");
        let path = format!("default/{name}");
        let created = store
            .create("configmaps", &path, config_map(&name))
            .unwrap();
        println!("\nacknowledged {name} {}", created.revision);
    }
}

#[test]
fn a_killed_process_loses_no_acknowledged_write_and_its_revisions_never_go_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.redb");
    let mut acknowledged: BTreeMap<String, u64> = BTreeMap::new();
    for round in 1..=10 {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("backend::file::tests::writes_until_it_is_killed")
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let is_news = |line: &String| line.starts_with("acknowledged ");
        let mut news = lines.by_ref().map(Result::unwrap).filter(is_news);
        let mut said: Vec<String> = news.by_ref().take(round * 7).collect();
        writer.kill().unwrap();
        writer.wait().unwrap();
        // What it has said before it was killed is acknowledged, read in time or not.
        said.extend(news);
        assert!(
            said.len() >= round * 7,
            "the writer writes until it is killed"
        );
        for line in said {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, name, revision] = words[..] else {
                continue;
            };
            let Ok(revision) = revision.parse() else {
                continue;
            };
            assert!(acknowledged.values().all(|earlier| *earlier < revision));
            acknowledged.insert(name.to_owned(), revision);
        }
        let store = Store::open(FileBackend::open(&path).unwrap()).unwrap();
        for (name, revision) in &acknowledged {
            let stored = store.get("configmaps", &format!("default/{name}"));
            assert_eq!(stored.unwrap().revision, *revision);
        }
        assert!(
            acknowledged
                .values()
                .all(|revision| *revision <= store.revision())
        );
    }
}
