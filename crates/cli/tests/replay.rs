//! `kubewright replay`, with what `kubewright dev --record` has kept.

use std::fs;
use std::path::Path;

use crate::command::run;

fn example(name: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    examples.join(name).display().to_string()
}

#[tokio::test]
async fn what_was_recorded_is_answered_again_and_what_differs_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let example = example("annotate-pod");
    let record = ["dev", &example, "--once", "--record", "recorded"];
    let ran = run(folder.path(), &record).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let recorded = fs::read_dir(folder.path().join("recorded"))
        .unwrap()
        .count();
    assert!(recorded > 0);

    let replay = ["replay", "recorded", "--package", &example];
    let ran = run(folder.path(), &replay).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("answered as"), "{}", ran.out);

    let other = [&replay[..], &["--", "--text", "hello"]].concat();
    let ran = run(folder.path(), &other).await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("CREATE pods default/nginx"), "{}", ran.out);
    let lines: Vec<&str> = ran.out.lines().map(str::trim).collect();
    for line in ["-     mutate: welcome", "+     mutate: hello"] {
        assert!(lines.contains(&line), "{line:?} is not in\n{}", ran.out);
    }
    assert!(ran.err.contains("answered otherwise"), "{}", ran.err);
}

#[tokio::test]
async fn what_cannot_be_replayed_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let example = example("annotate-pod");
    let ran = run(folder.path(), &["replay", "none", "--package", &example]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("cannot read the reviews in none"),
        "{}",
        ran.err
    );

    fs::create_dir(folder.path().join("empty")).unwrap();
    let ran = run(folder.path(), &["replay", "empty", "--package", &example]).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("hint: record some"), "{}", ran.err);

    fs::create_dir(folder.path().join("broken")).unwrap();
    fs::write(folder.path().join("broken/a.json"), "{}").unwrap();
    let ran = run(folder.path(), &["replay", "broken", "--package", &example]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("a.json is not a recorded review"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn a_log_that_cannot_be_replayed_is_said_before_anything_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("empty.log"), "").unwrap();
    fs::write(path.join("audit.log.gz"), b"\x1f\x8b\x08\x00").unwrap();
    fs::create_dir(path.join("logs")).unwrap();
    for (log, why) in [
        ("none.log", "cannot read the audit log none.log"),
        ("logs", "it is a directory"),
        ("audit.log.gz", "is compressed"),
    ] {
        let ran = run(path, &["replay", "--audit-log", log]).await;
        assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{}", ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
        assert!(!ran.err.contains("building"), "{}", ran.err);
    }
    for usage in [
        &["replay"][..],
        &["replay", "recorded", "--audit-log", "empty.log"],
        &[
            "replay",
            "--audit-log",
            "empty.log",
            "--against",
            "a",
            "--against-revision",
            "b",
        ],
    ] {
        assert_eq!(run(path, usage).await.code, Some(2), "{usage:?}");
    }
}
