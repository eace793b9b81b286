//! Files that change in every way in which files of certificates change.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kubewright_certificates::{Authority, CertificateSource as _, Files, Identity, Issued};
use tempfile::TempDir;

const DAY: Duration = Duration::from_hours(24);

/// A directory of files, and the authority that signs what is written into it.
struct Mount {
    dir: TempDir,
    authority: Authority,
}

impl Mount {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            dir,
            authority: Authority::new("test").unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn issue(&self) -> Issued {
        self.authority.sign_server(["a.example"], DAY).unwrap()
    }

    fn write_in_place(&self, issued: &Issued) {
        write(self.dir.path(), issued);
    }

    /// Writes as the kubelet does: a new directory, then one rename of the link to it.
    fn swap(&self, generation: u32, issued: &Issued) {
        let target = self.path(&format!("..2026_{generation}"));
        fs::create_dir(&target).unwrap();
        write(&target, issued);
        fs::write(target.join("ca.crt"), self.authority.certificate_pem()).unwrap();
        std::os::unix::fs::symlink(target.file_name().unwrap(), self.path("..data_tmp")).unwrap();
        let last = fs::read_link(self.path("..data")).ok();
        fs::rename(self.path("..data_tmp"), self.path("..data")).unwrap();
        for name in ["tls.crt", "tls.key", "ca.crt"] {
            if last.is_none() {
                std::os::unix::fs::symlink(Path::new("..data").join(name), self.path(name))
                    .unwrap();
            }
        }
        if let Some(last) = last {
            fs::remove_dir_all(self.dir.path().join(last)).unwrap();
        }
    }
}

fn write(dir: &Path, issued: &Issued) {
    fs::write(dir.join("tls.crt"), issued.certificate_pem()).unwrap();
    fs::write(dir.join("tls.key"), issued.key_pem()).unwrap();
}

/// The next identity, within a deadline that only a broken source misses.
async fn next(files: &mut Files) -> Identity {
    tokio::time::timeout(Duration::from_secs(20), files.next())
        .await
        .expect("no new identity")
        .unwrap()
}

fn is(identity: &Identity, issued: &Issued) -> bool {
    identity.chain() == issued.identity().unwrap().chain()
}

/// A source that must see changes by events: the poll would come too late for every test.
fn files(mount: &Mount) -> Files {
    Files::in_dir(mount.dir.path()).poll_every(Duration::from_mins(10))
}

#[tokio::test]
async fn the_swap_of_a_mounted_secret_is_followed() {
    let mount = Mount::new();
    let first = mount.issue();
    mount.swap(0, &first);
    let mut files = files(&mount);
    let identity = next(&mut files).await;
    assert!(is(&identity, &first));
    assert_eq!(identity.trust(), &mount.authority.trust());
    for generation in 1..20 {
        let issued = mount.issue();
        mount.swap(generation, &issued);
        assert!(
            is(&next(&mut files).await, &issued),
            "generation {generation}"
        );
    }
}

#[tokio::test]
async fn files_renamed_over_others_are_followed() {
    let mount = Mount::new();
    mount.write_in_place(&mount.issue());
    let mut files = files(&mount);
    next(&mut files).await;
    let second = mount.issue();
    fs::write(mount.path("new.crt"), second.certificate_pem()).unwrap();
    fs::write(mount.path("new.key"), second.key_pem()).unwrap();
    fs::rename(mount.path("new.crt"), mount.path("tls.crt")).unwrap();
    fs::rename(mount.path("new.key"), mount.path("tls.key")).unwrap();
    assert!(is(&next(&mut files).await, &second));
}

#[tokio::test]
async fn files_written_in_place_are_followed() {
    let mount = Mount::new();
    mount.write_in_place(&mount.issue());
    let mut files = files(&mount);
    next(&mut files).await;
    let second = mount.issue();
    mount.write_in_place(&second);
    assert!(is(&next(&mut files).await, &second));
}

#[tokio::test]
async fn a_certificate_without_its_key_does_not_replace_a_good_pair() {
    let mount = Mount::new();
    mount.write_in_place(&mount.issue());
    let mut files = files(&mount);
    next(&mut files).await;
    let second = mount.issue();
    fs::write(mount.path("tls.crt"), second.certificate_pem()).unwrap();
    nothing_new(&mut files).await;
    fs::remove_file(mount.path("tls.key")).unwrap();
    nothing_new(&mut files).await;
    fs::write(mount.path("tls.key"), second.key_pem()).unwrap();
    assert!(is(&next(&mut files).await, &second));
}

