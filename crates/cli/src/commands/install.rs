//! `kubewright install`, `uninstall`, `deploy` and `undeploy`: a program's objects, in the cluster of the current context.

mod prune;
mod rollout;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use crate::current::{Became, Cluster, ClusterFlags, DEFINITION, called, told};
use crate::dev::program::Program;
use crate::dev::wait;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::ui::Ui;

/// A program, and the cluster that it goes to.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The folder of the program's package
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    #[command(flatten)]
    cluster: ClusterFlags,

    /// How the result is printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,

    /// Options of the program itself, behind `--`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    source: Source,

    /// Takes fields over from others who keep them
    #[arg(long)]
    force_conflicts: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    source: Source,

    /// Deletes definitions of which there are objects: the objects go with them
    #[arg(long)]
    with_objects: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Deploy {
    #[command(flatten)]
    install: Install,

    #[command(flatten)]
    place: PlaceFlags,

    /// Waits until the program runs, and has it called only then
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    wait: bool,

    /// How long it waits, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    timeout: Duration,

    /// Deletes what an earlier deployment of the program had and this one has no more
    #[arg(long)]
    prune: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Undeploy {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    place: PlaceFlags,

    /// Deletes the namespace, too, with everything in it
    #[arg(long)]
    with_namespace: bool,
}

/// What the place of a deployment says otherwise than the code.
#[derive(Debug, Args)]
struct PlaceFlags {
    /// The namespace of the program, instead of the one that its code names
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,

    /// The image to run, instead of the one that the code names
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
}

impl PlaceFlags {
    /// As options of the program.
    fn options(&self) -> Vec<String> {
        let flag = |name: &str, value: &Option<String>| {
            let value = value.clone()?;
            Some([format!("--{name}"), value])
        };
        let flags = [
            // Their long names: a program may have options that are called like the short ones.
            flag("install-namespace", &self.namespace),
            flag("install-image", &self.image),
        ];
        flags.into_iter().flatten().flatten().collect()
    }
}

impl Install {
    pub(crate) fn json(&self) -> bool {
        self.source.output == Output::Json
    }
}

impl Uninstall {
    pub(crate) fn json(&self) -> bool {
        self.source.output == Output::Json
    }
}

impl Deploy {
    pub(crate) fn json(&self) -> bool {
        self.install.json()
    }
}

impl Undeploy {
    pub(crate) fn json(&self) -> bool {
        self.source.output == Output::Json
    }
}

impl Source {
    async fn build(&self, ui: &Ui) -> Outcome<Program> {
        let step = ui.step(&format!("building {}", self.folder.display()));
        let program = Program::build(&self.folder).await?;
        step.done(&format!("built {}", program.name()));
        Ok(program)
    }

    async fn definitions(&self, ui: &Ui) -> Outcome<Vec<Value>> {
        let program = self.build(ui).await?;
        let crds = program.crds(&self.options).await?;
        if crds.is_empty() {
            ui.note(format!("{} defines no custom resources", program.name()));
        }
        Ok(crds)
    }

    async fn everything(&self, ui: &Ui, place: &PlaceFlags) -> Outcome<Vec<Value>> {
        let program = self.build(ui).await?;
        program.installer(&place.options(), &self.options).await
    }
}

pub(crate) fn install(ui: &Ui, arguments: &Install) -> Outcome {
    let source = &arguments.source;
    run(async {
        let objects = source.definitions(ui).await?;
        let cluster = source.cluster.connect(ui).await?;
        apply(
            ui,
            &cluster,
            &objects,
            arguments.force_conflicts,
            source.output,
        )
        .await
    })
}

pub(crate) fn deploy(ui: &Ui, arguments: &Deploy) -> Outcome {
    let Install {
        source,
        force_conflicts,
    } = &arguments.install;
    run(async {
        let objects = source.everything(ui, &arguments.place).await?;
        let cluster = source.cluster.connect(ui).await?;
        let mut changes = Changes::new(ui, &cluster, source.output);
        // Whoever has a program called before it answers has everything refused meanwhile.
        let (last, first): (Vec<&Value>, Vec<&Value>) = objects
            .iter()
            .partition(|object| arguments.wait && calls(object));
        for object in first {
            changes.apply(object, *force_conflicts).await?;
        }
        if arguments.wait {
            let deployments = objects
                .iter()
                .filter(|object| object["kind"] == "Deployment");
            for deployment in deployments {
                let waited = rollout::wait(ui, &cluster, deployment, arguments.timeout).await;
                waited.map_err(|failure| {
                    if last.is_empty() {
                        return failure;
                    }
                    let hint =
                        "mend it and deploy again: the webhook configurations were not applied";
                    failure.hint(hint)
                })?;
            }
        }
        for object in last {
            changes.apply(object, *force_conflicts).await?;
        }
        if arguments.prune {
            for object in prune::superfluous(ui, &cluster, &objects).await? {
                changes.delete(&object).await?;
            }
        }
        changes.end();
        Ok(())
    })
}

pub(crate) fn uninstall(ui: &Ui, arguments: &Uninstall) -> Outcome {
    let source = &arguments.source;
    run(async {
        let objects = source.definitions(ui).await?;
        let cluster = source.cluster.connect(ui).await?;
        for definition in objects.iter().filter(|_| !arguments.with_objects) {
            let count = cluster.count(definition).await?;
            if count > 0 {
                let name = called(definition);
                return Err(Failure::new(format!(
                    "there are {count} objects of the {name}, which would go with it; nothing was deleted"
                ))
                .hint("pass --with-objects if they are to go"));
            }
        }
        delete(ui, &cluster, objects.iter().rev().collect(), source.output).await
    })
}

pub(crate) fn undeploy(ui: &Ui, arguments: &Undeploy) -> Outcome {
    let source = &arguments.source;
    run(async {
        let objects = source.everything(ui, &arguments.place).await?;
        let cluster = source.cluster.connect(ui).await?;
        // The reverse of the order of applying: nobody is called any more before nobody answers, and what the program has made
        // for itself goes with its service account, after it.
        let (first, rest): (Vec<&Value>, Vec<&Value>) = objects
            .iter()
            .rev()
            .filter(|object| object["kind"] != DEFINITION)
            .filter(|object| object["kind"] != "Namespace" || arguments.with_namespace)
            .partition(|object| calls(object));
        let all = first.into_iter().chain(rest).collect();
        delete(ui, &cluster, all, source.output).await?;
        if objects.iter().any(|object| object["kind"] == DEFINITION) {
            ui.note("the definitions of custom resources stay, with their objects; `kubewright uninstall` deletes them");
        }
        if !arguments.with_namespace {
            ui.note("the namespace stays; --with-namespace deletes it with everything in it");
        }
        Ok(())
    })
}

/// Whether an object has API servers call the program.
fn calls(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    kind.ends_with("WebhookConfiguration")
}

fn run(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Runtime::new();
    let runtime = runtime
        .context("cannot start the runtime")
        .map_err(Failure::internal)?;
    runtime.block_on(work)
}

async fn apply(
    ui: &Ui,
    cluster: &Cluster,
    objects: &[Value],
    force: bool,
    output: Output,
) -> Outcome {
    let mut changes = Changes::new(ui, cluster, output);
    for object in objects {
        changes.apply(object, force).await?;
    }
    changes.end();
    Ok(())
}

async fn delete(ui: &Ui, cluster: &Cluster, objects: Vec<&Value>, output: Output) -> Outcome {
    let mut changes = Changes::new(ui, cluster, output);
    for object in objects {
        changes.delete(object).await?;
    }
    changes.end();
    Ok(())
}

/// What is done to a cluster, as it is told.
struct Changes<'a> {
    ui: &'a Ui,
    cluster: &'a Cluster,
    output: Output,
    results: Vec<Value>,
}

