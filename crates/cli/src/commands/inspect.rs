//! `kubewright inspect`: what goes on inside of running programs.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::project::Place as Project;
use crate::current::{Cluster, ClusterFlags};
use crate::failure::{Failure, Outcome};
use crate::inspect::{
    LABEL, Place, Told, Verification, at_address, call, in_pod, of_address, of_file, of_pod, pods,
    report, token,
};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The pods to look into [default: all running pods of the program]
    #[arg(value_name = "POD")]
    pods: Vec<String>,

    /// The program, by its name in the label app.kubernetes.io/name of its pods [default: the name of the project]
    #[arg(long, value_name = "NAME")]
    program: Option<String>,

    #[command(flatten)]
    project: Project,

    /// The namespace of the pods [default: that of the context]
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,

    #[command(flatten)]
    cluster: ClusterFlags,

    /// A program outside of a pod, by the address of its metrics
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "pods")]
    address: Option<String>,

    /// The ServiceAccount to look as, whose token the program gets for ten minutes [default: PROGRAM-inspector]
    #[arg(long, value_name = "NAME", conflicts_with = "token")]
    service_account: Option<String>,

    /// A token to look with
    #[arg(
        long,
        value_name = "TOKEN",
        env = "KUBEWRIGHT_TOKEN",
        hide_env_values = true
    )]
    token: Option<String>,

    /// The CA of the program's certificate [default: the caBundle of the webhooks that lead to it]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// The name in the program's certificate [default: that of its Service, or the host of --address]
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,

    /// Does not verify the program's certificate
    #[arg(long, conflicts_with = "ca_file")]
    insecure_skip_tls_verify: bool,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Format,
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables
    #[default]
    Text,
    /// JSON, including errors
    Json,
    /// YAML
    Yaml,
}

impl Arguments {
    /// Whether a program reads the result.
    pub(crate) fn json(&self) -> bool {
        self.output == Format::Json
    }

    fn program(&self) -> Option<String> {
        self.program.clone().or_else(|| self.project.name())
    }
}

pub(crate) fn run(ui: &Ui, arguments: &Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new();
    let runtime = runtime
        .context("cannot start the runtime")
        .map_err(Failure::internal)?;
    let pages = runtime.block_on(async {
        match &arguments.address {
            Some(address) => Ok(vec![look_at(ui, arguments, address).await?]),
            None => look_into_pods(ui, arguments).await,
        }
    })?;
    match arguments.output {
        Format::Json => ui.json(&json!(pages)),
        Format::Yaml => {
            let text = serde_saphyr::to_string(&json!(pages));
            ui.line(text.context("cannot write the result as YAML")?.trim_end());
        }
        Format::Text => {
            let reports: Vec<String> = pages.iter().map(report).collect();
            ui.line(reports.join("\n\n"));
        }
    }
    Ok(())
}

async fn look_into_pods(ui: &Ui, arguments: &Arguments) -> Outcome<Vec<Value>> {
    let cluster = arguments.cluster.connect(ui).await?;
    let client = cluster.client();
    let namespace = arguments.namespace.as_deref();
    let namespace = namespace.unwrap_or(client.default_namespace());
    let program = arguments.program();
    let pods = pods(client, namespace, &arguments.pods, program.as_deref()).await?;
    let mut pages = Vec::new();
    for pod in &pods {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let labels = pod.metadata.labels.as_ref();
        let label = labels.and_then(|labels| labels.get(LABEL));
        let looker = Looker::of(arguments, client, namespace, label.map(String::as_str)).await?;
        let verification = verification_of_pod(arguments, client, pod).await?;
        let stream = in_pod(client, pod).await?;
        let mut page = looker.look(stream, &verification).await?;
        page["pod"] = json!({"namespace": namespace, "name": name});
        pages.push(page);
    }
    Ok(pages)
}

