//! The `main` of a program.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture};
use kube::Client;
use kubewright_certificates::{AnySource, CertificateError, Files, SelfSigned, TrustBundle};
use kubewright_manifests::{ApiServerAccess, ManifestError, Manifests};
use kubewright_server::Drain;
use tokio::sync::oneshot;

use crate::command::{
    self, ApiServerFile, ApiServerFlags, ManifestFlags, PermissionFlags, RunFlags, Task, TlsVersion,
};
use crate::deployment::{self, FilesError};
use crate::diagnostics::Diagnostics;
use crate::recorder::Recorder;
use crate::sentence::sentence;
use crate::signals::Signals;
#[cfg(feature = "otlp")]
use crate::traces::Exporter;
use crate::{App, Needs, Program, RunError, Serving, StartError, logging};

/// Runs a program as its command line says, and returns what `main` returns.
///
/// The program gets these sub-commands:
///
/// * `run`, the default, serves the webhooks and runs the controllers until SIGTERM or Ctrl-C. It
///   finishes requests and reconciles in progress first; a second signal ends it at once. A program that
///   works with objects of a cluster finds the cluster as kubectl does, or as a pod of it. `--listen` sets the address, `--certificates` names the
///   directory with the certificate, `--self-signed` makes one for the names given and
///   `--write-ca` tells who signed it, and a program with [certificates of its own](App::certificates) needs neither, `--client-ca` has clients prove who they are, `--metrics-bind-address` serves metrics and health probes (`--health-probe-bind-address` moves the probes to an address of their own), `--record` keeps every review in a directory for `kubewright replay`, `--log-format` and `--log-level` shape the log on standard
///   error. As soon as it serves, it says `serving webhooks on https://<address>` on standard
///   output.
/// * `manifests` prints everything that installs the program as YAML, in the order in which it is applied; see
///   [`App::install`]. `--namespace` and `--image` (or `--install-namespace` and `--install-image`, where the program has
///   options of these names) go before what the code says; `--into` writes the files of a Kustomize tree, or with `--helm` of a chart, and with `--check`
///   compares them; `--against` refuses definitions of custom resources that would break those in a file. The program is
///   installed with the options that `manifests` was given. With `--url` or `--service` for where the API server reaches the program, and `--ca-file` for what it is
///   to trust, it prints the webhook configurations alone.
/// * `api-server configuration` and `api-server kubeconfig` print the two files that have an API server show its client
///   certificate to the program, for `run --client-ca`.
/// * `crds` prints the definitions of the custom resources that the program works with, as YAML.
/// * `permissions` prints the roles that grant what the program asked [`Needs`] for, and nothing else,
///   as YAML.
/// * `version` prints the name and the version.
///
/// ```
/// use kubewright_manager::{App, Needs};
/// use kubewright_webhook::Webhooks;
///
/// fn app(_: &mut Needs) -> App {
///     App::new("policy").webhooks(Webhooks::new("policy.example.com"))
/// }
///
/// fn main() -> std::process::ExitCode {
/// # if false {
///     kubewright_manager::run(app)
/// # } else { std::process::ExitCode::SUCCESS }
/// }
/// ```
#[must_use]
pub fn run(app: impl FnOnce(&mut Needs) -> App) -> ExitCode {
    run_with(|_: NoOptions, needs: &mut Needs| app(needs))
}

