//! The command line that every program has.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand, ValueEnum};
use kubewright_manifests::Endpoint;
use kubewright_server::ClientCheck;
use kubewright_webhook::KubernetesVersion;

use crate::deployment::Files;
use crate::logging::{Levels, LogFormat};
#[cfg(feature = "otlp")]
use crate::traces::TraceFlags;

/// What a program was asked to do, with its own options.
#[derive(Debug)]
pub(crate) struct Asked<O> {
    pub(crate) task: Task,
    pub(crate) options: O,
    /// The options as they were written, for a process elsewhere that is to run with the same.
    pub(crate) written: Vec<String>,
}

/// The sub-command.
#[derive(Debug)]
pub(crate) enum Task {
    Run(Box<RunFlags>),
    Manifests(ManifestFlags),
    ApiServer(ApiServerFlags),
    Crds,
    Permissions(PermissionFlags),
    Alerts,
    Dashboard,
    Version,
}

#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "0.0.0.0:9443",
        help = "Listen on this address for requests of the API server"
    )]
    pub(crate) listen: SocketAddr,

    #[command(flatten)]
    pub(crate) identity: IdentityFlags,

    #[command(flatten)]
    pub(crate) policies: PolicyFlags,

    #[arg(
        long,
        value_name = "ADDRESS",
        help = "Serve /metrics on this address, such as 0.0.0.0:8080, and the health probes unless --health-probe-bind-address is set; over plain HTTP, or HTTPS if the program secures its metrics"
    )]
    pub(crate) metrics_bind_address: Option<SocketAddr>,

    #[arg(
        long,
        value_name = "ADDRESS",
        help = "Serve /healthz, /livez and /readyz over plain HTTP on this address, if it differs from --metrics-bind-address"
    )]
    pub(crate) health_probe_bind_address: Option<SocketAddr>,

    #[arg(
        long,
        value_name = "FILE",
        requires = "self_signed",
        conflicts_with = "certificates",
        help = "Write the CA certificate of --self-signed to this file, for `manifests --ca-file`"
    )]
    pub(crate) write_ca: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) clients: ClientFlags,

    #[arg(
        long,
        value_name = "VERSION",
        default_value = "1.3",
        help = "Minimum TLS version"
    )]
    pub(crate) tls_min_version: TlsVersion,

    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "30",
        help = "Graceful shutdown timeout in seconds, including in-flight requests"
    )]
    pub(crate) grace: u16,

    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "5",
        help = "Keep accepting requests this many seconds after SIGTERM, while endpoints propagate"
    )]
    pub(crate) propagation: u16,

    #[arg(
        long,
        value_name = "DIRECTORY",
        help = "Record every admission review with its response in this directory, for `kubewright replay`; values of Secrets, ConfigMaps, environment variables, annotations, commands and tokens are redacted"
    )]
    pub(crate) record: Option<PathBuf>,

    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        help = "Log format"
    )]
    pub(crate) log_format: LogFormat,

    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "info",
        help = "Log level: off, error, warn, info, debug or trace, or a level per module such as info,kubewright_server=debug"
    )]
    pub(crate) log_level: Levels,

    #[cfg(feature = "otlp")]
    #[command(flatten)]
    pub(crate) traces: TraceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyFlags {
    #[arg(
        long = "kubernetes",
        value_name = "VERSION",
        help = "Oldest version of Kubernetes to support, such as 1.29: policies that it cannot evaluate become webhooks"
    )]
    pub(crate) oldest: Option<KubernetesVersion>,
}

#[derive(Debug, Args)]
#[group(id = "identity", multiple = false)]
pub(crate) struct IdentityFlags {
    #[arg(
        long,
        value_name = "DIRECTORY",
        help = "Serve the certificate in this directory (tls.crt, tls.key, ca.crt) and reload it when it changes"
    )]
    pub(crate) certificates: Option<PathBuf>,

    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        help = "Serve a certificate generated at startup for these DNS names and IP addresses"
    )]
    pub(crate) self_signed: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ClientFlags {
    #[arg(
        long,
        value_name = "FILE",
        help = "Require client certificates signed by these CA certificates (PEM); the file is reloaded when it changes"
    )]
    client_ca: Option<PathBuf>,

    #[arg(
        long = "client-name",
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "client_ca",
        help = "Allowed common names of client certificates [default: any]"
    )]
    client_names: Vec<String>,

    #[arg(
        long,
        value_name = "WHAT",
        default_value = "refuse",
        requires = "client_ca",
        help = "Reject other clients, or only log and count them"
    )]
    other_clients: OtherClients,
}

/// A version of TLS that is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsVersion {
    #[value(name = "1.2")]
    Tls12,
    #[value(name = "1.3")]
    Tls13,
}

/// What happens to clients that are not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OtherClients {
    Refuse,
    Observe,
}

