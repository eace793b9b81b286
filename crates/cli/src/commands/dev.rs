//! `kubewright dev`: a program against an embedded API server, with every review and what the program does shown
//! as it happens.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use kube::Client;
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::admission::Chain;

use crate::cluster::{Controller, Interrupt, KubeconfigFile, controllers, listen};
use crate::dev::account;
use crate::dev::actions::Actions;
use crate::dev::demo::Demo;
use crate::dev::given::{Given, state};
use crate::dev::others;
use crate::dev::play::Ground;
use crate::dev::program::{Asked, Program};
use crate::dev::record::Record;
use crate::dev::recorded::RecordedReviews;
use crate::dev::reviews::Reviews;
use crate::dev::session::{Session, complain};
use crate::dev::sources::Sources;
use crate::dev::stage::Stage;
use crate::failure::{Failure, Outcome};
use crate::ownership::Adopt;
use crate::ui::{Tone, Ui};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The directory of the program's package
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// Exit after the demo, with an error if a step did not meet its expectation
    #[arg(long)]
    once: bool,

    #[command(flatten)]
    given: GivenFlags,

    /// Listen on this port with the API server; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Run these controllers beside the API server
    #[arg(
        long,
        value_name = "NAMES",
        value_enum,
        value_delimiter = ',',
        default_value = "all"
    )]
    controllers: Vec<Controller>,

    /// Write the kubeconfig for kubectl to this file
    #[arg(
        long,
        value_name = "FILE",
        default_value = ".kubewright/dev.kubeconfig"
    )]
    kubeconfig: PathBuf,

    /// Do not rebuild the program when its sources change
    #[arg(long)]
    no_watch: bool,

    /// Record every admission review with its response in this directory, for `kubewright replay`
    #[arg(long, value_name = "DIRECTORY")]
    record: Option<PathBuf>,

    /// Options of the program, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// A cluster that stays when the command ends.
#[derive(Debug, Args)]
struct GivenFlags {
    /// Use the cluster of this kubeconfig context instead of an embedded API server, and restore it on exit
    #[arg(long, value_name = "NAME", conflicts_with_all = ["port", "controllers", "kubeconfig"])]
    context: Option<String>,

    /// The address at which the cluster reaches this machine
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "context",
        default_value = "127.0.0.1"
    )]
    host: String,

    /// Restore the cluster after a killed run with `--context`, without building anything; all clusters without `--context`
    #[arg(long, conflicts_with_all = ["once", "record", "adopt", "fail_closed", "options"])]
    restore: bool,

    /// Keep the failure policy of the cluster's webhooks; otherwise they fail open (`Ignore`) during development
    #[arg(long, requires = "context")]
    fail_closed: bool,

    #[command(flatten)]
    adopt: Adopt,
}

pub(crate) fn run(ui: &Arc<Ui>, arguments: &Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    if arguments.given.restore {
        return runtime.block_on(restore(ui, arguments));
    }
    runtime.block_on(async {
        let mut interrupt = Interrupt::listen_to_all()?;
        // On a given cluster, only the program itself can report the reviews that it receives.
        let told = match &arguments.given.context {
            Some(_) => Some(RecordedReviews::start(ui, arguments.record.as_deref())?),
            None => None,
        };
        let asked = Asked {
            options: &arguments.options,
            record: told
                .as_ref()
                .map(RecordedReviews::path)
                .or(arguments.record.as_deref()),
        };
        let mut session = None;
        let outcome = tokio::select! {
            outcome = develop(ui, arguments, asked, &mut session) => outcome,
            () = interrupt.wait() => {
                ui.note("stopped");
                if arguments.once { Err(Failure::new("the demo was interrupted")) } else { Ok(()) }
            }
        };
        let ended = match &mut session {
            None => Ok(()),
            Some(session) => tokio::select! {
                ended = session.end() => ended,
                () = interrupt.wait() => Err(Failure::new("cut off before everything was ended")),
            },
        };
        if let Some(told) = &told {
            told.rest();
        }
        match (outcome, ended) {
            (Err(failure), Err(other)) => {
                complain(ui, &other);
                Err(failure)
            }
            (outcome, ended) => outcome.and(ended),
        }
    })
}

