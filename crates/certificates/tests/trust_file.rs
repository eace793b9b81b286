//! The file with the authorities of clients, in the ways in which it changes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use kubewright_certificates::{Authority, TrustBundle, TrustFile};

/// A file that must be seen to change by events: the poll would come too late for every test.
fn file(path: &Path) -> TrustFile {
    TrustFile::at(path).poll_every(Duration::from_mins(10))
}

/// The next authorities, within a deadline that only a broken source misses.
async fn next(file: &mut TrustFile) -> TrustBundle {
    tokio::time::timeout(Duration::from_secs(20), file.next())
        .await
        .expect("no new authorities")
}

async fn nothing_new(file: &mut TrustFile) {
    let wait = tokio::time::timeout(Duration::from_millis(60), file.next()).await;
    assert!(wait.is_err(), "took a file that is not whole: {wait:?}");
}

fn authority() -> Authority {
    Authority::new("clients").unwrap()
}

#[tokio::test]
async fn a_file_that_appears_late_and_is_renamed_over_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("client-ca.crt");
    let mut file = file(&path);
    nothing_new(&mut file).await;
    let first = authority();
    fs::write(&path, first.certificate_pem()).unwrap();
    assert_eq!(next(&mut file).await, first.trust());

    let second = first.trust().and(&authority().trust());
    fs::write(dir.path().join("new"), second.to_pem()).unwrap();
    fs::rename(dir.path().join("new"), &path).unwrap();
    assert_eq!(next(&mut file).await, second);
}

#[tokio::test]
async fn the_swap_of_a_mounted_config_map_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.crt");
    std::os::unix::fs::symlink("..data/ca.crt", &path).unwrap();
    let mut file = file(&path);
    for generation in 0..10 {
        let authority = authority();
        let target = format!("..2026_{generation}");
        fs::create_dir(dir.path().join(&target)).unwrap();
        fs::write(
            dir.path().join(&target).join("ca.crt"),
            authority.certificate_pem(),
        )
        .unwrap();
        let staged = dir.path().join("..data_tmp");
        std::os::unix::fs::symlink(&target, &staged).unwrap();
        fs::rename(staged, dir.path().join("..data")).unwrap();
        assert_eq!(next(&mut file).await, authority.trust(), "{generation}");
    }
}

#[tokio::test]
async fn a_broken_or_missing_file_does_not_replace_a_good_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("client-ca.crt");
    fs::write(&path, authority().certificate_pem()).unwrap();
    let mut file = file(&path);
    next(&mut file).await;
    let pem = authority().certificate_pem();
    for broken in ["", "no certificate", &pem[..27], &pem[..pem.len() - 2]] {
        fs::write(&path, broken).unwrap();
        nothing_new(&mut file).await;
    }
    fs::remove_file(&path).unwrap();
    nothing_new(&mut file).await;
    let whole = authority();
    fs::write(&path, whole.certificate_pem()).unwrap();
    assert_eq!(next(&mut file).await, whole.trust());
}
