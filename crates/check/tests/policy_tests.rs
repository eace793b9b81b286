//! Tests of policies: what they find, and what is said of tests that cannot be run.

use std::path::Path;

use kubewright_apiserver::KubernetesVersion;
use kubewright_check::policy_test::{Outcome, Verdict, find, run};

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory is made");
    for (name, text) in files {
        let path = directory.path().join(name);
        let parent = path.parent().expect("it is in the directory");
        std::fs::create_dir_all(parent).expect("the directory is made");
        std::fs::write(path, text).expect("the file is written");
    }
    directory
}

async fn outcomes(path: &Path) -> Vec<Outcome> {
    let (tests, unreadable) = find(path);
    assert_eq!(unreadable, []);
    let mut all = Vec::new();
    for file in tests {
        let report = run(&file, KubernetesVersion::default()).await;
        let report = report.expect("the tests run");
        all.extend(report.outcomes);
    }
    all
}

/// The tests that did not pass, with what differs.
fn failures(outcomes: &[Outcome]) -> Vec<String> {
    let lines = outcomes
        .iter()
        .filter_map(|outcome| match &outcome.verdict {
            Verdict::Passed => None,
            Verdict::Failed(why) => Some(format!("{}: {}", outcome.name, why.join("; "))),
            Verdict::NotRun(why) => Some(format!("{} cannot be run: {why}", outcome.name)),
        });
    lines.collect()
}

const POLICIES: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  matchConditions: [{name: no-robots, expression: \"request.userInfo.username != 'robot'\"}]
  validations:
  - expression: object.spec.replicas <= int(params.data.most)
    messageExpression: \"'at most ' + params.data.most\"
  - expression: oldObject == null || object.spec.replicas >= oldObject.spec.replicas
    message: do not scale down
  auditAnnotations: [{key: replicas, valueExpression: string(object.spec.replicas)}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec:
  policyName: replicas
  validationActions: [Deny]
  paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
  matchResources: {namespaceSelector: {matchLabels: {env: prod}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"team\": \"a\"}}}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits}
data: {most: \"5\"}
";

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: large}
spec:
  replicas: 9
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

#[tokio::test]
async fn a_test_says_the_object_the_user_the_namespace_and_what_is_expected() {
    let directory = directory(&[
        ("policies/all.yaml", POLICIES),
        ("web.yaml", WEB),
        (
            "replicas_test.yaml",
            "apiVersion: test.kubewright.dev/v1alpha1
kind: PolicyTest
policies: [policies]
tests:
- name: few replicas
  object: web.yaml#Deployment/web
  namespaceLabels: {env: prod}
  expect: {allowed: true, auditAnnotations: {replicas/replicas: \"3\"}, object: {metadata: {labels: {team: a}}}}
- name: many replicas
  object: web.yaml#Deployment/large
  namespaceLabels: {env: prod}
  expect: {denied: at most 5}
- name: many replicas in another namespace
  object: web.yaml#Deployment/large
  expect: {allowed: true}
- name: many replicas by a robot
  object: web.yaml#Deployment/large
  namespaceLabels: {env: prod}
  user: {name: robot}
  expect: {allowed: true}
- name: fewer replicas than before
  oldObject: web.yaml#Deployment/web
  object:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: nginx}]}
  namespaceLabels: {env: prod}
  expect: {denied: do not scale down}
- name: a deletion
  oldObject: web.yaml#Deployment/large
  namespaceLabels: {env: prod}
  expect: {allowed: true, warnings: []}
",
        ),
    ]);
    let outcomes = outcomes(directory.path()).await;
    assert_eq!(failures(&outcomes), [""; 0]);
    assert_eq!(outcomes.len(), 6);
}

#[tokio::test]
async fn what_is_not_as_expected_is_said() {
    let directory = directory(&[
        ("policies.yaml", POLICIES),
        ("web.yaml", WEB),
        (
            "replicas_test.yaml",
            "apiVersion: test.kubewright.dev/v1alpha1
kind: PolicyTest
policies: [policies.yaml]
tests:
- name: one
  object: web.yaml#Deployment/large
  namespaceLabels: {env: prod}
  expect: {denied: at most 6}
- name: two
  object: web.yaml#Deployment/web
  expect: {object: {metadata: {labels: {team: b}}}}
- name: three
  object: web.yaml#Deployment/lost
  expect: {allowed: true}
- name: four
  object: web.yaml
  expect: {allowed: true}
- name: five
  object: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}
  expect: {allowed: true}
",
        ),
    ]);
    let outcomes = outcomes(directory.path()).await;
    let failures = failures(&outcomes);
    assert!(
        failures[0].starts_with("one: expected the denial \"at most 6\", but it says: ")
            && failures[0].ends_with("denied request: at most 5"),
        "{failures:?}"
    );
    assert_eq!(
        failures[1..],
        [
            "two: expected metadata.labels.team to be \"b\", but it is \"a\"",
            "three cannot be run: web.yaml has no Deployment/lost",
            "four cannot be run: web.yaml has 2 objects: say which, as web.yaml#KIND/NAME",
            "five cannot be run: no matches for kind \"Widget\" in version \"example.com/v1\": name its CustomResourceDefinition under definitions",
        ]
    );
}

#[tokio::test]
async fn rules_of_definitions_are_tested_with_their_old_objects() {
    let directory = directory(&[
        (
            "crd.yaml",
            "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: integer, default: 1, x-kubernetes-validations: [{rule: self >= oldSelf, message: never smaller}]}
",
        ),
        (
            "widgets_test.yaml",
            "apiVersion: test.kubewright.dev/v1alpha1
kind: PolicyTest
definitions: [crd.yaml]
tests:
- name: a default
  object: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}
  expect: {object: {size: 1}}
- name: smaller
  oldObject: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, size: 5}
  object: {apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, size: 4}
  expect: {denied: never smaller}
",
        ),
    ]);
    assert_eq!(failures(&outcomes(directory.path()).await), [""; 0]);
}

#[tokio::test]
async fn a_test_that_could_not_fail_is_refused() {
    for (test, expected) in [
        (
            "{name: a, object: x.yaml, expect: {}}",
            "test \"a\": nothing is expected",
        ),
        (
            "{name: a, expect: {allowed: true}}",
            "test \"a\": a CREATE or UPDATE needs an object",
        ),
        (
            "{name: a, object: x.yaml, expect: {denied: b, object: {}}}",
            "test \"a\": what is denied is not allowed",
        ),
        (
            "{name: a, object: x.yaml, expect: {deny: b}}",
            "unknown field `deny`",
        ),
    ] {
        let text = format!(
            "apiVersion: test.kubewright.dev/v1alpha1\nkind: PolicyTest\ntests: [{test}]\n"
        );
        let directory = directory(&[("a_test.yaml", &text)]);
        let (_, unreadable) = find(directory.path());
        assert!(unreadable[0].why.starts_with(expected), "{unreadable:?}");
    }
}

#[tokio::test]
async fn folders_as_kyverno_has_them_are_tested() {
    let policy = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: host-path}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]
  validations:
  - expression: '!object.spec.?volumes.orValue([]).exists(v, has(v.hostPath))'
    message: no host paths
