//! What the cluster has before the check.

use kubewright_apiserver::{KubernetesVersion, import};
use kubewright_check::{Checker, Role};

use crate::{check, lines, source, with};

const SERVICE: &str = "apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: 10.0.0.7, ports: [{port: 80}]}
";

#[tokio::test]
async fn an_object_that_exists_is_updated_and_what_is_immutable_stays() {
    let state = import(b"apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\nspec: {clusterIP: 10.0.0.9, clusterIPs: [10.0.0.9], ports: [{port: 80}], type: ClusterIP}\n").unwrap();
    let report = with(Checker::new().cluster_state(state), SERVICE)
        .run()
        .await
        .unwrap();
    let lines = lines(&report);
    assert!(
        lines[0].contains("field is immutable") || lines[0].contains("may not change"),
        "{lines:?}"
    );
    assert_eq!(crate::lines(&check(SERVICE).await), [""; 0]);
}

#[tokio::test]
async fn what_a_version_does_not_serve_is_unknown_to_it() {
    let manifest = "apiVersion: storagemigration.k8s.io/v1\nkind: StorageVersionMigration\nmetadata: {name: a}\nspec: {resource: {group: apps, resource: deployments}}\n";
    assert_eq!(lines(&check(manifest).await), [""; 0]);
    let old = Checker::new().kubernetes(KubernetesVersion::V1_36);
    let report = with(old, manifest).run().await.unwrap();
    assert!(lines(&report)[0].starts_with("NoMatch "), "{report:?}");
}

#[tokio::test]
async fn policies_see_the_user() {
    let policy = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: users}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [services]}]}
  validations: [{expression: \"request.userInfo.username != 'jane' || 'ops' in request.userInfo.groups\", message: not you}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: users}
spec: {policyName: users, validationActions: [Deny]}
---
";
    let manifests = format!("{policy}{SERVICE}");
    for (groups, refused) in [(vec![], true), (vec!["ops".to_owned()], false)] {
        let checker = Checker::new().user("jane", groups);
        let report = with(checker, &manifests).run().await.unwrap();
        let said = lines(&report)
            .iter()
            .any(|line| line.ends_with("denied request: not you"));
        assert_eq!(said, refused, "{:?}", lines(&report));
    }
}

#[tokio::test]
async fn a_namespace_that_no_manifest_defines_is_there() {
    let report =
        check("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: elsewhere}\n").await;
    assert_eq!(lines(&report), [""; 0]);
    let checker = Checker::new().namespace("mine");
    let report = with(
        checker,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    )
    .run()
    .await
    .unwrap();
    let stored = report.checked[0].outcome.accepted().unwrap();
    assert_eq!(stored["metadata"]["namespace"], "mine");
}

#[tokio::test]
async fn what_objects_take_of_a_quota_is_counted_together_by_choice() {
    let quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: small}\nspec: {hard: {pods: 3, requests.cpu: 1}}\n";
    let deployment = |name: &str, replicas: u32| {
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {replicas}\n  selector: {{matchLabels: {{a: b}}}}\n  template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: a, image: a, resources: {{requests: {{cpu: 300m}}}}}}]}}}}\n"
        )
    };
    let text = format!(
        "{}{}---\n{quota}",
        deployment("one", 2),
        deployment("two", 2)
    );
    let checked = |checker: Checker| checker.source(Ok(source("all.yaml", &text)), Role::Manifests);
    let alone = checked(Checker::new()).run().await.unwrap();
    assert_eq!(lines(&alone), [] as [&str; 0]);
    let together = checked(Checker::new().quota()).run().await.unwrap();
    let [finding] = &together.findings[..] else {
        panic!("{:?}", together.findings)
    };
    assert_eq!(finding.rule, "ResourceQuota");
    assert_eq!(
        finding.message,
        "pods \"two-1\" is forbidden: exceeded quota: small, requested: pods=1,requests.cpu=300m, used: pods=3,requests.cpu=900m, limited: pods=3,requests.cpu=1"
    );
    assert_eq!(finding.object.as_ref().unwrap().name, "two");
}
