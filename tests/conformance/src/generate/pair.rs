//! A real server and an embedded one, side by side.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::case::Case;
use crate::differences::Known;
use crate::embedded::Embedded;
use crate::generate::kinds::CLUSTER_WIDE;
use crate::generate::order::settled;
use crate::real::Real;
use crate::report::Report;
use crate::run::Session;

/// Two servers that run.
#[derive(Debug)]
pub(crate) struct Pair {
    real: (Real, Session),
    embedded: (Embedded, Session),
}

/// What came of cases on both servers, by their titles.
#[derive(Debug)]
pub(crate) struct Outcomes {
    pub(crate) real: BTreeMap<String, Value>,
    pub(crate) embedded: BTreeMap<String, Value>,
}

impl Outcomes {
    /// The comparison in which the order of faults does not count.
    pub(crate) fn settled_report(&self, cases: &[Case], known: &Known) -> Report {
        let settled = |outcomes: &BTreeMap<String, Value>| -> BTreeMap<String, Value> {
            let settle = |(title, outcome): (&String, &Value)| (title.clone(), settled(outcome));
            outcomes.iter().map(settle).collect()
        };
        Report::new(cases, &settled(&self.real), &settled(&self.embedded), known)
    }

    /// The comparison in which it does.
    pub(crate) fn report(&self, cases: &[Case], known: &Known) -> Report {
        Report::new(cases, &self.real, &self.embedded, known)
    }
}

impl Pair {
    pub(crate) async fn start() -> Result<Self> {
        let real = Real::start(&[]).await?;
        let of_real = Session::start(real.server()).await?;
        let embedded = Embedded::start(&[]).await?;
        let of_embedded = Session::start(embedded.server()).await?;
        Ok(Self {
            real: (real, of_real),
            embedded: (embedded, of_embedded),
        })
    }

    /// Runs cases on both servers and compares what came of them, whatever the order in which faults are told.
    pub(crate) async fn compare(&self, cases: &[Case], known: &Known) -> Result<Report> {
        Ok(self.run(cases).await?.settled_report(cases, known))
    }

    /// Runs cases on both servers at the same time.
    pub(crate) async fn run(&self, cases: &[Case]) -> Result<Outcomes> {
        let (real, embedded) = tokio::join!(
            self.real.1.run(cases, |_| ()),
            self.embedded.1.run(cases, |_| ())
        );
        let mut real = real.context("run the cases on the real server")?;
        let embedded = embedded.context("run the cases on the embedded server")?;
        // A server that has too much to do for a moment is asked once more.
        let late = |case: &&Case| {
            real.outcomes
                .get(&case.title())
                .is_none_or(|found| found.get("cannot").is_some())
        };
        let late: Vec<Case> = cases.iter().filter(late).cloned().collect();
        if !late.is_empty() {
            real.outcomes.extend(self.real(&late).await?);
        }
        self.real.1.delete_services().await?;
        self.embedded.1.delete_services().await?;
        if cases.iter().any(|case| case.alone) {
            for (path, _) in CLUSTER_WIDE {
                self.real.1.delete(path).await?;
                self.embedded.1.delete(path).await?;
            }
        }
        Ok(Outcomes {
            real: real.outcomes,
            embedded: embedded.outcomes,
        })
    }

    /// What comes of cases on the real server.
    pub(crate) async fn real(&self, cases: &[Case]) -> Result<BTreeMap<String, Value>> {
        let run = self.real.1.run(cases, |_| ()).await;
        let run = run.context("run the cases on the real server again")?;
        Ok(run.outcomes)
    }

    pub(crate) async fn stop(self) {
        self.embedded.0.stop().await;
    }
}