/// Runs a program with options of its own, as [`run`] does without.
///
/// Every sub-command takes them: they decide what is served, and so what the manifests say. The
/// doc comment of the type is the first line of `--help`.
///
/// ```
/// use kubewright_manager::{App, Needs};
/// use kubewright_webhook::Webhooks;
///
/// /// Greets pods.
/// #[derive(clap::Args)]
/// struct Options {
///     /// What to say
///     #[arg(long, default_value = "welcome")]
///     text: String,
/// }
///
/// fn app(options: Options, _: &mut Needs) -> App {
///     App::new("greeter").webhooks(Webhooks::new(format!("{}.example.com", options.text)))
/// }
///
/// fn main() -> std::process::ExitCode {
/// # if false {
///     kubewright_manager::run_with(app)
/// # } else { std::process::ExitCode::SUCCESS }
/// }
/// ```
#[must_use]
pub fn run_with<O: Args>(app: impl FnOnce(O, &mut Needs) -> App) -> ExitCode {
    let done = execute(std::env::args_os(), app, &mut io::stdout());
    match done {
        Ok(code) => code,
        Err(error) => {
            // The error has no other place to go if standard error is closed.
            drop(writeln!(io::stderr(), "error: {}", sentence(&error)));
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, Args)]
struct NoOptions {}

/// Where a command prints.
type Output<'a> = &'a mut (dyn Write + Send);

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Manifests(#[from] ManifestError),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error("cannot read {}", path.display())]
    ReadTrust { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    WriteTrust { path: PathBuf, source: io::Error },
    #[error("cannot record reviews in {}", path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("cannot use {}", path.display())]
    Trust {
        path: PathBuf,
        source: CertificateError,
    },
    #[error("the program has no cluster and no fleet `{name}`: it has `{known}`")]
    UnknownCluster { name: String, known: String },
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("cannot find the cluster: neither a kubeconfig nor a service account leads to one")]
    Cluster(#[source] Box<kube::Error>),
    #[error("cannot use what this process needs of the system")]
    System(#[source] io::Error),
    #[cfg(feature = "otlp")]
    #[error("cannot send traces")]
    Traces(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
}

fn execute<O: Args>(
    arguments: impl IntoIterator<Item = OsString>,
    app: impl FnOnce(O, &mut Needs) -> App,
    output: Output<'_>,
) -> Result<ExitCode, CommandError> {
    let asked = match command::parse::<O>(arguments) {
        Ok(asked) => asked,
        Err(error) => return refuse(&error),
    };
    let program = Program::new(|needs| app(asked.options, needs));
    perform(
        program,
        asked.task,
        asked.written,
        command::no_identity::<O>,
        output,
    )
}

/// Performs a task. Nothing from here on depends on the type of the options, so that this crate compiles it and not each program.
fn perform(
    program: Program,
    task: Task,
    options: Vec<String>,
    no_identity: fn() -> clap::Error,
    output: Output<'_>,
) -> Result<ExitCode, CommandError> {
    match task {
        Task::Run(flags) => {
            let program = program.for_kubernetes(flags.policies.oldest);
            let is_certain = flags.identity.is_given() || program.app().authority().is_some();
            if program.app().has_webhooks() && !is_certain {
                return refuse(&no_identity());
            }
            return serve(program, &flags, output);
        }
        Task::Crds => print(&program.crds(), output)?,
        Task::Permissions(flags) => print(&permissions(&program, flags)?, output)?,
        Task::Alerts => print(&program.alerts()?, output)?,
        Task::Dashboard => {
            let dashboard = program.dashboard()?;
            writeln!(output, "{dashboard:#}").map_err(CommandError::Output)?;
        }
        Task::Manifests(flags) => manifests(program, flags, options, output)?,
        Task::ApiServer(flags) => print(&api_server(flags), output)?,
        Task::Version => {
            writeln!(output, "{}", program.app().version_text()).map_err(CommandError::Output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what is wrong with a command line, or what it asked to be told.
fn refuse(error: &clap::Error) -> Result<ExitCode, CommandError> {
    error.print().map_err(CommandError::Output)?;
    Ok(u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn print(manifests: &Manifests, output: Output<'_>) -> Result<(), CommandError> {
    output
        .write_all(manifests.to_yaml().as_bytes())
        .map_err(CommandError::Output)
}

fn manifests(
    program: Program,
    flags: ManifestFlags,
    options: Vec<String>,
    output: Output<'_>,
) -> Result<(), CommandError> {
    let program = program.for_kubernetes(flags.policies.oldest);
    if let Some(endpoint) = flags.endpoint() {
        let trust = flags.ca_file.as_deref().map(read_trust).transpose()?;
        return print(&program.manifests(endpoint, trust.as_ref())?, output);
    }
    let files = flags.files();
    let program = program.installed(|install| {
        let install = install.arguments(options);
        // The program serves the webhooks that its manifests declare.
        let install = match flags.policies.oldest {
            Some(oldest) => install.arguments([format!("--kubernetes={oldest}")]),
            None => install,
        };
        let install = match flags.namespace {
            Some(namespace) => install.namespace(namespace),
            None => install,
        };
        match flags.image {
            Some(image) => install.image(image),
            None => install,
        }
    });
    let installer = program.deployment()?;
    if let Some(path) = &flags.against {
        deployment::hold_to(path, &installer)?;
    }
    match files {
        Some(files) if files.are_a_chart => Ok(files.of(&program.chart()?)?),
        Some(files) => Ok(files.of(&installer.tree())?),
        None => print(&installer.manifests(), output),
    }
}

fn permissions(program: &Program, flags: PermissionFlags) -> Result<Manifests, CommandError> {
    let Some(name) = flags.cluster else {
        return Ok(program.permissions());
    };
    let unknown = || CommandError::UnknownCluster {
        known: program.other_clusters().join("`, `"),
        name: name.clone(),
    };
    program.cluster_permissions(&name).ok_or_else(unknown)
}

fn api_server(flags: ApiServerFlags) -> Manifests {
    match flags.file {
        ApiServerFile::Configuration { kubeconfig } => ApiServerAccess::configuration(&kubeconfig),
        ApiServerFile::Kubeconfig {
            endpoint,
            client_certificate,
            client_key,
        } => {
            let endpoint = endpoint.endpoint();
            let endpoint = endpoint.expect("the command line needs one of the two");
            ApiServerAccess::new([endpoint], client_certificate, client_key).kubeconfig()
        }
    }
}

fn read_trust(path: &Path) -> Result<TrustBundle, CommandError> {
    let text = std::fs::read(path).map_err(|source| CommandError::ReadTrust {
        path: path.to_owned(),
        source,
    })?;
    TrustBundle::from_pem(text).map_err(|source| CommandError::Trust {
        path: path.to_owned(),
        source,
    })
}

fn serve(program: Program, flags: &RunFlags, output: Output<'_>) -> Result<ExitCode, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // When a thread ends, the allocator gives back what it kept for it.
        .thread_keep_alive(Duration::from_secs(1))
        .build()
        .map_err(CommandError::System)?;
    #[cfg(feature = "otlp")]
    let (exporter, spans) = Exporter::start(&flags.traces, program.app().name(), runtime.handle())
        .map_err(CommandError::Traces)?
        .unzip();
    #[cfg(not(feature = "otlp"))]
    let spans = None;
    let log = logging::start(flags.log_format, &flags.log_level, spans);
    let seconds = |number: u16| Duration::from_secs(number.into());
    let drain = Drain::default()
        .grace(seconds(flags.grace))
        .propagation(seconds(flags.propagation));
    let program = program.drain(drain).log(log);
    let program = match flags.metrics_bind_address {
        Some(address) => program.metrics_bind_address(address),
        None => program,
    };
    let program = match flags.health_probe_bind_address {
        Some(address) => program.health_probe_bind_address(address),
        None => program,
    };
    let recorder = match &flags.record {
        Some(directory) => {
            let recorder = Recorder::start(directory).map_err(|source| CommandError::Record {
                path: directory.clone(),
                source,
            })?;
            tracing::info!(directory = %directory.display(), "reviews are recorded");
            Some(recorder)
        }
        None => None,
    };
    let program = match &recorder {
        Some(recorder) => program.recorder(recorder.clone()),
        None => program,
    };
    let program = match flags.tls_min_version {
        TlsVersion::Tls12 => program.accept_tls12(),
        TlsVersion::Tls13 => program,
    };
    let program = match flags.clients.check() {
        Some(check) => program.clients(check),
        None => program,
    };
    let needs_client = if flags.identity.is_given() {
        program.needs_client_besides_authority()
    } else {
        program.needs_client()
    };
    let program = if needs_client {
        let client = runtime.block_on(Client::try_default());
        program.client(client.map_err(|error| CommandError::Cluster(Box::new(error)))?)
    } else {
        program
    };
    let ended = if program.app().has_webhooks() {
        let bound = if let Some(directory) = &flags.identity.certificates {
            let files = AnySource::new(Files::in_dir(directory));
            program.bind(flags.listen, files).boxed()
        } else if !flags.identity.self_signed.is_empty() {
            let own = SelfSigned::for_names(&flags.identity.self_signed);
            program.bind(flags.listen, AnySource::new(own)).boxed()
        } else {
            program.bind_with_authority(flags.listen).boxed()
        };
        runtime.block_on(serve_until_told(bound, flags, output))
    } else {
        runtime.block_on(work_until_told(program, output))
    };
    if let Some(recorder) = recorder {
        recorder.finish();
    }
    #[cfg(feature = "otlp")]
    if let Some(exporter) = exporter {
        exporter.finish();
    }
    // A thread that waits for the system would delay a program that has to end at once.
    runtime.shutdown_background();
    ended
}

async fn serve_until_told(
    bound: BoxFuture<'_, Result<Serving, StartError>>,
    flags: &RunFlags,
    output: Output<'_>,
) -> Result<ExitCode, CommandError> {
    let mut signals = Signals::listen().map_err(CommandError::System)?;
    let serving = tokio::select! {
        bound = bound => bound?,
        // Nothing is served yet, so there is nothing to finish.
        () = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    if let Some(path) = &flags.write_ca {
        std::fs::write(path, serving.trust().to_pem()).map_err(|source| {
            CommandError::WriteTrust {
                path: path.clone(),
                source,
            }
        })?;
    }
    print_diagnostics(serving.diagnostics(), output)?;
    let address = serving.local_addr();
    writeln!(output, "serving webhooks on https://{address}").map_err(CommandError::Output)?;
    output.flush().map_err(CommandError::Output)?;
    let (stop, stopped) = oneshot::channel();
    let running = serving.run(async {
        // An error means that the sender is gone, which is a reason to stop as well.
        drop(stopped.await);
    });
    until_told(running.boxed_local(), stop, &mut signals).await
}

fn print_diagnostics(diagnostics: &Diagnostics, output: Output<'_>) -> Result<(), CommandError> {
    let served = diagnostics.addresses();
    let scheme = |address| {
        if address == served.metrics && diagnostics.are_secured() {
            "https"
        } else {
            "http"
        }
    };
    for (what, address) in [
        ("metrics", served.metrics),
        ("health probes", served.health_probes),
    ] {
        if let Some(at) = address {
            let scheme = scheme(address);
            writeln!(output, "serving {what} on {scheme}://{at}").map_err(CommandError::Output)?;
        }
    }
    Ok(())
}

/// Runs a program that has nothing to serve.
async fn work_until_told(program: Program, output: Output<'_>) -> Result<ExitCode, CommandError> {
    let mut signals = Signals::listen().map_err(CommandError::System)?;
    let started = program.start().await?;
    print_diagnostics(started.diagnostics(), output)?;
    writeln!(output, "running").map_err(CommandError::Output)?;
    output.flush().map_err(CommandError::Output)?;
    let (stop, stopped) = oneshot::channel();
    // An error means that the sender is gone, which is a reason to stop as well.
    let running = started.run(async { drop(stopped.await) });
    until_told(running.boxed_local(), stop, &mut signals).await
}

async fn until_told(
    mut running: LocalBoxFuture<'_, Result<(), RunError>>,
    stop: oneshot::Sender<()>,
    signals: &mut Signals,
) -> Result<ExitCode, CommandError> {
    tokio::select! {
        ended = &mut running => return Ok(ended.map(|()| ExitCode::SUCCESS)?),
        () = signals.next() => {}
    }
    tracing::info!("shutting down: draining in-flight requests");
    drop(stop);
    tokio::select! {
        ended = &mut running => Ok(ended.map(|()| ExitCode::SUCCESS)?),
        () = signals.next() => {
            tracing::warn!("shutting down at once: in-flight requests are cancelled");
            Ok(ExitCode::FAILURE)
        }
    }
}

#[cfg(test)]
mod tests;
