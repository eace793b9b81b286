//! `kubewright check`: manifests, checked as a cluster would check them.

mod changes;
mod program;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use kubewright_apiserver::{ApiServer, KubernetesVersion, Snapshot, import};
use kubewright_check::{Checker, Report, Role, Severity, Source, Unreadable, files, report};
use serde_json::Value;

use self::changes::Changes;
use crate::dev::diff::{self, Context};
use crate::failure::{Failure, Outcome};
use crate::ui::{Tone, Ui};

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(crate) struct Arguments {
    /// Files and directories with YAML or JSON manifests; `-` is standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Know the CustomResourceDefinitions in this file or directory
    #[arg(long = "crd", value_name = "PATH")]
    definitions: Vec<PathBuf>,

    /// Apply the admission policies and their bindings in this file or directory
    #[arg(long = "policy", value_name = "PATH")]
    policies: Vec<PathBuf>,

    /// Give policies the params in this file or directory
    #[arg(long = "param", value_name = "PATH")]
    params: Vec<PathBuf>,

    /// Put objects without a namespace into this one
    #[arg(long, short, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,

    /// Apply the objects as this user
    #[arg(long = "as", value_name = "USER")]
    user: Option<String>,

    /// Apply the objects as a member of this group; may be repeated
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    groups: Vec<String>,

    /// Check against this version of Kubernetes
    #[arg(long, value_name = "VERSION", default_value_t)]
    kubernetes: KubernetesVersion,

    /// Check against a cluster with the objects of this snapshot, or of what `kubectl get -A -o json` wrote: existing objects are
    /// updated
    #[arg(long, value_name = "FILE")]
    cluster_state: Option<PathBuf>,

    /// Call the webhooks of the Kubewright program in this directory
    #[arg(long, value_name = "FOLDER")]
    program: Option<PathBuf>,

    /// Skip objects whose kind has no definition
    #[arg(long)]
    ignore_missing_definitions: bool,

    /// Count what all objects and the pods of workloads take together of ResourceQuotas
    #[arg(long)]
    quota: bool,

    /// Also print what defaults, webhooks and policies change in each accepted object
    #[arg(long)]
    diff: bool,

    /// Check again whenever a file changes, until Ctrl-C
    #[arg(long, conflicts_with = "program")]
    watch: bool,

    /// Print the findings in this format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Format,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Human-readable diagnostics with excerpts
    #[default]
    Text,
    /// JSON
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands of GitHub Actions
    Github,
    /// JUnit XML
    Junit,
}

impl Arguments {
    /// Whether errors are printed as JSON.
    pub(crate) fn json(&self) -> bool {
        self.output == Format::Json
    }

    /// What the cluster has before.
    fn state(&self) -> Outcome<Option<Snapshot>> {
        let Some(file) = &self.cluster_state else {
            return Ok(None);
        };
        let describe = || format!("cannot read the cluster state in {}", file.display());
        let bytes = std::fs::read(file).with_context(describe)?;
        Ok(Some(import(&bytes).with_context(describe)?))
    }

    /// All files and directories that are read.
    fn given(&self) -> impl Iterator<Item = &PathBuf> {
        let lists = [&self.paths, &self.definitions, &self.policies, &self.params];
        lists.into_iter().flatten().chain(&self.cluster_state)
    }
}

pub(crate) fn run(ui: &Arc<Ui>, arguments: &Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        if arguments.watch {
            return watch(ui, arguments).await;
        }
        let report = check(ui, arguments).await?;
        print(ui, arguments, &report);
        match report.count(Severity::Error) {
            0 => Ok(()),
            _ => Err(Failure::new(report::summary(&report))),
        }
    })
}

/// Checks again and again.
async fn watch(ui: &Arc<Ui>, arguments: &Arguments) -> Outcome {
    if arguments.given().any(|path| path.as_os_str() == "-") {
        return Err(Failure::new("standard input cannot be watched")
            .hint("leave out --watch, or name files and directories"));
    }
    let mut changes = Changes::of(arguments.given())?;
    loop {
        let report = check(ui, arguments).await?;
        print(ui, arguments, &report);
        if report.count(Severity::Error) > 0 {
            ui.note(report::summary(&report));
        }
        changes.next().await;
    }
}

