//! `conformance`: compares the embedded API server with a real one, and records what the real one answers.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use conformance::case::{self, Case};
use conformance::differences::Known;
use conformance::embedded::Embedded;
use conformance::generate::{Family, Plan, generate};
use conformance::mutants::{self, Fate, Nursery};
use conformance::real::Real;
use conformance::report::{Report, is_of_newer};
use conformance::run::Run;
use conformance::server::Server;
use conformance::{first_objects, manifests, recording, run};
use kubewright_apiserver::KubernetesVersion;
use serde_json::Value;

/// Compares the embedded API server with a real kube-apiserver.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Only cases whose title (`file: name`) contains this.
    #[arg(global = true, default_value = "")]
    filter: String,
    /// The kubeconfig (with a token) of a real API server that runs already, instead of one that is started: it has to have
    /// the admission plugins that the cases ask for.
    #[arg(long, global = true)]
    real: Option<PathBuf>,
    /// The version of Kubernetes that both servers emulate. The recordings are of the newest.
    #[arg(long, global = true, default_value_t)]
    emulated_version: KubernetesVersion,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Runs the cases on both servers and compares the answers.
    Compare,
    /// Runs the cases on the real server and writes the recordings.
    Record,
    /// Runs the cases on the embedded server and compares with the recordings.
    Embedded,
    /// Writes the table of the objects that a real server makes at its start.
    FirstObjects,
    /// Breaks the embedded server on purpose, in a copy, and asserts that the recordings show each break.
    Mutants,
    /// Checks random manifests as `kubewright check` does, and compares with `kubectl apply --dry-run=server` on the real server.
    Manifests {
        /// The seed: the same one makes the same manifests.
        seed: u64,
        /// The number of manifests.
        count: u64,
        /// A folder with manifests, some of which are taken, whole or broken in one field
        #[arg(long = "from", value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Only the manifest of this number.
        #[arg(long)]
        only: Option<u64>,
    },
    /// Makes random cases, runs them on both servers and prints the smallest case of each difference.
    Generate(Generate),
}

