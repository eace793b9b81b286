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
    pub broken: Vec<(String, String)>,
    /// The rows of the known differences that were seen.
    pub seen: BTreeSet<usize>,
    /// Cases with an unknown difference that was gone when both servers were asked again.
    pub not_repeated: Vec<String>,
}

/// One case in so many may show a difference that is gone when it is asked again: a real server is eventually consistent.
const REPEATED: usize = 500;

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
                let why = "no recording: run `just record`";
                report.broken.push((title, why.to_owned()));
                continue;
            };
            if let Some(why) = real.get("cannot") {
                report
                    .broken
                    .push((title, format!("on the real server: {why}")));
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

    /// The titles of the cases that are worth a second question: those with unknown differences and those that could not be
    /// compared.
    pub fn doubtful(&self) -> BTreeSet<String> {
        self.unknown
            .iter()
            .map(|(title, _)| title.clone())
            .chain(self.broken.iter().map(|(title, _)| title.clone()))
            .collect()
    }

    /// Notes which doubtful cases of an earlier report are not doubtful in this one.
    pub fn after(mut self, earlier: &Self) -> Self {
        let still = self.doubtful();
        self.not_repeated = earlier.doubtful().difference(&still).cloned().collect();
        self
    }

    /// Whether nothing but known differences was seen, twice where one was doubtful.
    pub fn holds(&self) -> bool {
        self.unknown.is_empty()
            && self.broken.is_empty()
            && self.cases > 0
            && self.not_repeated.len() <= 1.max(self.cases / REPEATED)
    }
}

/// Whether a server does not serve the kind that a case is about.
pub fn is_of_newer(outcome: &Value) -> bool {
    let why = outcome["cannot"].as_str().unwrap_or_default();
    let no_policies = why.starts_with("create the MutatingAdmissionPolicy ");
    why.starts_with("the server knows no ") || no_policies && why.contains("\"code\":404")
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, differences) in &self.unknown {
            writeln!(f, "{title}")?;
            for difference in differences {
                for line in difference.to_string().lines() {
                    writeln!(f, "  {line}")?;
                }
            }
        }
        for (title, why) in &self.broken {
            writeln!(f, "cannot compare {title}: {why}")?;
        }
        for title in &self.not_repeated {
            writeln!(f, "not repeated when asked again: {title}")?;
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::case;

    fn report(embedded: &Value) -> Report {
        let cases = "about: x\ncases:\n- {name: a, steps: [{send: GET /}]}\n- {name: b, steps: [{send: GET /}]}";
        let cases = case::read("f", cases).expect("cases");
        let real = BTreeMap::from([("f: a".into(), json!(1)), ("f: b".into(), json!(1))]);
        let embedded =
            BTreeMap::from([("f: a".into(), json!(1)), ("f: b".into(), embedded.clone())]);
        Report::new(&cases, &real, &embedded, &Known::default())
    }

    #[test]
    fn one_difference_may_be_gone_when_it_is_asked_again() {
        let first = report(&json!(2));
        assert_eq!(first.doubtful(), BTreeSet::from(["f: b".to_owned()]));
        let second = report(&json!(1)).after(&first);
        assert!(second.holds());
        assert!(
            second
                .to_string()
                .contains("not repeated when asked again: f: b")
        );
    }

    #[test]
    fn a_difference_that_is_still_there_counts() {
        let first = report(&json!(2));
        let second = report(&json!(2)).after(&first);
        assert!(!second.holds());
        assert_eq!(second.not_repeated, [""; 0]);
    }

    #[test]
    fn many_differences_that_come_and_go_do_not_hold() {
        let mut report = report(&json!(1));
        report.not_repeated = vec!["f: a".into(), "f: b".into()];
        assert!(!report.holds());
    }
}
