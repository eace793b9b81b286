//! `kubewright check`: manifests in, findings and an exit code out.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::command::{kubewright, run};

const SERVICE: &str = "apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports:
  - port: 80
";

const BROKEN: &str = "apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  ports:
  - port: 99999
";

const WIDGET: &str = "apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: 7}
";

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
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
        properties: {spec: {type: object, properties: {size: {type: integer, maximum: 5}, colour: {type: string, default: red}}}}
";

const POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: ports}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [services]}]}
  validations: [{expression: 'object.spec.ports.all(p, p.port >= 1024)', message: use a high port}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: ports}
spec: {policyName: ports, validationActions: [Deny]}
";

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory is made");
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the directory")).expect("it is made");
        fs::write(path, text).expect("the file is written");
    }
    directory
}

#[tokio::test]
async fn the_exit_code_tells_findings_from_mistakes_on_the_command_line() {
    let directory = directory(&[("good.yaml", SERVICE), ("broken.yaml", BROKEN)]);
    let good = run(directory.path(), &["check", "good.yaml"]).await;
    assert_eq!(
        (good.code, good.out.as_str()),
        (Some(0), ""),
        "{}",
        good.err
    );
    assert!(
        good.err.contains("1 object checked: 0 errors, 0 warnings"),
        "{}",
        good.err
    );

    let broken = run(directory.path(), &["check", "broken.yaml"]).await;
    assert_eq!(broken.code, Some(1), "{}", broken.err);
    assert!(
        broken.out.contains(
            "error[FieldValueInvalid]: Invalid value: 99999: must be between 1 and 65535, inclusive\n --> broken.yaml:7:11"
        ),
        "{}",
        broken.out
    );

    for mistake in [
        &["check"][..],
        &["check", "good.yaml", "--kubernetes", "1.2"],
        &["check", "good.yaml", "--output", "xml"],
    ] {
        let ran = run(directory.path(), mistake).await;
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    }
}

