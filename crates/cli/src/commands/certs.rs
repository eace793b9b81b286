//! `kubewright certs`: a certificate authority and a server certificate, as PEM files.

mod csr;
mod inject;
mod runtime;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use kubewright_certificates::{Authority, Issued};

use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};
use crate::output::Output;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    make: Make,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Requests a certificate by a CertificateSigningRequest.
    Csr(csr::Arguments),
    /// Sets the caBundle of webhook configurations, CustomResourceDefinitions and APIServices.
    Inject(inject::Arguments),
}

impl Arguments {
    /// Whether a program reads the result.
    pub(crate) fn json(&self) -> bool {
        match &self.command {
            None => false,
            Some(Command::Csr(arguments)) => arguments.output == Output::Json,
            Some(Command::Inject(arguments)) => arguments.output == Output::Json,
        }
    }
}

#[derive(Debug, Args)]
struct Make {
    /// Issue the certificate for these DNS names and IP addresses
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// Write ca.crt, ca.key, tls.crt and tls.key to this directory
    #[arg(long, value_name = "DIRECTORY", default_value = "certificates")]
    out: PathBuf,

    /// Set the validity of the server certificate, in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    match arguments.command {
        None => make(ui, arguments.make),
        Some(Command::Csr(arguments)) => csr::run(ui, &arguments),
        Some(Command::Inject(arguments)) => inject::run(ui, &arguments),
    }
}

fn make(ui: &Ui, arguments: Make) -> Outcome {
    let Make {
        names,
        out,
        days,
        force,
    } = arguments;
    if !force
        && let Some(there) = FILES
            .iter()
            .map(|name| out.join(name))
            .find(|path| path.exists())
    {
        return Err(Failure::new(format!("{} exists already", there.display()))
            .hint("pass --force to replace all four files, or name another folder with --out"));
    }
    let lifetime = Duration::from_secs(u64::from(days) * 24 * 3600);
    let (authority, server) = issue(&names, lifetime)?;
    save(&out, &authority, &server)?;
    ui.note(format!("wrote {} to {}", FILES.join(", "), out.display()));
    ui.note("the caBundle of the webhook configuration:");
    ui.line(authority.trust().to_ca_bundle());
    Ok(())
}

/// A new authority and a server certificate of it.
pub(crate) fn issue(names: &[String], lifetime: Duration) -> Outcome<(Authority, Issued)> {
    let authority = Authority::new("kubewright").context("cannot make a certificate authority")?;
    let server = authority
        .sign_server(names.iter().map(String::as_str), lifetime)
        .with_context(|| format!("cannot make a certificate for {}", names.join(", ")))?;
    Ok((authority, server))
}

/// Writes the four files.
pub(crate) fn save(folder: &Path, authority: &Authority, server: &Issued) -> Outcome {
    let [ca_crt, ca_key, tls_crt, tls_key] = FILES.map(|name| folder.join(name));
    write(&ca_crt, &authority.certificate_pem(), Readers::Everyone)?;
    write(&ca_key, &authority.key_pem(), Readers::Owner)?;
    write(&tls_key, &server.key_pem(), Readers::Owner)?;
    write(&tls_crt, &server.certificate_pem(), Readers::Everyone)
}

const FILES: [&str; 4] = ["ca.crt", "ca.key", "tls.crt", "tls.key"];
