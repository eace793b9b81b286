//! Running the command in a folder of its own.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

/// What a run printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The command, to be run in `folder`, killed when it is dropped.
pub(crate) fn kubewright(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
    // What cargo tells a test of itself: dependencies that are built below would take it for a change, and be built again.
    let told = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_CRATE_",
        "CARGO_BIN_",
        "CARGO_TARGET_TMPDIR",
    ];
    for (name, _) in std::env::vars_os() {
        let is_told = |name: &str| told.iter().any(|told| name.starts_with(told));
        if name.to_str().is_some_and(is_told) {
            command.env_remove(name);
        }
    }
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

impl Ran {
    /// Runs a command to its end.
    pub(crate) async fn of(command: &mut Command) -> Self {
        let output = command.output().await.expect("the command runs");
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the command to its end.
pub(crate) async fn run(folder: &Path, arguments: &[&str]) -> Ran {
    Ran::of(&mut kubewright(folder, arguments)).await
}

#[tokio::test]
async fn without_a_command_the_help_is_shown() {
    let ran = run(Path::new("."), &[]).await;
    assert_eq!(ran.code, Some(2));
    for command in ["dev", "apiserver", "certs", "assets", "deploy"] {
        assert!(ran.err.contains(command), "{}", ran.err);
    }
}

#[tokio::test]
async fn a_mistake_on_the_command_line_has_a_code_of_its_own_and_a_similar_name_is_suggested() {
    let ran = run(Path::new("."), &["deplyo"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("'deploy'"), "{}", ran.err);
    let ran = run(Path::new("."), &["deploy", "--namespce", "x"]).await;
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("'--namespace'"), "{}", ran.err);
}

#[tokio::test]
async fn a_shell_learns_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(Path::new("."), &["completions", shell]).await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        for word in ["kubewright", "apiserver", "sideload", "with-namespace"] {
            assert!(ran.out.contains(word), "{shell} does not learn {word}");
        }
    }
}

#[tokio::test]
async fn a_project_takes_the_library_from_the_sources_that_the_command_was_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["init", "guard", "--domain", "example.com"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("kubewright");
    let manifest = std::fs::read_to_string(folder.path().join("guard/Cargo.toml")).unwrap();
    let line = format!("kubewright = {{ path = \"{}\" }}", library.display());
    assert!(manifest.lines().any(|own| own == line), "{manifest}");
    assert!(
        ran.err.contains("can only be built where that is"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn it_says_which_version_it_is() {
    let ran = run(Path::new("."), &["--version"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let expected = format!("kubewright {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(ran.out, expected);
}
