//! Workloads, jobs and what scales them.

use super::samples::{autoscaler, cron_job, job, workload};
use super::*;

#[test]
fn deployments_are_refused_with_the_api_servers_words() {
    let labels = json!({ "app": "x" });
    for (pointer, value, expected) in [
        (
            "/spec/selector",
            json!({}),
            vec!["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            "/spec/selector",
            Value::Null,
            vec![
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
            ],
        ),
        (
            "/spec/template/metadata/labels",
            labels,
            vec![
                "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`",
            ],
        ),
        (
            "/spec/replicas",
            json!(-1),
            vec!["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "/spec/strategy",
            json!({ "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 0 } }),
            vec![
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
            ],
        ),
        (
            "/spec/strategy",
            json!({ "rollingUpdate": { "maxUnavailable": "101%" } }),
            vec![
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%",
            ],
        ),
        (
            "/spec/strategy",
            json!({ "type": "Recreate", "rollingUpdate": {} }),
            vec![
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            ],
        ),
        (
            "/spec/strategy",
            json!({ "type": "Slow" }),
            vec![
                "spec.strategy: Unsupported value: {\"Type\":\"Slow\",\"RollingUpdate\":null}: supported values: \"Recreate\", \"RollingUpdate\"",
            ],
        ),
        (
            "/spec/progressDeadlineSeconds",
            json!(0),
            vec![
                "spec.progressDeadlineSeconds: Invalid value: 0: must be greater than minReadySeconds",
            ],
        ),
    ] {
        assert_eq!(
            created(&workload("Deployment"), pointer, value),
            expected,
            "{pointer}"
        );
    }
    let mut other = workload("Deployment");
    other.3["spec"]["template"]["metadata"]["labels"]["b"] = "c".into();
    assert_eq!(
        updated(&other, "/spec/selector/matchLabels/b", json!("c")),
        [
            "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"web\",\"b\":\"c\"}}: field is immutable"
        ]
    );
}

#[test]
fn the_other_workloads_have_their_own_rules() {
    for (kind, pointer, value, expected) in [
        (
            "DaemonSet",
            "/spec/updateStrategy",
            json!({ "rollingUpdate": { "maxUnavailable": 1, "maxSurge": 1 } }),
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
        ),
        (
            "DaemonSet",
            "/spec/updateStrategy",
            json!({ "rollingUpdate": { "maxUnavailable": 0 } }),
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
        ),
        (
            "StatefulSet",
            "/spec/podManagementPolicy",
            json!("Any"),
            "spec.podManagementPolicy: Invalid value: \"Any\": must be 'OrderedReady' or 'Parallel'",
        ),
        (
            "StatefulSet",
            "/spec/selector",
            json!({}),
            "spec.selector: Invalid value: {}: empty selector is invalid for statefulset",
        ),
        (
            "ReplicaSet",
            "/spec/minReadySeconds",
            json!(-1),
            "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "ReplicaSet",
            "/spec/template/spec/activeDeadlineSeconds",
            json!(5),
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
        ),
    ] {
        assert_eq!(
            created(&workload(kind), pointer, value),
            [expected],
            "{kind} {pointer}"
        );
    }
    assert_eq!(
        updated(
            &workload("StatefulSet"),
            "/spec/serviceName",
            json!("other")
        ),
        ["spec.serviceName: Invalid value: \"other\": field is immutable",]
    );
}

#[test]
fn jobs_end_and_so_must_their_pods() {
    assert_eq!(
        created(&job(), "/spec/template/spec/restartPolicy", Value::Null),
        [
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""
        ]
    );
    assert_eq!(
        created(&job(), "/spec/completionMode", json!("Indexed")),
        [""; 0]
    );
    assert_eq!(
        created(
            &job(),
            "/spec/template/metadata/labels/job-name",
            json!("x")
        )[0],
        "spec.template.metadata.labels[job-name]: Invalid value: {\"app\":\"web\",\"batch.kubernetes.io/controller-uid\":\"u\",\
         \"batch.kubernetes.io/job-name\":\"j\",\"controller-uid\":\"u\",\"job-name\":\"x\"}: must be 'j'"
    );
    assert_eq!(
        updated(&job(), "/spec/completions", json!(5)),
        ["spec.completions: Invalid value: 5: field is immutable"]
    );
    assert_eq!(updated(&job(), "/spec/parallelism", json!(5)), [""; 0]);
}

#[test]
fn cron_jobs_need_a_schedule() {
    for (pointer, value, expected) in [
        ("/spec/schedule", json!(""), "spec.schedule: Required value"),
        (
            "/spec/schedule",
            json!("error"),
            "spec.schedule: Invalid value: \"error\": expected exactly 5 fields, found 1: [error]",
        ),
        (
            "/spec/schedule",
            json!("TZ=UTC 0 * * * *"),
            "spec.schedule: Invalid value: \"TZ=UTC 0 * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        ),
        (
            "/spec/timeZone",
            json!("Moon/Sea"),
            "spec.timeZone: Invalid value: \"Moon/Sea\": unknown time zone Moon/Sea",
        ),
        (
            "/spec/concurrencyPolicy",
            json!("Maybe"),
            "spec.concurrencyPolicy: Unsupported value: \"Maybe\": supported values: \"Allow\", \"Forbid\", \"Replace\"",
        ),
        (
            "/spec/startingDeadlineSeconds",
            json!(-1),
            "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "/spec/jobTemplate/spec/selector",
            json!({}),
            "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated",
        ),
    ] {
        assert_eq!(
            created(&cron_job(), pointer, value),
            [expected],
            "{pointer}"
        );
    }
}

#[test]
fn autoscalers_of_both_versions_are_checked_alike() {
    for version in ["v1", "v2"] {
        for (pointer, value, expected) in [
            (
                "/spec/maxReplicas",
                json!(0),
                vec![
                    "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
                    "spec.maxReplicas: Required value",
                ],
            ),
            (
                "/spec/minReplicas",
                json!(5),
                vec![
                    "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
                ],
            ),
            (
                "/spec/scaleTargetRef/kind",
                json!(""),
                vec!["spec.scaleTargetRef.kind: Required value"],
            ),
        ] {
            assert_eq!(
                created(&autoscaler(version), pointer, value),
                expected,
                "{version} {pointer}"
            );
        }
    }
}
