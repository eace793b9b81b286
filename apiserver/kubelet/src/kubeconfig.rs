//! The kubeconfig of a container that has a token of its service account.
//!
//! A client looks for the token at a path of the container's own file system, which a process does not have. Most read a
//! kubeconfig first if the environment names one.

use std::io;
use std::path::Path;

use serde_json::{Value, json};
use tokio::fs;

use crate::container::Container;

/// Writes the kubeconfig into a directory and names it in the environment, if the container has a token, knows where the
/// API server is, and names no other kubeconfig.
pub(crate) async fn add(
    container: &mut Container,
    namespace: &str,
    directory: &Path,
) -> io::Result<()> {
    if container.env("KUBECONFIG").is_some() {
        return Ok(());
    }
    let Some(kubeconfig) = kubeconfig(container, namespace) else {
        return Ok(());
    };
    let path = directory.join("kubeconfig");
    fs::write(&path, kubeconfig.to_string()).await?;
    let path = path.to_string_lossy().into_owned();
    container.env.push(("KUBECONFIG".to_owned(), path));
    Ok(())
}

fn kubeconfig(container: &Container, namespace: &str) -> Option<Value> {
    const SECRETS: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    let mount = container
        .mounts
        .iter()
        .find(|mount| mount.path == SECRETS)?;
    let host = container.env("KUBERNETES_SERVICE_HOST")?;
    let port = container.env("KUBERNETES_SERVICE_PORT")?;
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    Some(json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "own", "cluster": {
            "server": format!("https://{host}:{port}"),
            "certificate-authority": mount.files.join("ca.crt"),
        }}],
        "users": [{"name": "own", "user": {"tokenFile": mount.files.join("token")}}],
        "contexts": [{"name": "own", "context": {
            "cluster": "own",
            "user": "own",
            "namespace": namespace,
        }}],
        "current-context": "own",
    }))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::sync::watch;

    use super::*;
    use crate::container::Mount;
    use crate::log::Log;

    fn container(env: &[(&str, &str)], mounted: &str) -> Container {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Container {
            name: "main".to_owned(),
            command: Vec::new(),
            args: Vec::new(),
            env: env.collect(),
            address: Ipv4Addr::LOCALHOST.into(),
            mounts: vec![Mount {
                path: mounted.to_owned(),
                files: "/tmp/files".into(),
            }],
            directory: "/tmp".into(),
            log: Log::default(),
            stopped: watch::channel(false).1,
        }
    }

    #[test]
    fn a_container_with_a_token_has_a_kubeconfig_where_the_server_listens() {
        const MOUNTED: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
        let env = [
            ("KUBERNETES_SERVICE_HOST", "127.0.0.1"),
            ("KUBERNETES_SERVICE_PORT", "6443"),
        ];
        let written = kubeconfig(&container(&env, MOUNTED), "a").expect("a kubeconfig");
        assert_eq!(
            written["clusters"][0]["cluster"]["server"],
            "https://127.0.0.1:6443"
        );
        assert_eq!(written["users"][0]["user"]["tokenFile"], "/tmp/files/token");
        assert_eq!(written["contexts"][0]["context"]["namespace"], "a");
        assert!(kubeconfig(&container(&env, "/etc/other"), "a").is_none());
        assert!(kubeconfig(&container(&[], MOUNTED), "a").is_none());
    }
}
