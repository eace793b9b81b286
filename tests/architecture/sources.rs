//! What every source file keeps to: a size one can hold in the head, a first line that says what it is for, and
//! nothing unfinished.

use crate::tree::{File, files, in_its_crates, is_in_a_crate};

const LONGEST: usize = 700;

#[test]
fn no_source_file_is_longer_than_one_can_hold_in_the_head() {
    let long: Vec<String> = files(".rs")
        .iter()
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .map(|(file, lines)| format!("{}: {lines} lines", file.path))
        .collect();
    assert!(long.is_empty(), "over {LONGEST} lines: {long:#?}");
}

#[test]
fn half_of_the_source_files_are_short() {
    let mut lengths: Vec<usize> = sources()
        .iter()
        .map(|file| file.text.lines().count())
        .collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    let ninth = lengths[lengths.len() * 9 / 10];
    assert!(median <= 250, "the median source file has {median} lines");
    assert!(
        ninth <= 600,
        "one source file in ten has more than {ninth} lines"
    );
}

#[test]
fn every_source_file_says_first_what_it_is_for() {
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(|file| !file.text.starts_with("//!") && !file.text.starts_with("#!["))
        .map(|file| file.path)
        .collect();
    assert!(silent.is_empty(), "the first line is no `//!`: {silent:#?}");
}

#[test]
fn nothing_unfinished_lands() {
    let marks = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ig", "nore"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
    ];
    let found: Vec<String> = lines(&files(".rs"))
        .filter(|(_, line)| marks.iter().any(|mark| line.contains(mark)))
        .map(|(place, line)| format!("{place}: {line}"))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_rust_example_in_the_docs_runs() {
    let kept_out = ["no_run", "ignore"];
    let mut sources = files(".rs");
    sources.extend(files(".md"));
    let found: Vec<String> = lines(&sources)
        .filter(|(_, line)| {
            let fence = line.trim_start_matches(['/', '!', ' ']);
            fence
                .strip_prefix("```")
                .is_some_and(|words| words.split(',').any(|word| kept_out.contains(&word.trim())))
        })
        .map(|(place, line)| format!("{place}: {line}"))
        .collect();
    assert!(found.is_empty(), "fences that do not run: {found:#?}");
}

#[test]
fn error_texts_start_low_and_end_without_a_period() {
    let mut wrong = Vec::new();
    // The embedded API server speaks in Kubernetes' own words.
    let ours: Vec<File> = sources()
        .into_iter()
        .filter(|file| !file.path.starts_with("apiserver/"))
        .collect();
    for (place, line) in lines(&ours) {
        let Some(text) = line.trim().strip_prefix("#[error(\"") else {
            continue;
        };
        let text = text.rsplit_once('"').map_or(text, |(text, _)| text);
        let first_word = text.split(' ').next().unwrap_or_default();
        let shouted = first_word.len() > 1 && first_word.chars().all(|c| !c.is_ascii_lowercase());
        let capital = text.starts_with(|c: char| c.is_ascii_uppercase()) && !shouted;
        if capital || text.ends_with('.') || text.contains("{source}") {
            wrong.push(format!("{place}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn only_the_named_crates_do_what_others_must_leave_to_them() {
    let rules: [(&str, &[&str], &str); 5] = [
        (
            "tokio::spawn(",
            // Connections to webhooks and to etcd, controllers and finalizers are tasks of the server that they belong to.
            &[
                "apiextensions",
                "cli",
                "controllers",
                "endpoints",
                "etcd",
                "kubelet",
                "manager",
                "server",
                "testing",
                "webhook-client",
            ],
            "a task belongs to the listener or the running program that starts it, and ends with it",
        ),
        (
            "std::fs",
            // A server reads the limits of its container, which are files of the system.
            &[
                "certificates",
                // What is checked and tested is in files.
                "check",
                "cli",
                // What the system says of the process is in files, too.
                "endpoints",
                "generator",
                "manager",
                "crates/server",
                "testing",
            ],
            "only these follow or write files",
        ),
        (
            "env::var",
            // That of etcd is the program that tests and benchmarks start.
            &["cli", "etcd", "generator", "testing", "traces"],
            "a library takes settings as values; the user who starts a test chooses its server, and the variables of OpenTelemetry \
             name the receiver of traces",
        ),
        (
            "process::exit",
            &[],
            "destructors run; an ExitCode is returned",
        ),
        (
            "::new(501,",
            &["kubelet"],
            "only what needs a kubelet is not implemented; the guide lists it (`Unanswered`)",
        ),
    ];
    let mut wrong = Vec::new();
    let files: Vec<File> = sources()
        .into_iter()
        .filter(|file| is_in_a_crate(&file.path) && !file.path.contains("/tests"))
        .collect();
    for (what, owners, reason) in rules {
        for (place, line) in lines(&files) {
            let place_in_crates = in_its_crates(&place).unwrap_or(&place);
            let owned = owners.iter().any(|owner| {
                place.starts_with(&format!("{owner}/"))
                    || place_in_crates.split('/').any(|part| part == *owner)
            });
            let said = line.trim_start().starts_with("//");
            if line.contains(what) && !owned && !said {
                wrong.push(format!("{place}: {what}: {reason}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_test_module_is_part_of_its_binary() {
    let all = files(".rs");
    for file in &all {
        let Some((folder, name)) = file.path.rsplit_once('/') else {
            continue;
        };
        let Some((_, inside)) = folder.rsplit_once("/tests") else {
            continue;
        };
        let of_a_crate = is_in_a_crate(folder) && !folder.contains("/src/");
        if !of_a_crate || !inside.is_empty() || name == "all.rs" {
            continue;
        }
        let binary = all
            .iter()
            .find(|other| other.path == format!("{folder}/all.rs"));
        let module = format!("mod {};", name.trim_end_matches(".rs"));
        assert!(
            binary.is_some_and(|binary| binary.text.contains(&module)),
            "{} is in no test binary",
            file.path
        );
    }
}

fn sources() -> Vec<File> {
    files(".rs")
        .into_iter()
        .filter(|file| file.path.contains("/src/") && !file.path.contains("/generated"))
        .collect()
}

fn lines(files: &[File]) -> impl Iterator<Item = (String, &str)> {
    files.iter().flat_map(|file| {
        let place = |(number, line)| (format!("{}:{}", file.path, number + 1), line);
        file.text.lines().enumerate().map(place)
    })
}
