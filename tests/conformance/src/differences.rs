//! The known differences: a table in `apiserver/server/DIFFERENCES.md`, which is also part of the crate's docs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// The known differences, each with its reason.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Known {
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    cases: String,
    place: String,
    reason: String,
}

impl Known {
    /// Reads the table.
    ///
    /// # Errors
    /// The file cannot be read, or a row is not `| cases | where | reason |`.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut rows = Vec::new();
        for line in text.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [cases, place, reason] = cells[..] else {
                anyhow::bail!("not a row of cases, place and reason: {line}");
            };
            ensure!(!reason.is_empty(), "a difference without a reason: {line}");
            let code = |cell: &str| cell.trim_matches('`').to_owned();
            rows.push(Row {
                cases: code(cases),
                place: code(place),
                reason: reason.to_owned(),
            });
        }
        Ok(Self { rows })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The numbers of the rows that know of a difference at this place of this case.
    pub fn matching(&self, case: &str, at: &str) -> Vec<usize> {
        let knows = |row: &Row| fits(&row.cases, case) && fits(&row.place, at);
        (0..self.rows.len())
            .filter(|row| knows(&self.rows[*row]))
            .collect()
    }

    /// The rows that no difference was seen for, by what they say: the list may only shrink. Rows about generated cases
    /// are not among them: these are other cases with every seed.
    pub fn unseen(&self, seen: &BTreeSet<usize>) -> Vec<String> {
        (0..self.rows.len())
            .filter(|row| !seen.contains(row) && !self.rows[*row].cases.starts_with("generate/"))
            .map(|row| {
                let Row {
                    cases,
                    place,
                    reason,
                } = &self.rows[row];
                format!("{cases} at {place}: {reason}")
            })
            .collect()
    }
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            rest.is_empty()
                || (0..=text.len())
                    .filter(|at| text.is_char_boundary(*at))
                    .any(|at| fits(rest, &text[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_knows_the_places_that_it_names_and_no_others() {
        let known = Known::parse(
            "| cases | where | reason |\n|---|---|---|\n| `rest/*` | `*/metadata/managedFields` | not yet |\n",
        );
        let known = known.expect("a table");
        let at = "/steps/0/body/metadata/managedFields";
        assert_eq!(known.matching("rest/get: a pod", at), [0]);
        assert!(known.matching("kinds/pods: a pod", at).is_empty());
        assert!(
            known
                .matching("rest/get: a pod", "/steps/0/body/metadata/uid")
                .is_empty()
        );
        assert_eq!(known.unseen(&BTreeSet::new()).len(), 1);
        assert_eq!(known.unseen(&BTreeSet::from([0])).len(), 0);
    }

    #[test]
    fn a_row_without_a_reason_is_refused() {
        assert!(Known::parse("| `a` | `b` |  |").is_err());
    }
}
