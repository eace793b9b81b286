//! The service account that a program runs as: it has the roles that the program prints, and nothing else.

use anyhow::Context as _;
use kube::Client;
use kubewright_testing::apply;
use serde_json::{Value, json};

use super::place::Place;
use crate::failure::Outcome;

/// The user that the API server knows a program as.
pub(crate) fn user(program: &str) -> String {
    format!("system:serviceaccount:{NAMESPACE}:{}", account(program))
}

fn account(program: &str) -> String {
    program.to_lowercase().replace('_', "-")
}

/// Makes the account of a program, with its roles bound to it, and returns a token for it.
pub(crate) async fn make(client: &Client, program: &str, roles: &[Value]) -> Outcome<String> {
    let name = account(program);
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name},
    });
    make_one(client, &account).await?;
    for role in roles {
        if let Some(namespace) = role["metadata"]["namespace"].as_str() {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            make_one(client, &namespace).await?;
        }
        make_one(client, role).await?;
        make_one(client, &binding(role, &name)).await?;
    }
    let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token");
    let asked = json!({"spec": {"expirationSeconds": LIFETIME}});
    let request = http::Request::post(path).body(asked.to_string().into_bytes());
    let request = request.context("cannot ask for a token")?;
    let answer: Value = client
        .request(request)
        .await
        .with_context(|| format!("cannot get a token for the service account {name}"))?;
    let token = answer["status"]["token"].as_str();
    Ok(token.context("the API server gave no token")?.to_owned())
}

/// Deletes roles that a program has no more, and what gave them to its account.
pub(crate) async fn take_away(client: &Client, roles: impl Iterator<Item = &Value>) -> Outcome {
    for role in roles {
        for object in [&binding(role, ""), role] {
            // That it is gone already is as good.
            Place::of(client, object).await?.delete().await?;
        }
    }
    Ok(())
}

async fn make_one(client: &Client, object: &Value) -> Outcome {
    apply(client, NAMESPACE, object).await.with_context(|| {
        let [kind, name] = [&object["kind"], &object["metadata"]["name"]].map(Value::as_str);
        let (kind, name) = (kind.unwrap_or_default(), name.unwrap_or_default());
        format!("cannot make the {kind} {name} for the program")
    })?;
    Ok(())
}

/// Gives a role to the account, where the role holds.
fn binding(role: &Value, name: &str) -> Value {
    let kind = role["kind"].as_str().unwrap_or_default();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": format!("{kind}Binding"),
        "metadata": role["metadata"],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": kind,
            "name": role["metadata"]["name"],
        },
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
    })
}

/// Where the account is, and roles that name no namespace.
const NAMESPACE: &str = "default";

/// Lifetime of a token in seconds: longer than any development run.
const LIFETIME: u32 = 30 * 24 * 60 * 60;

#[cfg(test)]
mod tests {
    use kubewright_apiserver::ApiServer;

    use super::*;

    #[tokio::test]
    async fn an_account_may_do_what_its_roles_say_and_no_more() {
        let server = ApiServer::builder().rbac().start();
        let admin = Client::new(server.service(), NAMESPACE);
        let role = |kind: &str, namespace: Value, resource: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": "gardens", "namespace": namespace},
                "rules": [{"apiGroups": [""], "resources": [resource], "verbs": ["list"]}],
            })
        };
        let roles = [
            role("ClusterRole", Value::Null, "nodes"),
            role("Role", "green".into(), "secrets"),
            role("Role", Value::Null, "configmaps"),
        ];
        let token = make(&admin, "my_Program", &roles).await.unwrap();
        assert!(!token.is_empty());
        assert_eq!(
            user("my_Program"),
            "system:serviceaccount:default:my-program"
        );
        for (namespace, resource, allowed) in [
            ("", "nodes", true),
            ("green", "secrets", true),
            ("default", "secrets", false),
            ("default", "configmaps", true),
            ("green", "configmaps", false),
        ] {
            let review = json!({"spec": {
                "user": user("my_Program"),
                "resourceAttributes": {"verb": "list", "resource": resource, "namespace": namespace},
            }});
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let request = http::Request::post(path).body(review.to_string().into_bytes());
            let answer: Value = admin.request(request.unwrap()).await.unwrap();
            assert_eq!(
                answer["status"]["allowed"], allowed,
                "{namespace} {resource}"
            );
        }
    }
}