#[tokio::test]
async fn manifests_are_read_from_directories_and_standard_input() {
    let directory = directory(&[("a.yaml", SERVICE), ("b.json", "{}"), ("notes.txt", "no")]);
    let ran = run(directory.path(), &["check", "."]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.out
            .contains("error[NoObject]: apiVersion and kind must be set"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("notes.txt"), "{}", ran.out);

    let mut command = kubewright(directory.path(), &["check", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(BROKEN.as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("--> <stdin>:7:11"), "{out}");
}

#[tokio::test]
async fn what_is_missing_is_a_finding() {
    let ran = run(Path::new("."), &["check", "nowhere"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(
        ran.out.contains("error[Unreadable]: cannot read nowhere: "),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn definitions_and_policies_apply() {
    let directory = directory(&[
        ("widget.yaml", WIDGET),
        ("service.yaml", SERVICE),
        ("crd.yaml", DEFINITION),
        ("policy.yaml", POLICY),
    ]);
    let alone = run(directory.path(), &["check", "widget.yaml"]).await;
    assert_eq!(alone.code, Some(1));
    assert!(
        alone
            .out
            .contains("pass its CustomResourceDefinition with --crd"),
        "{}",
        alone.out
    );
    let ignoring = ["check", "widget.yaml", "--ignore-missing-definitions"];
    assert_eq!(run(directory.path(), &ignoring).await.code, Some(0));
    let defined = ["check", "widget.yaml", "--crd", "crd.yaml"];
    let defined = run(directory.path(), &defined).await;
    assert!(
        defined
            .out
            .contains("spec.size in body should be less than or equal to 5"),
        "{}",
        defined.out
    );
    let refused = ["check", "service.yaml", "--policy", "policy.yaml"];
    let refused = run(directory.path(), &refused).await;
    assert_eq!(refused.code, Some(1));
    assert!(refused.out.contains("use a high port"), "{}", refused.out);
    assert!(refused.out.contains("policy.yaml:"), "{}", refused.out);
}

#[tokio::test]
async fn a_diff_shows_what_the_cluster_adds() {
    let directory = directory(&[
        ("widget.yaml", &WIDGET.replace('7', "5")),
        ("crd.yaml", DEFINITION),
    ]);
    let diff = ["check", "widget.yaml", "--crd", "crd.yaml", "--diff"];
    let ran = run(directory.path(), &diff).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out.contains("widget.yaml: Widget default/a"),
        "{}",
        ran.out
    );
    let lines: Vec<&str> = ran.out.lines().map(str::trim).collect();
    assert!(lines.contains(&"+   colour: red"), "{}", ran.out);
}

#[tokio::test]
async fn an_object_that_the_cluster_has_is_updated() {
    let state = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: default}\nimmutable: true\ndata: {a: eA==}\n";
    let manifest =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nimmutable: true\ndata: {a: eQ==}\n";
    let directory = directory(&[("state.yaml", state), ("secret.yaml", manifest)]);
    assert_eq!(
        run(directory.path(), &["check", "secret.yaml"]).await.code,
        Some(0)
    );
    let update = ["check", "secret.yaml", "--cluster-state", "state.yaml"];
    let ran = run(directory.path(), &update).await;
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out
            .contains("field is immutable when `immutable` is set"),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn programs_read_one_document_of_each_format() {
    let directory = directory(&[("broken.yaml", BROKEN)]);
    for (format, expected) in [
        ("json", "\"rule\": \"FieldValueInvalid\""),
        ("sarif", "\"version\": \"2.1.0\""),
        (
            "github",
            "::error title=FieldValueInvalid,file=broken.yaml,line=7",
        ),
        ("junit", "<failure type=\"FieldValueInvalid\">"),
    ] {
        let ran = run(
            directory.path(),
            &["check", "broken.yaml", "--output", format],
        )
        .await;
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        assert!(ran.out.contains(expected), "{format}: {}", ran.out);
        if matches!(format, "json" | "sarif") {
            serde_json::from_str::<serde_json::Value>(&ran.out).unwrap();
        }
    }
}

#[tokio::test]
async fn the_readme_shows_what_the_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let (_, shown) = readme
        .split_once("$ kubewright check examples/broken-deployment.yaml\n")
        .unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let ran = run(&root, &["check", "examples/broken-deployment.yaml"]).await;
    assert_eq!(ran.code, Some(1));
    assert_eq!(format!("{}{}", ran.out, ran.err), shown);
}

#[tokio::test]
async fn the_mistakes_of_an_object_are_shown_in_one_run() {
    let broken = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports: [{port: 80, protocol: HTTP}]\n  typ: NodePort\n";
    let directory = directory(&[("service.yaml", broken)]);
    let ran = run(directory.path(), &["check", "service.yaml"]).await;
    assert_eq!(ran.code, Some(1));
    for expected in [
        "error[UnknownField]: unknown field \"spec.typ\"",
        "help: a field with a similar name exists: type",
        "error[FieldValueNotSupported]: Unsupported value: \"HTTP\"",
    ] {
        assert!(ran.out.contains(expected), "{expected}: {}", ran.out);
    }
}

#[tokio::test]
async fn what_builds_manifests_is_named_where_none_are() {
    let kustomization =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n";
    let template = "apiVersion: v1\nkind: Service\nmetadata: {{ include \"x\" . }}\n";
    let directory = directory(&[
        ("kustomization.yaml", kustomization),
        ("chart/templates/service.yaml", template),
        ("notes/README.md", ""),
    ]);
    for (path, expected) in [
        (
            "kustomization.yaml",
            "help: check what it builds: kubectl kustomize DIRECTORY | kubewright check -",
        ),
        (
            "chart",
            "help: if this is a template of a chart, check what it renders: helm template CHART | kubewright check -",
        ),
        (
            "notes",
            "cannot read notes: it has no file that ends with .json, .yaml or .yml",
        ),
    ] {
        let ran = run(directory.path(), &["check", path]).await;
        assert_eq!(ran.code, Some(1), "{path}: {}", ran.out);
        assert!(ran.out.contains(expected), "{path}: {}", ran.out);
    }
}

#[tokio::test]
async fn a_check_is_repeated_when_a_file_changes() {
    let directory = directory(&[("service.yaml", BROKEN)]);
    let mut command = kubewright(directory.path(), &["check", "--watch", "."]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = async |text: &str| {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(text) {
                return true;
            }
        }
        false
    };
    assert!(until("99999").await);
    fs::write(
        directory.path().join("service.yaml"),
        BROKEN.replace("99999", "88888"),
    )
    .unwrap();
    assert!(until("88888").await);
}

#[tokio::test]
async fn the_webhooks_of_a_program_are_called() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx, env: [{name: A, value: b}]}\n";
    let directory = directory(&[("pod.yaml", pod)]);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/deny-env");
    let check = ["check", "pod.yaml", "--program", program.to_str().unwrap()];
    let ran = run(directory.path(), &check).await;
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out.contains(
            "error[webhook/denyenv.hightowerlabs.com]: admission webhook \"denyenv.hightowerlabs.com\" denied the request"
        ),
        "{}",
        ran.out
    );
}
