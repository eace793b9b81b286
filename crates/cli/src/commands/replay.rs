//! `kubewright replay`: recorded reviews, asked of a program once more.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use http::{Request, StatusCode};
use kube::client::Body;
use kube::{Client, Config};
use kubewright_apiserver::{ApiServer, Controllers};
use kubewright_testing::{Recording, recordings};
use serde_json::{Value, json};

use crate::cluster::listen;
use crate::dev::diff;
use crate::dev::program::{Asked, Program};
use crate::dev::recorded::headline;
use crate::dev::running::Running;
use crate::dev::stage::Stage;
use crate::failure::{Failure, Outcome};
use crate::ui::{Tone, Ui};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The directory that `run --record` or `dev --record` wrote
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,

    /// The directory of the program's package
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    package: PathBuf,

    /// Options of the program, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

pub(crate) fn run(ui: &Arc<Ui>, arguments: Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(replay(ui, arguments))
}

async fn replay(ui: &Arc<Ui>, arguments: Arguments) -> Outcome {
    let Arguments {
        directory,
        package,
        options,
    } = arguments;
    let recorded = recordings(&directory)
        .with_context(|| format!("cannot read the reviews in {}", directory.display()))?;
    if recorded.is_empty() {
        return Err(
            Failure::new(format!("{} holds no recorded review", directory.display()))
                .hint("record some: run the program with --record, or `kubewright dev --record`"),
        );
    }

    let step = ui.step(&format!("building {}", package.display()));
    let program = Program::build(&package).await?;
    step.done(&format!("built {}", program.name()));
    let step = ui.step(&format!("starting {}", program.name()));
    let server = ApiServer::builder()
        .controllers(Controllers::all())
        .rbac()
        .start();
    let listening = listen(&server, 0).await?;
    let admin = Client::new(server.service(), "default");
    let asked = Asked {
        options: &options,
        record: None,
    };
    let mut stage = Stage::beside(admin, listening)?;
    stage.prepare(&program, &options).await?;
    let running = stage.start(ui, &program, asked).await?;
    let hooks = to(&running, &stage)?;
    step.done(&format!("{} serves", program.name()));

    let mut different = 0;
    for recording in &recorded {
        let answered = ask(&hooks, recording).await?;
        if let Some(lines) = difference(ui, recording, &answered)? {
            different += 1;
            ui.line(format!(
                "{} {}",
                ui.paint(Tone::Bad, "✗"),
                headline(recording)
            ));
            for line in lines {
                ui.line(format!("    {line}"));
            }
        }
    }
    running.stop().await;
    match (recorded.len(), different) {
        (1, 0) => ui.line("the one review is answered as it was"),
        (all, 0) => ui.line(format!("all {all} reviews are answered as they were")),
        (all, different) => {
            return Err(Failure::new(format!(
                "{different} of {all} reviews are answered otherwise"
            )));
        }
    }
    Ok(())
}

/// A client of the program's webhooks.
fn to(running: &Running, stage: &Stage) -> Outcome<Client> {
    let Some(address) = running.address() else {
        return Err(Failure::new(
            "the program has no webhooks, so it cannot be asked anything",
        ));
    };
    let url = format!("https://{address}").parse();
    let mut config = Config::new(url.context("cannot name the address of the program")?);
    let roots = stage.trust().certificates().iter();
    config.root_cert = Some(roots.map(|root| root.to_vec()).collect());
    Ok(Client::try_from(config).context("cannot make a client of the program")?)
}

/// What was answered: a body, and whether it is an answer to the review.
struct Answered {
    code: StatusCode,
    body: Vec<u8>,
}

async fn ask(hooks: &Client, recording: &Recording) -> Outcome<Answered> {
    let request = Request::post(format!("{}?timeout=10s", recording.path()))
        .header("content-type", "application/json")
        .body(Body::from(recording.review().to_string().into_bytes()))
        .with_context(|| format!("cannot ask at {}", recording.path()))?;
    let answer = hooks
        .send(request)
        .await
        .context("the program does not answer")?;
    let (head, body) = answer.into_parts();
    let body = body
        .collect_bytes()
        .await
        .context("the program's answer breaks off")?;
    Ok(Answered {
        code: head.status,
        body: body.to_vec(),
    })
}

/// How an answer differs from the recorded one, for people.
fn difference(ui: &Ui, recording: &Recording, answered: &Answered) -> Outcome<Option<Vec<String>>> {
    let is_answer = answered.code == StatusCode::OK;
    let again = recording
        .answered(is_answer.then_some(&*answered.body))
        .context("the program's answer is not JSON")?;
    if again == *recording {
        return Ok(None);
    }
    let [before, after] = [recording, &again].map(|recording| {
        let failed = json!({"failed": "the hook gave no answer"});
        recording.answer().cloned().unwrap_or(failed)
    });
    let mut lines = diff::lines(ui, &before, &after, diff::Context::Whole);
    if !is_answer {
        let said: Value = serde_json::from_slice(&answered.body).unwrap_or_default();
        let said = said["message"].as_str().unwrap_or("without a word");
        lines.push(format!("{}: {said}", answered.code));
    }
    Ok(Some(lines))
}
