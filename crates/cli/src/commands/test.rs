//! `kubewright test`: the tests of a project, on the API server that is named.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use crate::assets::version::Selector;
use crate::commands::assets;
use crate::current::ClusterFlags;
use crate::dev::cargo::not_run;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The directory of the project
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// Run the tests on this API server [default: the value of KUBEWRIGHT_TEST_CLUSTER, or embedded]
    #[arg(long, value_name = "WHICH", value_enum)]
    cluster: Option<Which>,

    /// The version of the real API server, as for `kubewright assets use` [default: the version in kubewright.lock]
    #[arg(long, value_name = "VERSION")]
    kubernetes: Option<Selector>,

    #[command(flatten)]
    context: ClusterFlags,

    /// Options of `cargo test`, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// The API servers that tests can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// An embedded API server per test, in the test process
    Embedded,
    /// A kube-apiserver and an etcd shared by all tests, downloaded unless KUBEBUILDER_ASSETS is set
    Real,
    /// The cluster of the current context
    Existing,
}

impl Which {
    fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Real => "real",
            Self::Existing => "existing",
        }
    }
}

pub(crate) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    let Arguments {
        folder,
        cluster,
        kubernetes,
        context,
        options,
    } = arguments;
    if context.is_given() && cluster != Some(Which::Existing) {
        return Err(Failure::new("--context needs `--cluster existing`"));
    }
    if kubernetes.is_some() && cluster != Some(Which::Real) {
        return Err(Failure::new("--kubernetes needs `--cluster real`"));
    }
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(Failure::new(format!(
            "{} holds no Cargo.toml",
            folder.display()
        )));
    }
    let place = tempfile::tempdir().context("cannot make a folder for the kubeconfig")?;
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--manifest-path"]).arg(&manifest);
    if let Some(cluster) = cluster {
        cargo.env("KUBEWRIGHT_TEST_CLUSTER", cluster.name());
    }
    let is_there = kubernetes.is_none() && std::env::var_os("KUBEBUILDER_ASSETS").is_some();
    if cluster == Some(Which::Real) && !is_there {
        let programs = assets::provided(ui, &folder, kubernetes)?;
        ui.note(format!("the API server is that of {}", programs.display()));
        cargo.env("KUBEBUILDER_ASSETS", programs);
    }
    if cluster == Some(Which::Existing) {
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        if let Some(kubeconfig) = runtime.block_on(context.kubeconfig(ui, place.path()))? {
            cargo.env("KUBECONFIG", kubeconfig);
        }
    }
    let status = cargo.args(options).status().map_err(not_run)?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "the tests of {} do not pass",
            folder.display()
        )))
    }
}
