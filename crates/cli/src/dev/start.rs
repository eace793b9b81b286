//! Starts a program beside an embedded API server: with its kinds defined, as its own service account, and with a certificate.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use kube::Client;
use kubewright_apiserver::Listening;
use kubewright_certificates::TrustBundle;
use kubewright_testing::apply;
use serde_json::Value;
use tempfile::TempDir;

use super::program::{Program, Running};
use super::{account, wait};
use crate::commands::certs;
use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};

/// What the person at the terminal wants of the program.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// Options of the program itself.
    pub(crate) options: &'a [String],
    /// Where it is to keep its reviews.
    pub(crate) record: Option<&'a Path>,
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) running: Running,
    /// What its clients have to trust.
    pub(crate) trust: TrustBundle,
    /// With its certificate and its kubeconfig.
    pub(crate) folder: TempDir,
}

/// Starts a program; `client` is an administrator of the API server that listens.
pub(crate) async fn beside(
    client: &Client,
    listening: &Listening,
    program: &Program,
    asked: &Asked<'_>,
) -> Outcome<Started> {
    let crds = program.crds(asked.options).await?;
    let roles = program.permissions(asked.options).await?;
    define(client, &crds).await?;
    let folder = tempfile::tempdir().context("cannot make a folder for the certificate")?;
    let access = folder.path().join("kubeconfig");
    let token = account::make(client, program.name(), &roles).await?;
    let own = listening.kubeconfig_with_token(program.name(), &token);
    write(&access, &own, Readers::Owner)?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let (authority, certificate) = certs::issue(&names, CERTIFICATE_LIFETIME)?;
    certs::save(folder.path(), &authority, &certificate)?;
    let running = program.start(folder.path(), &access, asked).await?;
    Ok(Started {
        running,
        trust: authority.trust(),
        folder,
    })
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

/// The certificate of a development run: nobody develops for a month without a restart.
const CERTIFICATE_LIFETIME: Duration = Duration::from_hours(30 * 24);
