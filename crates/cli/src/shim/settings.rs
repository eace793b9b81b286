//! What the flags of kube-apiserver come to here: a server, its listener, and the flags that have no effect.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use kubewright_apiserver::admission::AdmissionPlugin;
use kubewright_apiserver::audit::{Audit, Level};
use kubewright_apiserver::{
    ApiServer, AuthorizationMode, Builder, KubernetesVersion, SecureServing, ServiceAccountTokens,
};
use kubewright_certificates::Authority;
use serde::Deserialize;

use super::flags::Given;
use crate::failure::{Failure, Outcome};
use crate::files::{Readers, append, write};

/// What the flags come to.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) address: SocketAddr,
    pub(super) server: Builder,
    pub(super) serving: SecureServing,
    /// A sentence for each flag, or part of one, that has no effect.
    pub(super) notes: Vec<String>,
}

/// The flags that have an effect, with the help for them.
pub(super) const EFFECTIVE: [(&str, &str); 16] = [
    (
        "api-audiences",
        "Audiences of the tokens of service accounts; the first issuer by default",
    ),
    (
        "audit-log-path",
        "Append audit events to this file; needs --audit-policy-file",
    ),
    (
        "audit-policy-file",
        "Audit policy with one rule for every request",
    ),
    (
        "authorization-mode",
        "AlwaysAllow, Node, RBAC: one that allows is enough (default AlwaysAllow)",
    ),
    (
        "bind-address",
        "Listen on this IP address (default 127.0.0.1)",
    ),
    (
        "cert-dir",
        "Serve with apiserver.crt and apiserver.key of this directory; write them if they are missing",
    ),
    (
        "client-ca-file",
        "Accept client certificates of these authorities: CN is the user, each O a group",
    ),
    (
        "disable-admission-plugins",
        "Do not run these admission plugins",
    ),
    (
        "enable-admission-plugins",
        "Run these admission plugins besides the default ones",
    ),
    (
        "emulated-version",
        "Emulate this version of Kubernetes: 1.35, 1.36 or 1.37 (default 1.37)",
    ),
    ("secure-port", "Listen on this port (default 6443)"),
    (
        "service-account-issuer",
        "Issuer of the tokens of service accounts; may be repeated, the first one issues",
    ),
    (
        "service-account-key-file",
        "Verify the tokens of service accounts with these keys; may be repeated",
    ),
    (
        "service-account-signing-key-file",
        "Sign the tokens of service accounts with this private key",
    ),
    ("tls-cert-file", "Serve with this certificate chain"),
    ("tls-private-key-file", "Private key of --tls-cert-file"),
];

/// Why a flag that others rely on has no effect.
const REASONS: [(&str, &str); 5] = [
    (
        "allow-privileged",
        "privileged containers are always allowed",
    ),
    ("etcd-servers", "objects are kept in memory"),
    ("feature-gates", "every feature has its default"),
    (
        "runtime-config",
        "the APIs are those that are on by default",
    ),
    ("service-cluster-ip-range", "the range is 10.0.0.0/24"),
];

/// The admission plugins of kube-apiserver that this server does not have.
const ABSENT_PLUGINS: [&str; 14] = [
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "LimitPodHardAntiAffinityTopology",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PodGroupProtection",
    "PodNodeSelector",
    "PodTolerationRestriction",
];

impl Settings {
    /// Reads the flags, and the files that they name.
    ///
    /// # Errors
    /// A value or a file is invalid.
    pub(super) fn read(given: &Given) -> Outcome<Self> {
        let mut notes: Vec<String> = given.names().filter_map(without_effect).collect();
        let address = address(given)?;
        let mut server = ApiServer::builder()
            .emulated_version(emulated_version(given)?)
            .authorization(modes(given)?);
        // A kube-apiserver calls webhooks wherever they are, and this one is started by the tests that it serves.
        server = server
            .admission(kubewright_apiserver::admission::Chain::builder().allow_remote_hooks());
        server = plugins(server, given, &mut notes)?;
        server = server.service_account_tokens(tokens(given)?);
        if let Some(audit) = audit(given, &mut notes)? {
            server = server.audit(audit);
        }
        Ok(Self {
            address,
            server,
            serving: serving(given, address.ip())?,
            notes,
        })
    }
}