async fn look_at(ui: &Ui, arguments: &Arguments, address: &str) -> Outcome<Value> {
    let host = address.rsplit_once(':').map(|(host, _)| host);
    let host = host.ok_or_else(|| {
        Failure::new(format!("`{address}` has no port")).hint("write it as 127.0.0.1:8443")
    })?;
    let host = host.trim_matches(['[', ']']);
    // A token and a CA that are given need no cluster.
    let needs_cluster = arguments.token.is_none()
        || arguments.ca_file.is_none() && !arguments.insecure_skip_tls_verify;
    let cluster = if needs_cluster {
        Some(arguments.cluster.connect(ui).await?)
    } else {
        None
    };
    let client = cluster.as_ref().map(Cluster::client);
    let name = arguments.server_name.as_deref().unwrap_or(host);
    let verification = match (given(arguments, name)?, client) {
        (Some(verification), _) => verification,
        (None, Some(client)) => of_address(client, host).await?,
        (None, None) => Verification::by(&[], name)?,
    };
    let looker = match (&arguments.token, client) {
        (None, Some(client)) => {
            let namespace = arguments.namespace.as_deref();
            let namespace = namespace.unwrap_or(client.default_namespace());
            let program = arguments.program();
            Looker::of(arguments, client, namespace, program.as_deref()).await?
        }
        (token, _) => Looker::with(token.clone().unwrap_or_default()),
    };
    looker.look(at_address(address).await?, &verification).await
}

async fn verification_of_pod(
    arguments: &Arguments,
    client: &Client,
    pod: &Pod,
) -> Outcome<Verification> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let labels = pod.metadata.labels.as_ref();
    let service = labels.and_then(|labels| labels.get(LABEL));
    let usual = format!(
        "{}.{namespace}.svc",
        service.map_or("localhost", |name| name)
    );
    let name = arguments.server_name.as_deref().unwrap_or(&usual);
    match given(arguments, name)? {
        Some(verification) => Ok(verification),
        None => of_pod(client, pod).await,
    }
}

/// The verification that the command line says.
fn given(arguments: &Arguments, name: &str) -> Outcome<Option<Verification>> {
    if arguments.insecure_skip_tls_verify {
        return Verification::skipped(name).map(Some);
    }
    let file = arguments.ca_file.as_deref();
    file.map(|path| of_file(path, name)).transpose()
}

/// As whom a program is looked into.
struct Looker {
    token: String,
    /// How to say who that is, and the program whose role is to be bound to it.
    account: Option<(String, String)>,
}

impl Looker {
    fn with(token: String) -> Self {
        Self {
            token,
            account: None,
        }
    }

    async fn of(
        arguments: &Arguments,
        client: &Client,
        namespace: &str,
        program: Option<&str>,
    ) -> Outcome<Self> {
        if let Some(token) = &arguments.token {
            return Ok(Self::with(token.clone()));
        }
        let usual = program.map(|program| format!("{program}-inspector"));
        let account = arguments.service_account.clone().or_else(|| usual.clone());
        let account = account.ok_or_else(|| {
            Failure::new("cannot tell as which ServiceAccount to look inside")
                .hint("name a ServiceAccount with --service-account, or pass a token with --token")
        })?;
        Ok(Self {
            token: token(client, namespace, &account).await?,
            account: Some((
                format!("{namespace}:{account}"),
                usual.unwrap_or_else(|| "NAME-inspector".to_owned()),
            )),
        })
    }

    async fn look(&self, stream: Place, verification: &Verification) -> Outcome<Value> {
        let told = timeout(PATIENCE, call(stream, verification, &self.token)).await;
        let told = told.map_err(|_| {
            Failure::new(format!(
                "the program does not answer within {} s",
                PATIENCE.as_secs()
            ))
        })?;
        match (told?, &self.account) {
            (Told::Page(page), _) => Ok(page),
            (Told::Unauthenticated, None) => Err(Failure::new("the program does not accept the token")
                .hint("pass a token that its API server knows: kubectl create token SERVICEACCOUNT")),
            (Told::Unauthenticated, Some((account, _))) => Err(Failure::new(format!(
                "the program does not accept the token of the ServiceAccount {account}"
            ))
            .hint("name the context of the cluster that the program itself works with, with --context")),
            (Told::Forbidden, None) => Err(Failure::new("the owner of the token may not look inside")
                .hint("bind the ClusterRole NAME-inspector of the program's manifests to it")),
            (Told::Forbidden, Some((account, role))) => {
                let name = account.replace(':', "-");
                Err(Failure::new(format!("the ServiceAccount {account} may not look inside")).hint(format!(
                    "bind the role to it: kubectl create clusterrolebinding {name} --clusterrole {role} --serviceaccount {account}"
                )))
            }
        }
    }
}

/// A program answers from memory, or after two reviews of the API server.
const PATIENCE: Duration = Duration::from_secs(20);
