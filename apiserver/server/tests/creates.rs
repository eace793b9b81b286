//! POST (spec sections A.2.1, C.4, C.5, C.9, C.12).

use serde_json::json;

use crate::cluster::{Cluster, map, pod};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test]
async fn a_second_object_of_the_same_name_is_refused() {
    let cluster = Cluster::start();
    cluster.post(MAPS, &map("x")).await.expect(201);
    let status = cluster.post(MAPS, &map("x")).await.expect(409);
    assert_eq!(status["reason"], "AlreadyExists");
    assert_eq!(status["message"], "configmaps \"x\" already exists");
    assert_eq!(
        status["details"],
        json!({"name": "x", "kind": "configmaps"})
    );
}

#[tokio::test]
async fn an_object_that_is_being_deleted_still_has_its_name() {
    let cluster = Cluster::start();
    let mut held = map("x");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.post(MAPS, &held).await.expect(201);
    cluster.delete(&format!("{MAPS}/x")).await.expect(200);
    let message = cluster
        .post(MAPS, &map("x"))
        .await
        .refused(409, "AlreadyExists");
    assert_eq!(
        message,
        "object is being deleted: configmaps \"x\" already exists"
    );
}

#[tokio::test]
async fn what_the_server_owns_cannot_be_set_by_a_client() {
    let cluster = Cluster::start();
    let mut object = map("x");
    let metadata = &mut object["metadata"];
    metadata["uid"] = "mine".into();
    metadata["creationTimestamp"] = "2000-01-01T00:00:00Z".into();
    metadata["deletionTimestamp"] = "2000-01-01T00:00:00Z".into();
    metadata["selfLink"] = "/x".into();
    let made = cluster.post(MAPS, &object).await.expect(201);
    assert_ne!(made["metadata"]["uid"], "mine");
    assert_ne!(
        made["metadata"]["creationTimestamp"],
        "2000-01-01T00:00:00Z"
    );
    assert!(made["metadata"].get("deletionTimestamp").is_none());
    assert!(made["metadata"].get("selfLink").is_none());
}

#[tokio::test]
async fn a_resource_version_on_a_new_object_is_a_plain_failure() {
    let cluster = Cluster::start();
    let mut object = map("x");
    object["metadata"]["resourceVersion"] = "7".into();
    let message = cluster.post(MAPS, &object).await.refused(500, "");
    assert_eq!(
        message,
        "resourceVersion should not be set on objects to be created"
    );
}

#[tokio::test]
async fn a_name_can_be_generated() {
    let cluster = Cluster::start();
    let made = cluster
        .post(MAPS, &json!({"metadata": {"generateName": "web-"}}))
        .await
        .expect(201);
    let name = made["metadata"]["name"].as_str().unwrap();
    assert_eq!((name.len(), &name[..4]), (9, "web-"));
    assert_eq!(made["metadata"]["generateName"], "web-");
}

#[tokio::test]
async fn the_namespace_of_the_body_is_that_of_the_path() {
    let cluster = Cluster::start();
    let mut object = map("x");
    object["metadata"]["namespace"] = "other".into();
    let message = cluster.post(MAPS, &object).await.refused(400, "BadRequest");
    assert_eq!(
        message,
        "the namespace of the provided object does not match the namespace sent on the request",
    );
}

#[tokio::test]
async fn a_namespace_on_a_cluster_scoped_object_is_cleared() {
    let cluster = Cluster::start();
    let object = json!({"metadata": {"name": "n", "namespace": "default"}});
    let made = cluster.post("/api/v1/nodes", &object).await.expect(201);
    assert!(made["metadata"].get("namespace").is_none());
}

#[tokio::test]
async fn kind_and_version_may_be_left_out_but_not_be_wrong() {
    let cluster = Cluster::start();
    let made = cluster
        .post(MAPS, &json!({"metadata": {"name": "x"}}))
        .await
        .expect(201);
    assert_eq!(
        (&made["kind"], &made["apiVersion"]),
        (&json!("ConfigMap"), &json!("v1"))
    );
    for (version, kind, message) in [
        (
            "v1",
            "Secret",
            "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to \
             (core.ConfigMap): unknown conversion",
        ),
        (
            "v1",
            "Foo",
            "Foo in version \"v1\" cannot be handled as a ConfigMap: no kind \"Foo\" is registered \
             for version \"v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
        ),
    ] {
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "y"}});
        assert_eq!(
            cluster.post(MAPS, &object).await.refused(400, "BadRequest"),
            message
        );
    }
}