impl ClientFlags {
    /// The check that was asked for, if one was.
    pub(crate) fn check(&self) -> Option<ClientCheck> {
        let check = ClientCheck::by_file(self.client_ca.as_ref()?).named(&self.client_names);
        Some(match self.other_clients {
            OtherClients::Refuse => check,
            OtherClients::Observe => check.observing(),
        })
    }
}

/// Which of an API server's two files to print, and its content.
#[derive(Debug, Args)]
pub(crate) struct ApiServerFlags {
    #[command(subcommand)]
    pub(crate) file: ApiServerFile,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApiServerFile {
    #[command(about = "Prints the file for --admission-control-config-file")]
    Configuration {
        #[arg(
            long,
            value_name = "PATH",
            help = "Path of the kubeconfig on the API server's host"
        )]
        kubeconfig: String,
    },
    #[command(about = "Prints the kubeconfig that the configuration names")]
    Kubeconfig {
        #[command(flatten)]
        endpoint: EndpointFlags,

        #[arg(
            long,
            value_name = "PATH",
            help = "Path of the client certificate on the API server's host"
        )]
        client_certificate: String,

        #[arg(
            long,
            value_name = "PATH",
            help = "Path of its private key on the API server's host"
        )]
        client_key: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PermissionFlags {
    #[arg(
        id = CLUSTER,
        long = "cluster",
        alias = CLUSTER,
        value_name = "NAME",
        help = "Print the roles that the program requires in this other cluster, or in each cluster of this fleet"
    )]
    pub(crate) cluster: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestFlags {
    #[command(flatten)]
    endpoint: EndpointFlags,

    #[command(flatten)]
    pub(crate) policies: PolicyFlags,

    #[arg(
        long,
        value_name = "FILE",
        requires = "endpoint",
        help = "File with the CA certificates (PEM) that the API server trusts for this program"
    )]
    pub(crate) ca_file: Option<PathBuf>,

    #[arg(
        id = NAMESPACE,
        long = "namespace",
        alias = NAMESPACE,
        value_name = "NAME",
        conflicts_with = "endpoint",
        help = "Install into this namespace instead of the one in the code"
    )]
    pub(crate) namespace: Option<String>,

    #[arg(
        id = IMAGE,
        long = "image",
        alias = IMAGE,
        value_name = "IMAGE",
        conflicts_with = "endpoint",
        help = "Run this image instead of the one in the code"
    )]
    pub(crate) image: Option<String>,

    #[arg(
        long,
        value_name = "DIRECTORY",
        conflicts_with = "endpoint",
        help = "Write a Kustomize tree to this directory instead of printing"
    )]
    into: Option<PathBuf>,

    #[arg(
        long,
        requires = "into",
        help = "Write nothing; exit with an error if the files are not up to date"
    )]
    check: bool,

    #[arg(long, requires = "into", help = "Write a Helm chart instead")]
    helm: bool,

    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "endpoint",
        help = "Exit with an error if the CustomResourceDefinitions break those in this file (`kubectl get crd -o yaml`)"
    )]
    pub(crate) against: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[group(id = "endpoint", multiple = false)]
pub(crate) struct EndpointFlags {
    #[arg(
        long,
        value_parser = Endpoint::url,
        help = "URL at which the API server reaches the program, such as https://127.0.0.1:8080"
    )]
    url: Option<Endpoint>,

    #[arg(
        long,
        value_name = "NAMESPACE/NAME[:PORT]",
        value_parser = Endpoint::service,
        help = "Service through which the API server reaches the program"
    )]
    service: Option<Endpoint>,
}

impl IdentityFlags {
    pub(crate) fn is_given(&self) -> bool {
        self.certificates.is_some() || !self.self_signed.is_empty()
    }
}

impl ManifestFlags {
    /// Where the webhooks are, if nothing but their configurations is to be printed.
    pub(crate) fn endpoint(&self) -> Option<Endpoint> {
        self.endpoint.endpoint()
    }

    /// The files, if there are to be any.
    pub(crate) fn files(&self) -> Option<Files> {
        Some(Files {
            directory: self.into.clone()?,
            are_checked: self.check,
            are_a_chart: self.helm,
        })
    }

    /// Adds the flags to those of a program, whose own go before: where it has `--namespace`, ours is `--install-namespace`,
    /// which is understood everywhere.
    fn added_to(command: Command) -> Command {
        let own: Vec<String> = command
            .get_arguments()
            .filter_map(|argument| argument.get_long().map(ToOwned::to_owned))
            .collect();
        let taken = |name: &str| own.iter().any(|own| own == name);
        let ours = [("namespace", NAMESPACE), ("image", IMAGE)];
        let ours = ours.into_iter().filter(|(short, _)| taken(short));
        ours.fold(Self::augment_args(command), |command, (_, long)| {
            command.mut_arg(long, |argument| argument.long(long).alias(None))
        })
    }
}

