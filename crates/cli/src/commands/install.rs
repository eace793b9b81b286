//! `kubewright install`, `uninstall`, `deploy` and `undeploy`: a program's objects, in the cluster of the current context.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use crate::current::{Became, Cluster, ClusterFlags, called, told};
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
        apply(ui, &cluster, &objects, *force_conflicts, source.output).await
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
            .filter(|object| object["kind"] != CRD)
            .filter(|object| object["kind"] != "Namespace" || arguments.with_namespace)
            .partition(|object| calls(object));
        let all = first.into_iter().chain(rest).collect();
        delete(ui, &cluster, all, source.output).await?;
        if objects.iter().any(|object| object["kind"] == CRD) {
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
    let mut results = Vec::new();
    for object in objects {
        let became = cluster.apply(object, force).await?;
        tell(ui, object, became, output, &mut results);
        if object["kind"] == CRD && !wait::for_definition(cluster.client(), object).await? {
            return Err(
                Failure::new(format!("the {} does not come into force", called(object)))
                    .hint("its names may be taken by another definition"),
            );
        }
    }
    if output == Output::Json {
        ui.json(&json!(results));
    }
    Ok(())
}

async fn delete(ui: &Ui, cluster: &Cluster, objects: Vec<&Value>, output: Output) -> Outcome {
    let mut results = Vec::new();
    for object in objects {
        let became = cluster.delete(object).await?;
        tell(ui, object, became, output, &mut results);
    }
    if output == Output::Json {
        ui.json(&json!(results));
    }
    Ok(())
}

fn tell(ui: &Ui, object: &Value, became: Became, output: Output, results: &mut Vec<Value>) {
    match output {
        Output::Json => results.push(told(object, became)),
        Output::Text => ui.line(format!("{} {}", called(object), became.word())),
    }
}

const CRD: &str = "CustomResourceDefinition";