#[tokio::test]
async fn bodies_that_are_no_objects_are_refused_in_the_decoders_words() {
    let cluster = Cluster::start();
    let post = |body: &'static str| cluster.send(http::Method::POST, MAPS, &[], body);
    assert_eq!(
        post("").await.refused(400, "BadRequest"),
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get \
         version/kind; json parse error: unexpected end of JSON input (<empty>)",
    );
    assert_eq!(
        post("{\"kind\":").await.refused(400, "BadRequest"),
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get \
         version/kind; json parse error: unexpected end of JSON input ({\"kind\":)",
    );
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_refused_with_its_place() {
    let cluster = Cluster::start();
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "x"}, "spec": {"replicas": "three"},
    });
    let path = "/apis/apps/v1/namespaces/default/deployments";
    assert_eq!(
        cluster
            .post(path, &deployment)
            .await
            .refused(400, "BadRequest"),
        "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal \
         string into Go struct field DeploymentSpec.spec.replicas of type int32",
    );
}

#[tokio::test]
async fn unknown_fields_are_dropped_with_a_warning_or_refused() {
    let cluster = Cluster::start();
    let mut object = map("x");
    object["foo"] = "bar".into();
    let path = |validation: &str| format!("{MAPS}?dryRun=All&fieldValidation={validation}");
    let answer = cluster.post(MAPS, &object).await;
    assert_eq!(
        answer.header("warning"),
        "299 - \"unknown field \\\"foo\\\"\""
    );
    assert!(answer.expect(201).get("foo").is_none());
    object["metadata"]["name"] = "y".into();
    let answer = cluster.post(&path("Ignore"), &object).await;
    assert_eq!(answer.header("warning"), "");
    answer.expect(201);
    assert_eq!(
        cluster
            .post(&path("Strict"), &object)
            .await
            .refused(400, "BadRequest"),
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
         unknown field \"foo\"",
    );
}

#[tokio::test]
async fn duplicate_fields_are_found() {
    let cluster = Cluster::start();
    let body = r#"{"metadata":{"name":"x"},"data":{"a":"1","a":"2"}}"#;
    let path = format!("{MAPS}?fieldValidation=Strict");
    let message = cluster
        .send(http::Method::POST, &path, &[], body)
        .await
        .refused(400, "BadRequest");
    assert!(
        message.ends_with("strict decoding error: duplicate field \"data.a\""),
        "{message}"
    );
}

#[tokio::test]
async fn a_dry_run_does_everything_but_store() {
    let cluster = Cluster::start();
    let made = cluster
        .post(&format!("{PODS}?dryRun=All"), &pod("x"))
        .await
        .expect(201);
    assert!(made["metadata"]["uid"].is_string());
    assert!(made["metadata"].get("resourceVersion").is_none());
    assert_eq!(made["spec"]["restartPolicy"], "Always");
    let _ = cluster
        .get(&format!("{PODS}/x"))
        .await
        .refused(404, "NotFound");
    let message = cluster
        .post(&format!("{PODS}?dryRun=x"), &pod("x"))
        .await
        .refused(422, "Invalid");
    assert!(
        message.contains("dryRun: Unsupported value: [\"x\"]: supported values: \"All\""),
        "{message}"
    );
}

#[tokio::test]
async fn a_new_pod_is_defaulted_and_has_a_status() {
    let cluster = Cluster::start();
    let mut wanted = pod("x");
    wanted["status"] = json!({"phase": "Running"});
    let made = cluster.post(PODS, &wanted).await.expect(201);
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(made["status"]["qosClass"], "BestEffort");
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!(made["spec"]["terminationGracePeriodSeconds"], 30);
    assert_eq!(made["spec"]["containers"][0]["imagePullPolicy"], "Always");
}

#[tokio::test]
async fn repeated_owners_are_removed_with_a_warning() {
    let cluster = Cluster::start();
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-1"});
    let mut object = map("x");
    object["metadata"]["ownerReferences"] = json!([owner, owner]);
    let answer = cluster.post(MAPS, &object).await;
    assert_eq!(
        answer.header("warning"),
        "299 - \".metadata.ownerReferences contains duplicate entries; API server dedups owner \
         references in 1.20+, and may reject such requests as early as 1.24; please fix your \
         requests; duplicate UID(s) observed: u-1\"",
    );
    let made = answer.expect(201);
    assert_eq!(
        made["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn services_get_addresses_and_give_them_back() {
    let cluster = Cluster::start();
    let services = "/api/v1/namespaces/default/services";
    let service =
        |name: &str| json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}});
    let made = cluster.post(services, &service("a")).await.expect(201);
    let address = made["spec"]["clusterIP"].as_str().unwrap().to_owned();
    assert!(address.starts_with("10.0.0."));
    assert_eq!(made["spec"]["clusterIPs"], json!([address]));
    let mut same = service("b");
    same["spec"]["clusterIP"] = address.clone().into();
    let message = cluster.post(services, &same).await.refused(422, "Invalid");
    assert!(
        message.contains("provided IP is already allocated"),
        "{message}"
    );
    cluster.delete(&format!("{services}/a")).await.expect(200);
    cluster.post(services, &same).await.expect(201);
}

