//! The environment of a program under development: its custom resources, its user, its certificate, and an API server that calls
//! it.

use std::net::IpAddr;
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
use super::given::Given;
use super::program::{Asked, Program, Surroundings};
use super::running::Running;
use super::wait;
use crate::commands::certs;
use crate::current::is_same;
use crate::failure::Outcome;
use crate::files::{Readers, write};
use crate::ownership::Installation;
use crate::ui::Ui;

/// A cluster, and what programs need on it.
pub(crate) struct Stage {
    client: Client,
    borrowed: Borrowed,
    access: Access,
    /// How the API server reaches this machine.
    host: String,
    /// Whether webhooks keep their failure policy on a cluster that stays.
    fail_closed: bool,
    /// What its account may do.
    roles: Vec<Value>,
    /// The definitions of the program, without their conversions.
    definitions: Vec<Value>,
    trust: TrustBundle,
    /// With its certificate and its kubeconfig.
    folder: TempDir,
}

/// As whom programs run.
enum Access {
    /// With an account of their own, that may do what they ask for.
    Account(Listening),
    /// As the person at the terminal, with this kubeconfig.
    Person(String),
}

impl Stage {
    /// A stage beside an embedded API server, of which `client` is an administrator: programs have an account of their own.
    pub(crate) fn beside(client: Client, listening: Listening) -> Outcome<Self> {
        let borrowed = Borrowed::of(client.clone());
        Self::new(client, Access::Account(listening), borrowed, LOOPBACK, true)
    }

    /// A stage on a cluster that stays: programs run as the person at the terminal.
    pub(crate) fn on(given: &Given, borrowed: Borrowed, fail_closed: bool) -> Outcome<Self> {
        let access = Access::Person(given.kubeconfig.clone());
        let client = given.client.clone();
        Self::new(client, access, borrowed, &given.host, fail_closed)
    }

