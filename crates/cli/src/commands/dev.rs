//! `kubewright dev`: a program against an embedded API server, with every review and what the program does shown
//! as it happens.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use kube::Client;
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::admission::Chain;
use kubewright_testing::apply;
use serde_json::Value;

use crate::cluster::{Controller, Interrupt, KubeconfigFile, controllers, listen};
use crate::dev::actions::Actions;
use crate::dev::demo::Demo;
use crate::dev::program::Program;
use crate::dev::reviews::Reviews;
use crate::dev::start::{Asked, beside};
use crate::dev::{account, play};
use crate::failure::{Failure, Outcome};
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

    /// Keep every review with its answer in a file here, for `kubewright replay`
    #[arg(long, value_name = "DIRECTORY")]
    record: Option<PathBuf>,

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
        record,
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
    let asked = Asked {
        options: &options,
        record: record.as_deref(),
    };
    let mut started = beside(&client, &listening, &program, &asked).await?;
    let running = &mut started.running;
    if let Some(address) = running.address() {
        let ca_file = started.folder.path().join("ca.crt");
        let configurations = program.manifests(address, &ca_file, &options).await?;
        register(&client, &configurations).await?;
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
        started.running.stop().await;
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