#[tokio::test]
async fn the_address_of_a_service_is_free_however_the_service_went() {
    let cluster = Cluster::start();
    let services = "/api/v1/namespaces/default/services";
    let service = |spec: serde_json::Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec});
    let spec = json!({"clusterIP": "10.0.0.200", "ports": [{"port": 80}]});
    let new = service(spec.clone());
    let mut held = new.clone();
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let external = service(json!({"type": "ExternalName", "externalName": "a.b"}));
    let wrong = service(json!({"type": "ExternalName", "externalName": "A b"}));
    let let_go = json!({"metadata": {"finalizers": null}});
    let path = format!("{services}/a");
    let status = format!("{path}/status");
    let dry = format!("{path}?dryRun=All");
    for way in [
        "a dry run",
        "a refused create",
        "a change to an external name",
        "an update that ends its deletion",
        "an update of its status that ends its deletion",
        "a delete after a refused change",
        "a change to an external name while it is held",
        "a delete of all services",
        "a delete after a refused change of its address",
    ] {
        match way {
            "a dry run" => {
                let dry = format!("{services}?dryRun=All");
                cluster.post(&dry, &new).await.expect(201);
            }
            "a refused create" => {
                let mut bad = new.clone();
                bad["spec"]["ports"] = json!([{"port": 0}]);
                let _ = cluster.post(services, &bad).await.refused(422, "Invalid");
            }
            "a change to an external name" => {
                cluster.put(&path, &new).await.expect(201);
                cluster.put(&path, &external).await.expect(200);
            }
            "an update that ends its deletion"
            | "an update of its status that ends its deletion" => {
                cluster.post(services, &held).await.expect(201);
                cluster.delete(&path).await.expect(200);
                let of_status = way.contains("its status");
                let path = if of_status { &status } else { &path };
                cluster.patch("merge", path, &let_go).await.expect(200);
            }
            "a delete after a refused change" => {
                cluster.post(services, &new).await.expect(201);
                cluster.put(&dry, &external).await.expect(200);
                let _ = cluster.put(&path, &wrong).await.refused(422, "Invalid");
                cluster.delete(&path).await.expect(200);
            }
            "a change to an external name while it is held" => {
                cluster.post(services, &held).await.expect(201);
                cluster.put(&path, &external).await.expect(200);
            }
            "a delete of all services" => {
                cluster.post(services, &new).await.expect(201);
                cluster.delete(services).await.expect(200);
            }
            _ => {
                cluster.post(services, &new).await.expect(201);
                let other = json!({"spec": {"clusterIP": "10.0.0.201"}});
                let changed = cluster.patch("merge", &path, &other).await;
                let _ = changed.refused(422, "Invalid");
                cluster.delete(&path).await.expect(200);
            }
        }
        let mut next = new.clone();
        next["metadata"]["name"] = "next".into();
        let answer = cluster.post(services, &next).await;
        assert_eq!(answer.code, 201, "after {way}: {:?}", answer.text);
        cluster
            .delete(&format!("{services}/next"))
            .await
            .expect(200);
        drop(cluster.delete(&path).await);
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let cluster = Cluster::start();
    let body = vec![b' '; 3 * 1024 * 1024 + 1];
    let message = cluster
        .send(http::Method::POST, MAPS, &[], body)
        .await
        .refused(413, "RequestEntityTooLarge");
    assert_eq!(message, "Request entity too large: limit is 3145728");
}

#[tokio::test]
async fn a_dry_run_echoes_the_version_that_a_create_must_not_have() {
    let cluster = Cluster::start();
    let mut versioned = map("x");
    for version in ["1", "0", "x\"y"] {
        versioned["metadata"]["resourceVersion"] = version.into();
        let made = cluster
            .post(&format!("{MAPS}?dryRun=All"), &versioned)
            .await
            .expect(201);
        assert_eq!(made["metadata"]["resourceVersion"], version);
    }
    versioned["metadata"]["resourceVersion"] = "1".into();
    let message = cluster.post(MAPS, &versioned).await.refused(500, "");
    assert_eq!(
        message,
        "resourceVersion should not be set on objects to be created"
    );
}
