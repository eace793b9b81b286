//! `kubewright test-policy`: tests of policies, each on an embedded API server of its own.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kubewright_apiserver::KubernetesVersion;
use kubewright_check::policy_test::{self, Condition, PolicyTest, Verdict};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::ui::{Tone, Ui};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Files and directories with tests: PolicyTest, or kyverno-test.yaml
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,

    /// Run the tests on this version of Kubernetes
    #[arg(long, value_name = "VERSION", default_value_t)]
    kubernetes: KubernetesVersion,

    /// Also print the conditions of expressions that were never true, or never false
    #[arg(long)]
    coverage: bool,

    /// Print the results in this format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Format,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each test, and what is not as expected
    #[default]
    Text,
    /// JSON
    Json,
}

impl Arguments {
    /// Whether errors are printed as JSON.
    pub(crate) fn json(&self) -> bool {
        self.output == Format::Json
    }
}

pub(crate) fn run(ui: &Ui, arguments: &Arguments) -> Outcome {
    let mut tests = Vec::new();
    for path in &arguments.paths {
        let (found, unreadable) = policy_test::find(path);
        if let Some(unreadable) = unreadable.first() {
            let text = format!("cannot read {}: {}", unreadable.name, unreadable.why);
            return Err(Failure::new(text));
        }
        tests.extend(found);
    }
    if tests.is_empty() {
        let text = format!(
            "there are no tests: no PolicyTest of {}",
            policy_test::API_VERSION
        );
        return Err(Failure::new(text).hint("name a file or directory that has some"));
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let mut all = Tally::default();
    for file in &tests {
        runtime.block_on(run_file(ui, arguments, file, &mut all));
    }
    if arguments.json() {
        ui.json(&json!({ "passed": all.passed, "failed": all.failed, "tests": all.results, "coverage": coverage(&all.conditions) }));
    } else if arguments.coverage {
        print_uncovered(ui, &all.conditions);
    }
    let covered = all
        .conditions
        .iter()
        .filter(|condition| is_covered(condition))
        .count();
    let summary = format!(
        "{} passed, {} failed; {covered} of {} conditions were both true and false",
        all.passed,
        all.failed,
        all.conditions.len()
    );
    if all.failed > 0 {
        return Err(Failure::new(summary));
    }
    ui.note(summary);
    Ok(())
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    results: Vec<Value>,
    conditions: Vec<Condition>,
}

/// Whether a condition was true in one test and false in another.
fn is_covered(condition: &Condition) -> bool {
    condition.was_true && condition.was_false
}

/// Shows each condition that was never true, or never false, below its expression.
fn print_uncovered(ui: &Ui, conditions: &[Condition]) {
    for condition in conditions.iter().filter(|condition| !is_covered(condition)) {
        let never = match (condition.was_true, condition.was_false) {
            (false, false) => "was never evaluated",
            (false, true) => "was never true",
            _ => "was never false",
        };
        let (kind, policy, field) = (&condition.kind, &condition.policy, &condition.field);
        ui.line(ui.paint(Tone::Strong, &format!("{kind} {policy}: {field}")));
        let before: Vec<char> = condition
            .expression
            .chars()
            .take(condition.position)
            .collect();
        let line_start = before.iter().rposition(|character| *character == '\n');
        let column = before.len() - line_start.map_or(0, |newline| newline + 1);
        let line = before
            .iter()
            .filter(|character| **character == '\n')
            .count();
        let line = condition.expression.lines().nth(line).unwrap_or_default();
        ui.line(format!("  {line}"));
        ui.line(format!(
            "  {:column$}{} {never}",
            "",
            ui.paint(Tone::Bad, "^")
        ));
    }
}

fn coverage(conditions: &[Condition]) -> Value {
    let conditions = conditions.iter().map(|condition| {
        json!({
            "kind": condition.kind,
            "policy": condition.policy,
            "field": condition.field,
            "position": condition.position,
            "wasTrue": condition.was_true,
            "wasFalse": condition.was_false,
        })
    });
    conditions.collect()
}

async fn run_file(ui: &Ui, arguments: &Arguments, file: &PolicyTest, all: &mut Tally) {
    let path = file.path.display().to_string();
    let text = arguments.output == Format::Text;
    if text {
        ui.line(ui.paint(Tone::Strong, &path));
    }
    let report = match policy_test::run(file, arguments.kubernetes).await {
        Ok(report) => report,
        Err(why) => {
            all.failed += 1;
            all.results
                .push(json!({ "file": path, "result": "failed", "why": [why] }));
            if text {
                ui.line(format!("  {} {why}", ui.paint(Tone::Bad, "FAIL")));
            }
            return;
        }
    };
    all.conditions.extend(report.conditions);
    for outcome in report.outcomes {
        let (result, why) = match outcome.verdict {
            Verdict::Passed => ("passed", Vec::new()),
            Verdict::Failed(differences) => ("failed", differences),
            Verdict::NotRun(why) => ("failed", vec![format!("the test cannot be run: {why}")]),
        };
        let word = if result == "passed" {
            all.passed += 1;
            ui.paint(Tone::Good, "ok  ")
        } else {
            all.failed += 1;
            ui.paint(Tone::Bad, "FAIL")
        };
        if text {
            ui.line(format!("  {word} {}", outcome.name));
            for why in &why {
                ui.line(format!("       {why}"));
            }
        }
        all.results
            .push(json!({ "file": path, "test": outcome.name, "result": result, "why": why }));
    }
}
