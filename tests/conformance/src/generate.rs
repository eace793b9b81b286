//! Random but meaningful cases, and the differences between the two servers that they show.
//!
//! A case depends on its family, a seed and its number alone, so that each can be repeated.

mod finding;
mod generated;
mod kept;
pub(crate) mod kinds;
mod order;
mod pair;
mod policies;
pub(crate) mod random;
mod reads;
mod schemas;
mod sequences;
mod shrink;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

use anyhow::Result;
use kubewright_apiserver::KubernetesVersion;
use serde_json::Value;
use tokio::time::Instant;

use crate::case::Case;
use crate::differences::Known;
use crate::generate::finding::{Finding, SHOWN, Signature};
pub use crate::generate::generated::Family;
use crate::generate::generated::Generated;
use crate::generate::pair::{Outcomes, Pair};
use crate::report::is_of_newer;

/// Which cases to make.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The families, seeds and numbers of the cases.
    pub cases: Vec<(Family, u64, u64)>,
    /// Those of them to which the real server has several answers: what a Go map has first.
    pub varying: BTreeSet<(Family, u64, u64)>,
    /// How many differences are shrunk.
    pub shrinks: usize,
}

impl Plan {
    /// The first cases of each of some families.
    pub fn new(families: &[Family], seed: u64, count: u64, shrinks: usize) -> Self {
        let of_family = |family: &Family| {
            let family = *family;
            (0..count).map(move |index| (family, seed, index))
        };
        let cases = families.iter().flat_map(of_family).collect();
        Self {
            cases,
            varying: BTreeSet::new(),
            shrinks,
        }
    }

    /// Only the cases of this number.
    #[must_use]
    pub fn only(mut self, index: u64) -> Self {
        self.cases.retain(|(_, _, found)| *found == index);
        self
    }
}

/// What became of the cases of one family.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    cases: usize,
    varying: usize,
    requests: usize,
    equal: usize,
    known: usize,
    differ: usize,
    found: usize,
    order: usize,
    once: usize,
    broken: usize,
    newer: usize,
    crashes: usize,
    seconds: f64,
}

/// What became of all cases.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Table {
    rows: BTreeMap<Family, Row>,
}

impl Table {
    /// Whether every case was compared and no unknown difference was found. Of five hundred cases one may have differed
    /// once and not again, on a machine that has too much to do, and each of those that vary.
    pub fn holds(&self) -> bool {
        self.rows.values().all(|row| {
            row.found == 0
                && row.broken == 0
                && row.cases > 0
                && row.once <= row.cases.div_ceil(500) + row.varying
        })
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "family     cases  requests  equal  known  differ  differences  other order  not repeated  not compared  newer  crashes  seconds"
        )?;
        for (family, row) in &self.rows {
            writeln!(
                f,
                "{:<9}{:>7}{:>10}{:>7}{:>7}{:>8}{:>13}{:>13}{:>14}{:>14}{:>7}{:>9}{:>9.0}",
                family.name(),
                row.cases,
                row.requests,
                row.equal,
                row.known,
                row.differ,
                row.found,
                row.order,
                row.once,
                row.broken,
                row.newer,
                row.crashes,
                row.seconds,
            )?;
        }
        Ok(())
    }
}

