//! Followed files, as the kubelet and people change them.

use std::fs;
use std::os::unix::fs::symlink;

use serde::Deserialize;
use tempfile::TempDir;

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
struct Greeting {
    text: String,
}

fn greeting(text: &str) -> Greeting {
    Greeting {
        text: text.to_owned(),
    }
}

fn followed(path: &Path) -> (File<Greeting>, Live<Greeting>) {
    File::new(path.to_owned(), greeting("default"))
}

fn write(path: &Path, text: &str) {
    fs::write(path, format!("text: {text}\n")).unwrap();
}

/// A directory as the kubelet mounts a ConfigMap: the key is a link into `..data`, which is a
/// link to the directory of the current revision.
struct Mount(TempDir);

impl Mount {
    fn new(text: &str) -> Self {
        let mount = Self(tempfile::tempdir().unwrap());
        mount.swap("..2026_01", text);
        symlink("..data/greeting.yaml", mount.file()).unwrap();
        mount
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("greeting.yaml")
    }

    fn swap(&self, revision: &str, text: &str) {
        let at = |name: &str| self.0.path().join(name);
        fs::create_dir(at(revision)).unwrap();
        write(&at(revision).join("greeting.yaml"), text);
        symlink(revision, at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
    }
}

#[tokio::test]
async fn a_swap_of_the_mounted_volume_is_followed() {
    let mount = Mount::new("one");
    let (mut file, mut live) = followed(&mount.file());
    file.load().await.unwrap();
    assert_eq!(*live.next().await, greeting("one"));

    let follower = tokio::spawn(Box::new(file).follow());
    mount.swap("..2026_02", "two");
    assert_eq!(*live.next().await, greeting("two"));
    mount.swap("..2026_03", "three");
    assert_eq!(*live.next().await, greeting("three"));
    follower.abort();
}

#[tokio::test]
async fn a_file_that_comes_late_replaces_the_default() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("greeting.yaml");
    let (mut file, mut live) = followed(&path);
    file.load().await.unwrap();
    assert_eq!(*live.current(), greeting("default"));

    let follower = tokio::spawn(Box::new(file).follow());
    write(&path, "late");
    assert_eq!(*live.next().await, greeting("late"));
    follower.abort();
}

#[tokio::test]
async fn renames_and_writes_in_place_are_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("greeting.yaml");
    write(&path, "one");
    let (mut file, mut live) = followed(&path);
    file.load().await.unwrap();
    assert_eq!(*live.next().await, greeting("one"));

    let follower = tokio::spawn(Box::new(file).follow());
    write(&path, "in place");
    assert_eq!(*live.next().await, greeting("in place"));
    write(&directory.path().join("next"), "renamed");
    fs::rename(directory.path().join("next"), &path).unwrap();
    assert_eq!(*live.next().await, greeting("renamed"));
    follower.abort();
}

#[tokio::test]
async fn a_change_between_loading_and_following_is_not_missed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("greeting.yaml");
    write(&path, "one");
    let (mut file, mut live) = followed(&path);
    file.load().await.unwrap();
    assert_eq!(*live.next().await, greeting("one"));
    write(&path, "two");
    let follower = tokio::spawn(Box::new(file).follow());
    assert_eq!(*live.next().await, greeting("two"));
    follower.abort();
}

#[tokio::test]
async fn a_bad_file_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("greeting.yaml");
    let large = vec![b'#'; 1024 * 1024 + 1];
    let cases: [(&[u8], &str); 4] = [
        (b"text: [", "cannot decode"),
        (b"", "cannot decode"),
        (b"text: \xff", "is not UTF-8 text"),
        (&large, "is larger than 1024 KiB"),
    ];
    for (content, message) in cases {
        fs::write(&path, content).unwrap();
        let (mut file, live) = followed(&path);
        let error = file.load().await.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(*live.current(), greeting("default"));
    }
    let (mut file, _live) = followed(directory.path());
    let error = file.load().await.unwrap_err();
    assert!(matches!(error, FileError::Read { .. }), "{error}");
}

#[tokio::test]
async fn a_bad_or_missing_file_keeps_the_last_good_value() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("greeting.yaml");
    write(&path, "good");
    let (mut file, live) = followed(&path);
    file.load().await.unwrap();

    for seen in [Seen::Content(b"text: [".to_vec()), Seen::Missing] {
        file.take(seen);
        assert_eq!(*live.current(), greeting("good"));
    }
    file.take(Seen::Content(b"text: better".to_vec()));
    assert_eq!(*live.current(), greeting("better"));
}
