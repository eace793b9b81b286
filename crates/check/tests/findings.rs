//! The place of each finding is the one that the API server's sentence names.

use kubewright_check::{Checker, Role, Severity};

use crate::{check, lines, source, with};

/// A Deployment with one container, and what is added to the container, the pod and the Deployment.
fn deployment(container: &str, pod: &str, spec: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
{spec}  template:
    metadata: {{labels: {{app: web}}}}
    spec:
{pod}      containers:
      - name: web
        image: nginx:1.29
{container}"
    )
}

#[tokio::test]
async fn a_correct_manifest_has_no_findings() {
    let report = check(&deployment("", "", "")).await;
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(report.checked.len(), 1);
    assert!(report.checked[0].outcome.accepted().is_some());
}

#[tokio::test]
async fn what_a_sentence_names_is_underlined() {
    for (container, pod, spec, expected) in [
        (
            "",
            "      restartPolicy: Sometimes\n",
            "",
            &[
                "FieldValueNotSupported <Sometimes> Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"",
                // A Deployment's Pods are always started again.
                "FieldValueNotSupported <Sometimes> Unsupported value: \"Sometimes\": supported values: \"Always\"",
            ][..],
        ),
        (
            "        imagePullpolicy: Always\n",
            "",
            "",
            &[
                "UnknownField <imagePullpolicy> unknown field \"spec.template.spec.containers[0].imagePullpolicy\"",
            ],
        ),
        (
            "",
            "",
            "  replicas: -1 # too few\n",
            &["FieldValueInvalid <-1> Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "        ports: [{containerPort: 99999}]\n",
            "",
            "",
            &[
                "FieldValueInvalid <99999> Invalid value: 99999: must be between 1 and 65535, inclusive",
            ],
        ),
        (
            "        ports: [{name: web}]\n",
            "",
            "",
            &["FieldValueRequired <{name: web}> Required value"],
        ),
        (
            "        resources: {limits: {cpu: lots}}\n",
            "",
            "",
            &[
                "BadRequest <lots> Deployment in version \"v1\" cannot be handled as a Deployment: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ],
        ),
    ] {
        let report = check(&deployment(container, pod, spec)).await;
        assert_eq!(lines(&report), expected);
    }
}

#[tokio::test]
async fn a_value_of_a_wrong_type_is_underlined() {
    let report = check(&deployment("", "", "  replicas: three\n")).await;
    let lines = lines(&report);
    assert!(
        lines[0].starts_with("FieldValueTypeInvalid <three> "),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_value_that_the_api_server_refuses_without_its_field_is_underlined() {
    let secret = |data: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\ntype: Opaque\ndata:\n{data}")
    };
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - {name: a, image: a, resources: {limits: {cpu: 1, memory: 1Gi, example.com/gpu: 2}, requests: {example.com/gpu: 2x}}}\n";
    let limits = |memory: &str| {
        format!(
            "apiVersion: v1\nkind: LimitRange\nmetadata: {{name: a}}\nspec: {{limits: [{{type: Pod}}, {{type: Container, default: {{cpu: 1, memory: {memory}}}}}]}}\n"
        )
    };
    let lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: a}\nspec: {holderIdentity: a, renewTime: soon}\n";
    for (text, underlined, field) in [
        (
            secret("  a: YQ==\n  tls.key: not-base64\n  z: YQ==\n"),
            "not-base64",
            "data[tls.key]",
        ),
        (
            pod.to_owned(),
            "2x",
            "spec.containers[0].resources.requests[example.com/gpu]",
        ),
        (lease.to_owned(), "soon", "spec.renewTime"),
        // An update is a patch.
        (
            format!("{}---\n{}", limits("1Gi"), limits("lots")),
            "lots",
            "spec.limits[1].default.memory",
        ),
    ] {
        let report = check(&text).await;
        let said = lines(&report);
        assert_eq!(said.len(), 1, "{said:?}");
        let rule = if underlined == "lots" {
            "FieldValueInvalid"
        } else {
            "BadRequest"
        };
        assert!(
            said[0].starts_with(&format!("{rule} <{underlined}> ")),
            "{said:?}"
        );
        assert!(!said[0].contains("map["), "{said:?}");
        assert_eq!(report.findings[0].field.as_deref(), Some(field));
    }
}

#[tokio::test]
async fn a_value_of_a_wrong_type_is_underlined_in_its_list() {
    let service = |ports: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec:\n  type: ClusterIP\n  ports: {ports}\n"
        )
    };
    let pod = |container: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers:\n  - {{name: a, image: a}}\n  - {{name: b, {container}}}\n"
        )
    };
    for (text, underlined, field) in [
        (
            service("[{port: 80}, {port: http}]"),
            "http",
            "spec.ports[1].port",
        ),
        (
            service("{port: 80, name: a}"),
            "{port: 80, name: a}",
            "spec.ports",
        ),
        (
            pod("image: {a: b, c: d}"),
            "{a: b, c: d}",
            "spec.containers[1].image",
        ),
        (pod("args: [a, 1, b]"), "1", "spec.containers[1].args[1]"),
        (pod("resources: [1]"), "[1]", "spec.containers[1].resources"),
    ] {
        let report = check(&text).await;
        let said = lines(&report);
        assert!(
            said[0].starts_with(&format!("FieldValueTypeInvalid <{underlined}> ")),
            "{said:?}"
        );
        assert_eq!(report.findings[0].field.as_deref(), Some(field));
    }
}