";
    let pods = "apiVersion: v1
kind: Pod
metadata: {name: good}
spec: {containers: [{name: a, image: a}]}
---
apiVersion: v1
kind: Pod
metadata: {name: bad}
spec: {containers: [{name: a, image: a}], volumes: [{name: a, hostPath: {path: /}}]}
";
    let test = "apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: host-path}
policies: [../policy.yaml]
resources: [resources.yaml]
results:
- {policy: host-path, isValidatingAdmissionPolicy: true, kind: Pod, resources: [good], result: pass}
- {policy: host-path, isValidatingAdmissionPolicy: true, kind: Pod, resources: [bad], result: fail}
- {policy: host-path, isValidatingAdmissionPolicy: true, kind: Pod, resources: [bad], result: pass}
";
    let directory = directory(&[
        ("host-path/policy.yaml", policy),
        ("host-path/tests/resources.yaml", pods),
        ("host-path/tests/kyverno-test.yaml", test),
    ]);
    let outcomes = outcomes(directory.path()).await;
    assert_eq!(outcomes.len(), 3);
    let failures = failures(&outcomes);
    assert_eq!(failures.len(), 1);
    assert!(
        failures[0].starts_with(
            "host-path: Pod bad: pass: expected the request to be allowed, but it is denied: "
        ),
        "{failures:?}"
    );
}

#[tokio::test]
async fn policies_of_kyvernos_own_are_refused() {
    let directory = directory(&[
        (
            "policy.yaml",
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: own}\n",
        ),
        (
            "kyverno-test.yaml",
            "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: [policy.yaml]\nresults: []\n",
        ),
    ]);
    let (tests, _) = find(directory.path());
    let error = run(&tests[0], KubernetesVersion::default())
        .await
        .unwrap_err();
    assert!(
        error.starts_with("ClusterPolicy own is a policy of Kyverno's own"),
        "{error}"
    );
}

#[tokio::test]
async fn conditions_that_were_never_true_or_never_false_are_told() {
    let directory = directory(&[
        ("policies.yaml", POLICIES),
        ("web.yaml", WEB),
        (
            "replicas_test.yaml",
            "apiVersion: test.kubewright.dev/v1alpha1
kind: PolicyTest
policies: [policies.yaml]
tests:
- {name: few, object: web.yaml#Deployment/web, namespaceLabels: {env: prod}, expect: {allowed: true}}
- {name: many, object: web.yaml#Deployment/large, namespaceLabels: {env: prod}, expect: {allowed: false}}
",
        ),
    ]);
    let (tests, _) = find(directory.path());
    let report = run(&tests[0], KubernetesVersion::default()).await.unwrap();
    let conditions = report
        .conditions
        .iter()
        .filter(|condition| condition.kind.starts_with("Validating"));
    let lines: Vec<String> = conditions
        .map(|condition| {
            let rest: String = condition
                .expression
                .chars()
                .skip(condition.position)
                .take(4)
                .collect();
            format!(
                "{} {rest:?} {} {}",
                condition.field, condition.was_true, condition.was_false
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "spec.matchConditions[0].expression \"!= '\" true false",
            "spec.validations[0].expression \"<= i\" true true",
            // `oldObject == null` decides; what follows `||` was not evaluated.
            "spec.validations[1].expression \"== n\" true false",
            "spec.validations[1].expression \"|| o\" true false",
            "spec.validations[1].expression \">= o\" false false",
        ]
    );
}
