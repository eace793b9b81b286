//! A check with the webhooks of a program, which runs beside the API server.

use std::path::Path;
use std::sync::Arc;

use kube::Client;
use kubewright_apiserver::Builder;
use kubewright_check::{Checker, Report};

use crate::cluster::listen;
use crate::dev::program::{Asked, Program};
use crate::dev::stage::Stage;
use crate::failure::Outcome;
use crate::ui::Ui;

/// Builds and starts the program, and runs the check on an API server that calls it and has its definitions.
pub(super) async fn check(
    ui: &Arc<Ui>,
    folder: &Path,
    builder: Builder,
    checker: Checker,
) -> Outcome<Report> {
    let step = ui.step(&format!("building {}", folder.display()));
    let program = Program::build(folder).await?;
    step.done(&format!("built {}", program.name()));
    let step = ui.step(&format!("starting {}", program.name()));
    let server = builder.rbac().start();
    let listening = listen(&server, 0).await?;
    let admin = Client::new(server.service(), "default");
    let mut stage = Stage::beside(admin, listening)?;
    stage.prepare(&program, &[]).await?;
    let asked = Asked {
        options: &[],
        record: None,
    };
    let running = stage.start(ui, &program, asked).await?;
    stage.register(ui, &program, &running, &[]).await?;
    step.done(&format!("{} serves", program.name()));
    let report = checker.server(server).run().await;
    running.stop().await;
    Ok(report?)
}