async fn check(ui: &Arc<Ui>, arguments: &Arguments) -> Outcome<Report> {
    let checker = checker(arguments)?;
    match &arguments.program {
        Some(folder) => {
            let mut builder = ApiServer::builder().emulated_version(arguments.kubernetes);
            if let Some(state) = arguments.state()? {
                builder = builder.snapshot(state);
            }
            program::check(ui, folder, builder, checker).await
        }
        None => Ok(checker.run().await?),
    }
}

fn checker(arguments: &Arguments) -> Outcome<Checker> {
    let mut checker = Checker::new()
        .kubernetes(arguments.kubernetes)
        .namespace(&arguments.namespace);
    if let Some(user) = &arguments.user {
        checker = checker.user(user, arguments.groups.clone());
    }
    if arguments.quota {
        checker = checker.quota();
    }
    if arguments.ignore_missing_definitions {
        checker = checker.ignore_missing_definitions();
    }
    if let Some(state) = arguments.state()? {
        checker = checker.cluster_state(state);
    }
    let context = [
        &arguments.definitions,
        &arguments.policies,
        &arguments.params,
    ];
    for path in context.into_iter().flatten() {
        checker = with(checker, path, Role::Cluster);
    }
    for path in &arguments.paths {
        checker = with(checker, path, Role::Manifests);
    }
    Ok(checker)
}

/// Prints, for each accepted object, the lines that the API server would add and remove.
fn print_changes(ui: &Ui, report: &Report) {
    for checked in &report.checked {
        let Some(stored) = checked.outcome.accepted() else {
            continue;
        };
        let lines = diff::lines(ui, &checked.manifest, &without_own(stored), Context::Around);
        if !lines.is_empty() {
            ui.line(ui.paint(
                Tone::Strong,
                &format!("{}: {}", checked.source, checked.object),
            ));
            for line in &lines {
                ui.line(line);
            }
            ui.line("");
        }
    }
}

/// An object without what each stored object has.
fn without_own(stored: &Value) -> Value {
    let mut stored = stored.clone();
    let Some(metadata) = stored.get_mut("metadata").and_then(Value::as_object_mut) else {
        return stored;
    };
    for field in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
        metadata.remove(field);
    }
    let annotations = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut);
    let is_empty = annotations.is_some_and(|annotations| {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        annotations.is_empty()
    });
    if is_empty {
        metadata.remove("annotations");
    }
    stored
}

fn with(mut checker: Checker, path: &Path, role: Role) -> Checker {
    if path.as_os_str() == "-" {
        return checker.source(Source::from_reader("<stdin>", io::stdin().lock()), role);
    }
    let (files, mut unreadable) = files(path);
    if files.is_empty() && unreadable.is_empty() {
        unreadable.push(Unreadable {
            name: path.display().to_string(),
            why: "it has no file that ends with .json, .yaml or .yml".to_owned(),
        });
    }
    for unreadable in unreadable {
        checker = checker.source(Err(unreadable), role);
    }
    for file in files {
        checker = checker.source(Source::read(&file), role);
    }
    checker
}

fn print(ui: &Ui, arguments: &Arguments, report: &Report) {
    if arguments.diff {
        print_changes(ui, report);
    }
    match arguments.output {
        Format::Text => {
            let text = report::text(report, ui.has_colour());
            if !text.is_empty() {
                ui.line(text.trim_end());
            }
            if report.count(Severity::Error) == 0 {
                ui.note(report::summary(report));
            }
        }
        Format::Json => ui.json(&report::json(report)),
        Format::Sarif => ui.json(&report::sarif(report)),
        Format::Github => ui.line(report::github(report).trim_end()),
        Format::Junit => ui.line(report::junit(report).trim_end()),
    }
}
