//! Expressions of policies: evaluated in process, by the embedded API server, and by the real one, they come to the same.

mod table;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kubewright_manager::{App, Needs};
use kubewright_policy::{AccessCheck, Answer, Decision, Policy, Request, Typed};
use kubewright_testing::{Server, TestCluster};
use kubewright_webhook::{Selector, Webhooks};
use serde_json::{Value, json};

use table::{Case, cases};

/// The label by which each case has its own policy.
const CASE: &str = "example.com/case";

/// The policy of a case.
fn policy(case: &Case) -> Policy<ConfigMap> {
    let policy = Policy::validating(case.name).for_objects(Selector::label(CASE, case.name));
    (case.expressions)(policy)
}

fn object(case: &Case, data: &Value, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": case.name, "namespace": namespace, "labels": {CASE: case.name}},
        "data": data,
    })
}

/// What the policy says in process: the code and the message of a denial.
fn in_process(case: &Case, data: &Value) -> Option<(u16, String)> {
    let namespace = json!({
        "metadata": {"name": "default", "labels": {"kubernetes.io/metadata.name": "default"}},
        "status": {"phase": "Active"},
    });
    let params = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits", "namespace": "default"},
        "data": {"most": "3", "registry": "ghcr.io"},
    });
    let request = Request::create::<ConfigMap>(object(case, data, "default"))
        .in_namespace(&namespace)
        .params([params])
        .user("ann", ["system:masters", "system:authenticated"])
        .field("dryRun", json!(true))
        .authorize(|_: &AccessCheck<'_>| Decision::allow(""));
    let answer: Answer = policy(case).decide(&request);
    let refused = answer.denial()?;
    Some((refused.code, refused.message.clone()))
}

/// What an API server says.
async fn on_cluster(cluster: &TestCluster, case: &Case, data: &Value) -> Option<(u16, String)> {
    let namespace = cluster.namespace();
    let path = format!("/api/v1/namespaces/{namespace}/configmaps?dryRun=All");
    let body = object(case, data, namespace).to_string().into_bytes();
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(Body::from(body));
    let response = cluster.client().send(request.unwrap()).await.unwrap();
    let code = response.status();
    let body = response.into_body().collect_bytes().await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    if code.is_success() {
        return None;
    }
    let message = body["message"].as_str().unwrap();
    let (_, own) = message
        .split_once(" denied request: ")
        .unwrap_or_else(|| panic!("{}: {message}", case.name));
    Some((code.as_u16(), own.to_owned()))
}

/// Every case decides as it says, in process and on an API server.
async fn all_are_alike_on(server: Server) {
    let all = cases();
    let app = |_: &mut Needs| {
        let webhooks = Webhooks::new("expressions.example.com");
        let webhooks = all.iter().map(policy).fold(webhooks, Webhooks::with);
        let wrong = all
            .iter()
            .flat_map(|case| policy(case).check(&Typed::default()));
        let wrong: Vec<String> = wrong.map(|mistake| mistake.to_string()).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        App::new("under-test").webhooks(webhooks)
    };
    let cluster = TestCluster::builder().on(server).app(app).start().await;
    let limits = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"},
        "data": {"most": "3", "registry": "ghcr.io"},
    });
    cluster.apply(&limits).await.expect_allowed();
    if server != Server::Embedded {
        // An API server reads parameters from a cache, which learns of them a little later.
        let case = all.iter().find(|case| case.name == "params").unwrap();
        kubewright_testing::eventually("the parameters", async || {
            on_cluster(&cluster, case, &case.holds)
                .await
                .is_none()
                .then_some(())
        })
        .await;
    }
    let mut wrong = Vec::new();
    for case in &all {
        for (data, says) in [(&case.holds, None), (&case.fails, Some(case.says))] {
            let own = in_process(case, data);
            let answered = on_cluster(&cluster, case, data).await;
            let found = own.as_ref().map(|(_, message)| message.as_str());
            if found != says || answered != own {
                wrong.push(format!(
                    "{} for {data}: {says:?} in the table, {own:?} in process, {answered:?} on the API server",
                    case.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn there_are_fifty_cases_with_names_of_their_own() {
    let cases = cases();
    let names: std::collections::BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len());
    assert!(cases.len() >= 50, "{}", cases.len());
}

#[tokio::test]
async fn expressions_come_to_the_same_in_process_and_on_the_embedded_api_server() {
    all_are_alike_on(Server::Embedded).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn expressions_come_to_the_same_in_process_and_on_the_real_api_server() {
    all_are_alike_on(Server::Real).await;
}
