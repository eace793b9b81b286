//! The cases that found something: `seeds.tsv`, a line each of seed, number, family, what it found, and `varies` where the real
//! server has several answers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use super::{Family, Plan};

impl Plan {
    /// The cases of a file of seeds, family by family.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not seed, number, family, what it found and at most `varies`.
    pub fn kept(path: &Path, shrinks: usize) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let (mut cases, mut varying) = (Vec::new(), BTreeSet::new());
        for line in lines {
            let (case, varies) = read(line).with_context(|| format!("read the line {line:?}"))?;
            cases.push(case);
            if varies {
                varying.insert(case);
            }
        }
        cases.sort_unstable();
        cases.dedup();
        Ok(Self {
            cases,
            varying,
            shrinks,
        })
    }
}

/// A case, and whether it varies.
fn read(line: &str) -> Result<((Family, u64, u64), bool)> {
    let mut cells = line.split('\t');
    let mut cell = |what: &str| cells.next().with_context(|| format!("no {what}"));
    let seed = cell("seed")?.parse()?;
    let index = cell("number")?.parse()?;
    let family = Family::from_str(cell("family")?, false).map_err(anyhow::Error::msg)?;
    cell("word of what it found")?;
    let varies = match cells.next() {
        None => false,
        Some("varies") => true,
        Some(other) => bail!("{other:?} where only \"varies\" can be"),
    };
    Ok(((family, seed, index), varies))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Generated;

    #[test]
    fn every_kept_seed_makes_a_case() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds.tsv");
        let plan = Plan::kept(&path, 0).expect("a file of seeds");
        assert!(!plan.cases.is_empty(), "no seed is kept");
        for (family, seed, index) in plan.cases {
            let case = Generated::new(family, seed, index).case();
            assert!(
                case.is_ok(),
                "{:#}",
                case.expect_err("a case that is not written as cases are")
            );
        }
    }

    #[test]
    fn a_line_says_whether_its_case_varies() {
        let varies = |line| read(line).map(|(_, varies)| varies);
        assert!(!varies("1\t2\tkinds\tan empty list").expect("a line of four cells"));
        assert!(varies("1\t2\tkinds\tan empty list\tvaries").expect("a line of five cells"));
        let error = varies("1\t2\tkinds\tan empty list\toften").expect_err("another word");
        assert!(error.to_string().contains("\"often\""), "{error}");
    }

    #[test]
    fn a_seed_makes_the_same_case_again_and_another_seed_another() {
        for family in Family::value_variants() {
            let case = |seed| Generated::new(*family, seed, 3).entry;
            assert_eq!(case(1), case(1));
            assert_ne!(case(1)["steps"], case(2)["steps"]);
        }
    }

    #[test]
    fn many_seeds_make_cases_that_are_written_as_cases_are() {
        for family in Family::value_variants() {
            for index in 0..200 {
                let case = Generated::new(*family, 9, index).case();
                assert!(
                    case.is_ok(),
                    "{:#}",
                    case.expect_err("a case that cannot be read")
                );
            }
        }
    }
}
