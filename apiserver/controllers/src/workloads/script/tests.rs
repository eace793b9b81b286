//! Scripts that are understood, and those that are not.

use std::collections::BTreeSet;

use super::*;

#[derive(Default)]
struct Files {
    files: BTreeSet<String>,
}

impl Surroundings for Files {
    fn variable(&self, name: &str) -> Option<String> {
        Some(if name == "INDEX" { "3" } else { "" }.to_owned())
    }

    fn exists(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    fn touch(&mut self, path: &str) {
        self.files.insert(path.to_owned());
    }
}

fn shell(script: &str, files: &mut Files) -> Option<Run> {
    program(
        &["sh".to_owned(), "-c".to_owned(), script.to_owned()],
        files,
    )
}

fn ends(seconds: u64, code: u8) -> Run {
    let after = Duration::from_secs(seconds);
    Run::Ends { after, code }
}

#[test]
fn plain_scripts_end_as_a_shell_ends_them() {
    for (script, expected) in [
        ("exit 0", ends(0, 0)),
        ("exit 256", ends(0, 0)),
        ("sleep 5; exit 3", ends(5, 3)),
        ("sleep 1m && false", ends(60, 1)),
        ("false || true", ends(0, 0)),
        ("echo \"a; b\"\nfalse", ends(0, 1)),
        (
            "if [ $(expr ${INDEX} % 2) -ne 0 ]; then exit 1; else exit 0; fi",
            ends(0, 1),
        ),
        ("if [[ -z $NONE ]]\nthen\n  exit 7\nfi", ends(0, 7)),
        ("while true; do sleep 5; done", Run::Forever),
        ("sleep infinity", Run::Forever),
    ] {
        assert_eq!(
            shell(script, &mut Files::default()),
            Some(expected),
            "{script}"
        );
    }
}

#[test]
fn a_command_prints_what_it_echoes_when_it_comes_to_it() {
    let printed = |script: &str| {
        let words = ["sh", "-c", script].map(str::to_owned);
        let (_, printed) = printing(&words, &mut Files::default())?;
        let line = |line: &Printed| format!("{} {}", line.after.as_secs(), line.text);
        Some(printed.iter().map(line).collect::<String>())
    };
    for (script, expected) in [
        ("echo a  b; sleep 3; echo $INDEX", Some("0 a b\n3 3\n")),
        ("echo -n a", Some("0 a")),
        (
            "cat /x || true",
            Some("0 cat: /x: No such file or directory\n"),
        ),
        ("while true; do echo a; sleep 1; done", None),
        ("echo 'a\\nb'", None),
    ] {
        assert_eq!(printed(script).as_deref(), expected, "{script}");
    }
}

#[test]
fn a_script_with_anything_else_is_not_understood() {
    for script in [
        "curl example.com",
        "exit $((1 + 1))",
        "echo a > b",
        "true & wait",
        "trap 'exit 1' TERM; sleep 5",
        "if true; then exit 1",
        "for i in 1 2; do true; done",
        "echo \"open",
    ] {
        assert_eq!(shell(script, &mut Files::default()), None, "{script}");
    }
}

#[test]
fn a_script_that_is_too_long_or_too_deep_is_not_understood() {
    let many = |text: &str, count: usize| text.repeat(count);
    for script in [
        many("if ", 500_000),
        many("while true; do ", 500_000),
        many("true\n", MOST_COMMANDS),
        many("while [ -z x ]; do true; done; ", MOST_COMMANDS),
    ] {
        let start = &script[..20];
        assert_eq!(shell(&script, &mut Files::default()), None, "{start}");
    }
    let chain = many("true && ", MOST_COMMANDS / 2) + "false";
    assert_eq!(shell(&chain, &mut Files::default()), Some(ends(0, 1)));
    let not = format!("[ {}-n x ]", many("! ", 500_001));
    assert_eq!(shell(&not, &mut Files::default()), Some(ends(0, 1)));
}

#[test]
fn a_file_that_one_run_touched_is_there_in_the_next() {
    let script = "if [[ -r /data/foo ]]\nthen\n exit 0\nelse\n touch /data/foo\n exit 42\nfi\n";
    let mut surroundings = Files::default();
    assert_eq!(shell(script, &mut surroundings), Some(ends(0, 42)));
    assert_eq!(shell(script, &mut surroundings), Some(ends(0, 0)));
}

#[test]
fn programs_are_understood_without_a_shell() {
    for (words, expected) in [
        (&["/bin/true"][..], Some(ends(0, 0))),
        (&["/bin/false"], Some(ends(0, 1))),
        (&["sleep", "300"], Some(ends(300, 0))),
        (&["/bin/sh", "-c", "exit 2"], Some(ends(0, 2))),
        (&["nginx"], None),
        (&["exit", "1"], None),
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(
            program(&words, &mut Files::default()),
            expected,
            "{words:?}"
        );
    }
}
