//! The pages for users of other tools: a test or the page itself covers every row of their tables.

use crate::tree::root;

/// The pages, with a number of rows that each has at least.
const PAGES: [(&str, usize); 3] = [
    ("docs/guide/coming-from-controller-runtime.md", 50),
    ("docs/guide/coming-from-kube-rs.md", 20),
    ("docs/guide/coming-from-kubebuilder.md", 100),
];

/// A row of a table, with the Rust code of its section.
struct Row<'a> {
    line: &'a str,
    here: &'a str,
    holders: &'a str,
    rust: &'a str,
}

#[test]
fn every_row_of_the_pages_for_those_who_come_from_other_tools_is_held() {
    let mut wrong = Vec::new();
    for (path, least) in PAGES {
        let page = std::fs::read_to_string(root().join(path)).unwrap();
        let mut rows = 0;
        for section in page.split("\n## ").skip(1) {
            let rust: String = blocks(section).collect();
            for row in table_rows(section, &rust) {
                rows += 1;
                if let Err(why) = is_held(&row) {
                    wrong.push(format!("{path}: {why}: {}", row.line));
                }
            }
        }
        assert!(
            rows >= least,
            "{path}: {rows} rows: has the page another shape?"
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn blocks(section: &str) -> impl Iterator<Item = &str> {
    let blocks = section.split("\n```rust\n").skip(1);
    blocks.filter_map(|rest| rest.split("\n```").next())
}

fn table_rows<'a>(section: &'a str, rust: &'a str) -> impl Iterator<Item = Row<'a>> {
    let lines = section
        .lines()
        .filter(|line| line.starts_with("| ") && !line.ends_with("| held by |"));
    lines.map(move |line| {
        let mut cells = line.trim_matches('|').rsplitn(3, " | ");
        let holders = cells.next().unwrap_or_default().trim();
        let here = cells.next().unwrap_or_default().trim();
        Row {
            line,
            here,
            holders,
            rust,
        }
    })
}

fn is_held(row: &Row<'_>) -> Result<(), String> {
    let reason = row.here.strip_prefix("none").map(|rest| {
        let (_, reason) = rest.split_once(':').unwrap_or_default();
        reason.trim().len()
    });
    match (reason, row.holders) {
        (Some(0..10), _) => Err("no reason why there is none".to_owned()),
        (Some(_), "") => Ok(()),
        (None, "") => Err("nothing holds it".to_owned()),
        (_, "this page") => {
            let missing = words(row.here).find(|word| !has_word(row.rust, word));
            missing.map_or(Ok(()), |word| Err(format!("no Rust here has `{word}`")))
        }
        (_, tests) => spans(tests).try_for_each(is_a_test),
    }
}

/// Whether this is `path/of/a/file.rs::the_name_of_a_test`, or a case of the scaffolder, all of which a test runs.
fn is_a_test(name: &str) -> Result<(), String> {
    if name.starts_with("tests/scaffold/cases/") && root().join(name).join("commands").exists() {
        return Ok(());
    }
    let (path, test) = name
        .split_once("::")
        .ok_or_else(|| format!("`{name}` names no test"))?;
    let text =
        std::fs::read_to_string(root().join(path)).map_err(|error| format!("`{path}`: {error}"))?;
    let (before, _) = text
        .split_once(&format!("fn {test}("))
        .ok_or_else(|| format!("`{path}` has no `{test}`"))?;
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    if attributes.contains("#[test]") || attributes.contains("#[tokio::test") {
        Ok(())
    } else {
        Err(format!("`{test}` in `{path}` is no test"))
    }
}

/// The spans between backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The names in the spans of code, such as `timeout` of `.timeout(…)`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = spans(text).flat_map(|span| span.split(|c: char| !is_of_a_name(c)));
    words.filter(|word| word.len() > 1 && !word.chars().all(|c| c.is_ascii_digit()))
}

fn has_word(rust: &str, word: &str) -> bool {
    rust.split(|c: char| !is_of_a_name(c))
        .any(|other| other == word)
}

fn is_of_a_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[test]
fn a_row_that_nothing_holds_is_found() {
    let row = |here, holders| Row {
        line: "",
        here,
        holders,
        rust: "hook.timeout(5)",
    };
    assert!(is_held(&row("`.timeout(…)`", "this page")).is_ok());
    assert!(is_held(&row("`.time(…)`", "this page")).is_err());
    assert!(is_held(&row("`.timeout(…)`", "")).is_err());
    assert!(is_held(&row("none", "")).is_err());
    assert!(is_held(&row("none: no user has ever asked for it", "")).is_ok());
    let here = "`tests/architecture/coming_from.rs::a_row_that_nothing_holds_is_found`";
    assert!(is_held(&row("`x`", here)).is_ok());
    assert!(is_held(&row("`x`", "`tests/architecture/coming_from.rs::missing`")).is_err());
    assert!(is_held(&row("`x`", "`tests/architecture/coming_from.rs::spans`")).is_err());
    assert!(is_held(&row("`x`", "`tests/architecture/coming_from.rs`")).is_err());
    assert!(is_held(&row("`x`", "`tests/scaffold/cases/nothing`")).is_err());
}
