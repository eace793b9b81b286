//! `kubewright certs`.

use std::fs;

use base64::Engine as _;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;

use crate::command::run;

#[tokio::test]
async fn four_files_and_the_ca_bundle_come_out() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(
        folder.path(),
        &["certs", "hook.blue.svc", "127.0.0.1", "--out", "tls"],
    )
    .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let read = |name: &str| fs::read(folder.path().join("tls").join(name)).unwrap();
    let bundle = base64::prelude::BASE64_STANDARD
        .decode(ran.out.trim())
        .unwrap();
    assert_eq!(
        bundle,
        read("ca.crt"),
        "the one line on standard output is the caBundle"
    );

    let (_, ca) = parse_x509_pem(&bundle).unwrap();
    let (_, leaf) = parse_x509_pem(&read("tls.crt")).unwrap();
    let (ca, leaf) = (ca.parse_x509().unwrap(), leaf.parse_x509().unwrap());
    assert_eq!(leaf.issuer(), ca.subject());
    let names = leaf.subject_alternative_name().unwrap().unwrap();
    assert_eq!(
        names.value.general_names,
        [
            GeneralName::DNSName("hook.blue.svc"),
            GeneralName::IPAddress(&[127, 0, 0, 1])
        ]
    );
    for key in ["tls.key", "ca.key"] {
        assert!(
            read(key).starts_with(b"-----BEGIN PRIVATE KEY-----"),
            "{key}"
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn keys_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["certs", "localhost"]).await;
    for key in ["ca.key", "tls.key"] {
        let mode = fs::metadata(folder.path().join("certificates").join(key))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{key}");
    }
}

#[tokio::test]
async fn files_that_are_there_are_not_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let first = run(folder.path(), &["certs", "localhost"]).await;
    let path = folder.path().join("certificates/tls.crt");
    let certificate = fs::read(&path).unwrap();

    let again = run(folder.path(), &["certs", "localhost"]).await;
    assert_eq!(again.code, Some(1));
    assert_eq!(
        again.err,
        "error: certificates/ca.crt exists already\n\
         hint: pass --force to replace all four files, or name another folder with --out\n"
    );
    assert_eq!(fs::read(&path).unwrap(), certificate);

    let forced = run(folder.path(), &["certs", "localhost", "--force"]).await;
    assert_eq!(forced.code, Some(0));
    assert_ne!(forced.out, first.out);
    assert_ne!(fs::read(&path).unwrap(), certificate);
}

#[tokio::test]
async fn a_name_that_cannot_stand_in_a_certificate_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["certs", "not a name"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(
        ran.err
            .starts_with("error: cannot make a certificate for not a name: "),
        "{}",
        ran.err
    );
    assert!(!folder.path().join("certificates").exists());
}
