//! How long Cargo compiles a project that the scaffolder made: at first, after `create api`, and after one changed line.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::time::Instant;

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The `kubewright` command that makes the project; an older one measures the state before a change.
    #[arg(long, default_value = "target/debug/kubewright")]
    kubewright: PathBuf,
    /// The directory of the crate `kubewright` that the project depends on [default: the one that the command was built from].
    #[arg(long)]
    kubewright_path: Option<PathBuf>,
    /// How often a line is changed and the tests run.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The directory of the project; it must not exist. It is not removed.
    #[arg(long, default_value = "target/bench/compiled")]
    folder: PathBuf,
}

/// Makes a project, compiles it step by step and prints what each step took.
pub(crate) fn run(options: &Options) -> Result<()> {
    let project = Project::init(options)?;
    println!("{:<44} {:>8} {:>12}", "step", "wall s", "processor s");
    project.timed("first build", &["build"])?;
    project.kubewright(&[
        "create",
        "api",
        "--group",
        "shop",
        "--version",
        "v1",
        "--kind",
        "Order",
        "--controller",
    ])?;
    project.timed("build after create api", &["build"])?;
    project.timed("first test", &["test", "--quiet"])?;
    for round in 0..options.rounds {
        project.change_a_line(round)?;
        project.timed("test after one changed line", &["test", "--quiet"])?;
    }
    for round in 0..options.rounds {
        project.change_a_line(options.rounds + round)?;
        project.timed("the same, compiled only", &["test", "--quiet", "--no-run"])?;
    }
    println!(
        "{:<44} {:>8}",
        "crates of the program",
        project.crates("normal,build")?
    );
    println!(
        "{:<44} {:>8}",
        "crates of its tests",
        project.crates("normal,build,dev")?
    );
    Ok(())
}

struct Project {
    kubewright: PathBuf,
    folder: PathBuf,
}

impl Project {
    fn init(options: &Options) -> Result<Self> {
        let folder = &options.folder;
        ensure!(
            !folder.exists(),
            "making a project in {}: the directory exists; remove it first",
            folder.display()
        );
        fs::create_dir_all(folder)?;
        let project = Self {
            kubewright: options.kubewright.canonicalize().with_context(|| {
                let path = options.kubewright.display();
                format!("running {path}: build it with `cargo build -p kubewright-cli`")
            })?,
            folder: folder.canonicalize()?,
        };
        let mut init = vec!["init", "--domain", "example.com", "--name", "compiled"];
        let path = options.kubewright_path.as_ref();
        let path = path.map(|path| path.canonicalize()).transpose()?;
        if let Some(path) = &path {
            let path = path.to_str().context("--kubewright-path is not UTF-8")?;
            init.extend(["--kubewright-path", path]);
        }
        project.kubewright(&init)?;
        // Outside of the workspace that surrounds the directory.
        let manifest = project.folder.join("Cargo.toml");
        let text = fs::read_to_string(&manifest)?;
        fs::write(&manifest, format!("{text}\n[workspace]\n"))?;
        project.cargo(&["fetch", "--quiet"])?;
        Ok(project)
    }

    fn kubewright(&self, arguments: &[&str]) -> Result<()> {
        run_in(&self.folder, &self.kubewright, arguments)
    }

    fn cargo(&self, arguments: &[&str]) -> Result<()> {
        run_in(&self.folder, Path::new("cargo"), arguments)
    }

    fn timed(&self, step: &str, arguments: &[&str]) -> Result<()> {
        let (started, before) = (Instant::now(), processor_time()?);
        self.cargo(arguments)?;
        let taken = started.elapsed();
        let used = processor_time()?.saturating_sub(before);
        println!(
            "{step:<44} {:>8.1} {:>12.1}",
            taken.as_secs_f64(),
            used.as_secs_f64()
        );
        Ok(())
    }

    /// Changes code that the program and its tests are compiled from.
    fn change_a_line(&self, round: usize) -> Result<()> {
        let file = ["src/lib.rs", "src/main.rs"]
            .map(|path| self.folder.join(path))
            .into_iter()
            .find(|path| path.exists())
            .context("the project has neither src/lib.rs nor src/main.rs")?;
        let text = fs::read_to_string(&file)?;
        let text = text.split("\nconst _ROUND").next().unwrap_or_default();
        fs::write(
            &file,
            format!("{}\n\nconst _ROUND: usize = {round};\n", text.trim_end()),
        )?;
        Ok(())
    }

    fn crates(&self, edges: &str) -> Result<usize> {
        let output = Command::new("cargo")
            .args(["tree", "--edges", edges, "--prefix=none", "--no-dedupe"])
            .args(["--format={p}"])
            .current_dir(&self.folder)
            .output()?;
        ensure!(output.status.success(), "cargo tree: {output:?}");
        let text = String::from_utf8(output.stdout)?;
        Ok(text.lines().collect::<BTreeSet<_>>().len())
    }
}

fn run_in(folder: &Path, program: &Path, arguments: &[&str]) -> Result<()> {
    let doing = || format!("running {} {}", program.display(), arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .with_context(doing)?;
    ensure!(
        output.status.success(),
        "{}: {}",
        doing(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// Returns the processor time of all processes that were started here and have ended, theirs included.
fn processor_time() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").context("reading processor times")?;
    // The name of the program, in parentheses, may contain spaces.
    let (_, fields) = stat.rsplit_once(") ").context("reading processor times")?;
    let ticks: u64 = fields
        .split(' ')
        .skip(13)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap_or_default())
        .sum();
    // The kernel counts hundredths of a second here.
    Ok(Duration::from_millis(ticks * 10))
}