/// Makes the cases, runs them on both servers, and tells each new difference as the smallest case that shows it.
///
/// # Errors
/// A server does not start, or a generated case is not written as cases are.
pub async fn generate(
    plan: &Plan,
    version: KubernetesVersion,
    known: &Known,
    say: impl Fn(&str),
) -> Result<Table> {
    let mut table = Table::default();
    let mut seen: BTreeMap<Signature, usize> = BTreeMap::new();
    let mut small = BTreeSet::new();
    let mut shrinks = plan.shrinks;
    // Servers are started anew once they have run their fill; small families share them.
    let mut running: Option<Pair> = None;
    let mut filled = 0.0;
    for cases in plan.cases.chunk_by(|one, other| one.0 == other.0) {
        let family = cases[0].0;
        for cases in cases.chunks(family.of_one_pair()) {
            let begun = Instant::now();
            filled += ratio(cases.len(), family.of_one_pair());
            if filled > 1.0
                && let Some(pair) = running.take()
            {
                pair.stop().await;
                filled = ratio(cases.len(), family.of_one_pair());
            }
            let pair = match running.take() {
                Some(pair) => pair,
                None => Pair::start(version).await?,
            };
            for batch in cases.chunks(family.batch()) {
                let generated: Vec<Generated> = batch
                    .iter()
                    .map(|(family, seed, index)| Generated::new(*family, *seed, *index))
                    .collect();
                let findings = run(&pair, known, &generated, &mut table, &say).await?;
                for mut finding in findings {
                    let times = seen.entry(finding.signature.clone()).or_default();
                    *times += 1;
                    if *times > 1 {
                        continue;
                    }
                    if shrinks > 0 {
                        shrinks -= 1;
                        finding.shrink(&pair, known).await?;
                        // Two cases may come down to the same one.
                        if !small.insert(finding.signature.clone()) {
                            continue;
                        }
                    }
                    table.rows.entry(family).or_default().found += 1;
                    say(&finding.to_string());
                }
                let row = table.rows.entry(family).or_default();
                let varying = |case: &&_| plan.varying.contains(*case);
                row.varying += batch.iter().filter(varying).count();
                say(&format!(
                    "{}: {} cases, {} requests: {} equal, {} differ, {} differences",
                    family.name(),
                    row.cases,
                    row.requests,
                    row.equal,
                    row.differ,
                    row.found
                ));
            }
            running = Some(pair);
            let row = table.rows.entry(family).or_default();
            row.seconds += begun.elapsed().as_secs_f64();
        }
    }
    if let Some(pair) = running {
        pair.stop().await;
    }
    for (signature, times) in &seen {
        say(&format!("{times} cases: {signature}"));
    }
    Ok(table)
}

/// Whether a real server panicked at a request, and reset its stream: there is no answer to compare.
fn is_crash(why: &str) -> bool {
    why.contains("stream error received: unexpected internal error encountered")
}

fn ratio(part: usize, whole: usize) -> f64 {
    let number = |count| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    number(part) / number(whole)
}

/// How often a real server is asked again whether it answers as the embedded one at times: it may tell what a Go map has first.
const ROUNDS: usize = 48;

/// Runs some cases, and those that differ once more.
async fn run(
    pair: &Pair,
    known: &Known,
    generated: &[Generated],
    table: &mut Table,
    say: &impl Fn(&str),
) -> Result<Vec<Finding>> {
    let Some(family) = generated.first().map(|first| first.family) else {
        return Ok(Vec::new());
    };
    let cases: Vec<Case> = generated
        .iter()
        .map(Generated::case)
        .collect::<Result<_>>()?;
    let outcomes = pair.run(&cases).await?;
    // An older version does not serve all that cases are about.
    let all = cases.len();
    let is_served = |(case, _): &(Case, &Generated)| {
        let real = outcomes.real.get(&case.title());
        !real.is_some_and(is_of_newer)
    };
    let served = cases.into_iter().zip(generated).filter(is_served);
    let (cases, generated): (Vec<Case>, Vec<&Generated>) = served.unzip();
    let mut report = outcomes.settled_report(&cases, known);
    let not_compared = report.broken.len();
    report.broken.retain(|(_, why)| !is_crash(why));
    for (title, why) in &report.broken {
        let is_it = |(case, _): &(&Case, &&Generated)| case.title() == *title;
        let generated = cases.iter().zip(&generated).find(is_it);
        let text = generated.map(|(_, generated)| generated.to_string());
        say(&format!(
            "cannot compare {title}: {why}\n{}",
            text.unwrap_or_default()
        ));
    }
    let row = table.rows.entry(family).or_default();
    row.newer += all - cases.len();
    row.cases += cases.len();
    row.requests += cases.iter().map(|case| case.steps.len()).sum::<usize>();
    row.equal += report.equal;
    row.known += report.known;
    row.broken += report.broken.len();
    row.crashes += not_compared - report.broken.len();
    let of_titles = |titles: &BTreeSet<&String>| -> Vec<Case> {
        let chosen = cases.iter().filter(|case| titles.contains(&case.title()));
        chosen.cloned().collect()
    };
    let titles: BTreeSet<&String> = report.unknown.iter().map(|(title, _)| title).collect();
    let again = of_titles(&titles);
    let outcomes_again = pair.run(&again).await?;
    let mut again = outcomes_again.settled_report(&again, known).unknown;
    let differing = again.iter().map(|(title, _)| title).collect();
    let mut differing = of_titles(&differing);
    differing.retain(|case| outcomes_again.differ_in_steps_alone(&case.title()));
    let certain = in_every_order(pair, &differing, &outcomes_again).await?;
    let asked: BTreeSet<String> = differing.iter().map(Case::title).collect();
    again.retain(|(title, _)| certain.contains(title) || !asked.contains(title));
    let mut findings = Vec::new();
    for (case, generated) in cases.iter().zip(&generated) {
        let title = case.title();
        if !titles.contains(&title) {
            continue;
        }
        if let Some((_, differences)) = again.iter().find(|(found, _)| *found == title) {
            row.differ += 1;
            findings.extend(Finding::of(generated, differences));
        } else {
            row.once += 1;
            say(&format!("not repeated: {title}"));
            let found = report.unknown.iter().filter(|(found, _)| *found == title);
            let differences = found.flat_map(|(_, differences)| differences);
            for difference in differences.take(SHOWN) {
                say(&difference.to_string());
            }
        }
    }
    // Only the order differs: that is a difference where the real server always tells the same one.
    let by_order = outcomes.report(&cases, known).unknown;
    let by_order: BTreeSet<&String> = by_order.iter().map(|(title, _)| title).collect();
    let mut by_order: BTreeSet<&String> = by_order.difference(&titles).copied().collect();
    row.order += by_order.len();
    by_order.retain(|title| {
        let mut cases = cases.iter();
        cases.any(|case| case.title() == **title && !order::is_of_maps(case))
    });
    for title in of_constant_order(pair, &of_titles(&by_order), &outcomes).await? {
        let found = cases
            .iter()
            .zip(&generated)
            .find(|(case, _)| case.title() == title);
        let Some((case, generated)) = found else {
            continue;
        };
        let report = outcomes.report(std::slice::from_ref(case), known);
        row.differ += 1;
        row.order -= 1;
        for (_, differences) in report.unknown {
            findings.extend(Finding::of(generated, &differences));
        }
    }
    Ok(findings)
}