#[derive(Args, Clone, Debug)]
struct Generate {
    /// The seed: the same one makes the same cases.
    #[arg(required_unless_present = "kept")]
    seed: Option<u64>,
    /// The number of cases of each family.
    #[arg(required_unless_present = "kept")]
    count: Option<u64>,
    /// Only cases of this family.
    #[arg(long)]
    family: Option<Family>,
    /// Only the case of this number.
    #[arg(long)]
    only: Option<u64>,
    /// How many differences are shrunk.
    #[arg(long, default_value_t = 40)]
    shrinks: usize,
    /// The cases that found something before, as `seeds.tsv` lists them, instead.
    #[arg(long, conflicts_with_all = ["seed", "count", "family", "only"])]
    kept: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match conformance(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether everything held.
async fn conformance(arguments: Arguments) -> Result<bool> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if matches!(arguments.command, Command::Mutants) {
        return try_mutants(here, &arguments.filter);
    }
    if let Command::Generate(what) = &arguments.command {
        return try_generated(here, what, arguments.emulated_version).await;
    }
    if let Command::Manifests {
        seed,
        count,
        folders,
        only,
    } = &arguments.command
    {
        let version = arguments.emulated_version;
        return try_manifests(*seed, *count, folders, *only, version).await;
    }
    if matches!(arguments.command, Command::FirstObjects) {
        return write_first_objects(here).await;
    }
    let recordings = here.join("recordings");
    let all = case::read_all(&here.join("cases"))?;
    let chosen = |case: &Case| case.title().contains(&arguments.filter);
    let cases: Vec<Case> = all.iter().filter(|case| chosen(case)).cloned().collect();
    ensure!(!cases.is_empty(), "no case contains `{}`", arguments.filter);

    let asks_real = matches!(arguments.command, Command::Compare | Command::Record);
    let (mut real, mut embedded) = if asks_real {
        // A real server waits more than it works.
        let (of_real, of_embedded) = tokio::join!(
            ask_real(&arguments, &cases),
            ask_embedded(&arguments, &cases)
        );
        let (version, run) = of_real?;
        let outcomes = run.outcomes;
        if matches!(arguments.command, Command::Record) {
            for (title, outcome) in &outcomes {
                if let Some(why) = outcome.get("cannot") {
                    println!("not recorded: {title}: {why}");
                }
            }
            recording::update(&recordings, &version, &all, &outcomes)?;
            recording::update_reviews(&recordings, &all, &outcomes, run.reviews)?;
        }
        (outcomes, of_embedded?)
    } else {
        let recorded = recording::read(&recordings, &cases)?;
        (recorded, ask_embedded(&arguments, &cases).await?)
    };
    let is_newest = arguments.emulated_version == KubernetesVersion::default();
    let mut cases = cases;
    if !is_newest {
        let all = cases.len();
        cases.retain(|case| {
            real.get(&case.title())
                .is_none_or(|real| !is_of_newer(real))
        });
        println!("{} cases are about what is newer", all - cases.len());
    }

    let known = Known::read(&here.join("../../apiserver/server/DIFFERENCES.md"))?;
    let mut report = Report::new(&cases, &real, &embedded, &known);
    let doubtful = report.doubtful();
    if matches!(arguments.command, Command::Compare) && !doubtful.is_empty() {
        println!("{report}asking both servers again about what differs");
        let again: Vec<Case> = cases
            .iter()
            .filter(|case| doubtful.contains(&case.title()))
            .cloned()
            .collect();
        real.extend(ask_real(&arguments, &again).await?.1.outcomes);
        embedded.extend(ask_embedded(&arguments, &again).await?);
        report = Report::new(&cases, &real, &embedded, &known).after(&report);
    }
    print!("{report}");
    let mut holds = report.holds();
    if arguments.filter.is_empty() && is_newest {
        for gone in known.unseen(&report.seen) {
            println!("no longer a difference, take it off the list: {gone}");
            holds = false;
        }
        println!("known differences on the list: {}", known.len());
    }
    Ok(holds)
}

/// Writes the tables of the objects that a real server makes at its start, of each version.
async fn write_first_objects(here: &Path) -> Result<bool> {
    let seed = here.join("../../apiserver/server/src/seed");
    let write = |name: &str, table: String| {
        let path = seed.join(name);
        std::fs::write(&path, table).with_context(|| format!("write {}", path.display()))
    };
    let mut tables = Vec::new();
    for version in KubernetesVersion::ALL {
        let real = Real::start(&[], version).await?;
        tables.push((version, first_objects::read(real.server()).await?));
    }
    let Some((_, newest)) = tables.pop() else {
        return Ok(false);
    };
    write("older.tsv", first_objects::older(&newest, &tables))?;
    write("objects.tsv", newest)?;
    Ok(true)
}

/// Whether generated cases show no difference that is not known.
async fn try_generated(here: &Path, what: &Generate, version: KubernetesVersion) -> Result<bool> {
    let known = Known::read(&here.join("../../apiserver/server/DIFFERENCES.md"))?;
    let plan = match (what.seed, what.count) {
        (Some(seed), Some(count)) => {
            let families = what
                .family
                .map_or_else(|| Family::value_variants().to_vec(), |family| vec![family]);
            let plan = Plan::new(&families, seed, count, what.shrinks);
            match what.only {
                Some(index) => plan.only(index),
                None => plan,
            }
        }
        _ => Plan::kept(&here.join("seeds.tsv"), what.shrinks)?,
    };
    let table = generate(&plan, version, &known, |line| println!("{line}")).await?;
    print!("{table}");
    Ok(table.holds())
}

/// Whether checks say of every manifest what kubectl says.
async fn try_manifests(
    seed: u64,
    count: u64,
    folders: &[PathBuf],
    only: Option<u64>,
    version: KubernetesVersion,
) -> Result<bool> {
    let objects = folders.iter().map(|folder| manifests::objects_in(folder));
    let objects = objects.collect::<Result<Vec<_>>>()?.concat();
    let all = manifests::generated(seed, count, &objects);
    let chosen: Vec<(u64, String)> = all
        .filter(|(number, _)| only.is_none_or(|only| only == *number))
        .collect();
    let watched = std::io::stderr().is_terminal();
    let progress = |done| {
        if watched {
            eprint!("\rkubectl: {done} of {} manifests", chosen.len());
        }
    };
    let comparison = manifests::compare(&chosen, version, progress).await?;
    if watched {
        eprint!("\r");
    }
    for difference in &comparison.differences {
        println!(
            "--- manifest {}\n{}\nkubectl: {}\ncheck:   {}\n",
            difference.number, difference.manifest, difference.kubectl, difference.check
        );
    }
    println!(
        "{} manifests: {} accepted, {} refused alike, {} differ; kubectl took {:.1} s, the checks {:.1} s",
        chosen.len(),
        comparison.accepted,
        comparison.refused,
        comparison.differences.len(),
        comparison.seconds.0,
        comparison.seconds.1
    );
    Ok(comparison.differences.is_empty())
}

/// What a real server answers, and its version.
async fn ask_real(arguments: &Arguments, cases: &[Case]) -> Result<(String, Run)> {
    let mut all = Run::default();
    let mut last = String::new();
    for (plugins, cases) in run::by_plugins(cases) {
        let (_running, server) = if let Some(kubeconfig) = &arguments.real {
            (None, given(kubeconfig)?)
        } else {
            let real = Real::start(&plugins, arguments.emulated_version).await?;
            let server = real.server().clone();
            (Some(real), server)
        };
        last = run::version(&server).await?;
        let name = named("kube-apiserver", &last, &plugins);
        all.extend(timed(&name, &server, &cases).await?);
    }
    Ok((last, all))
}

/// What the embedded server answers, by the titles of the cases.
async fn ask_embedded(arguments: &Arguments, cases: &[Case]) -> Result<BTreeMap<String, Value>> {
    let mut all = Run::default();
    for (plugins, cases) in run::by_plugins(cases) {
        let running = Embedded::start(&plugins, arguments.emulated_version).await?;
        let version = run::version(running.server()).await?;
        let name = named("embedded server", &version, &plugins);
        all.extend(timed(&name, running.server(), &cases).await?);
        running.stop().await;
    }
    Ok(all.outcomes)
}

fn named(server: &str, version: &str, plugins: &[String]) -> String {
    let with: Vec<String> = plugins.iter().map(|name| format!(" with {name}")).collect();
    format!("{server} {version}{}", with.concat())
}

/// Whether every mutant was caught.
fn try_mutants(here: &Path, filter: &str) -> Result<bool> {
    let mut mutants = mutants::read(&here.join("mutants.yaml"))?;
    mutants.retain(|mutant| mutant.name.contains(filter));
    let nursery = Nursery::new(&here.join("../..").canonicalize()?)?;
    println!("building the copy that is broken {} times", mutants.len());
    ensure!(
        nursery.suite()? == Fate::Survived,
        "the suite must hold before anything is broken: run `cargo test -p conformance`"
    );
    let mut caught = 0;
    for mutant in &mutants {
        let fate = match nursery.try_out(mutant)? {
            Fate::Caught(report) => {
                caught += 1;
                format!("caught: {report}")
            }
            Fate::NotBuilt(why) => format!("NOT BUILT: {why}"),
            _ => "SURVIVED".to_owned(),
        };
        println!("{}\n  {fate}", mutant.name);
    }
    println!("{caught} of {} breaks were caught", mutants.len());
    Ok(caught == mutants.len())
}

async fn timed(name: &str, server: &Server, cases: &[Case]) -> Result<Run> {
    let (start, watched) = (Instant::now(), std::io::stderr().is_terminal());
    let progress = |done| {
        if watched {
            eprint!("\r{name}: {done} of {} cases", cases.len());
        }
    };
    let run = run::run(server, cases, progress).await;
    if watched {
        eprint!("\r");
    }
    let run = run.with_context(|| format!("run the cases on {name}"))?;
    println!(
        "{name}: {} cases in {:.1} s",
        cases.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(run)
}

fn given(kubeconfig: &Path) -> Result<Server> {
    let path = kubeconfig.display();
    let text = std::fs::read_to_string(kubeconfig).with_context(|| format!("read {path}"))?;
    Server::from_kubeconfig(&text)
}