/// The sentence about a flag that has no effect.
fn without_effect(name: &'static str) -> Option<String> {
    if EFFECTIVE.iter().any(|(known, _)| *known == name) {
        return None;
    }
    let reason = REASONS.iter().find(|(known, _)| *known == name);
    Some(match reason {
        Some((_, reason)) => format!("--{name} has no effect: {reason}"),
        None => format!("--{name} has no effect"),
    })
}

fn address(given: &Given) -> Outcome<SocketAddr> {
    const PORT: u16 = 6443;
    let invalid = |name: &str, value: &str, why: &str| {
        Failure::new(format!(
            "invalid argument {value:?} for \"--{name}\" flag: {why}"
        ))
    };
    let ip = match given.last("bind-address") {
        Some(text) => text.parse().map_err(|_| {
            invalid(
                "bind-address",
                text,
                &format!("failed to parse IP: {text:?}"),
            )
        })?,
        None => IpAddr::from(Ipv4Addr::LOCALHOST),
    };
    let port = match given.last("secure-port") {
        Some(text) => text.parse().map_err(|_| {
            let why = format!("strconv.ParseInt: parsing {text:?}: invalid syntax");
            invalid("secure-port", text, &why)
        })?,
        None => PORT,
    };
    Ok(SocketAddr::new(ip, port))
}

/// `1.36`, or `kube=1.36` beside the versions of other components.
fn emulated_version(given: &Given) -> Outcome<KubernetesVersion> {
    let mut version = KubernetesVersion::default();
    for element in given.elements("emulated-version") {
        version = match element.split_once('=') {
            Some((component, _)) if component != "kube" => {
                let message = format!("component not registered: {component}");
                return Err(Failure::new(message));
            }
            Some((_, text)) => text,
            None => element,
        }
        .parse()
        .context("--emulated-version")?;
    }
    Ok(version)
}

fn modes(given: &Given) -> Outcome<Vec<AuthorizationMode>> {
    let named: Vec<&str> = given.elements("authorization-mode").collect();
    if named.is_empty() {
        return Ok(vec![AuthorizationMode::AlwaysAllow]);
    }
    let mode = |name: &&str| match *name {
        "AlwaysAllow" => Ok(AuthorizationMode::AlwaysAllow),
        "Node" => Ok(AuthorizationMode::Node),
        "RBAC" => Ok(AuthorizationMode::Rbac),
        "ABAC" | "AlwaysDeny" | "Webhook" => Err(Failure::new(format!(
            "authorization-mode {name:?} is not supported"
        ))
        .hint("use Node, RBAC or AlwaysAllow")),
        name => Err(Failure::new(format!(
            "authorization-mode {name:?} is not a valid mode"
        ))),
    };
    named.iter().map(mode).collect()
}

/// The plugins that run by default on a kube-apiserver, changed as the flags say.
fn plugins(server: Builder, given: &Given, notes: &mut Vec<String>) -> Outcome<Builder> {
    let mut read = |flag: &str| -> Outcome<Vec<AdmissionPlugin>> {
        let mut plugins = Vec::new();
        for name in given.elements(flag) {
            match name.parse() {
                Ok(plugin) => plugins.push(plugin),
                // Disabling it asks for what is the case.
                Err(_) if ABSENT_PLUGINS.contains(&name) => {
                    if flag.starts_with("enable") {
                        notes.push(format!(
                            "--{flag}={name} has no effect: this server does not have the plugin"
                        ));
                    }
                }
                Err(_) => {
                    let message = format!("{flag} plugin {name:?} is unknown");
                    return Err(Failure::new(message));
                }
            }
        }
        Ok(plugins)
    };
    let (enabled, disabled) = (
        read("enable-admission-plugins")?,
        read("disable-admission-plugins")?,
    );
    Ok(server
        .enable_admission_plugins([AdmissionPlugin::ServiceAccount])
        .enable_admission_plugins(enabled)
        .disable_admission_plugins(disabled))
}

fn tokens(given: &Given) -> Outcome<ServiceAccountTokens> {
    let verified: Vec<&str> = given.all("service-account-key-file").collect();
    let mut tokens = match given.last("service-account-signing-key-file") {
        Some(path) => {
            let pem = contents(path)?;
            ServiceAccountTokens::signed_with(pem).with_context(|| path.to_owned())?
        }
        None if verified.is_empty() => ServiceAccountTokens::default(),
        None => {
            let message = "--service-account-key-file without --service-account-signing-key-file";
            return Err(Failure::new(message).hint("pass the private key of one of the keys, too"));
        }
    };
    for path in verified {
        let pem = contents(path)?;
        tokens = tokens.verified_with(pem).with_context(|| path.to_owned())?;
    }
    Ok(tokens
        .issuers(given.all("service-account-issuer"))
        .audiences(given.elements("api-audiences")))
}