/// The cases in which the embedded server tells an order that the real one does not, and the real one has but one.
async fn of_constant_order(
    pair: &Pair,
    cases: &[Case],
    outcomes: &Outcomes,
) -> Result<BTreeSet<String>> {
    let differing = |title: &str| {
        let (real, embedded) = (&outcomes.real[title], &outcomes.embedded[title]);
        order::differing_steps(real, embedded)
    };
    let stays = |title: &str, step: usize, again: &Value| {
        !order::differing_steps(&outcomes.real[title], again).contains(&step)
    };
    that_stay(pair, cases, differing, stays).await
}

/// The cases in which the real server never answers as the embedded one, in whichever order a Go map has its policies, fields or keys.
async fn in_every_order(
    pair: &Pair,
    cases: &[Case],
    outcomes: &Outcomes,
) -> Result<BTreeSet<String>> {
    let differs = |title: &str, real: &Value| {
        let (real, embedded) = (
            order::settled(real),
            order::settled(&outcomes.embedded[title]),
        );
        order::differing_steps(&real, &embedded)
    };
    let differing = |title: &str| differs(title, &outcomes.real[title]);
    let stays = |title: &str, step: usize, again: &Value| differs(title, again).contains(&step);
    that_stay(pair, cases, differing, stays).await
}

/// The cases of whose steps that differ at least one stays, whatever the real server answers when it is asked again and again.
async fn that_stay(
    pair: &Pair,
    cases: &[Case],
    differing: impl Fn(&str) -> Vec<usize>,
    stays: impl Fn(&str, usize, &Value) -> bool,
) -> Result<BTreeSet<String>> {
    let mut waiting: Vec<(Case, Vec<usize>)> = cases
        .iter()
        .map(|case| (case.clone(), differing(&case.title())))
        .collect();
    for _ in 0..ROUNDS {
        let cases: Vec<Case> = waiting.iter().map(|(case, _)| case.clone()).collect();
        if cases.is_empty() {
            break;
        }
        let again = pair.real(&cases).await?;
        for (case, steps) in &mut waiting {
            let title = case.title();
            steps.retain(|step| stays(&title, *step, &again[&title]));
        }
        waiting.retain(|(_, steps)| !steps.is_empty());
    }
    Ok(waiting.into_iter().map(|(case, _)| case.title()).collect())
}