    fn new(
        client: Client,
        access: Access,
        borrowed: Borrowed,
        host: &str,
        fail_closed: bool,
    ) -> Outcome<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder for the certificate")?;
        let mut names = vec!["localhost".to_owned(), LOOPBACK.to_owned()];
        if !names.iter().any(|name| name == host) {
            names.push(host.to_owned());
        }
        let (authority, certificate) = certs::issue(&names, CERTIFICATE_LIFETIME)?;
        certs::save(folder.path(), &authority, &certificate)?;
        Ok(Self {
            borrowed,
            client,
            access,
            host: host.to_owned(),
            fail_closed,
            roles: Vec::new(),
            definitions: Vec::new(),
            trust: authority.trust(),
            folder,
        })
    }

    /// The CA bundle that the program's clients must trust.
    pub(crate) fn trust(&self) -> &TrustBundle {
        &self.trust
    }

    /// Defines the kinds of a program, and grants the permissions that it needs.
    pub(crate) async fn prepare(&mut self, program: &Program, options: &[String]) -> Outcome {
        let definitions = program.crds(options).await?;
        if self.stays() {
            self.check(program, options, &definitions).await?;
        }
        for definition in &definitions {
            self.define(definition).await?;
        }
        self.definitions = definitions;
        let kubeconfig = match &self.access {
            Access::Person(kubeconfig) => kubeconfig.clone(),
            Access::Account(listening) => {
                let roles = program.permissions(options).await?;
                let token = account::make(&self.client, program.name(), &roles).await?;
                let gone = self.roles.iter();
                let gone = gone.filter(|role| !roles.iter().any(|new| is_same(new, role)));
                account::take_away(&self.client, gone).await?;
                self.roles = roles;
                listening.kubeconfig_with_token(program.name(), &token)
            }
        };
        write(&self.kubeconfig(), &kubeconfig, Readers::Owner)
    }

    /// Finds out which installation the program belongs to, and fails before anything is changed if it would change objects of
    /// other owners.
    async fn check(
        &mut self,
        program: &Program,
        options: &[String],
        definitions: &[Value],
    ) -> Outcome {
        // Some programs cannot be deployed, and can be run all the same.
        let installed = program.installer(&[], options).await.unwrap_or_default();
        let installation = Installation::of(&self.client, program.name(), &installed).await?;
        self.borrowed.belong_to(installation);
        // A program without webhooks has none to print. What it would say of it is said when it is registered.
        let (url, ca_file) = (self.url(443), self.ca_file());
        let called = program.manifests(&url, &ca_file, options).await;
        let mut objects = called.unwrap_or_default();
        objects.extend_from_slice(definitions);
        self.borrowed.check(&objects).await
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
            listen: listening(&self.host),
            certificates: self.folder.path(),
            kubeconfig: &kubeconfig,
        };
        program.start(ui, around, asked).await
    }

    /// Makes the API server call a running program, and removes webhooks that the program no longer has.
    pub(crate) async fn register(
        &mut self,
        ui: &Ui,
        program: &Program,
        running: &Running,
        options: &[String],
    ) -> Outcome {
        let mut objects = self.called(program, running, options).await?;
        // Those with a conversion are among what calls the program; of the others, none stays.
        for definition in &self.definitions {
            if !objects.iter().any(|object| is_same(object, definition)) {
                objects.push(definition.clone());
            }
        }
        if self.stays() && !self.fail_closed {
            objects.iter_mut().for_each(fail_open);
        }
        for object in &objects {
            self.borrowed.take(object).await?;
        }
        self.borrowed.keep_only(ui, &objects).await
    }

    /// The webhook configurations of a running program.
    pub(crate) async fn called(
        &self,
        program: &Program,
        running: &Running,
        options: &[String],
    ) -> Outcome<Vec<Value>> {
        let Some(address) = running.address() else {
            return Ok(Vec::new());
        };
        let url = self.url(address.port());
        program.manifests(&url, &self.ca_file(), options).await
    }

    /// Whether the cluster stays when the command ends.
    pub(crate) fn stays(&self) -> bool {
        matches!(self.access, Access::Person(_))
    }

    pub(crate) fn borrowed(&mut self) -> &mut Borrowed {
        &mut self.borrowed
    }

    fn url(&self, port: u16) -> String {
        match self.host.parse() {
            Ok(IpAddr::V6(address)) => format!("https://[{address}]:{port}"),
            _ => format!("https://{}:{port}", self.host),
        }
    }

    /// Defines a custom resource, and waits until it can be used. Keeps its conversion strategy: while no webhook converts
    /// objects, an object of one version must not pass as one of another.
    async fn define(&mut self, definition: &Value) -> Outcome {
        self.borrowed.take_but_conversion(definition).await?;
        wait::for_definition(&self.client, definition).await
    }

    fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }
}

/// Makes an API server ignore the webhooks of a configuration when it cannot reach them.
fn fail_open(object: &mut Value) {
    let webhooks = object["webhooks"].as_array_mut();
    for webhook in webhooks.into_iter().flatten() {
        webhook["failurePolicy"] = "Ignore".into();
    }
}

/// The address for a program to listen on that is reached at `host`: a loopback address if `host` is one.
fn listening(host: &str) -> &'static str {
    match host.parse() {
        Ok(IpAddr::V6(address)) if address.is_loopback() => "[::1]:0",
        Ok(IpAddr::V6(_)) => "[::]:0",
        Ok(IpAddr::V4(address)) if address.is_loopback() => "127.0.0.1:0",
        _ if host == "localhost" => "127.0.0.1:0",
        _ => "0.0.0.0:0",
    }
}

const LOOPBACK: &str = "127.0.0.1";

/// Lifetime of the certificate: longer than any development run.
const CERTIFICATE_LIFETIME: Duration = Duration::from_hours(30 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_listens_where_it_is_reached() {
        for (host, address) in [
            (LOOPBACK, "127.0.0.1:0"),
            ("localhost", "127.0.0.1:0"),
            ("::1", "[::1]:0"),
            ("172.17.0.1", "0.0.0.0:0"),
            ("host.docker.internal", "0.0.0.0:0"),
            ("fd00::1", "[::]:0"),
        ] {
            assert_eq!(listening(host), address, "{host}");
        }
    }
}