impl<'a> Changes<'a> {
    fn new(ui: &'a Ui, cluster: &'a Cluster, output: Output) -> Self {
        Self {
            ui,
            cluster,
            output,
            results: Vec::new(),
        }
    }

    async fn apply(&mut self, object: &Value, force: bool) -> Outcome {
        let became = self.cluster.apply(object, force).await?;
        self.tell(object, became);
        if object["kind"] == DEFINITION {
            wait::for_definition(self.cluster.client(), object).await?;
        }
        Ok(())
    }

    async fn delete(&mut self, object: &Value) -> Outcome {
        let became = self.cluster.delete(object).await?;
        self.tell(object, became);
        Ok(())
    }

    fn tell(&mut self, object: &Value, became: Became) {
        match self.output {
            Output::Json => self.results.push(told(object, became)),
            Output::Text => {
                let line = format!("{} {}", called(object), became.word());
                self.ui.line(line);
            }
        }
    }

    fn end(self) {
        if self.output == Output::Json {
            self.ui.json(&json!(self.results));
        }
    }
}

/// Such as `90s`, `5m` or `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = |number: &str, unit: u64| {
        let number: u64 = number.parse().ok()?;
        number.checked_mul(unit).map(Duration::from_secs)
    };
    let units = [("s", 1), ("m", 60), ("h", 3600)];
    let read = units
        .into_iter()
        .find_map(|(unit, length)| seconds(text.strip_suffix(unit)?, length));
    read.ok_or_else(|| "a number with s, m or h behind it is a time, such as 90s or 5m".to_owned())
}
