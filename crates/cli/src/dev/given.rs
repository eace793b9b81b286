//! A cluster that is there already, by the name of its context.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, Config};

use super::borrowed::{Borrowed, Borrower};
use super::record::Record;
use crate::current::named;
use crate::failure::{Failure, Outcome};
use crate::ownership::Adopt;
use crate::ui::Ui;

/// A cluster that stays when the command ends.
pub(crate) struct Given {
    context: String,
    pub(crate) config: Config,
    pub(crate) client: Client,
    /// A kubeconfig that leads there, for the program.
    pub(crate) kubeconfig: String,
    /// How the API server reaches this machine.
    pub(crate) host: String,
}

impl Given {
    /// Connects to the cluster of a context.
    pub(crate) async fn connect(ui: &Ui, context: &str, host: &str) -> Outcome<Self> {
        let (config, kubeconfig) = named(context).await.map_err(|error| {
            Failure::from(error.context("cannot tell which cluster is meant"))
                .hint("name one of those that `kubectl config get-contexts` lists")
        })?;
        ui.note(format!("the cluster is {}", config.cluster_url));
        let client = Client::try_from(config.clone());
        Ok(Self {
            client: client.context("cannot make a client for the cluster")?,
            config,
            context: context.to_owned(),
            kubeconfig: serde_json::to_string(&kubeconfig)?,
            host: host.to_owned(),
        })
    }

    /// What may be changed for a while, for the program in a folder. What an earlier run has left is put back first.
    pub(crate) async fn borrow(&self, ui: &Ui, folder: &Path, adopt: Adopt) -> Outcome<Borrowed> {
        let mut borrowed = self.left(folder, adopt).await?;
        if !borrowed.is_empty() {
            ui.note("an earlier run was cut off; what it has changed is put back first:");
            borrowed.make_up(ui).await?;
        }
        Ok(borrowed)
    }

    /// Puts back what an earlier run of the program in a folder has left.
    pub(crate) async fn restore(&self, ui: &Ui, folder: &Path) -> Outcome {
        let mut borrowed = self.left(folder, Adopt::default()).await?;
        if borrowed.is_empty() {
            ui.note(format!(
                "nothing is borrowed from the cluster of the context {}",
                self.context
            ));
            return Ok(());
        }
        borrowed.make_up(ui).await
    }

    async fn left(&self, folder: &Path, adopt: Adopt) -> Outcome<Borrowed> {
        // Some clusters let few see their namespaces: their address is the next best name.
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let system = namespaces.get_metadata("kube-system").await.ok();
        let name = system.and_then(|system| system.metadata.uid);
        let name = name.unwrap_or_else(|| self.config.cluster_url.to_string());
        let record = Record::of_cluster(&state(folder), &name, &self.context)?;
        let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let machine = hostname::get().unwrap_or_default();
        let borrower = Borrower {
            mark: format!("{}:{}", machine.to_string_lossy(), absolute.display()),
            adopt,
            installation: None,
        };
        Ok(Borrowed::with(self.client.clone(), record, borrower))
    }
}

/// The folder with what is kept for the program in a folder.
pub(crate) fn state(folder: &Path) -> PathBuf {
    folder.join(".kubewright")
}
