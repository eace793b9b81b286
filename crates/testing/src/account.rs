//! The service account of a program under test: with the roles that the program prints, and nothing else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use kubewright_manager::Program;
use kubewright_manifests::Manifests;
use serde_json::{Value, json};

use crate::apply::apply;
use crate::fail;
use crate::faults::WayLayer;
use crate::host::Host;
use crate::permissions::Ledger;
use crate::witness::WitnessLayer;

/// Makes the account of a program, and a client that is known as it.
pub(crate) async fn of_program(
    host: &Host,
    program: &Program,
    way: &WayLayer,
) -> (Client, Arc<Ledger>) {
    let (name, namespace) = (program.app().name(), host.namespace());
    let bindings = program.bindings(&namespace, name);
    let (token, roles) = grant(host, name, program.permissions(), bindings).await;
    let user = user(&namespace, name);
    let upkeep = all_at_home(program.upkeep_permissions(), &namespace);
    let ledger = Arc::new(Ledger::new(name, &user, &roles, &upkeep));
    let client = host.client_of_account(&token, way, &WitnessLayer(ledger.clone()));
    (client, ledger)
}

/// Makes a service account with these roles, and returns a token of it.
pub(crate) async fn with_roles(
    host: &Host,
    name: &str,
    roles: Manifests,
    bindings: Manifests,
) -> String {
    grant(host, name, roles, bindings).await.0
}

async fn grant(
    host: &Host,
    name: &str,
    roles: Manifests,
    bindings: Manifests,
) -> (String, Vec<Value>) {
    let admin = Admin {
        host,
        client: host.client(None),
    };
    let namespace = host.namespace();
    let roles = all_at_home(roles, &namespace);
    admin.make(&service_account(&namespace, name)).await;
    for role in &roles {
        if let Some(namespace) = role["metadata"]["namespace"].as_str() {
            admin.make_sure_of_namespace(namespace).await;
        }
    }
    let bindings = all_at_home(bindings, &namespace);
    for object in roles.iter().chain(&bindings) {
        admin.make(&host.renamed(object)).await;
    }
    let user = user(&namespace, name);
    for role in &roles {
        admin.wait_for(role, &user).await;
    }
    (admin.token(&namespace, name).await, roles)
}

fn user(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

fn all_at_home(manifests: Manifests, namespace: &str) -> Vec<Value> {
    let objects = manifests.into_iter();
    objects.map(|object| at_home(object, namespace)).collect()
}

/// A role that names no namespace belongs to that of the program.
fn at_home(mut object: Value, namespace: &str) -> Value {
    let is_cluster_wide = object["kind"]
        .as_str()
        .is_some_and(|kind| kind.starts_with("Cluster"));
    if !is_cluster_wide && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

fn service_account(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
    })
}

/// Who makes the account.
struct Admin<'a> {
    host: &'a Host,
    client: Client,
}

impl Admin<'_> {
    async fn make(&self, object: &Value) {
        self.host.remove_later(object);
        if let Err(error) = apply(&self.client, "", object).await {
            fail(format_args!(
                "cannot create the {} of a program under test: {error}",
                object["kind"].as_str().unwrap_or_default()
            ));
        }
    }

    /// A role for a namespace needs the namespace, and one that is made for a program is looked after by its webhooks.
    async fn make_sure_of_namespace(&self, name: &str) {
        let mut namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.host.mark(&mut namespace);
        match self.post::<Value>("/api/v1/namespaces", &namespace).await {
            Ok(_) => self.host.remove_later(&namespace),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            Err(error) => fail(format_args!(
                "cannot create the namespace `{name}`, which a program under test has permissions for: {error}"
            )),
        }
    }

    /// Waits until the API server goes by a role: a real one takes a moment.
    async fn wait_for(&self, role: &Value, user: &str) {
        const ROLE_TIMEOUT: Duration = Duration::from_secs(10);
        let rule = &role["rules"][0];
        let (resource, subresource) = rule["resources"][0]
            .as_str()
            .and_then(|resource| resource.split_once('/'))
            .unwrap_or((rule["resources"][0].as_str().unwrap_or_default(), ""));
        let review = json!({"spec": {"user": user, "resourceAttributes": {
            "verb": rule["verbs"][0], "group": rule["apiGroups"][0],
            "resource": resource, "subresource": subresource, "name": rule["resourceNames"][0],
            "namespace": role["metadata"]["namespace"],
        }}});
        let deadline = Instant::now() + ROLE_TIMEOUT;
        loop {
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            match self.post::<Value>(path, &review).await {
                Ok(answer) if answer["status"]["allowed"] == true => return,
                Ok(_) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Ok(_) => fail(format_args!(
                    "the API server does not go by a role of a program under test within {ROLE_TIMEOUT:?}: {role}"
                )),
                Err(error) => fail(format_args!(
                    "cannot ask what a program under test may do: {error}"
                )),
            }
        }
    }

    async fn token(&self, namespace: &str, name: &str) -> String {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let answer = self.post::<Value>(&path, &json!({})).await;
        let token = answer.map(|answer| answer["status"]["token"].as_str().map(str::to_owned));
        match token {
            Ok(Some(token)) => token,
            Ok(None) => fail(format_args!("the API server gives no token to `{name}`")),
            Err(error) => fail(format_args!(
                "cannot get a token for the program under test `{name}`: {error}"
            )),
        }
    }

    async fn post<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> kube::Result<T> {
        let request = http::Request::post(path).body(body.to_string().into_bytes());
        let request = request.map_err(kube::Error::HttpError)?;
        self.client.request(request).await
    }
}
