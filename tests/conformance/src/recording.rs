//! Recordings: what the real server answered, kept for machines that have none.

use std::collections::BTreeMap;
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

/// Writes what the real server answered. What is recorded of other cases of these files goes.
///
/// # Errors
/// A recording cannot be written.
pub fn write(
    folder: &Path,
    version: &str,
    cases: &[Case],
    outcomes: &BTreeMap<String, Value>,
) -> Result<()> {
    for (file, cases) in by_file(cases) {
        let recording = Recording {
            version: version.to_owned(),
            cases: cases
                .into_iter()
                .filter_map(|case| Some((case.name.clone(), outcomes.get(&case.title())?.clone())))
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

/// Writes the AdmissionReviews that the real server sent, one a line.
///
/// # Errors
/// The recording cannot be written.
pub fn write_reviews(folder: &Path, reviews: &BTreeMap<String, Bytes>) -> Result<()> {
    let mut text = String::new();
    for (title, review) in reviews {
        let review =
            std::str::from_utf8(review).with_context(|| format!("the review of {title}"))?;
        text.extend([title.as_str(), "\t", review.trim_end(), "\n"]);
    }
    let path = folder.join(REVIEWS);
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))
}

/// A line is a case, a tab and the body of a webhook call.
const REVIEWS: &str = "reviews.tsv";
