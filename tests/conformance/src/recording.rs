//! Recordings: what the real server answered, kept for machines that have none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::Case;

/// The outcomes of the cases of one file.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Recording {
    /// The version of the server.
    version: String,
    cases: BTreeMap<String, Value>,
}

/// Reads what was recorded, by the title of the case.
///
/// # Errors
/// A recording cannot be read.
pub fn read(folder: &Path, cases: &[Case]) -> Result<BTreeMap<String, Value>> {
    let mut outcomes = BTreeMap::new();
    for file in by_file(cases).keys() {
        let path = path(folder, file);
        if !path.exists() {
            continue;
        }
        let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        let recording: Recording =
            serde_json::from_slice(&text).with_context(|| format!("read {}", path.display()))?;
        for (name, outcome) in recording.cases {
            outcomes.insert(format!("{file}: {name}"), outcome);
        }
    }
    Ok(outcomes)
}

/// Writes what the real server answered. Files of which no case was run stay as they are; of the others stays what is
/// recorded of cases that exist and were not run, or could not be.
///
/// # Errors
/// A recording cannot be read or written.
pub fn update(
    folder: &Path,
    version: &str,
    cases: &[Case],
    outcomes: &BTreeMap<String, Value>,
) -> Result<()> {
    let mut recorded = read(folder, cases)?;
    let worked = outcomes
        .iter()
        .filter(|(_, outcome)| outcome.get("cannot").is_none());
    recorded.extend(worked.map(|(title, outcome)| (title.clone(), outcome.clone())));
    for (file, cases) in by_file(cases) {
        if !cases
            .iter()
            .any(|case| outcomes.contains_key(&case.title()))
        {
            continue;
        }
        let recording = Recording {
            version: version.to_owned(),
            cases: cases
                .into_iter()
                .filter_map(|case| Some((case.name.clone(), recorded.get(&case.title())?.clone())))
                .collect(),
        };
        let path = path(folder, file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut text = serde_json::to_string_pretty(&recording)?;
        text.push('\n');
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

fn by_file(cases: &[Case]) -> BTreeMap<&str, Vec<&Case>> {
    let mut files: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        files.entry(&case.file).or_default().push(case);
    }
    files
}

fn path(folder: &Path, file: &str) -> PathBuf {
    folder.join(format!("{file}.json"))
}

/// Reads the AdmissionReviews that the real server sent, byte for byte, by the case that made it send them.
///
/// # Errors
/// The recording cannot be read.
pub fn read_reviews(folder: &Path) -> Result<Vec<(String, String)>> {
    let path = folder.join(REVIEWS);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let mut reviews = Vec::new();
    for line in text.lines() {
        let (title, review) = line
            .split_once('\t')
            .context("a line is a case and a review")?;
        reviews.push((title.to_owned(), review.to_owned()));
    }
    Ok(reviews)
}

/// Writes the AdmissionReviews that the real server sent, one a line. Those of cases that were not run stay.
///
/// # Errors
/// The recording cannot be read or written.
pub fn update_reviews(
    folder: &Path,
    cases: &[Case],
    outcomes: &BTreeMap<String, Value>,
    reviews: BTreeMap<String, Bytes>,
) -> Result<()> {
    let path = folder.join(REVIEWS);
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    if path.exists() {
        lines.extend(read_reviews(folder)?);
    }
    let titles: BTreeSet<String> = cases.iter().map(Case::title).collect();
    lines.retain(|title, _| titles.contains(title) && !outcomes.contains_key(title));
    for (title, review) in reviews {
        let review =
            std::str::from_utf8(&review).with_context(|| format!("the review of {title}"))?;
        let review = review.trim_end().to_owned();
        lines.insert(title, review);
    }
    let mut text = String::new();
    for (title, review) in &lines {
        text.extend([title, "\t", review, "\n"]);
    }
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))
}

/// A line is a case, a tab and the body of a webhook call.
const REVIEWS: &str = "reviews.tsv";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::case;

    fn cases(file: &str, names: &[&str]) -> Vec<Case> {
        let entries: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "steps": [{"send": "GET /"}]}))
            .collect();
        let text = json!({"about": "x", "cases": entries}).to_string();
        case::read(file, &text).expect("cases")
    }

    fn outcomes(outcomes: &[(&str, Value)]) -> BTreeMap<String, Value> {
        let owned = |(title, outcome): &(&str, Value)| ((*title).to_owned(), outcome.clone());
        outcomes.iter().map(owned).collect()
    }

    #[test]
    fn what_was_not_run_keeps_its_recording() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let folder = folder.path();
        let all = [cases("x/a", &["one", "two"]), cases("x/b", &["three"])].concat();
        let first = outcomes(&[
            ("x/a: one", json!(1)),
            ("x/a: two", json!(2)),
            ("x/a: gone", json!(0)),
            ("x/b: three", json!(3)),
        ]);
        update(folder, "v1", &all, &first).expect("a recording");
        let of_b = fs::read(folder.join("x/b.json")).expect("a recording");
        let again = outcomes(&[
            ("x/a: one", json!(10)),
            ("x/a: two", json!({"cannot": "run"})),
        ]);
        update(folder, "v2", &all, &again).expect("a recording");
        assert_eq!(
            read(folder, &all).expect("recordings"),
            outcomes(&[
                ("x/a: one", json!(10)),
                ("x/a: two", json!(2)),
                ("x/b: three", json!(3)),
            ])
        );
        assert_eq!(
            fs::read(folder.join("x/b.json")).expect("a recording"),
            of_b
        );
    }

    #[test]
    fn what_was_not_run_keeps_its_review() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let folder = folder.path();
        let all = cases("x/a", &["one", "two", "three"]);
        let reviews = |reviews: &[(&str, &'static str)]| {
            let owned = |(title, text): &(&str, &'static str)| {
                ((*title).to_owned(), Bytes::from_static(text.as_bytes()))
            };
            reviews.iter().map(owned).collect()
        };
        let everything = outcomes(&[
            ("x/a: one", json!(1)),
            ("x/a: two", json!(2)),
            ("x/a: three", json!(3)),
        ]);
        let first = reviews(&[
            ("x/a: one", "{1}\n"),
            ("x/a: two", "{2}\n"),
            ("x/a: gone", "{}"),
        ]);
        update_reviews(folder, &all, &everything, first).expect("a recording");
        let some = outcomes(&[("x/a: two", json!(2)), ("x/a: three", json!(3))]);
        update_reviews(folder, &all, &some, reviews(&[("x/a: three", "{3}\n")]))
            .expect("a recording");
        let kept = read_reviews(folder).expect("reviews");
        let kept: Vec<_> = kept
            .iter()
            .map(|(title, text)| (&**title, &**text))
            .collect();
        assert_eq!(kept, [("x/a: one", "{1}"), ("x/a: three", "{3}")]);
    }
}