impl EndpointFlags {
    pub(crate) fn endpoint(&self) -> Option<Endpoint> {
        self.url.clone().or_else(|| self.service.clone())
    }
}

const CLUSTER: &str = "other-cluster";
const NAMESPACE: &str = "install-namespace";
const IMAGE: &str = "install-image";

/// Reads a command line.
pub(crate) fn parse<O: Args>(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Asked<O>, clap::Error> {
    let mut command = command::<O>();
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    let (name, matches) = match matches.remove_subcommand() {
        Some((name, matches)) => (name, matches),
        None => ("run".to_owned(), matches),
    };
    let task = match name.as_str() {
        "manifests" => Task::Manifests(ManifestFlags::from_arg_matches(&matches)?),
        "api-server" => Task::ApiServer(ApiServerFlags::from_arg_matches(&matches)?),
        "crds" => Task::Crds,
        "permissions" => Task::Permissions(PermissionFlags::from_arg_matches(&matches)?),
        "alerts" => Task::Alerts,
        "dashboard" => Task::Dashboard,
        "version" => Task::Version,
        _ => Task::Run(Box::new(RunFlags::from_arg_matches(&matches)?)),
    };
    let options = O::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok(Asked {
        task,
        options,
        written: written::<O>(&matches),
    })
}

/// The program's own options as they stand on the command line, in the order in which the program declares them.
fn written<O: Args>(matches: &ArgMatches) -> Vec<String> {
    let own = O::augment_args(Command::new("own"));
    let given = own.get_arguments().filter(|argument| {
        let source = matches.value_source(argument.get_id().as_str());
        source == Some(ValueSource::CommandLine)
    });
    let mut written = Vec::new();
    for argument in given {
        let id = argument.get_id().as_str();
        let name = match (argument.get_long(), argument.get_short()) {
            (Some(long), _) => format!("--{long}"),
            (None, Some(short)) => format!("-{short}"),
            (None, None) => String::new(),
        };
        match argument.get_action() {
            ArgAction::SetTrue | ArgAction::SetFalse => written.push(name),
            ArgAction::Count => {
                let count = matches.get_one::<u8>(id).copied().unwrap_or_default();
                written.extend(std::iter::repeat_n(name, count.into()));
            }
            _ => {
                let values = matches.get_raw(id).into_iter().flatten();
                for value in values.map(|value| value.to_string_lossy()) {
                    written.push(match (name.as_str(), argument.get_long()) {
                        ("", _) => value.into_owned(),
                        (name, Some(_)) => format!("{name}={value}"),
                        (name, None) => format!("{name}{value}"),
                    });
                }
            }
        }
    }
    written
}

/// The commands, each of which takes the program's own options: they decide what is served and
/// therefore what the manifests say.
fn command<O: Args>() -> Command {
    // What options say of themselves is not said of the commands that take them.
    let own = |name: &'static str| O::augment_args(Command::new(name)).long_about(None);
    let run = RunFlags::augment_args(own("run"))
        .about("Runs the program until SIGTERM or SIGINT (the default)");
    let manifests = own("manifests").about(
        "Prints the install manifests of this program as YAML, or only its webhook configurations, or writes them to files",
    );
    let api_server = ApiServerFlags::augment_args(own("api-server"))
        .about("Prints the API server configuration for client certificates towards this program")
        .mut_subcommand("kubeconfig", |file| {
            file.mut_group("endpoint", |group| group.required(true))
        });
    let crds = own("crds").about("Prints the CustomResourceDefinitions of this program as YAML");
    let permissions = PermissionFlags::augment_args(own("permissions"))
        .about("Prints the RBAC roles that this program requires, as YAML");
    let alerts = own("alerts")
        .about("Prints a PrometheusRule with alert rules for the metrics of this program, as YAML");
    let dashboard = own("dashboard")
        .about("Prints a Grafana dashboard with the metrics of this program, as JSON");
    let version = own("version").about("Prints the version of this program");
    let program = RunFlags::augment_args(Command::new("program"));
    O::augment_args(program)
        // `program manifests …` needs none of the flags of `program run`.
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .subcommand(run)
        .subcommand(ManifestFlags::added_to(manifests))
        .subcommand(api_server)
        .subcommand(crds)
        .subcommand(permissions)
        .subcommand(alerts)
        .subcommand(dashboard)
        .subcommand(version)
}

/// Says that a program with webhooks cannot do without a certificate.
pub(crate) fn no_identity<O: Args>() -> clap::Error {
    command::<O>().error(
        ErrorKind::MissingRequiredArgument,
        "this program has webhooks, which need one of --certificates <DIRECTORY> and --self-signed <NAMES>",
    )
}

#[cfg(test)]
mod page;
#[cfg(test)]
mod tests;