/// Puts back what a run that was killed has left.
async fn restore(ui: &Ui, arguments: &Arguments) -> Outcome {
    let Arguments { folder, .. } = arguments;
    let contexts = match &arguments.given.context {
        Some(context) => vec![context.clone()],
        None => Record::contexts(&state(folder))?,
    };
    if contexts.is_empty() {
        ui.note("nothing is borrowed");
    }
    for context in &contexts {
        let given = Given::connect(ui, context, &arguments.given.host).await?;
        given.restore(ui, folder).await?;
    }
    Ok(())
}

/// Builds and runs a program. What has to be ended in order is in `session`, whenever the future is dropped.
async fn develop<'a>(
    ui: &'a Arc<Ui>,
    arguments: &'a Arguments,
    asked: Asked<'a>,
    session: &mut Option<Session<'a>>,
) -> Outcome {
    let Arguments { folder, once, .. } = arguments;
    let demo = Demo::read(folder)?;
    if *once && demo.is_none() {
        return Err(
            Failure::new(format!("{} has no demo.yaml", folder.display()))
                .hint("leave --once away, or write a demo: see examples/annotate-pod/demo.yaml"),
        );
    }
    let given = match &arguments.given.context {
        Some(context) => {
            let given = Given::connect(ui, context, &arguments.given.host).await?;
            let borrowed = given
                .borrow(ui, folder, arguments.given.adopt.clone())
                .await?;
            Some((given, borrowed))
        }
        None => None,
    };

    let step = ui.step(&format!("building {}", folder.display()));
    let program = Program::build(folder).await?;
    step.done(&format!("built {}", program.name()));
    let sources = if *once || arguments.no_watch {
        None
    } else {
        Some(Sources::watch(program.packages(), program.executable())?)
    };

    if let Some((given, borrowed)) = given {
        let stage = Stage::on(&given, borrowed, arguments.given.fail_closed)?;
        if !arguments.given.fail_closed {
            ui.note("webhooks fail open while they are borrowed (failurePolicy: Ignore); --fail-closed keeps their own policy");
        }
        let session = session.insert(Session::new(ui, folder, asked, stage, program));
        session.start().await?;
        // On a given cluster, only `--once` plays the demo.
        if let Some(demo) = demo.filter(|_| *once) {
            return came_out(session.play(&Ground::Given(&given.config), &demo).await?);
        }
        let hint = "Reviews that the program answers are shown here. Ctrl-C ends it, and the cluster is what it was.";
        ui.line("");
        ui.line(ui.paint(Tone::Strong, hint));
        return until_it_ends(session, sources).await;
    }

    let step = ui.step("starting the embedded API server");
    let user = account::user(program.name());
    let actions = Actions::of(Arc::clone(ui), program.name(), &user);
    let server = ApiServer::builder()
        .controllers(controllers(&arguments.controllers, 1, &[]))
        .rbac()
        .admission(Chain::builder().observer(Arc::new(Reviews::new(Arc::clone(ui)))))
        .audit(actions.audit())
        .start();
    let listening = listen(&server, arguments.port).await?;
    let kubeconfig = KubeconfigFile::write(&arguments.kubeconfig, &listening.kubeconfig())?;
    step.done(&format!(
        "the API server answers on https://{}",
        listening.local_addr()
    ));
    let client = Client::new(server.service(), "default");
    others::define(&client, folder).await?;
    let stage = Stage::beside(client, listening)?;
    let session = session.insert(Session::new(ui, folder, asked, stage, program));
    session.start().await?;
    if let Some(demo) = &demo {
        let failures = session.play(&Ground::Embedded(&server), demo).await?;
        if *once {
            return came_out(failures);
        }
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
    until_it_ends(session, sources).await
}

async fn until_it_ends(session: &mut Session<'_>, sources: Option<Sources>) -> Outcome {
    match sources {
        Some(sources) => {
            session.follow(sources).await;
            Ok(())
        }
        None => Err(session.ended().await),
    }
}

fn came_out(failures: usize) -> Outcome {
    match failures {
        0 => Ok(()),
        1 => Err(Failure::new(
            "one step of the demo did not come out as expected",
        )),
        n => Err(Failure::new(format!(
            "{n} steps of the demo did not come out as expected"
        ))),
    }
}
