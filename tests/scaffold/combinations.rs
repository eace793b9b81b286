//! Every combination of the flags that make something: its result, or the reason of its refusal.
//!
//! What the files say is for the cases to hold; here it is which ones there are, and that the same command changes nothing the
//! second time.

use std::collections::BTreeMap;
use std::path::Path;

use crate::command::{errors, kubewright, succeeds};
use crate::folder::{difference, read, write};

/// A kind, and the commands that it takes until it is there.
struct Kind {
    /// What says which kind is meant, behind `create`.
    api: &'static str,
    webhook: &'static str,
    before: &'static [&'static str],
    is: Is,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    New,
    Own,
    Converted,
    BuiltIn,
    /// Defined by another project.
    External,
}

const LIST: &str = "--group police --version v1 --kind WhiteList";
const OWN: &str = "create api --group police --version v1 --kind WhiteList";
const TICKETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/definitions/tickets.yaml");

const KINDS: [Kind; 5] = [
    Kind {
        api: LIST,
        webhook: "--kind WhiteList",
        before: &[],
        is: Is::New,
    },
    Kind {
        api: LIST,
        webhook: "--kind WhiteList",
        before: &[OWN],
        is: Is::Own,
    },
    Kind {
        api: "--group police --version v2 --kind WhiteList",
        webhook: "--kind WhiteList",
        before: &[
            OWN,
            "create api --group police --version v2 --kind WhiteList",
        ],
        is: Is::Converted,
    },
    Kind {
        api: "--group apps --version v1 --kind Deployment",
        webhook: "--kind Deployment",
        before: &[],
        is: Is::BuiltIn,
    },
    Kind {
        api: "--group example.org --version v1 --kind Ticket --crd TICKETS",
        webhook: "--kind Ticket --crd TICKETS",
        before: &[],
        is: Is::External,
    },
];

/// All subsets of some flags, each as they are said.
fn subsets<const N: usize>(flags: [&'static str; N]) -> Vec<Vec<&'static str>> {
    let all = 0..1 << N;
    let chosen = |set: i32| (0..N).filter(move |flag| set & (1 << flag) != 0);
    all.map(|set| chosen(set).map(|flag| flags[flag]).collect())
        .collect()
}

/// What an API is made into, by its flags; or a part of the sentence that refuses it.
fn of_api(is: Is, flags: &[&str]) -> Result<Vec<&'static str>, &'static str> {
    let has = |flag: &str| flags.iter().any(|said| said.starts_with(flag));
    let (resource, controller) = (!has("--no-resource"), has("--controller"));
    let says_otherwise = has("--namespaced=false") || has("--plural");
    // Without --no-resource a kind of Kubernetes is a name like any other.
    let is_known = match is {
        Is::New => false,
        Is::Own | Is::Converted | Is::External => true,
        Is::BuiltIn => !resource,
    };
    if is == Is::External && resource {
        return Err("is defined by another project already");
    }
    if !resource && !controller {
        return Err("nothing to make without a type and a controller");
    }
    if is == Is::New && !resource {
        return Err("is known to have the kind WhiteList");
    }
    if is_known && says_otherwise {
        return Err("is namespaced and has the plural");
    }
    let mut made = Vec::new();
    if resource && !is_known {
        made.push("src/api/KIND.rs");
    }
    if is == Is::External {
        made.extend(["crds/NAME.yaml", "src/api/KIND.rs"]);
    }
    if controller {
        made.extend(["src/controllers/KIND.rs", "tests/all/KIND_controller.rs"]);
    }
    Ok(made)
}

/// The same for webhooks.
fn of_webhook(is: Is, flags: &[&str]) -> Result<Vec<&'static str>, &'static str> {
    if flags.is_empty() {
        return Err("it is not said what the webhook is to do");
    }
    let converts = flags.contains(&"--conversion");
    match is {
        Is::New => return Err("is known to have the kind WhiteList"),
        Is::Own if converts => return Err("has one version: there is nothing to convert"),
        Is::BuiltIn | Is::External if converts => return Err("it is not for it to convert"),
        _ => {}
    }
    let mut made = Vec::new();
    if is == Is::External {
        made.extend(["crds/NAME.yaml", "src/api/KIND.rs"]);
    }
    if converts {
        made.extend([
            "src/webhooks/KIND_conversion.rs",
            "tests/all/KIND_conversion.rs",
        ]);
    }
    if flags.len() > usize::from(converts) {
        made.extend(["src/webhooks/KIND.rs", "tests/all/KIND_webhook.rs"]);
    }
    Ok(made)
}

#[test]
fn every_way_to_make_an_api_makes_it_or_is_refused() {
    let flags = [
        "--namespaced=false",
        "--controller",
        "--no-resource",
        "--plural others",
    ];
    for kind in &KINDS {
        for flags in subsets(flags) {
            let command = format!("create api {} {}", kind.api, flags.join(" "));
            hold(kind, &command, of_api(kind.is, &flags));
        }
    }
}

#[test]
fn every_way_to_make_webhooks_makes_them_or_is_refused() {
    for kind in &KINDS {
        for flags in subsets(["--defaulting", "--validating", "--conversion"]) {
            let command = format!("create webhook {} {}", kind.webhook, flags.join(" "));
            hold(kind, &command, of_webhook(kind.is, &flags));
        }
    }
}

fn hold(kind: &Kind, command: &str, expected: Result<Vec<&'static str>, &'static str>) {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let folder = folder.path();
    write(folder, &read(&project()));
    for command in kind.before {
        succeeds(folder, &words(command));
    }
    let before = read(folder);
    let output = kubewright(folder, &words(command));
    let after = read(folder);
    match expected {
        Err(why) => {
            let said = errors(&output);
            assert_eq!(output.status.code(), Some(1), "`{command}` is refused");
            assert!(said.contains(why), "`{command}`: {said}");
            assert_eq!(difference(&before, &after), "", "`{command}`");
        }
        Ok(mut expected) => {
            assert!(output.status.success(), "`{command}`: {}", errors(&output));
            let mut made = own_files(&before, &after);
            made.sort();
            expected.sort_unstable();
            assert_eq!(made, expected, "`{command}`");
            succeeds(folder, &words(command));
            assert_eq!(difference(&after, &read(folder)), "", "`{command}`, twice");
        }
    }
}

/// The files of a kind that are new, without its names; not the lists that it is in, and what is there to try it.
fn own_files(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let lists = ["src/api.rs", "src/controllers.rs", "src/webhooks.rs"];
    let new = after.keys().filter(|path| !before.contains_key(*path));
    let own = new.filter(|path| !lists.contains(&path.as_str()) && !path.starts_with("demo/"));
    own.map(|path| {
        let folder = path.split('/').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        let file = ["white_list", "deployment", "ticket"]
            .iter()
            .fold(file.to_owned(), |file, name| file.replace(name, "KIND"));
        match (folder, path.split('/').nth(1)) {
            ("crds", _) => "crds/NAME.yaml".to_owned(),
            ("src", Some(below)) => format!("src/{below}/{file}"),
            (folder, _) => format!("{folder}/all/{file}"),
        }
    })
    .collect()
}

fn words(command: &str) -> Vec<&str> {
    let words = command.split_whitespace();
    words
        .map(|word| if word == "TICKETS" { TICKETS } else { word })
        .collect()
}

/// A project with nothing in it.
fn project() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/init/out")
}
