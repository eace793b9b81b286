//! `kubewright dev`: a program against an embedded API server, with every review shown as it passes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kube::Client;
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::admission::Chain;
use kubewright_testing::apply;

use super::certs;
use crate::cluster::{Controller, Interrupt, KubeconfigFile, controllers, listen};
use crate::dev::account;
use crate::dev::demo::Demo;
use crate::dev::play;
use crate::dev::program::Program;
use crate::dev::reviews::Reviews;
use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};
use crate::ui::{Tone, Ui};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder of the program's package
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// Ends after the demo, successfully only if everything came out as the demo expects
    #[arg(long)]
    once: bool,

    /// The port of the API server; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Which controllers run beside the API server
    #[arg(
        long,
        value_name = "NAMES",
        value_enum,
        value_delimiter = ',',
        default_value = "all"
    )]
    controllers: Vec<Controller>,

    /// Where to write the kubeconfig for kubectl
    #[arg(long, value_name = "FILE", default_value = ".kubewright/kubeconfig")]
    kubeconfig: PathBuf,

    /// Options of the program itself, behind `--`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

pub(crate) fn run(ui: &Arc<Ui>, arguments: Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let once = arguments.once;
    runtime.block_on(async {
        let mut interrupt = Interrupt::listen()?;
        tokio::select! {
            outcome = develop(ui, arguments) => outcome,
            () = interrupt.wait() => {
                ui.note("stopped");
                if once { Err(Failure::new("the demo was interrupted")) } else { Ok(()) }
            }
        }
    })
}

async fn develop(ui: &Arc<Ui>, arguments: Arguments) -> Outcome {
    let Arguments {
        folder,
        once,
        port,
        controllers: named,
        kubeconfig,
        options,
    } = arguments;
    let demo = Demo::read(&folder)?;
    if once && demo.is_none() {
        return Err(
            Failure::new(format!("{} has no demo.yaml", folder.display()))
                .hint("leave --once away, or write a demo: see examples/annotate-pod/demo.yaml"),
        );
    }

    let step = ui.step(&format!("building {}", folder.display()));
    let program = Program::build(&folder).await?;
    step.done(&format!("built {}", program.name()));

    let step = ui.step("starting the embedded API server");
    let server = ApiServer::builder()
        .controllers(controllers(&named))
        .rbac()
        .admission(Chain::builder().observer(Arc::new(Reviews::new(Arc::clone(ui)))))
        .start();
    let listening = listen(&server, port).await?;
    let kubeconfig = KubeconfigFile::write(&kubeconfig, &listening.kubeconfig())?;
    step.done(&format!(
        "the API server answers on https://{}",
        listening.local_addr()
    ));

    let step = ui.step(&format!("starting {}", program.name()));
    let client = Client::new(server.service(), "default");
    let permissions = program.permissions(&options).await?;
    let token = account::make(&client, program.name(), &permissions).await?;
    let folder = tempfile::tempdir().context("cannot make a folder for the certificate")?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let (authority, certificate) = certs::issue(&names, CERTIFICATE_LIFETIME)?;
    certs::save(folder.path(), &authority, &certificate)?;
    let own = folder.path().join("kubeconfig");
    let contents = listening.kubeconfig_with_token(program.name(), &token);
    write(&own, &contents, Readers::Owner)?;
    let mut running = program.start(folder.path(), &own, &options).await?;
    let ca_file = folder.path().join("ca.crt");
    let configurations = program
        .manifests(running.address(), &ca_file, &options)
        .await?;
    for configuration in &configurations {
        let name = configuration["metadata"]["name"]
            .as_str()
            .unwrap_or_default();
        apply(&client, "default", configuration)
            .await
            .with_context(|| format!("the API server refused the webhook configuration {name}"))?;
    }
    step.done(&format!(
        "{} serves on https://{}",
        program.name(),
        running.address()
    ));

    let mut failures = 0;
    if let Some(demo) = &demo {
        failures = tokio::select! {
            failures = play::all(ui, &server, demo) => failures?,
            failure = running.ended(ui) => return Err(failure),
        };
    }
    if once {
        running.stop().await;
        return match failures {
            0 => Ok(()),
            1 => Err(Failure::new(
                "one step of the demo did not come out as expected",
            )),
            n => Err(Failure::new(format!(
                "{n} steps of the demo did not come out as expected"
            ))),
        };
    }
    ui.line("");
    ui.line(ui.paint(
        Tone::Strong,
        "Try it yourself; every review is shown here. Ctrl-C ends it.",
    ));
    ui.line(format!(
        "  export KUBECONFIG={}",
        kubeconfig.path().display()
    ));
    ui.line("  kubectl get pods");
    Err(running.ended(ui).await)
}

/// The certificate of a development run: nobody develops for a month without a restart.
const CERTIFICATE_LIFETIME: Duration = Duration::from_hours(30 * 24);
