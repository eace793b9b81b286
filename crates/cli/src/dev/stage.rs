//! Where a program under development runs: with its kinds defined, as somebody, with a certificate, and called by an API server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kube::Client;
use kubewright_apiserver::Listening;
use kubewright_certificates::TrustBundle;
use serde_json::Value;
use tempfile::TempDir;

use super::account;
use super::borrowed::Borrowed;
use super::program::{Asked, Program, Surroundings};
use super::running::Running;
use super::wait;
use crate::commands::certs;
use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};
use crate::ui::Ui;

/// A cluster, and what programs need on it.
pub(crate) struct Stage {
    client: Client,
    borrowed: Borrowed,
    listening: Listening,
    /// What its account may do.
    roles: Vec<Value>,
    /// The definitions of the program, without their conversions.
    definitions: Vec<Value>,
    trust: TrustBundle,
    /// With its certificate and its kubeconfig.
    folder: TempDir,
}

impl Stage {
    /// A stage beside an embedded API server, of which `client` is an administrator: programs have an account of their own.
    pub(crate) fn beside(client: Client, listening: Listening) -> Outcome<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder for the certificate")?;
        let names = ["localhost".to_owned(), LOOPBACK.to_owned()];
        let (authority, certificate) = certs::issue(&names, CERTIFICATE_LIFETIME)?;
        certs::save(folder.path(), &authority, &certificate)?;
        Ok(Self {
            borrowed: Borrowed::of(client.clone()),
            client,
            listening,
            roles: Vec::new(),
            definitions: Vec::new(),
            trust: authority.trust(),
            folder,
        })
    }

    /// What the program's clients have to trust.
    pub(crate) fn trust(&self) -> &TrustBundle {
        &self.trust
    }

    /// Defines the kinds of a program, and lets it do what it has to.
    pub(crate) async fn prepare(&mut self, program: &Program, options: &[String]) -> Outcome {
        let definitions = program.crds(options).await?;
        let roles = program.permissions(options).await?;
        for definition in &definitions {
            self.define(definition).await?;
        }
        self.definitions = definitions;
        let name = program.name();
        let token = account::make(&self.client, name, &roles).await?;
        let gone = self
            .roles
            .iter()
            .filter(|role| !roles.iter().any(|new| is_same(new, role)));
        account::take_away(&self.client, gone).await?;
        self.roles = roles;
        let kubeconfig = self.listening.kubeconfig_with_token(name, &token);
        write(&self.kubeconfig(), &kubeconfig, Readers::Owner)
    }

    /// Starts a program that was prepared for.
    pub(crate) async fn start(
        &self,
        ui: &Arc<Ui>,
        program: &Program,
        asked: Asked<'_>,
    ) -> Outcome<Running> {
        let kubeconfig = self.kubeconfig();
        let around = Surroundings {
            listen: "127.0.0.1:0",
            certificates: self.folder.path(),
            kubeconfig: &kubeconfig,
        };
        program.start(ui, around, asked).await
    }

    /// Has the API server call a program that runs, and nothing that it has no more.
    pub(crate) async fn register(
        &mut self,
        ui: &Ui,
        program: &Program,
        running: &Running,
        options: &[String],
    ) -> Outcome {
        let ca_file = self.folder.path().join("ca.crt");
        let mut objects = match running.address() {
            Some(address) => {
                let url = format!("https://{LOOPBACK}:{}", address.port());
                program.manifests(&url, &ca_file, options).await?
            }
            None => Vec::new(),
        };
        // Those with a conversion are among what calls the program; of the others, none stays.
        for definition in &self.definitions {
            if !objects.iter().any(|object| is_same(object, definition)) {
                objects.push(definition.clone());
            }
        }
        for object in &objects {
            self.borrowed.take(object).await?;
        }
        self.borrowed.keep_only(ui, &objects).await
    }

    /// Defines a custom resource, and waits until it can be used. How its versions become each other is left as it is: while
    /// nobody is there to convert them, none may be taken for another.
    async fn define(&mut self, definition: &Value) -> Outcome {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        self.borrowed.take_but_conversion(definition).await?;
        if !wait::for_definition(&self.client, definition).await? {
            return Err(
                Failure::new(format!("the definition {name} does not come into force"))
                    .hint("its names may be taken by another definition"),
            );
        }
        Ok(())
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    let metadata = [&one["metadata"], &other["metadata"]];
    one["kind"] == other["kind"]
        && metadata[0]["name"] == metadata[1]["name"]
        && metadata[0]["namespace"] == metadata[1]["namespace"]
}

const LOOPBACK: &str = "127.0.0.1";

/// The certificate of a development run: nobody develops for a month without a restart.
const CERTIFICATE_LIFETIME: Duration = Duration::from_hours(30 * 24);
