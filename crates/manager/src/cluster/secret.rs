//! The Secret with a kubeconfig, followed while the program runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kubewright_controller::{Cached, Informers, Scope};
use serde::Deserialize;
use tokio::sync::watch;

use super::Kubeconfig;

/// The content of a Secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// It has not been read yet.
    NotYet,
    /// There is no Secret, or it has no such key: what is missing.
    Missing(Arc<str>),
    Content(Arc<[u8]>),
}

#[derive(Default, Deserialize)]
struct Content {
    data: Option<BTreeMap<String, ByteString>>,
}

/// Follows the Secret with a kubeconfig, in the namespace of the program unless it is said where.
pub(super) async fn follow(
    kubeconfig: Kubeconfig,
    namespace: Option<Arc<str>>,
    own: Client,
    seen: &watch::Sender<Seen>,
) {
    let namespace = namespace.unwrap_or_else(|| own.default_namespace().into());
    let secret = kubeconfig.secret();
    let scope = Scope::all().in_namespace(&*namespace).named(secret);
    let informers = Informers::new();
    let secrets = Cached::<Secret>::new(&informers, scope).decode_as::<Content>();
    let mut changes = secrets.follow((&*namespace, secret));
    let taken = async {
        loop {
            let now = match changes.next().await {
                Ok(None) => {
                    Seen::Missing(format!("there is no Secret {namespace}/{secret}").into())
                }
                Ok(Some(content)) => found(&kubeconfig, content, &namespace),
                // The error may quote what could not be decoded.
                Err(_) => {
                    Seen::Missing(format!("the Secret {namespace}/{secret} cannot be read").into())
                }
            };
            seen.send_if_modified(|known| {
                let is_new = *known != now;
                *known = now;
                is_new
            });
        }
    };
    tokio::select! {
        () = informers.run(own) => {}
        () = taken => {}
    }
}

fn found(kubeconfig: &Kubeconfig, content: Content, namespace: &str) -> Seen {
    let mut data = content.data.unwrap_or_default();
    let keys = kubeconfig.keys();
    let found = keys.iter().find_map(|key| data.remove(*key));
    let missing = || {
        let (secret, keys) = (kubeconfig.secret(), keys.join("` or `"));
        let why = format!("the Secret {namespace}/{secret} has no key `{keys}`");
        Seen::Missing(why.into())
    };
    found.map_or_else(missing, |bytes| Seen::Content(bytes.0.into()))
}
