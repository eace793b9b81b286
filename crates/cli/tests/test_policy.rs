//! `kubewright test-policy`: tables of cases in, verdicts, coverage and an exit code out.

use std::fs;

use tempfile::TempDir;

use crate::command::run;

const POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - expression: object.spec.replicas <= 5 || request.userInfo.username == 'robot'
    message: at most 5
";

const TESTS: &str = "apiVersion: test.kubewright.dev/v1alpha1
kind: PolicyTest
policies: [policy.yaml]
tests:
- name: few replicas are allowed
  object: &few
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}
  expect: {allowed: true}
- name: many replicas are denied
  object:
    <<: *few
    spec: {replicas: 9, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}
  expect: {denied: at most 5}
";

fn directory(tests: &str) -> TempDir {
    let directory = TempDir::new().expect("a directory is made");
    for (name, text) in [("policy.yaml", POLICY), ("replicas_test.yaml", tests)] {
        fs::write(directory.path().join(name), text).expect("the file is written");
    }
    directory
}

#[tokio::test]
async fn each_test_is_a_line_and_all_that_hold_are_a_success() {
    let directory = directory(TESTS);
    let ran = run(directory.path(), &["test-policy"]).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    for line in ["few replicas are allowed", "many replicas are denied"] {
        assert!(ran.out.contains(&format!("ok   {line}")), "{}", ran.out);
    }
}

#[tokio::test]
async fn a_test_that_does_not_hold_says_what_came_instead() {
    let directory = directory(&TESTS.replace("{denied: at most 5}", "{denied: at most 4}"));
    let ran = run(directory.path(), &["test-policy"]).await;
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("many replicas are denied"), "{}", ran.out);
    assert!(ran.out.contains("at most 5"), "{}", ran.out);
}

#[tokio::test]
async fn a_condition_that_no_test_decides_is_shown_in_its_expression() {
    let directory = directory(TESTS);
    let ran = run(directory.path(), &["test-policy", "--coverage"]).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let lines: Vec<&str> = ran.out.lines().map(str::trim).collect();
    assert!(lines.contains(&"^ was never true"), "{}", ran.out);
    assert!(
        ran.out
            .contains("ValidatingAdmissionPolicy replicas: spec.validations[0].expression"),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn programs_read_the_results_as_one_document() {
    let directory = directory(TESTS);
    let ran = run(directory.path(), &["test-policy", "--output", "json"]).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(document.is_object(), "{document}");
}

#[tokio::test]
async fn a_directory_without_tests_is_an_error() {
    let directory = TempDir::new().unwrap();
    let ran = run(directory.path(), &["test-policy"]).await;
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains("test"), "{}", ran.err);
}
