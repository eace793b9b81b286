//! Sources: what is read of them, and what is said of those that are no manifests.

use std::fmt::Write as _;
use std::path::Path;

use kubewright_check::{Checker, Role, Source, files};

use crate::{check, lines};

#[tokio::test]
async fn documents_and_lists_are_taken_apart() {
    let report = check(
        "# a comment\n---\n--- # another\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: B}\n---\n{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"C\"}}\n",
    )
    .await;
    assert_eq!(report.checked.len(), 3);
    let lines = lines(&report);
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("FieldValueInvalid <B> "), "{lines:?}");
    assert!(
        lines[1].starts_with("FieldValueInvalid <\"C\"> "),
        "{lines:?}"
    );
    let line = |index: usize| report.findings[index].location.as_ref().unwrap().start.line;
    assert_eq!((line(0), line(1)), (10, 12));
}

#[tokio::test]
async fn what_is_no_object_is_reported_at_its_place() {
    for (text, expected) in [
        ("a: b\n", "NoObject <a: b> apiVersion and kind must be set"),
        ("kind: Pod\n", "NoObject <kind: Pod> apiVersion must be set"),
        ("- a\n", "NoObject <- a> the document is not an object"),
    ] {
        assert_eq!(lines(&check(text).await), [expected]);
    }
    let report = check("apiVersion: v1\nkind: [\n").await;
    assert_eq!(report.findings[0].rule, "Malformed");
    let report = check("apiVersion: v1\n\tkind: Pod\n").await;
    let finding = &report.findings[0];
    assert_eq!(
        finding.location.as_ref().unwrap().start.line,
        2,
        "{finding:?}"
    );
}

#[tokio::test]
async fn a_key_that_is_no_string_is_underlined() {
    for (text, key) in [
        ("kind: Pod\nspec:\n  a: {{ b }}\n", "{ b }"),
        ("kind: Pod\nspec:\n  ? [a, b]\n  : c\n", "[a, b]"),
        ("kind: &kind {a: b}\nspec:\n  *kind : c\n", "*kind"),
    ] {
        let said = lines(&check(text).await);
        let expected = format!("Malformed <{key}> invalid map key: ");
        assert!(said[0].starts_with(&expected), "{said:?}");
    }
}

#[tokio::test]
async fn a_document_that_grows_without_bound_is_refused() {
    let mut bomb = String::from(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\na0: &a0 [x, x, x, x, x, x, x, x, x]\n",
    );
    for level in 1..12 {
        let inner = format!("*a{}", level - 1);
        let nine = [inner.as_str(); 9].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{nine}]").unwrap();
    }
    let report = check(&bomb).await;
    assert_eq!(
        report.findings[0].rule, "Malformed",
        "{:?}",
        report.findings
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("binary.yaml");
    std::fs::write(&binary, b"a\0b").unwrap();
    let latin = folder.path().join("latin.yaml");
    std::fs::write(&latin, b"a: \xe9\n").unwrap();
    let mut checker = Checker::new();
    for path in [binary.as_path(), latin.as_path(), Path::new("missing.yaml")] {
        checker = checker.source(Source::read(path), Role::Manifests);
    }
    let report = checker.run().await.unwrap();
    let messages: Vec<&str> = report
        .findings
        .iter()
        .map(|finding| finding.message.as_str())
        .collect();
    assert!(
        messages[0].ends_with("binary.yaml: it is a binary file"),
        "{messages:?}"
    );
    assert!(
        messages[1].ends_with("latin.yaml: it is not UTF-8 at byte 3"),
        "{messages:?}"
    );
    assert!(
        messages[2].starts_with("cannot read missing.yaml: "),
        "{messages:?}"
    );
}

#[cfg(unix)]
#[test]
fn folders_are_read_once_and_hidden_ones_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::create_dir_all(path.join("b/.git")).unwrap();
    for file in [
        "b/two.yml",
        "a.yaml",
        "c.json",
        "README.md",
        "b/.git/config.yaml",
    ] {
        std::fs::write(path.join(file), "").unwrap();
    }
    std::os::unix::fs::symlink(path, path.join("b/again")).unwrap();
    std::os::unix::fs::symlink(path.join("gone"), path.join("d.yaml")).unwrap();
    let (found, unreadable) = files(path);
    let found: Vec<_> = found
        .iter()
        .map(|file| file.strip_prefix(path).unwrap().display().to_string())
        .collect();
    assert_eq!(found, ["a.yaml", "b/two.yml", "c.json"]);
    assert_eq!(unreadable.len(), 1);
    assert!(unreadable[0].name.ends_with("d.yaml"));
}
