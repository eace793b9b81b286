//! `kubewright assets list`, `cleanup`, `verify` and `sideload`.

use std::fs;

use serde_json::Value;

use crate::command::Ran;
use crate::mirror::programs;
use crate::place::{Place, mirror, with_linux};

#[tokio::test]
async fn versions_are_listed_with_where_they_are() {
    let (mirror, place) = (mirror().await, Place::new());
    place.used(&mirror.index(), &["1.36.1"]).await;
    let ran = place
        .run(&mirror.index(), &with_linux("list", &["1.36"]))
        .await;
    let lines: Vec<Vec<&str>> = ran
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines,
        [
            ["1.36.2", "linux-amd64", "available"],
            ["1.36.1", "linux-amd64", "installed"]
        ]
    );
    let ran = place
        .run(
            &mirror.index(),
            &["list", "--os", "*", "--arch", "*", "--output", "json"],
        )
        .await;
    let all: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 4);
    assert_eq!(all[0]["platform"], "darwin-arm64");
    mirror.asked();
    let ran = place
        .run(&mirror.index(), &with_linux("list", &["--installed"]))
        .await;
    assert_eq!((ran.out.lines().count(), mirror.asked().len()), (1, 0));
}

#[tokio::test]
async fn cleanup_removes_what_is_meant_and_nothing_else() {
    let (mirror, place) = (mirror().await, Place::new());
    place.used(&mirror.index(), &["1.35.9"]).await;
    place.used(&mirror.index(), &["1.36.1!"]).await;
    fs::write(place.store().join("downloads/abc.part"), "half").unwrap();
    let ran = place.run("", &with_linux("cleanup", &["<1.36"])).await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "removed 1.35.9 for linux-amd64\n"),
        "{}",
        ran.err
    );
    assert_eq!(place.installed(), ["1.36.1-linux-amd64"]);
    assert!(!place.store().join("downloads").exists());
    let ran = place.run("", &["cleanup"]).await;
    assert_eq!(ran.code, Some(2), "everything is removed only by name");
    place
        .run("", &["cleanup", "--all", "--os", "*", "--arch", "*"])
        .await;
    assert_eq!(place.installed(), [""; 0]);
}

#[tokio::test]
async fn verify_finds_what_was_changed_after_it_was_installed() {
    let (mirror, place) = (mirror().await, Place::new());
    let path = place.used(&mirror.index(), &[]).await;
    let ran = place.run("", &with_linux("verify", &[])).await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "1.36.2 for linux-amd64: as it was installed\n")
    );
    fs::write(path.join("etcd"), "something else").unwrap();
    fs::remove_file(path.join("kubectl")).unwrap();
    let ran = place.run("", &with_linux("verify", &[])).await;
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.out,
        "1.36.2 for linux-amd64: etcd is not what was installed, kubectl is missing\n"
    );
    assert!(
        ran.err
            .contains("hint: run `kubewright assets use VERSION --force`"),
        "{}",
        ran.err
    );
    // A file that is gone is seen by `use` itself.
    place.used(&mirror.index(), &[]).await;
    assert_eq!(
        place.run("", &with_linux("verify", &[])).await.code,
        Some(0)
    );
    assert_eq!(
        place.run("", &with_linux("verify", &["1.20"])).await.code,
        Some(1)
    );
}

#[tokio::test]
async fn an_archive_from_elsewhere_is_installed_if_its_hash_is_right() {
    let (mirror, place) = (mirror().await, Place::new());
    let file = place.repository().join("archive.tar.gz");
    fs::write(&file, programs("1.36.2")).unwrap();
    let sideload = with_linux("sideload", &["1.36.2", "archive.tar.gz"]);
    let zero = "0".repeat(128);
    let wrong = [&sideload[..], &["--sha512", &zero]].concat();
    let ran = place.run("", &wrong).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
    assert_eq!(place.installed(), [""; 0]);
    let ran = place.run("", &sideload).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let path = place.used("http://127.0.0.1:9", &["--installed"]).await;
    assert_eq!(ran.out, format!("{}\n", path.display()));

    // What is pinned now is what may be brought here, on standard input, too.
    fs::write(&file, programs("1.36.2, or so")).unwrap();
    let mut piped = place.command("", &with_linux("sideload", &["1.36.2"]));
    piped.stdin(fs::File::open(&file).unwrap());
    let ran = Ran::of(&mut piped).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("nothing was installed"), "{}", ran.err);
    fs::write(&file, "no archive").unwrap();
    let ran = place
        .run("", &with_linux("sideload", &["1.30.0", "archive.tar.gz"]))
        .await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("cannot install 1.30.0"), "{}", ran.err);
    drop(mirror);
}
