//! A client from a kubeconfig that another user has written: it may name a server and credentials, and nothing to run or read.

use std::time::Duration;

use kube::config::{
    AuthInfo, Cluster, KubeConfigOptions, Kubeconfig, KubeconfigError, NamedAuthInfo, NamedCluster,
};
use kube::{Client, Config};

use crate::yaml;

/// Why a kubeconfig is not used. It is logged, so it never quotes the kubeconfig but for its names.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("it is larger than {} KiB", LARGEST / 1024)]
    TooLarge,
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("it is not a kubeconfig: {0}")]
    NotOne(yaml::Error),
    #[error("its documents are not all kubeconfigs of one version")]
    Mixed,
    #[error("it has no `current-context`")]
    NoContext,
    #[error("it has no {what} `{name}`")]
    Missing { what: &'static str, name: String },
    #[error(
        "{what}: the kubeconfig of a Secret has its credentials and its CA in itself (`…-data`, `token`)"
    )]
    Reaches { what: &'static str },
    #[error("its server is not an `https` URL without a user")]
    Server,
    #[error("it does not verify the certificate of the API server (`insecure-skip-tls-verify`)")]
    Unverified,
    #[error("it goes through a proxy (`proxy-url`), which is not supported")]
    Proxy,
    #[error("its CA, certificate, key or token cannot be used")]
    Unusable,
}

/// Makes a client.
pub(super) async fn client(kubeconfig: &[u8]) -> Result<Client, Refused> {
    if kubeconfig.len() > LARGEST {
        return Err(Refused::TooLarge);
    }
    let text = std::str::from_utf8(kubeconfig).map_err(|_| Refused::NotText)?;
    // As kube decodes the kubeconfig of a user: a program has that code already.
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|error| match error {
        KubeconfigError::Parse(error) => Refused::NotOne((*error).into()),
        _ => Refused::Mixed,
    })?;
    let kubeconfig = current(kubeconfig)?;
    // What goes wrong from here on may quote a key.
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|_| Refused::Unusable)?;
    // Of the environment of the program, which goes for its own cluster.
    config.proxy_url = None;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    Client::try_from(config).map_err(|_| Refused::Unusable)
}

/// The parts of a kubeconfig that its current context uses, if they may be used.
fn current(mut kubeconfig: Kubeconfig) -> Result<Kubeconfig, Refused> {
    let current = kubeconfig.current_context.as_ref();
    let current = current.ok_or(Refused::NoContext)?.clone();
    let missing = |what, name: &str| Refused::Missing {
        what,
        name: name.to_owned(),
    };
    kubeconfig
        .contexts
        .retain(|context| context.name == current);
    let context = kubeconfig.contexts.first();
    let context = context.and_then(|named| named.context.as_ref());
    let context = context.ok_or_else(|| missing("context", &current))?;
    kubeconfig
        .clusters
        .retain(|cluster| cluster.name == context.cluster);
    match &kubeconfig.clusters[..] {
        [
            NamedCluster {
                cluster: Some(cluster),
                ..
            },
            ..,
        ] => check_cluster(cluster)?,
        _ => return Err(missing("cluster", &context.cluster)),
    }
    if let Some(user) = &context.user {
        kubeconfig.auth_infos.retain(|known| known.name == *user);
        match &kubeconfig.auth_infos[..] {
            [
                NamedAuthInfo {
                    auth_info: Some(user),
                    ..
                },
                ..,
            ] => check_user(user)?,
            _ => return Err(missing("user", user)),
        }
    } else {
        kubeconfig.auth_infos.clear();
    }
    Ok(kubeconfig)
}

fn check_cluster(cluster: &Cluster) -> Result<(), Refused> {
    let server = cluster.server.as_deref().unwrap_or_default();
    let server: http::Uri = server.parse().map_err(|_| Refused::Server)?;
    let has_user = server
        .authority()
        .is_none_or(|authority| authority.as_str().contains('@'));
    if server.scheme_str() != Some("https") || has_user {
        return Err(Refused::Server);
    }
    if cluster.insecure_skip_tls_verify == Some(true) {
        return Err(Refused::Unverified);
    }
    if cluster.proxy_url.is_some() {
        return Err(Refused::Proxy);
    }
    if cluster.certificate_authority.is_some() {
        return Err(Refused::Reaches {
            what: "it names a file for its CA (`certificate-authority`)",
        });
    }
    Ok(())
}

fn check_user(user: &AuthInfo) -> Result<(), Refused> {
    for (is_there, what) in [
        (user.exec.is_some(), "it has a command run (`exec`)"),
        (
            user.auth_provider.is_some(),
            "it has a plugin run (`auth-provider`)",
        ),
        (
            user.token_file.is_some(),
            "it names a file for its token (`tokenFile`)",
        ),
        (
            user.client_certificate.is_some(),
            "it names a file for its certificate (`client-certificate`)",
        ),
        (
            user.client_key.is_some(),
            "it names a file for its key (`client-key`)",
        ),
    ] {
        if is_there {
            return Err(Refused::Reaches { what });
        }
    }
    Ok(())
}

/// Far more than a CA, a certificate and a key take.
const LARGEST: usize = 256 * 1024;

/// An API server that does not even answer the first packet does not answer later either.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