#[tokio::test]
async fn a_field_with_a_similar_name_is_offered() {
    let report = check(&deployment("", "", "  replcas: 3\n")).await;
    assert_eq!(
        report.findings[0].help.as_deref(),
        Some("a field with a similar name exists: replicas")
    );
}

#[tokio::test]
async fn a_deprecated_kind_is_a_warning_at_its_version() {
    let report = check("apiVersion: v1\nkind: Endpoints\nmetadata: {name: a}\n").await;
    assert_eq!(
        lines(&report),
        [
            "Deprecated <v1> v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        ]
    );
    assert_eq!(report.count(Severity::Warning), 1);
}

#[tokio::test]
async fn an_unknown_kind_says_what_to_do() {
    let report = check("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n").await;
    assert_eq!(
        lines(&report),
        ["NoMatch <Widget> no matches for kind \"Widget\" in version \"example.com/v1\""]
    );
    assert!(report.findings[0].help.as_ref().unwrap().contains("--crd"));
    let ignoring = Checker::new().ignore_missing_definitions();
    let report = with(
        ignoring,
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n",
    );
    let report = report.run().await.unwrap();
    assert_eq!(
        (lines(&report), report.ignored, report.checked.len()),
        (vec![], 1, 0)
    );
}

const POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: images}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - expression: object.spec.replicas < 10
    message: too many
  - expression: object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))
    message: name a version
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: images}
spec: {policyName: images, validationActions: [Deny]}
";

#[tokio::test]
async fn a_policy_that_refuses_an_object_is_shown_with_its_validation() {
    let checker = Checker::new().source(Ok(source("policy.yaml", POLICY)), Role::Cluster);
    let report = with(
        checker,
        &deployment("", "", "").replace("nginx:1.29", "nginx:latest"),
    );
    let report = report.run().await.unwrap();
    let line = "ValidatingAdmissionPolicy/images <Deployment> ValidatingAdmissionPolicy 'images' with binding 'images' denied request: name a version";
    assert_eq!(lines(&report), [line]);
    let related = &report.findings[0].related[0];
    assert_eq!(
        related.message,
        "this validation of ValidatingAdmissionPolicy images is false"
    );
    assert!(POLICY[related.location.bytes.clone()].contains("endsWith(':latest')"));
    assert_eq!(related.location.start.line, 11);
}

#[tokio::test]
async fn the_level_of_a_namespace_applies_to_its_pods() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: safe, labels: {pod-security.kubernetes.io/enforce: baseline}}\n---\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: safe}\nspec: {hostNetwork: true, containers: [{name: a, image: a}]}\n---\n";
    // The order of the documents does not matter.
    let report = check(&format!("{pod}{namespace}")).await;
    assert_eq!(
        lines(&report),
        [
            "PodSecurity <Pod> violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)"
        ]
    );
}

const WIDGETS: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: self.min <= self.max, message: min is larger than max}
            properties: {min: {type: integer}, max: {type: integer, default: 5}}
";

#[tokio::test]
async fn rules_and_defaults_of_definitions_apply() {
    let checker = Checker::new().source(Ok(source("crd.yaml", WIDGETS)), Role::Cluster);
    let widgets = "apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
spec: {min: 7}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: b}
spec: {min: \"1\", mux: 2}
";
    let report = with(checker, widgets).run().await.unwrap();
    assert_eq!(
        lines(&report),
        [
            "FieldValueInvalid <{min: 7}> Invalid value: min is larger than max",
            "FieldValueInvalid <Widget> Invalid value: null: some validation rules were not checked because the object was invalid; \
             correct the existing errors to complete validation",
            "FieldValueTypeInvalid <\"1\"> Invalid value: \"string\": spec.min in body must be of type integer: \"string\"",
            "UnknownField <mux> unknown field \"spec.mux\"",
        ]
    );
}

#[tokio::test]
async fn a_key_that_is_there_twice_is_an_error_at_the_second() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: a}\ndata:\n  a: x\n  b: x\n  a: z\n";
    let report = check(text).await;
    assert_eq!(
        lines(&report),
        [
            "DuplicateKey <name> key \"name\" is already set in this mapping",
            "DuplicateKey <a> key \"a\" is already set in this mapping",
        ]
    );
    let line = |index: usize| report.findings[index].location.as_ref().unwrap().start.line;
    assert_eq!((line(0), line(1)), (3, 7));
    assert_eq!(report.findings[1].related[0].location.start.line, 5);
}

#[tokio::test]
async fn a_refused_update_shows_where_the_object_was_applied_before() {
    let class = |provisioner: &str| {
        format!(
            "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: fast}}\nprovisioner: {provisioner}\n"
        )
    };
    let text = format!("{}---\n{}", class("a.example.com"), class("b.example.com"));
    let report = check(&text).await;
    assert_eq!(
        lines(&report),
        ["FieldValueInvalid <b.example.com> Invalid value: null: field is immutable"]
    );
    let related = &report.findings[0].related[0];
    assert_eq!(related.location.start.line, 3);
    assert!(related.message.starts_with("applied before"), "{related:?}");

    let once = check(&class("Not a name")).await;
    assert!(!once.findings.is_empty());
    assert!(once.findings[0].related.is_empty(), "{:?}", once.findings);
}

#[tokio::test]
async fn an_object_that_has_no_name_and_needs_none_is_refused_once() {
    let review = "apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nspec: {token: a}\n";
    let report = check(review).await;
    let said = lines(&report);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].ends_with("resource name may not be empty"),
        "{said:?}"
    );
}
