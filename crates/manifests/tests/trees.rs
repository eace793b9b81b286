//! Files on a disk, and whether they are what the code makes.

use std::fs;

use kubewright_manifests::Tree;

fn tree() -> Tree {
    let text = "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\n";
    Tree::made_by("gardens")
        .with("one.yaml", text)
        .with("folder/two.yaml", "a: 1\n")
}

#[test]
fn what_was_written_is_current() {
    let directory = tempfile::tempdir().unwrap();
    let deploy = directory.path().join("deploy");
    tree().write(&deploy).unwrap();
    tree().check(&deploy).unwrap();
    let text = fs::read_to_string(deploy.join("folder/two.yaml")).unwrap();
    assert_eq!(
        text,
        "# Made from the code of gardens by `manifests`: change that, not this file.\na: 1\n"
    );
}

#[test]
fn lines_may_end_as_on_windows() {
    let directory = tempfile::tempdir().unwrap();
    tree().write(directory.path()).unwrap();
    let path = directory.path().join("one.yaml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace('\n', "\r\n")).unwrap();
    tree().check(directory.path()).unwrap();
}

#[test]
fn what_was_changed_is_shown_with_what_is_around_it() {
    let directory = tempfile::tempdir().unwrap();
    tree().write(directory.path()).unwrap();
    let path = directory.path().join("one.yaml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("d: 4", "d: 0")).unwrap();
    let drift = tree().check(directory.path()).unwrap_err();
    let directory = directory.path().display();
    let expected = format!(
        "\
the files in {directory} are not those that the code makes
one.yaml differs:
 b: 2
 c: 3
-d: 0
+d: 4
 e: 5
 f: 6
write them anew with: cargo run -- manifests --into {directory}"
    );
    assert_eq!(drift.to_string(), expected);
    assert_eq!(
        format!("{drift:?}"),
        expected,
        "a test that unwraps it is readable"
    );
}

#[test]
fn what_is_missing_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let drift = tree().check(directory.path()).unwrap_err().to_string();
    assert!(
        drift.contains("folder/two.yaml is missing\none.yaml is missing\n"),
        "{drift}"
    );
}

#[test]
fn files_that_are_no_longer_made_go_and_files_of_others_stay() {
    let directory = tempfile::tempdir().unwrap();
    let more = tree().with("folder/three.yaml", "a: 1\n");
    more.write(directory.path()).unwrap();
    fs::write(directory.path().join("mine.yaml"), "a: 1\n").unwrap();
    let drift = tree().check(directory.path()).unwrap_err().to_string();
    assert!(
        drift.contains("folder/three.yaml was made earlier and is no longer made\n"),
        "{drift}"
    );
    assert!(!drift.contains("mine.yaml"), "{drift}");
    tree().write(directory.path()).unwrap();
    tree().check(directory.path()).unwrap();
    assert!(directory.path().join("mine.yaml").exists());
    assert!(!directory.path().join("folder/three.yaml").exists());
}

#[test]
fn what_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = tree().write(&file).unwrap_err();
    assert!(error.to_string().starts_with("cannot write /"), "{error}");
}
