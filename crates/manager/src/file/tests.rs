//! Followed files, as the kubelet and people change them.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::collection::vec;
use proptest::prelude::*;
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
    file.load(None).await.unwrap();
    assert_eq!(*live.next().await, greeting("one"));

    let follower = tokio::spawn(Box::new(file).follow(None));
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
    file.load(None).await.unwrap();
    assert_eq!(*live.current(), greeting("default"));

    let follower = tokio::spawn(Box::new(file).follow(None));
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
    file.load(None).await.unwrap();
    assert_eq!(*live.next().await, greeting("one"));

    let follower = tokio::spawn(Box::new(file).follow(None));
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
    file.load(None).await.unwrap();
    assert_eq!(*live.next().await, greeting("one"));
    write(&path, "two");
    let follower = tokio::spawn(Box::new(file).follow(None));
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
        let error = file.load(None).await.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(*live.current(), greeting("default"));
    }
    let (mut file, _live) = followed(directory.path());
    let error = file.load(None).await.unwrap_err();
    assert!(matches!(error, ConfigurationError::Read { .. }), "{error}");
}

#[tokio::test]
async fn a_bad_or_missing_file_keeps_the_last_good_value() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("greeting.yaml");
    write(&path, "good");
    let (mut file, live) = followed(&path);
    file.load(None).await.unwrap();

    for seen in [Seen::Content(b"text: [".to_vec()), Seen::Missing] {
        file.source.take(seen);
        assert_eq!(*live.current(), greeting("good"));
    }
    file.source.take(Seen::Content(b"text: better".to_vec()));
    assert_eq!(*live.current(), greeting("better"));
}

/// The clock is paused: whenever everything waits, the time of the next look has come.
#[tokio::test(start_paused = true)]
async fn what_no_event_tells_of_is_found_by_looking() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (link, target) = (
        here.path().join("link.yaml"),
        there.path().join("greeting.yaml"),
    );
    write(&target, "one");
    symlink(&target, &link).unwrap();
    let (mut file, mut live) = followed(&link);
    file.load(None).await.unwrap();
    assert_eq!(*live.next().await, greeting("one"));

    let follower = tokio::spawn(Box::new(file).follow(None));
    write(&target, "two");
    assert_eq!(*live.next().await, greeting("two"));
    follower.abort();
}

#[tokio::test(start_paused = true)]
async fn a_directory_may_come_after_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mounted/later/greeting.yaml");
    let (mut file, mut live) = followed(&path);
    file.load(None).await.unwrap();
    let follower = tokio::spawn(Box::new(file).follow(None));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    write(&path, "late");
    assert_eq!(*live.next().await, greeting("late"));
    follower.abort();
}

#[tokio::test]
async fn a_file_that_is_deleted_and_made_again_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("greeting.yaml");
    write(&path, "one");
    let (mut file, mut live) = followed(&path);
    file.load(None).await.unwrap();
    assert_eq!(*live.next().await, greeting("one"));

    let follower = tokio::spawn(Box::new(file).follow(None));
    fs::remove_file(&path).unwrap();
    write(&path, "two");
    assert_eq!(*live.next().await, greeting("two"));
    follower.abort();
}

proptest! {
    #[test]
    fn the_value_is_always_the_last_good_one(
        contents in vec(prop_oneof![
            "[a-z]{1,8}".prop_map(Some),
            Just(None),
        ], 0..12),
        gone in vec(any::<bool>(), 12),
    ) {
        let (mut file, live) = followed(Path::new("greeting.yaml"));
        let mut good = "default".to_owned();
        for (content, gone) in contents.into_iter().zip(gone) {
            let seen = match &content {
                Some(text) => Seen::Content(format!("text: t{text}").into_bytes()),
                None if gone => Seen::Missing,
                None => Seen::Content(b"text: [".to_vec()),
            };
            file.source.take(seen);
            if let Some(text) = content {
                good = format!("t{text}");
            }
            prop_assert_eq!(&*live.current(), &greeting(&good));
        }
    }
}