fn serving(given: &Given, address: IpAddr) -> Outcome<SecureServing> {
    let mut serving = SecureServing::default();
    let files = (
        given.last("tls-cert-file"),
        given.last("tls-private-key-file"),
    );
    serving = match (files, given.last("cert-dir")) {
        ((Some(chain), Some(key)), _) => serving.certificate(contents(chain)?, contents(key)?)?,
        ((None, None), Some(folder)) => {
            let (chain, key) = kept_in(Path::new(folder), address)?;
            serving.certificate(chain, key)?
        }
        ((None, None), None) => serving,
        _ => {
            let message = "--tls-cert-file and --tls-private-key-file belong together";
            return Err(Failure::new(message).hint("pass both or none"));
        }
    };
    if let Some(path) = given.last("client-ca-file") {
        serving = serving.client_ca(contents(path)?)?;
    }
    Ok(serving)
}

/// The serving certificate of a directory and its key, made unless both are there.
fn kept_in(folder: &Path, address: IpAddr) -> Outcome<(String, String)> {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    let (chain, key) = (folder.join("apiserver.crt"), folder.join("apiserver.key"));
    if chain.exists() && key.exists() {
        return Ok((contents(&chain)?, contents(&key)?));
    }
    let authority = Authority::new("kube-apiserver-ca")?;
    let mut names = vec![
        "localhost".to_owned(),
        "kubernetes.default.svc".to_owned(),
        Ipv4Addr::LOCALHOST.to_string(),
        Ipv6Addr::LOCALHOST.to_string(),
    ];
    let address = address.to_string();
    if !names.contains(&address) {
        names.push(address);
    }
    let issued = authority.sign_server(names, YEAR)?;
    let certificates = format!(
        "{}{}",
        issued.certificate_pem(),
        authority.certificate_pem()
    );
    write(&chain, &certificates, Readers::Everyone)?;
    write(&key, &issued.key_pem(), Readers::Owner)?;
    Ok((certificates, issued.key_pem()))
}

/// An audit policy, as far as this server goes by one.
#[derive(Debug, Deserialize)]
struct Policy {
    rules: Vec<Rule>,
}

/// A rule without conditions: every other field is an error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    level: PolicyLevel,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum PolicyLevel {
    None,
    Metadata,
    Request,
    RequestResponse,
}

fn audit(given: &Given, notes: &mut Vec<String>) -> Outcome<Option<Audit>> {
    let (log, policy) = match (
        given.last("audit-log-path"),
        given.last("audit-policy-file"),
    ) {
        (Some(log), Some(policy)) => (log, policy),
        (None, None) => return Ok(None),
        (Some(_), None) => {
            notes.push("--audit-log-path has no effect without --audit-policy-file".to_owned());
            return Ok(None);
        }
        (None, Some(_)) => {
            notes.push("--audit-policy-file has no effect without --audit-log-path".to_owned());
            return Ok(None);
        }
    };
    let read = serde_saphyr::from_str::<Policy>(&contents(policy)?);
    let rules = read.map(|policy| policy.rules);
    let Ok([Rule { level }]) = rules.as_deref() else {
        return Err(
            Failure::new(format!("cannot go by the audit policy {policy}"))
                .hint("write one rule that has a level and no condition"),
        );
    };
    let level = match level {
        PolicyLevel::None => return Ok(None),
        PolicyLevel::Metadata => Level::Metadata,
        PolicyLevel::Request => Level::Request,
        PolicyLevel::RequestResponse => Level::RequestResponse,
    };
    let audit = match log {
        "-" => Audit::to_writer(std::io::stdout()),
        path => Audit::to_writer(append(Path::new(path), Readers::Owner)?),
    };
    Ok(Some(audit.level(level)))
}

fn contents(path: impl AsRef<Path>) -> Outcome<String> {
    let path = path.as_ref();
    Ok(fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_admission_plugin_of_this_server_is_listed_as_absent() {
        for plugin in AdmissionPlugin::ALL {
            let name = plugin.to_string();
            assert!(!ABSENT_PLUGINS.contains(&name.as_str()), "{name}");
        }
    }
}
