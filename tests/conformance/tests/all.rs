//! The embedded server, held to what was recorded of the real one; and the suite itself, held to its rules.

mod reviews;

use std::path::{Path, PathBuf};

use conformance::case::{self, Case};
use conformance::differences::Known;
use conformance::embedded::Embedded;
use conformance::report::Report;
use conformance::{mutants, recording};

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_server_answers_as_was_recorded_of_the_real_one() {
    let cases = cases();
    let recorded = recording::read(&folder("recordings"), &cases).expect("recordings");
    let embedded = Embedded::run_all(&cases).await.expect("outcomes").outcomes;

    let known = Known::read(&folder("../../apiserver/server/DIFFERENCES.md")).expect("a table");
    let report = Report::new(&cases, &recorded, &embedded, &known);
    assert!(report.holds(), "{report}");
    let gone = known.unseen(&report.seen);
    assert!(
        gone.is_empty(),
        "no longer differences, take them off the list: {gone:#?}"
    );
}

#[test]
fn every_deliberate_break_still_names_a_text_of_the_source() {
    let mutants = mutants::read(&folder("mutants.yaml")).expect("a list");
    assert!(mutants.len() >= 20, "{} breaks are too few", mutants.len());
    for mutant in mutants {
        let applied = mutant.applied(&folder("../.."));
        assert!(
            applied.is_ok(),
            "{:#}",
            applied.expect_err("a mutant that does not apply")
        );
    }
}

fn cases() -> Vec<Case> {
    case::read_all(&folder("cases")).expect("cases")
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}
