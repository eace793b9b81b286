//! The tutorial, followed as a reader does: the test writes its files and runs its commands in order, and compares their output.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::command::{clean, root, succeeds, target};
use crate::programs::profiles;

/// A step that the page asks the reader to do.
enum Step {
    /// Write this file, in the project.
    File { path: String, text: String },
    /// Run these commands, whose output includes these lines.
    Console {
        commands: String,
        says: Option<String>,
    },
}

#[test]
fn the_tutorial_can_be_followed() {
    let steps = steps(&page());
    let files = steps
        .iter()
        .filter(|step| matches!(step, Step::File { .. }));
    assert!(files.count() >= 10, "has the page another shape?");
    let mut person = Person::sit_down();
    for step in steps {
        match step {
            Step::File { path, text } => person.write(&path, &text),
            Step::Console { commands, says } => {
                if commands.contains("kubectl") && !has_kubectl() {
                    println!("no kubectl on this machine: the last part was left out");
                    return;
                }
                let said = person.run(&commands);
                if let Some(expected) = says {
                    check(&commands, &expected, &said);
                }
            }
        }
    }
}

#[test]
fn every_block_of_the_tutorial_is_a_file_a_command_or_what_it_says() {
    let page = page();
    let blocks = page.matches("\n```").count() / 2;
    let of_steps: usize = steps(&page)
        .iter()
        .map(|step| match step {
            Step::Console { says: Some(_), .. } => 2,
            _ => 1,
        })
        .sum();
    // Two are not: one installs the command, which is built already, and one builds an image.
    assert_eq!(page.matches("\n```sh\n").count(), 2);
    assert_eq!(of_steps, blocks - 2);
}

fn page() -> String {
    let page = root().join("docs/guide/tutorial.md");
    std::fs::read_to_string(page).expect("there is a tutorial")
}

/// The steps of a page. The line before the block of a file names it; the text block after commands contains their output.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut named = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            if let Some(path) = line
                .strip_prefix('`')
                .and_then(|rest| rest.strip_suffix("`:"))
            {
                named = Some(path.to_owned());
            }
            continue;
        };
        let block = lines.by_ref().take_while(|line| *line != "```");
        let text: String = block.flat_map(|line| [line, "\n"]).collect();
        match language {
            "rust" | "yaml" => {
                let path = named.take();
                let path = path.unwrap_or_else(|| panic!("a block without a file:\n{text}"));
                steps.push(Step::File { path, text });
            }
            "console" => steps.push(Step::Console {
                commands: text,
                says: None,
            }),
            "text" => {
                let Some(Step::Console { says, .. }) = steps.last_mut() else {
                    panic!("nothing says this:\n{text}");
                };
                assert!(says.is_none(), "what says this?\n{text}");
                *says = Some(text);
            }
            _ => {}
        }
    }
    steps
}

/// Checks that lines were said in this order. `…` stands for anything, within a line and between lines.
fn check(commands: &str, expected: &str, said: &str) {
    let mut rest = said.lines();
    for line in expected.lines().filter(|line| line.trim() != "…") {
        if line.starts_with("test ") {
            // Tests run beside each other, and whichever ends first says so first.
            rest = said.lines();
        }
        assert!(
            rest.any(|said| is_like(line.trim_end(), said.trim_end())),
            "`{line}` was not said by\n{commands}\nbut\n{said}"
        );
    }
}

fn is_like(expected: &str, said: &str) -> bool {
    let mut pieces = expected.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = said.strip_prefix(first) else {
        return false;
    };
    if expected == first {
        return rest.is_empty();
    }
    for piece in pieces {
        let Some((_, after)) = rest.split_once(piece) else {
            return false;
        };
        rest = after;
    }
    rest.is_empty() || expected.ends_with('…')
}

#[test]
fn what_is_left_out_of_a_line_may_be_anything() {
    assert!(is_like("pod/web created", "pod/web created"));
    assert!(!is_like("pod/web", "pod/web created"));
    assert!(is_like("pod/web  denied  … ms", "pod/web  denied  2.3 ms"));
    assert!(!is_like("pod/web  denied  … ms", "pod/web  denied  2.3 s"));
    assert!(is_like("serving on …", "serving on https://127.0.0.1:1"));
}

fn has_kubectl() -> bool {
    let asked = Command::new("kubectl")
        .args(["version", "--client"])
        .stdout(Stdio::null())
        .status();
    let has = asked.is_ok_and(|status| status.success());
    assert!(has || std::env::var_os("CI").is_none(), "CI has no kubectl");
    has
}

/// A user at a terminal, with its working directory and its exported variables.
struct Person {
    /// Where the project is made.
    folder: PathBuf,
    /// What goes on in other terminals.
    others: Vec<Child>,
}

impl Person {
    /// In a folder with nothing but what shares the build with other tests: the versions and the profiles of this workspace.
    fn sit_down() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
        // What an earlier run has left.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let manifest = format!(
            "[workspace]\nresolver = \"3\"\nmembers = [\"teams\"]\n\n{}",
            profiles()
        );
        std::fs::write(folder.join("Cargo.toml"), manifest).expect("a file can be written");
        std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))
            .expect("the versions are known");
        std::fs::write(folder.join(".terminal"), "").expect("a file can be written");
        // Builds it, if need be.
        succeeds(&folder, &["--version"]);
        Self {
            folder,
            others: Vec::new(),
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.join("teams").join(path);
        assert!(
            path.parent().is_some_and(Path::exists),
            "{}: its folder is missing",
            path.display()
        );
        std::fs::write(&path, text).expect("a file can be written");
    }

    /// Runs commands, and returns what they say.
    fn run(&mut self, commands: &str) -> String {
        if commands.starts_with("kubewright apiserver") {
            return self.run_elsewhere(commands);
        }
        let script = format!(
            "set -e; source {state}; cd -- \"${{PWD}}\"; exec 2>&1\n{commands}\n{{ export -p; declare -p PWD; }} > {state}",
            state = quoted(&self.folder.join(".terminal")),
        );
        let output = self.shell(&script).output().expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{commands}\nfailed:\n{said}");
        said
    }

    /// Runs a command in a terminal of its own, until it says that it is ready.
    fn run_elsewhere(&mut self, command: &str) -> String {
        let script = format!(
            "source {}; cd -- \"${{PWD}}\"; exec {command}",
            quoted(&self.folder.join(".terminal"))
        );
        let mut child = self
            .shell(&script)
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let output = child.stdout.take().expect("it is piped");
        self.others.push(child);
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let ready = lines.find(|line| line.starts_with("ready: "));
        ready.unwrap_or_else(|| panic!("{command} has ended"))
    }

    fn shell(&self, script: &str) -> Command {
        let mut path = vec![target().join("debug")];
        path.extend(Path::new(env!("CARGO")).parent().map(Path::to_owned));
        path.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        let mut command = clean(Path::new("bash"));
        command
            .args(["-c", script])
            .current_dir(&self.folder)
            .env(
                "PATH",
                std::env::join_paths(path).expect("paths have no colons"),
            )
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        for other in &mut self.others {
            // One that has ended already is as good.
            let _ = other.kill();
            let _ = other.wait();
        }
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}
