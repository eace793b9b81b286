//! The ways through the code in ARCHITECTURE.md: each file exists, and none imports a file that calls it on the way.

use std::collections::BTreeMap;

use crate::cycles;
use crate::tree::root;

/// A file on a way, and how many files above it call it.
type Step<'t> = (usize, &'t str);

#[test]
fn no_way_through_the_code_goes_back_up() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a document");
    let ways = ways(&text);
    let names: Vec<&str> = ways.keys().copied().collect();
    assert_eq!(
        names,
        [
            "A change, from watch to reconcile",
            "A create, from socket to store",
            "A review, from socket to answer"
        ]
    );
    let mut imports = BTreeMap::new();
    for (way, steps) in ways {
        let mut callers: Vec<&str> = Vec::new();
        for (depth, file) in steps {
            assert!(root().join(file).exists(), "{way}: there is no {file}");
            let (owner, within) = file.split_once("/src/").expect("a source file");
            let of_owner = imports
                .entry(owner.to_owned())
                .or_insert_with(|| cycles::imports_of(owner));
            let imported = &of_owner[&format!("src/{within}")];
            callers.truncate(depth);
            for caller in &callers {
                let path = caller.strip_prefix(owner).map(|path| &path[1..]);
                assert!(
                    !path.is_some_and(|path| imported.contains(path)),
                    "{way}: {file} imports {caller}, which calls it"
                );
            }
            callers.push(file);
        }
    }
}

#[test]
fn a_way_is_a_list_of_files_each_below_its_caller() {
    let text = "## Ways\n### A\n1. `x/src/a.rs` does `b`\n   1. `y/src/c.rs` is\n2. `x/src/d.rs`\n### B\ntext\n## C\n1. `e`\n";
    let expected = vec![(0, "x/src/a.rs"), (1, "y/src/c.rs"), (0, "x/src/d.rs")];
    assert_eq!(ways(text), BTreeMap::from([("A", expected)]));
}

/// Returns the files of each way, by its heading.
fn ways(text: &str) -> BTreeMap<&str, Vec<Step<'_>>> {
    let mut ways: BTreeMap<&str, Vec<Step<'_>>> = BTreeMap::new();
    let mut heading = None;
    for line in text.lines() {
        if line.starts_with('#') {
            heading = line.strip_prefix("### ");
        }
        let item = line.trim_start();
        let depth = (line.len() - item.len()) / 3;
        let file = item
            .split_once(". `")
            .filter(|(number, _)| number.parse::<usize>().is_ok())
            .and_then(|(_, rest)| rest.split_once('`'));
        if let (Some(heading), Some((file, _))) = (heading, file) {
            ways.entry(heading).or_default().push((depth, file));
        }
    }
    ways
}
