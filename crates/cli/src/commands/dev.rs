//! `kubewright dev`: a program against an embedded API server, with every review and what the program does shown
//! as it happens.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kube::Client;
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::admission::Chain;
use kubewright_testing::apply;
use serde_json::Value;

use super::certs;
use crate::cluster::{Controller, Interrupt, KubeconfigFile, controllers, listen};
use crate::dev::actions::Actions;
use crate::dev::demo::Demo;
use crate::dev::program::Program;
use crate::dev::reviews::Reviews;
use crate::dev::{account, play, wait};
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

    let crds = program.crds(&options).await?;
    let roles = program.permissions(&options).await?;

    let step = ui.step("starting the embedded API server");
    let actions = Actions::of(
        Arc::clone(ui),
        program.name(),
        &account::user(program.name()),
    );
    let server = ApiServer::builder()
        .controllers(controllers(&named))
        .rbac()
        .admission(Chain::builder().observer(Arc::new(Reviews::new(Arc::clone(ui)))))
        .audit(actions.audit())
        .start();
    let listening = listen(&server, port).await?;
    let kubeconfig = KubeconfigFile::write(&kubeconfig, &listening.kubeconfig())?;
    step.done(&format!(
        "the API server answers on https://{}",
        listening.local_addr()
    ));

    let step = ui.step(&format!("starting {}", program.name()));
    let client = Client::new(server.service(), "default");
    define(&client, &crds).await?;
    let folder = tempfile::tempdir().context("cannot make a folder for the certificate")?;
    let access = folder.path().join("kubeconfig");
    let token = account::make(&client, program.name(), &roles).await?;
    let own = listening.kubeconfig_with_token(program.name(), &token);
    write(&access, &own, Readers::Owner)?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let (authority, certificate) = certs::issue(&names, CERTIFICATE_LIFETIME)?;
    certs::save(folder.path(), &authority, &certificate)?;
    let mut running = program.start(folder.path(), &access, &options).await?;
    if let Some(address) = running.address() {
        let ca_file = folder.path().join("ca.crt");
        register(
            &client,
            &program.manifests(address, &ca_file, &options).await?,
        )
        .await?;
        step.done(&format!("{} serves on https://{address}", program.name()));
    } else {
        step.done(&format!("{} runs", program.name()));
    }

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
        "Try it yourself; every review, and what the program does, is shown here. Ctrl-C ends it.",
    ));
    ui.line(format!(
        "  export KUBECONFIG={}",
        kubeconfig.path().display()
    ));
    ui.line("  kubectl get pods");
    Err(running.ended(ui).await)
}

/// Defines custom resources, and waits until they can be used.
async fn define(client: &Client, crds: &[Value]) -> Outcome {
    for crd in crds {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        apply(client, "default", crd)
            .await
            .with_context(|| format!("the API server refused the definition {name}"))?;
        if !wait::for_definition(client, crd).await? {
            return Err(
                Failure::new(format!("the definition {name} does not come into force"))
                    .hint("its names may be taken by another definition"),
            );
        }
    }
    Ok(())
}

async fn register(client: &Client, configurations: &[Value]) -> Outcome {
    for configuration in configurations {
        let name = configuration["metadata"]["name"]
            .as_str()
            .unwrap_or_default();
        apply(client, "default", configuration)
            .await
            .with_context(|| format!("the API server refused the webhook configuration {name}"))?;
    }
    Ok(())
}

/// The certificate of a development run: nobody develops for a month without a restart.
const CERTIFICATE_LIFETIME: Duration = Duration::from_hours(30 * 24);