#[tokio::test]
async fn a_truncated_file_does_not_replace_a_good_pair() {
    let mount = Mount::new();
    mount.write_in_place(&mount.issue());
    let mut files = files(&mount);
    next(&mut files).await;
    let second = mount.issue();
    let certificate = second.certificate_pem();
    fs::write(mount.path("tls.key"), second.key_pem()).unwrap();
    for length in [0, 1, 27, 100, certificate.len() - 2] {
        fs::write(mount.path("tls.crt"), &certificate[..length]).unwrap();
        nothing_new(&mut files).await;
    }
    fs::write(mount.path("tls.crt"), &certificate).unwrap();
    assert!(is(&next(&mut files).await, &second));
}

#[tokio::test]
async fn a_broken_trust_bundle_does_not_replace_a_good_one() {
    let mount = Mount::new();
    mount.swap(0, &mount.issue());
    let mut files = files(&mount);
    next(&mut files).await;
    fs::write(mount.path("ca.crt"), "-----BEGIN CERTIFICATE-----\nAAAA").unwrap();
    nothing_new(&mut files).await;
}

#[tokio::test]
async fn files_that_appear_late_are_found() {
    let mount = Mount::new();
    let mut files = files(&mount);
    nothing_new(&mut files).await;
    let first = mount.issue();
    mount.write_in_place(&first);
    assert!(is(&next(&mut files).await, &first));
}

#[tokio::test]
async fn a_directory_that_appears_late_is_found() {
    let mount = Mount::new();
    let dir = mount.path("later");
    let mut files = Files::in_dir(&dir).poll_every(Duration::from_millis(50));
    nothing_new(&mut files).await;
    let first = mount.issue();
    fs::create_dir(&dir).unwrap();
    write(&dir, &first);
    assert!(is(&next(&mut files).await, &first));
}

#[tokio::test]
async fn a_directory_that_is_deleted_and_made_again_is_followed() {
    let mount = Mount::new();
    let dir = mount.path("tls");
    fs::create_dir(&dir).unwrap();
    write(&dir, &mount.issue());
    let mut files = Files::in_dir(&dir).poll_every(Duration::from_millis(200));
    next(&mut files).await;
    nothing_new(&mut files).await;
    for _ in 0..3 {
        fs::remove_dir_all(&dir).unwrap();
        nothing_new(&mut files).await;
        let issued = mount.issue();
        fs::create_dir(&dir).unwrap();
        write(&dir, &issued);
        assert!(is(&next(&mut files).await, &issued));
    }
}

#[tokio::test]
async fn the_names_of_the_files_can_be_chosen() {
    let mount = Mount::new();
    let issued = mount.issue();
    fs::write(mount.path("server.pem"), issued.certificate_pem()).unwrap();
    fs::write(mount.path("server-key.pem"), issued.key_pem()).unwrap();
    fs::write(mount.path("root.pem"), mount.authority.certificate_pem()).unwrap();
    let mut files = files(&mount)
        .certificate("server.pem")
        .key("server-key.pem")
        .trust("root.pem");
    let identity = next(&mut files).await;
    assert!(is(&identity, &issued));
    assert_eq!(identity.trust(), &mount.authority.trust());
}

#[tokio::test]
async fn a_chain_that_ends_in_its_root_needs_no_trust_file() {
    let mount = Mount::new();
    let issued = mount.issue();
    mount.write_in_place(&issued);
    let mut files = files(&mount);
    assert!(
        next(&mut files).await.trust().is_empty(),
        "a leaf alone says nothing about trust"
    );
    let chain = issued.certificate_pem() + &mount.authority.certificate_pem();
    fs::write(mount.path("tls.crt"), chain).unwrap();
    assert_eq!(next(&mut files).await.trust(), &mount.authority.trust());
}

/// Lets the source look at the files as they are, and asserts that it does not take them.
async fn nothing_new(files: &mut Files) {
    let wait = tokio::time::timeout(Duration::from_millis(60), files.next()).await;
    assert!(wait.is_err(), "took files that are not whole: {wait:?}");
}
