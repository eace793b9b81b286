//! Questions about users and rights (spec section C.10).

use http::Method;
use serde_json::json;

use crate::cluster::Cluster;

#[tokio::test]
async fn access_reviews_answer() {
    let cluster = Cluster::start();
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = json!({"spec": {"resourceAttributes": {"verb": "create", "resource": "pods", "namespace": "default"}}});
    let answer = cluster.post(path, &review).await.expect(201);
    assert_eq!(answer["status"]["allowed"], true);
    assert_eq!(answer["kind"], "SelfSubjectAccessReview");
    let message = cluster
        .post(path, &json!({"spec": {}}))
        .await
        .refused(422, "Invalid");
    assert!(
        message.contains(
            "spec: Invalid value: null: exactly one of nonResourceAttributes or \
             resourceAttributes must be specified"
        ),
        "{message}"
    );
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let review =
        json!({"spec": {"user": "bob", "nonResourceAttributes": {"verb": "get", "path": "/x"}}});
    assert_eq!(
        cluster.post(path, &review).await.expect(201)["status"]["allowed"],
        true
    );
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let rules = cluster
        .post(path, &json!({"spec": {"namespace": "default"}}))
        .await
        .expect(201);
    assert_eq!(rules["status"]["resourceRules"][0]["verbs"], json!(["*"]));
}

#[tokio::test]
async fn everybody_can_ask_who_they_are() {
    let cluster = Cluster::start();
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = cluster.post(path, &json!({})).await.expect(201);
    let user = &review["status"]["userInfo"];
    assert_eq!(user["username"], "kubernetes-admin");
    assert_eq!(
        user["groups"],
        json!(["system:masters", "system:authenticated"])
    );

    let headers = [
        ("impersonate-user", "system:serviceaccount:ns:sa"),
        ("impersonate-extra-scopes", "view"),
    ];
    let review = cluster
        .send(Method::POST, path, &headers, "{}")
        .await
        .expect(201);
    assert_eq!(
        review["status"]["userInfo"],
        json!({
            "username": "system:serviceaccount:ns:sa",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
            "extra": {"scopes": ["view"]},
        })
    );
    let headers = [("impersonate-group", "g")];
    let _ = cluster
        .send(Method::POST, path, &headers, "{}")
        .await
        .refused(400, "BadRequest");
}

#[tokio::test]
async fn a_service_accounts_token_is_its_user() {
    let cluster = Cluster::start();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = cluster
        .post(accounts, &json!({"metadata": {"name": "sa"}}))
        .await
        .expect(201);
    let path = format!("{accounts}/sa/token");
    let short = json!({"spec": {"audiences": [], "expirationSeconds": 5}});
    let message = cluster.post(&path, &short).await.refused(422, "Invalid");
    assert!(
        message.contains("may not specify a duration less than 10 minutes"),
        "{message}"
    );
    let request = cluster
        .post(&path, &json!({"spec": {"audiences": []}}))
        .await
        .expect(201);
    assert!(request["status"]["expirationTimestamp"].is_string());
    let token = request["status"]["token"].as_str().unwrap();

    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = cluster
        .post(reviews, &json!({"spec": {"token": token}}))
        .await
        .expect(201);
    assert_eq!(review["status"]["authenticated"], true);
    assert_eq!(
        review["status"]["user"]["username"],
        "system:serviceaccount:default:sa"
    );
    assert_eq!(review["status"]["user"]["uid"], account["metadata"]["uid"]);

    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = cluster
        .send(Method::POST, path, &headers, "{}")
        .await
        .expect(201);
    assert_eq!(
        review["status"]["userInfo"]["username"],
        "system:serviceaccount:default:sa"
    );

    cluster.delete(&format!("{accounts}/sa")).await.expect(200);
    let message = cluster
        .send(Method::POST, path, &headers, "{}")
        .await
        .refused(401, "Unauthorized");
    assert_eq!(message, "Unauthorized");
    let review = cluster
        .post(reviews, &json!({"spec": {"token": "nonsense"}}))
        .await
        .expect(201);
    assert!(review["status"].get("authenticated").is_none());
}
