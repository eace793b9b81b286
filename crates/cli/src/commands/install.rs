//! `kubewright install`, `uninstall`, `deploy` and `undeploy`: a program's objects, in the cluster of the current context.

mod claims;
mod prune;
mod rollout;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use self::claims::{Claim, Standing};
use crate::current::{Became, Cluster, ClusterFlags, DEFINITION, called, told};
use crate::dev::place::Place;
use crate::dev::program::Program;
use crate::dev::wait;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::ownership::{Adopt, Installation, belongs};
use crate::ui::Ui;

/// A program, and the cluster that it goes to.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The directory of the program's package
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    #[command(flatten)]
    cluster: ClusterFlags,

    #[command(flatten)]
    adopt: Adopt,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,

    /// Options of the program, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    source: Source,

    /// Take over fields of other field managers (server-side apply with force)
    #[arg(long)]
    force_conflicts: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    source: Source,

    /// Also delete CustomResourceDefinitions that have objects, and the objects with them
    #[arg(long)]
    with_objects: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Deploy {
    #[command(flatten)]
    install: Install,

    #[command(flatten)]
    place: PlaceFlags,

    /// Wait for the rollout before the webhook configurations are applied
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

    /// Time to wait for, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    timeout: Duration,

    /// Delete objects of earlier deployments that are no longer in the manifests
    #[arg(long)]
    prune: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Undeploy {
    #[command(flatten)]
    source: Source,

    #[command(flatten)]
    place: PlaceFlags,

    /// Also delete the namespace and every object in it
    #[arg(long)]
    with_namespace: bool,
}

/// What the place of a deployment says otherwise than the code.
#[derive(Debug, Args)]
struct PlaceFlags {
    /// Use this namespace instead of the one in the code
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,

    /// Use this image instead of the one in the code
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

    async fn everything(&self, ui: &Ui, place: &PlaceFlags) -> Outcome<(Program, Vec<Value>)> {
        let program = self.build(ui).await?;
        let objects = program.installer(&place.options(), &self.options).await?;
        self.adopt.check(&objects)?;
        Ok((program, objects))
    }

    /// The definitions of a program, and the installation that they belong to.
    async fn definitions(&self, ui: &Ui) -> Outcome<(Cluster, Installation, Vec<Value>)> {
        let program = self.build(ui).await?;
        let definitions = program.crds(&self.options).await?;
        if definitions.is_empty() {
            ui.note(format!("{} defines no custom resources", program.name()));
        }
        self.adopt.check(&definitions)?;
        let cluster = self.cluster.connect(ui).await?;
        // Some programs cannot be deployed, and have definitions all the same.
        let objects = program.installer(&[], &self.options).await;
        let objects = objects.unwrap_or_default();
        let installation = Installation::of(cluster.client(), program.name(), &objects).await?;
        Ok((cluster, installation, definitions))
    }
}

pub(crate) fn install(ui: &Ui, arguments: &Install) -> Outcome {
    let source = &arguments.source;
    run(async {
        let (cluster, installation, mut objects) = source.definitions(ui).await?;
        for definition in &mut objects {
            // A deployed program converts its versions: an apply without the conversion would end that.
            let stored = cluster.find(definition).await?.unwrap_or_default();
            let conversion = &stored["spec"]["conversion"];
            if conversion["strategy"] == "Webhook" && definition["spec"]["conversion"].is_null() {
                definition["spec"]["conversion"] = conversion.clone();
            }
        }
        let claims = claims::of(&cluster, &installation, &source.adopt, &objects).await?;
        claims::hold(&claims)?;
        let mut changes = Changes::new(ui, &cluster, source.output, installation);
        for claim in &claims {
            changes.apply(claim, arguments.force_conflicts).await?;
        }
        changes.end();
        Ok(())
    })
}

pub(crate) fn deploy(ui: &Ui, arguments: &Deploy) -> Outcome {
    let Install {
        source,
        force_conflicts,
    } = &arguments.install;
    run(async {
        let (program, objects) = source.everything(ui, &arguments.place).await?;
        let cluster = source.cluster.connect(ui).await?;
        let installation = Installation::of(cluster.client(), program.name(), &objects).await?;
        let claims = claims::of(&cluster, &installation, &source.adopt, &objects).await?;
        claims::hold(&claims)?;
        let deployments = || {
            let deployments = objects.iter();
            deployments.filter(|object| object["kind"] == "Deployment")
        };
        let configures_namespace = |claim: &Claim<'_>| {
            claim.object["kind"] == "Namespace" && claim.standing != Standing::Foreign
        };
        if installation.has_namespace() && !claims.iter().any(configures_namespace) {
            for deployment in deployments() {
                claims::check_pod_security(ui, &cluster, deployment).await?;
            }
        }
        let mut changes = Changes::new(ui, &cluster, source.output, installation);
        // Webhook configurations come last: the API server would deny requests until the program answers.
        let (last, first): (Vec<&Claim<'_>>, Vec<&Claim<'_>>) = claims
            .iter()
            .partition(|claim| arguments.wait && calls(claim.object));
        for claim in first {
            changes.apply(claim, *force_conflicts).await?;
        }
        if arguments.wait {
            for deployment in deployments() {
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
        for claim in last {
            changes.apply(claim, *force_conflicts).await?;
        }
        if arguments.prune {
            let installation = &changes.installation;
            for object in prune::superfluous(ui, &cluster, installation, &objects).await? {
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
        let (cluster, installation, objects) = source.definitions(ui).await?;
        let objects = objects.iter().rev();
        let claims = claims::of(&cluster, &installation, &source.adopt, objects).await?;
        let deleted = claims
            .iter()
            .filter(|claim| claim.standing != Standing::Foreign);
        for claim in deleted.filter(|_| !arguments.with_objects) {
            let count = cluster.count(claim.object).await?;
            if count > 0 {
                let name = called(claim.object);
                return Err(Failure::new(format!(
                    "there are {count} objects of the {name}, which would go with it; nothing was deleted"
                ))
                .hint("pass --with-objects if they are to go"));
            }
        }
        let mut changes = Changes::new(ui, &cluster, source.output, installation);
        for claim in &claims {
            changes.remove(claim).await?;
        }
        changes.end();
        Ok(())
    })
}

pub(crate) fn undeploy(ui: &Ui, arguments: &Undeploy) -> Outcome {
    let source = &arguments.source;
    run(async {
        let (program, objects) = source.everything(ui, &arguments.place).await?;
        let cluster = source.cluster.connect(ui).await?;
        let installation = Installation::of(cluster.client(), program.name(), &objects).await?;
        // The reverse of the order of applying: webhook configurations go before the program that serves them, and the objects
        // that the program has made for itself go after it, with its service account.
        let (first, rest): (Vec<&Value>, Vec<&Value>) = objects
            .iter()
            .rev()
            .filter(|object| object["kind"] != DEFINITION)
            .filter(|object| object["kind"] != "Namespace" || arguments.with_namespace)
            .partition(|object| calls(object));
        let all = first.into_iter().chain(rest);
        let claims = claims::of(&cluster, &installation, &source.adopt, all).await?;
        let is_foreign_namespace = |claim: &&Claim<'_>| {
            claim.object["kind"] == "Namespace" && claim.standing == Standing::Foreign
        };
        if let Some(claim) = claims.iter().find(is_foreign_namespace) {
            let namespace = belongs(claim.stored.as_ref().unwrap_or(claim.object));
            return Err(
                Failure::new(format!("the {namespace}; nothing was deleted"))
                    .hint("leave --with-namespace away, which deletes everything in the namespace"),
            );
        }
        let mut changes = Changes::new(ui, &cluster, source.output, installation);
        let definitions = objects.iter().filter(|object| object["kind"] == DEFINITION);
        if arguments.with_namespace {
            for definition in definitions.clone() {
                changes.outlive_namespace(definition).await?;
            }
        }
        for claim in &claims {
            changes.remove(claim).await?;
        }
        changes.end();
        if definitions.count() > 0 {
            ui.note("the definitions of custom resources stay, with their objects; `kubewright uninstall` deletes them");
        }
        if !arguments.with_namespace {
            ui.note("the namespace stays; --with-namespace deletes it with everything in it");
        }
        Ok(())
    })
}

/// Whether an object makes API servers call the program.
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

/// Changes objects of an installation, and prints what became of each.
struct Changes<'a> {
    ui: &'a Ui,
    cluster: &'a Cluster,
    output: Output,
    installation: Installation,
    results: Vec<Value>,
}

impl<'a> Changes<'a> {
    fn new(ui: &'a Ui, cluster: &'a Cluster, output: Output, installation: Installation) -> Self {
        Self {
            ui,
            cluster,
            output,
            installation,
            results: Vec::new(),
        }
    }

    async fn apply(&mut self, claim: &Claim<'_>, force: bool) -> Outcome {
        let object = claim.object;
        if claim.standing == Standing::Foreign {
            self.tell(object, Became::Left);
            return Ok(());
        }
        let marked = self.installation.marked(object);
        let stored = claim.stored.as_ref();
        if let Some(stored) = stored
            && let Some(patch) = self.installation.hand_over(stored)
        {
            // The field manager of the mark may be another one, with which an apply of another value would conflict.
            self.cluster.patch(stored, &patch).await?;
        }
        let mut became = self.cluster.apply(&marked, stored, force).await?;
        if claim.standing == Standing::Adopted {
            became = Became::Adopted;
        }
        self.tell(object, became);
        if object["kind"] == DEFINITION {
            wait::for_definition(self.cluster.client(), object).await?;
        }
        if object["kind"] == "Namespace" {
            // What follows is marked with its UID.
            let client = self.cluster.client();
            self.installation.find_namespace(client).await?;
        }
        Ok(())
    }

    /// Deletes the object of a claim, unless another owner has it.
    async fn remove(&mut self, claim: &Claim<'_>) -> Outcome {
        match (&claim.stored, claim.standing) {
            (None, _) => self.tell(claim.object, Became::Absent),
            (Some(stored), Standing::Foreign) => {
                self.tell(claim.object, Became::Left);
                self.ui.note(format!("the {}", belongs(stored)));
            }
            (Some(stored), _) => self.delete(stored).await?,
        }
        Ok(())
    }

    async fn delete(&mut self, stored: &Value) -> Outcome {
        let became = self.cluster.delete(stored).await?;
        self.tell(stored, became);
        if stored["kind"] == DEFINITION {
            // Its objects go after the answer, and a definition of the same name can come only when they are gone.
            let place = Place::of(self.cluster.client(), stored).await?;
            if !wait::for_no(&place).await? {
                let called = called(stored);
                self.ui.note(format!(
                    "the {called} waits for the finalizers of its objects"
                ));
            }
        }
        Ok(())
    }

    /// Has a definition of this installation belong to the next one in a namespace of the same name.
    async fn outlive_namespace(&mut self, definition: &Value) -> Outcome {
        let stored = self.cluster.find(definition).await?;
        let Some(stored) = stored.filter(|stored| self.installation.owns(stored)) else {
            return Ok(());
        };
        if let Some(patch) = self.installation.without_namespace().hand_over(&stored) {
            self.cluster.patch(&stored, &patch).await?;
        }
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
