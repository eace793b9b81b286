//! A real server and an embedded one, side by side.

use anyhow::{Context, Result};

use crate::case::Case;
use crate::differences::Known;
use crate::embedded::Embedded;
use crate::real::Real;
use crate::report::Report;
use crate::run::Session;

/// Two servers that run.
#[derive(Debug)]
pub(crate) struct Pair {
    real: (Real, Session),
    embedded: (Embedded, Session),
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

    /// Runs cases on both servers at the same time.
    pub(crate) async fn compare(&self, cases: &[Case], known: &Known) -> Result<Report> {
        let (real, embedded) = tokio::join!(
            self.real.1.run(cases, |_| ()),
            self.embedded.1.run(cases, |_| ())
        );
        let real = real.context("run the cases on the real server")?;
        let embedded = embedded.context("run the cases on the embedded server")?;
        Ok(Report::new(
            cases,
            &real.outcomes,
            &embedded.outcomes,
            known,
        ))
    }

    pub(crate) async fn stop(self) {
        self.embedded.0.stop().await;
    }
}
