//! What a run showed: how many cases are equal, what is known to differ, and what is not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

use serde_json::Value;

use crate::case::Case;
use crate::compare::{Difference, compare};
use crate::differences::Known;

/// The comparison of two runs of the same cases.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// How many cases were compared.
    pub cases: usize,
    /// How many of them had equal outcomes.
    pub equal: usize,
    /// How many differed in known ways only.
    pub known: usize,
    /// The differences that are not on the list of known ones, by case.
    pub unknown: Vec<(String, Vec<Difference>)>,
    /// Cases that could not be compared, and why.
    pub broken: Vec<String>,
    /// The rows of the known differences that were seen.
    pub seen: BTreeSet<usize>,
}

impl Report {
    /// Compares outcomes of the real server with those of the embedded one.
    pub fn new(
        cases: &[Case],
        real: &BTreeMap<String, Value>,
        embedded: &BTreeMap<String, Value>,
        known: &Known,
    ) -> Self {
        let mut report = Self::default();
        for case in cases {
            let title = case.title();
            let (Some(real), Some(embedded)) = (real.get(&title), embedded.get(&title)) else {
                report
                    .broken
                    .push(format!("{title}: no recording: run `just record`"));
                continue;
            };
            if let Some(why) = real.get("cannot") {
                report
                    .broken
                    .push(format!("{title}: on the real server: {why}"));
                continue;
            }
            report.cases += 1;
            let differences = compare(real, embedded);
            let mut unknown = Vec::new();
            for difference in &differences {
                let rows = known.matching(&title, &difference.at);
                if rows.is_empty() {
                    unknown.push(difference.clone());
                }
                report.seen.extend(rows);
            }
            if differences.is_empty() {
                report.equal += 1;
            } else if unknown.is_empty() {
                report.known += 1;
            } else {
                report.unknown.push((title, unknown));
            }
        }
        report
    }

    /// Whether nothing but known differences was seen.
    pub fn holds(&self) -> bool {
        self.unknown.is_empty() && self.broken.is_empty() && self.cases > 0
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, differences) in &self.unknown {
            writeln!(f, "{title}")?;
            for Difference {
                at, real, embedded, ..
            } in differences
            {
                writeln!(f, "  {at}")?;
                writeln!(f, "    real      {}", shown(real.as_ref()))?;
                writeln!(f, "    embedded  {}", shown(embedded.as_ref()))?;
            }
        }
        for broken in &self.broken {
            writeln!(f, "cannot compare {broken}")?;
        }
        writeln!(
            f,
            "{} cases: {} equal, {} with known differences only, {} with unknown differences, {} not compared",
            self.cases,
            self.equal,
            self.known,
            self.unknown.len(),
            self.broken.len(),
        )
    }
}

/// A side of a difference, as JSON.
pub(crate) fn shown(value: Option<&Value>) -> String {
    match value {
        None => "(nothing)".to_owned(),
        Some(value) => value.to_string(),
    }
}
