//! The cases that found something: `seeds.tsv`, a line each of seed, number, family and what it found.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::{Family, Plan};

impl Plan {
    /// The cases of a file of seeds, family by family.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not `seed`, number, family and what it found.
    pub fn kept(path: &Path, shrinks: usize) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut cases = lines
            .map(|line| read(line).with_context(|| format!("read the line {line:?}")))
            .collect::<Result<Vec<_>>>()?;
        cases.sort_unstable();
        cases.dedup();
        Ok(Self { cases, shrinks })
    }
}

fn read(line: &str) -> Result<(Family, u64, u64)> {
    let mut cells = line.split('\t');
    let mut cell = |what: &str| cells.next().with_context(|| format!("no {what}"));
    let seed = cell("seed")?.parse()?;
    let index = cell("number")?.parse()?;
    let family = Family::from_str(cell("family")?, false).map_err(anyhow::Error::msg)?;
    cell("word of what it found")?;
    Ok((family, seed, index))
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
