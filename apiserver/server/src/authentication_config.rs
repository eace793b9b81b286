//! The ConfigMap `kube-system/extension-apiserver-authentication`: by which certificates aggregated API servers know the clients of
//! this server, and this server itself.

use kubewright_apimachinery::time::now;
use kubewright_auth::{Authorities, AuthorityError};
use kubewright_fieldmanagement::created_by_server;
use kubewright_storage::{CommitError, Draft, Store};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub(crate) const TABLE: &str = "configmaps";
pub(crate) const PATH: &str = "kube-system/extension-apiserver-authentication";

/// The names of the headers, and of the certificate that may send them, as kubeadm configures an API server.
const HEADERS: [(&str, &str); 5] = [
    ("requestheader-allowed-names", "front-proxy-client"),
    ("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
    ("requestheader-group-headers", "X-Remote-Group"),
    ("requestheader-uid-headers", "X-Remote-Uid"),
    ("requestheader-username-headers", "X-Remote-User"),
];

const OF_CLIENTS: &str = "client-ca-file";
const OF_FRONT_PROXY: &str = "requestheader-client-ca-file";

/// The ConfigMap of a server with these authorities.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn object(authorities: &Authorities) -> Result<Value, AuthorityError> {
    let lists = HEADERS.map(|(key, name)| (key.to_owned(), json!([name]).to_string().into()));
    let mut data = Map::from_iter(lists);
    let clients = authorities.clients()?.certificate_pem();
    let front_proxy = authorities.front_proxy()?.authority_pem();
    data.insert(OF_CLIENTS.to_owned(), clients.into());
    data.insert(OF_FRONT_PROXY.to_owned(), front_proxy.into());
    let own = data.keys().map(|key| (format!("f:{key}"), json!({})));
    let mut fields: Map<String, Value> = own.collect();
    fields.insert(".".to_owned(), json!({}));
    Ok(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "extension-apiserver-authentication",
            "namespace": "kube-system",
            "uid": Uuid::new_v4().to_string(),
            "creationTimestamp": now(),
            "managedFields": created_by_server("v1", &json!({"f:data": fields})),
        },
        "data": data,
    }))
}

/// Writes the ConfigMap of a server that starts with objects of an earlier one, or shares them. Servers that share a cluster add their
/// authorities to those of the others.
pub(crate) fn publish(store: &Store, authorities: &Authorities) {
    let own = match object(authorities) {
        Ok(own) => own,
        Err(error) => {
            tracing::warn!(%error, "no aggregated API server can know this server: it has no certificates");
            return;
        }
    };
    loop {
        let written = match store.get(TABLE, PATH) {
            None => store.create(TABLE, PATH, Draft::new(&own)),
            Some(stored) => {
                let old = stored.value();
                let new = merged(&old, &own, store.is_shared());
                if new == old {
                    return;
                }
                store.replace(TABLE, PATH, stored.revision, Draft::new(&new))
            }
        };
        match written {
            Ok(_) => return,
            // Another server was faster: its authorities are kept.
            Err(CommitError::Raced(_)) => {}
            Err(CommitError::Backend(error)) => {
                tracing::warn!(%error, "cannot write by which certificates aggregated API servers know this server");
                return;
            }
        }
    }
}

fn merged(old: &Value, own: &Value, is_shared: bool) -> Value {
    let mut new = old.clone();
    new["data"] = own["data"].clone();
    for bundle in [OF_CLIENTS, OF_FRONT_PROXY] {
        let text = |object: &Value| {
            object["data"][bundle]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let (known, own) = (text(old), text(own));
        if is_shared {
            let all = if known.contains(own.trim()) {
                known
            } else {
                known + &own
            };
            new["data"][bundle] = all.into();
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(object: &Value) -> usize {
        let text = object["data"][OF_FRONT_PROXY].as_str().unwrap_or_default();
        text.matches("BEGIN CERTIFICATE").count()
    }

    #[test]
    fn servers_of_one_cluster_are_known_by_the_authorities_of_all_of_them() {
        let [one, two] = [(), ()].map(|()| object(&Authorities::default()).unwrap());
        let both = merged(&one, &two, true);
        assert_eq!(bundle(&both), 2);
        assert_eq!(merged(&both, &one, true), both);
        assert_eq!(merged(&one, &two, false)["data"], two["data"]);
    }
}
