//! `kubewright apiserver`: the embedded API server on a port, for kubectl and whoever else.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use kubewright_apiserver::ApiServer;

use crate::cluster::{Interrupt, KubeconfigFile, listen};
use crate::failure::Outcome;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Where to write the kubeconfig
    #[arg(long, value_name = "FILE", default_value = ".kubewright/kubeconfig")]
    kubeconfig: PathBuf,
}

pub(crate) fn run(ui: &Arc<Ui>, arguments: Arguments) -> Outcome {
    let Arguments { port, kubeconfig } = arguments;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut interrupt = Interrupt::listen()?;
        let server = ApiServer::start();
        let listening = listen(&server, port).await?;
        let kubeconfig = KubeconfigFile::write(&kubeconfig, &listening.kubeconfig())?;
        ui.line(format!("ready: https://{}", listening.local_addr()));
        ui.note(format!("export KUBECONFIG={}", kubeconfig.path().display()));
        ui.note("a test and development server: nothing is kept when it ends. Ctrl-C ends it.");
        interrupt.wait().await;
        Ok(())
    })
}
