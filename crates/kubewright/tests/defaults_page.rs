//! The guide's page about defaults, made from what is there unless something else is said.

use std::fmt::Write as _;

use k8s_openapi::api::core::v1::Pod;
use kubewright::Program;
use kubewright::prelude::*;
use reference::value;
use serde_json::Value;

const HEAD: &str = "\
# Defaults

What holds unless you say otherwise, and where you say it; this page is made from the values themselves. Options and their defaults
are on the pages about [the command](commands.md) and [the command line of a program](options.md).
";

/// Where a value stands.
enum From {
    /// In the source: a constant, or a field where a default is made.
    Source(&'static str, &'static str),
    /// In what is written for a program that says nothing: the kind of an object, and a place in it.
    Written(&'static str, &'static str),
    /// In a value that shows it.
    Shown(fn() -> String, &'static str),
}

use From::{Shown, Source, Written};

type Row = (&'static str, From, &'static str);

const WEBHOOKS: &[Row] = &[
    (
        "How long an API server waits for an answer, in seconds",
        Written(HOOK, "/timeoutSeconds"),
        "`Hook::timeout`",
    ),
    (
        "What becomes of a request that could not be judged",
        Written(HOOK, "/failurePolicy"),
        "`Hook::fail_open`",
    ),
    (
        "Whether other versions of the resource are judged, too",
        Written(HOOK, "/matchPolicy"),
        "`Hook::match_policy`",
    ),
    (
        "What a hook changes elsewhere",
        Written(HOOK, "/sideEffects"),
        "`Hook::side_effects`",
    ),
    (
        "Versions of reviews that are spoken",
        Written(HOOK, "/admissionReviewVersions"),
        "`Hook::review_versions`",
    ),
    (
        "Operations",
        Written(HOOK, "/rules/0/operations"),
        "`Hook::on`",
    ),
    (
        "What is left of the caller's time for the answer to travel, a tenth of it at most",
        Source("webhook/src/service.rs", "MARGIN"),
        "",
    ),
    (
        "The longest that any caller is waited for",
        Source("webhook/src/service.rs", "LONGEST"),
        "",
    ),
    (
        "Calls of one hook that may block a thread each",
        Source("webhook/src/executor.rs", "THREADS"),
        "",
    ),
];

const SERVER: &[Row] = &[
    (
        "The body of a call",
        Source("server/src/limits.rs", "body"),
        "`Limits::body`",
    ),
    (
        "Large bodies of all calls together, where there is memory for them",
        Source("server/src/limits.rs", "MOST_BODIES"),
        "`Limits::bodies_in_flight`",
    ),
    (
        "Calls at once",
        Source("server/src/limits.rs", "calls"),
        "`Limits::calls`",
    ),
    (
        "Connections, where there is memory for them",
        Source("server/src/limits.rs", "MOST_CONNECTIONS"),
        "`Limits::connections`",
    ),
    (
        "Streams of a connection",
        Source("server/src/limits.rs", "streams"),
        "`Limits::streams`",
    ),
    (
        "A TLS handshake",
        Source("server/src/limits.rs", "handshake"),
        "`Limits::handshake`",
    ),
    (
        "The headers of a call",
        Source("server/src/limits.rs", "header_time"),
        "`Limits::header_time`",
    ),
    (
        "The body of a call, until it is here",
        Source("server/src/limits.rs", "body_time"),
        "`Limits::body_time`",
    ),
    (
        "How fast a large body has to arrive, each second",
        Source("server/src/body.rs", "PACE"),
        "",
    ),
    (
        "How long a client may take nothing of its answer",
        Source("server/src/limits.rs", "send_time"),
        "`Limits::send_time`",
    ),
    (
        "A connection before its first call",
        Source("server/src/limits.rs", "first_call"),
        "`Limits::first_call`",
    ),
    (
        "A connection without a call",
        Source("server/src/limits.rs", "idle"),
        "`Limits::idle`",
    ),
    (
        "The end of a program, everything together",
        Source("server/src/drain.rs", "grace"),
        "`--grace`, `Drain::grace`",
    ),
    (
        "How long new calls are served after the signal to end",
        Source("server/src/drain.rs", "propagation"),
        "`--propagation`, `Drain::propagation`",
    ),
    (
        "Connections of `--metrics-bind-address`",
        Source("server/src/diagnostics.rs", "CONNECTIONS"),
        "",
    ),
];

const CERTIFICATES: &[Row] = &[
    (
        "The life of an authority; the next one is staged at two thirds of it",
        Source("certificates/src/shared/timing.rs", "authority"),
        "`Timing::authority`",
    ),
    (
        "The life of a replica's certificate; it is renewed at two thirds of it",
        Source("certificates/src/shared/timing.rs", "leaf"),
        "`Timing::leaf`",
    ),
    (
        "How late an API server may go by a `caBundle`",
        Source("certificates/src/shared/timing.rs", "settle"),
        "`Timing::settle`",
    ),
    (
        "By how much clocks may differ",
        Source("certificates/src/shared/timing.rs", "skew"),
        "`Timing::skew`",
    ),
    (
        "How long before its certificate expires a replica asks not to be called, at most",
        Source("manager/src/opening.rs", "MARGIN"),
        "",
    ),
    (
        "How long a replica stays ready while lost trust is put back",
        Source("manager/src/trust/status.rs", "GRACE"),
        "",
    ),
    (
        "Times within a minute that lost trust is put back at once",
        Source("manager/src/trust/guard.rs", "BURST"),
        "",
    ),
    (
        "The longest pause after which it is put back",
        Source("manager/src/trust/guard.rs", "LONGEST"),
        "",
    ),
    (
        "The life of a certificate that is made at the start",
        Source("certificates/src/self_signed.rs", "lifetime"),
        "`SelfSigned::lifetime`",
    ),
    (
        "How often mounted files are read where no event tells of a change",
        Source("certificates/src/files/follow.rs", "POLL"),
        "",
    ),
];

const CONTROLLERS: &[Row] = &[
    (
        "Reconciles of a controller at the same time",
        Source("controller/src/controller.rs", "concurrency"),
        "`Controller::concurrency`",
    ),
    (
        "The pause after a failure, which doubles",
        Shown(backoff, "first"),
        "`Controller::retry`",
    ),
    (
        "The longest pause after a failure",
        Shown(backoff, "longest"),
        "`Controller::retry`",
    ),
    (
        "How soon news of an object that fails have it reconciled",
        Source("controller/src/run.rs", "CALM"),
        "",
    ),
    (
        "Objects whose `related` has not been asked yet",
        Source("controller/src/mapping.rs", "MOST_WAITING"),
        "",
    ),
    (
        "How long a Lease holds that is not renewed",
        Source("controller/src/election/mod.rs", "lease"),
        "`LeaderElection::lease_duration`",
    ),
    (
        "When a leader that cannot renew gives up",
        Source("controller/src/election/mod.rs", "renew_deadline"),
        "`LeaderElection::renew_deadline`",
    ),
    (
        "How often a leader renews",
        Source("controller/src/election/mod.rs", "retry"),
        "`LeaderElection::retry_period`",
    ),
];

const TASKS: &[Row] = &[
    (
        "Pauses after a run that failed",
        Source("manager/src/task/declared.rs", "DEFAULT_BACKOFF"),
        "`Task::retry`",
    ),
    (
        "How long a run lasts whose failure is the first one again",
        Source("manager/src/task/runner.rs", "STEADY"),
        "",
    ),
    (
        "How soon a schedule notices that the clock was set",
        Source("manager/src/task/timing.rs", "LOOK_AT_THE_CLOCK"),
        "",
    ),
];

const CLUSTERS: &[Row] = &[
    (
        "How often an API server that answers is asked again whether it does",
        Source("manager/src/cluster/health.rs", "PERIOD"),
        "",
    ),
    (
        "How long it has for its answer",
        Source("manager/src/cluster/health.rs", "PATIENCE"),
        "",
    ),
    (
        "How long controllers of a cluster that leaves have for what they have begun",
        Source("manager/src/cluster/member.rs", "GRACE"),
        "",
    ),
    (
        "The largest kubeconfig",
        Source("manager/src/cluster/access.rs", "LARGEST"),
        "",
    ),
    (
        "Clusters with metrics of their own",
        Source("manager/src/metrics/clusters.rs", "MOST_CLUSTERS"),
        "",
    ),
];

const CACHES: &[Row] = &[
    (
        "Objects that are listed at once",
        Source("controller/src/informer/request.rs", "PAGE"),
        "",
    ),
    (
        "How long an API server may say nothing",
        Source("controller/src/informer/follow.rs", "RESPONSE_TIMEOUT"),
        "",
    ),
    (
        "Pauses after a list or a watch that failed",
        Source("controller/src/informer/follow.rs", "BACKOFF"),
        "",
    ),
    (
        "The shortest watch, in seconds",
        Source("controller/src/informer/follow.rs", "SHORTEST_WATCH"),
        "",
    ),
    (
        "The longest watch, in seconds",
        Source("controller/src/informer/follow.rs", "LONGEST_WATCH"),
        "",
    ),
    (
        "A configuration that is followed",
        Source("manager/src/configuration.rs", "LARGEST"),
        "",
    ),
    (
        "How often a file is looked at where no event tells of a change",
        Source("manager/src/file.rs", "POLL"),
        "",
    ),
    (
        "The note of an Event; what is longer is cut",
        Source("controller/src/events.rs", "LONGEST_NOTE"),
        "",
    ),
    (
        "Reviews that `--record` keeps in one run",
        Source("manager/src/recorder.rs", "MOST"),
        "",
    ),
    (
        "Kinds that are counted by name in metrics",
        Source("manager/src/metrics/mod.rs", "MOST_KINDS"),
        "",
    ),
];

const INSTALLATION: &[Row] = &[
    (
        "Namespace",
        Written("Namespace", "/metadata/name"),
        "`Install::in_namespace`",
    ),
    (
        "Profile of the namespace",
        Written(
            "Namespace",
            "/metadata/labels/pod-security.kubernetes.io~1enforce",
        ),
        "`Install::in_existing_namespace`",
    ),
    (
        "Image",
        Written(DEPLOYMENT, "/spec/template/spec/containers/0/image"),
        "`Install::image`",
    ),
    (
        "Replicas",
        Written(DEPLOYMENT, "/spec/replicas"),
        "`Install::replicas`",
    ),
    (
        "User",
        Written(DEPLOYMENT, "/spec/template/spec/securityContext/runAsUser"),
        "",
    ),
    (
        "Memory that is asked for",
        Written(
            DEPLOYMENT,
            "/spec/template/spec/containers/0/resources/requests/memory",
        ),
        "`Install::memory`",
    ),
    (
        "Memory, at most",
        Written(
            DEPLOYMENT,
            "/spec/template/spec/containers/0/resources/limits/memory",
        ),
        "`Install::memory`",
    ),
    (
        "`MIMALLOC_PURGE_DELAY`",
        Written(DEPLOYMENT, "/spec/template/spec/containers/0/env/0/value"),
        "",
    ),
    (
        "`MIMALLOC_PAGE_RECLAIM_ON_FREE`",
        Written(DEPLOYMENT, "/spec/template/spec/containers/0/env/1/value"),
        "",
    ),
    (
        "Processors that are asked for",
        Written(
            DEPLOYMENT,
            "/spec/template/spec/containers/0/resources/requests/cpu",
        ),
        "",
    ),
    (
        "Seconds until the kubelet kills",
        Written(
            DEPLOYMENT,
            "/spec/template/spec/terminationGracePeriodSeconds",
        ),
        "`Install::grace`",
    ),
    (
        "Port of the Service",
        Written("Service", "/spec/ports/0/port"),
        "`Install::service_port`",
    ),
    (
        "Pods that a disruption may take at once",
        Written("PodDisruptionBudget", "/spec/maxUnavailable"),
        "",
    ),
];

const TESTS: &[Row] = &[
    (
        "How long `eventually` waits",
        Source("testing/src/eventually.rs", "DEFAULT_TIMEOUT"),
        "",
    ),
    (
        "How long a real API server may take to start",
        Source("testing/src/control_plane/mod.rs", "START_TIMEOUT"),
        "",
    ),
];

const HOOK: &str = "ValidatingWebhookConfiguration";
const DEPLOYMENT: &str = "Deployment";

async fn lenient(_: Change<Pod>, _: Review) -> Validated {
    Ok(())
}

fn backoff() -> String {
    format!("{:?}", kubewright::controller::Backoff::default())
}

/// A field of what `Debug` shows, such as `5ms` of `Backoff { first: 5ms }`.
fn shown(text: &str, field: &str) -> String {
    let (_, rest) = text.split_once(&format!("{field}: ")).expect(text);
    let value = rest.split([',', ' ', '}']).next().unwrap_or_default();
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{} {unit}", &value[..value.len() - unit.len()])
}

/// What is written for a program that says nothing but what it is.
fn written(kind: &str, place: &str) -> String {
    let program = Program::new(|_: &mut Needs| {
        App::new("policy")
            .version("1.4.0")
            .webhooks(Webhooks::new("example.com").with(validating("lenient", lenient)))
            .certificates(SharedAuthority::in_secret("policy-certs").for_service("policy"))
    });
    let manifests = program.deployment().unwrap().manifests();
    let mut objects = manifests.objects().iter();
    let object = objects.find(|object| object["kind"] == kind).expect(kind);
    let object = if kind == HOOK {
        &object["webhooks"][0]
    } else {
        object
    };
    match object.pointer(place) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(all)) => {
            let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            all.join(", ")
        }
        Some(value) => value.to_string(),
        None => panic!("{kind} has no {place}: {object}"),
    }
}

#[test]
fn the_page_of_the_guide_has_the_defaults_that_hold() {
    let mut made = HEAD.to_owned();
    for (title, rows) in [
        ("Webhooks", WEBHOOKS),
        (
            "The server\n\n`Limits` are for programs that run a `kubewright::server::Server` without a `Program`.",
            SERVER,
        ),
        ("Certificates", CERTIFICATES),
        ("Controllers and elections", CONTROLLERS),
        ("Tasks", TASKS),
        ("Other clusters", CLUSTERS),
        ("Caches, files and Events", CACHES),
        ("An installed program", INSTALLATION),
        ("Tests", TESTS),
    ] {
        write!(
            made,
            "\n## {title}\n\n| | default | set by |\n|---|---|---|\n"
        )
        .unwrap();
        for (what, from, otherwise) in rows {
            let value = match from {
                Source(file, name) => value(file, name),
                Written(kind, place) => written(kind, place),
                Shown(value, field) => shown(&value(), field),
            };
            let otherwise = if otherwise.is_empty() {
                "fixed"
            } else {
                otherwise
            };
            writeln!(made, "| {what} | {value} | {otherwise} |").unwrap();
        }
    }
    reference::hold("defaults.md", &made, "kubewright", "defaults_page");
}
