//! The guide's page on troubleshooting, made from the checks of `kubewright doctor` and from the errors of the command.

mod errors;

use std::fmt::Write as _;

use self::errors::{Described, described};
use crate::doctor::{Check, Weight};

const HEAD: &str = "\
# Troubleshooting

Search this page for the message that you have. Where there is no message, look in this order:

1. `kubewright doctor` examines every webhook of the current context: its Service, its endpoints, its `caBundle`, and whether it locks its
   own program out. It changes nothing.
2. The log of the program has the cause of every failure: `kubectl logs --namespace teams-system deployment/teams`, with the name of your
   program. `--log-level debug` adds the causes of denials.
3. `kubectl get events --namespace teams-system` has what a controller, a Deployment or the rotation of certificates reports.
4. `kubewright inspect` shows what a program with secured metrics is doing: the objects that wait or fail, with their last errors
   ([Looking inside](observability.md#looking-inside)).
5. In a test or with `kubewright dev`, the log is on standard error. The embedded API server answers in the words of a real one.

In a message, `…` is the part that differs from case to case.

## The first build

| message | cause | what to do |
|---|---|---|
| `requires rustc 1.95` | An older Rust is installed | `rustup update stable` |
| ``linker `cc` not found`` | Rust links with the C compiler of the system | Install it: `apt-get install build-essential`, `dnf install gcc`, `xcode-select --install` |
| `(signal: 9, SIGKILL: kill)` | The machine has no memory left for several `rustc` at once | `CARGO_BUILD_JOBS=1 cargo build`, or add swap |
| `No space left on device` | A `target` directory with tests takes a few GB | `cargo clean` in projects that you do not work on, or set `CARGO_TARGET_DIR` for several projects to share one |
| ``the trait bound … : Validate<…>` is not satisfied`` | The function has not the shape of a handler | `async fn(Change<T>, Review) -> Validated` for a validator, `-> Mutated<T>` for a mutator |

## When the API server cannot call a webhook

The API server reports these to the client whose request it refused, such as kubectl, if the `failurePolicy` is `Fail`:
`Internal error occurred: failed calling webhook \"…\": failed to call webhook:`, and then

";

/// What the API server says of a call that fails; where a check of doctor finds the same, its row has more.
const CALLS: [(&str, &str, &str); 8] = [
    (
        "service … not found",
        "The configuration is installed, and the Service it names is not",
        "Apply all of `deploy/`: `kubewright deploy`",
    ),
    (
        "no endpoints available for service …",
        "No pod of the program is ready",
        "`kubectl get pods`, then the log of a pod. A pod that is not ready lists its failing checks at `/readyz?verbose`",
    ),
    (
        "connect: connection refused",
        "The program does not listen on the port that the Service or the URL leads to",
        "Compare `--listen` with the `targetPort` of the Service; both come from `kubewright manifests`",
    ),
    (
        "context deadline exceeded",
        "The program did not answer within `timeoutSeconds`, or a firewall drops the API server's packets",
        "If the log of the program has the review, make the handler faster or raise `Hook::timeout`; otherwise let the API server reach \
         the port of the program: managed clusters often allow 443 and 10250 only",
    ),
    (
        "x509: certificate signed by unknown authority",
        "The `caBundle` has not the CA that signed the certificate of the program",
        "Give the program `SharedAuthority`, which writes the `caBundle`, or install the CA with `kubewright certs inject`. If another \
         tool applies an older `caBundle` again and again, the log names its field manager",
    ),
    (
        "x509: certificate is valid for …, not …",
        "The certificate was made for another name than that of the Service or the URL",
        "`SharedAuthority::for_service` has to name the Service that the configuration names",
    ),
    (
        "x509: certificate has expired or is not yet valid",
        "The certificate was not renewed, or a clock is wrong",
        "Renew it; with `SharedAuthority` a program does so itself. Compare the clocks of the nodes",
    ),
    (
        "the server could not find the requested resource",
        "The program does not serve the path of the configuration, which is older or newer than the program",
        "`kubewright manifests`, then deploy both together",
    ),
];

const DENIALS: &str = "
`admission webhook \"…\" denied the request: …` is no failure: the program said `deny`, and the sentence behind it is the program's own.

If a webhook blocks its own repair, delete its configuration: `kubectl delete validatingwebhookconfiguration NAME`, or
`mutatingwebhookconfiguration`. `kubewright deploy` makes it again once the program is ready.

## When a program or its controller does nothing

| message | cause | what to do |
|---|---|---|
| `… is forbidden: User \"system:serviceaccount:…\" cannot …` | The roles in the cluster are older than the handles in the code | `kubewright manifests`, then `kubewright deploy` |
| `cannot find the cluster: neither a kubeconfig nor a service account leads to one` | The program has caches, controllers or an authority, and runs outside of a cluster | Set `KUBECONFIG`, or run it with `kubewright dev` |
| `cannot serve without a certificate: the program has no authority of its own` | The program has webhooks, and neither `App::certificates` nor a flag says by which certificate | Add `.certificates(SharedAuthority::in_secret(…).for_service(…))`, or pass `--certificates` or `--self-signed` |
| `/readyz?verbose` names `caches` | A list or watch fails, often because its CustomResourceDefinition is missing | Read the log; `kubewright install` installs the definitions |
| `/readyz?verbose` names `trust` | The webhook configurations do not exist yet, or another tool overwrites their `caBundle` | Apply `deploy/webhooks.yaml`; the log names the field manager |
| reconciles come late, and `kubewright_reconcile_rate_limited_seconds_total` grows | The rate limit of the controller | A higher `RateLimit`, or a predicate that filters out more |
| no message, and no reconcile | Another replica leads, or a predicate drops the event | `kubectl get lease` shows the leader; `--log-level debug` logs each reconcile |

## What `kubewright doctor` reports

A *problem* makes calls fail and the exit code 1; a *doubt* is what doctor cannot verify from your machine.

";

const ERRORS: &str = "
## Errors of the command

An error says what failed and why; the hint that the command prints below it says what to do. With `--output json` both are fields.
An error that is not listed here is that of the API server, of cargo or of the operating system, and is printed as they wrote it.
";

/// Cause and remedy of what a check finds.
fn explanation(check: Check) -> (&'static str, &'static str) {
    match check {
        Check::NoService => (
            "The Service that the configuration names does not exist: it was deleted, or only the configuration was applied",
            "Apply all of `deploy/` with `kubewright deploy`, or delete the configuration",
        ),
        Check::NoServicePort => (
            "The configuration names another port than the Service has; without a port, API servers take 443",
            "Write both from the code: `kubewright manifests`, then `kubewright deploy`",
        ),
        Check::NoReadyEndpoint => (
            "No pod of the Service is ready: it is starting, it crashes, or a readiness check fails",
            "`kubectl get pods` and the log of a pod; `/readyz?verbose` of the program lists its checks",
        ),
        Check::NoEndpointSlice => (
            "The cluster has no controller that writes EndpointSlices, as with an API server alone, or the Service has no selector",
            "On a cluster with a control plane: give the Service the selector of the program's pods",
        ),
        Check::UrlFails => (
            "The address does not answer from your machine, or its certificate is not signed by a CA in the `caBundle`",
            "Start the program, or compare its certificate with the `caBundle`. An API server elsewhere may reach what your machine does not",
        ),
        Check::UrlIsSilent => (
            "A firewall drops the packets, or the server accepts connections and does not finish the TLS handshake",
            "Open the port for the API server; look at the log of the program",
        ),
        Check::CaBundleMissing => (
            "Nothing has filled the `caBundle`: the program has not started yet, or its certificates come from elsewhere",
            "Give the program `SharedAuthority`, which fills it, or run `kubewright certs inject`. It is right for a certificate of a public CA",
        ),
        Check::CaBundleUnreadable => (
            "The value was copied in part or encoded twice",
            "`kubewright certs inject` writes it from a PEM file; a program with `SharedAuthority` writes it when it starts",
        ),
        Check::CaBundleExpired => (
            "The CA was not rotated, or the clock of your machine is wrong",
            "Make a new CA and inject it (`kubewright certs`, `kubewright certs inject`), or let the program rotate it with `SharedAuthority`",
        ),
        Check::CaBundlePartlyExpired => (
            "An old CA was left in the bundle, or a new one is published ahead of time",
            "Nothing while a rotation goes on; otherwise remove the old certificate",
        ),
        Check::CaBundleDiffers => (
            "Two objects lead to one server, and one of them was filled by hand or by an older program",
            "Fill both with the CA of the server: `kubewright certs inject`, or `SharedAuthority`",
        ),
        Check::LocksItselfOut => (
            "With `failurePolicy: Fail`, the webhook is called for the pods of its own program: if all of them are gone, none can start",
            "Exclude its namespace with a `namespaceSelector`, as the manifests of `kubewright manifests` do, or use `Hook::fail_open`",
        ),
        Check::MatchConditions => (
            "The configuration has CEL conditions, which only the API server evaluates",
            "See that a condition or a selector excludes the namespace of the program",
        ),
    }
}

/// The sections of the errors, with the files that make them; the first that fits.
const SECTIONS: [(&str, &[&str]); 8] = [
    (
        "Deploying and clusters",
        &[
            "commands/install",
            "current.rs",
            "ownership.rs",
            "doctor",
            "commands/doctor",
        ],
    ),
    (
        "Creating and changing projects",
        &[
            "scaffold/",
            "commands/init",
            "commands/create",
            "commands/project",
            "commands/edit",
            "commands/update",
            "commands/delete",
        ],
    ),
    (
        "Checking manifests and testing policies",
        &["commands/check", "commands/test_policy"],
    ),
    (
        "Building and running programs",
        &[
            "dev/",
            "commands/dev",
            "commands/run",
            "commands/test",
            "commands/manifests",
            "commands/replay",
            "replay",
        ],
    ),
    ("Looking inside programs", &["commands/inspect", "inspect/"]),
    ("Certificates", &["commands/certs"]),
    (
        "API servers for tests",
        &[
            "assets",
            "commands/assets",
            "shim",
            "cluster.rs",
            "commands/apiserver",
            "etcd.rs",
        ],
    ),
    (
        "Everything else",
        &["main.rs", "files.rs", "failure.rs", "commands/completions"],
    ),
];

/// The whole page.
fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| message | cause | what to do |\n|---|---|---|\n");
    for (message, cause, remedy) in CALLS {
        let _ = writeln!(page, "| `{message}` | {cause} | {remedy} |");
    }
    page.push_str(DENIALS);
    page.push_str("| | message | cause | what to do |\n|---|---|---|---|\n");
    for check in Check::ALL {
        let (cause, remedy) = explanation(*check);
        let (weight, message) = (check.weight().word(), code(&parameters(check.message())));
        let _ = writeln!(page, "| {weight} | {message} | {cause} | {remedy} |");
    }
    page.push_str(ERRORS);
    let files = described();
    for (section, _) in SECTIONS {
        let of_section = files.iter().filter(|(file, _)| section_of(file) == section);
        let mut errors: Vec<&Described> = of_section.flat_map(|(_, errors)| errors).collect();
        errors.sort();
        errors.dedup();
        if errors.is_empty() {
            continue;
        }
        let _ = write!(
            page,
            "\n### {section}\n\n| error | what to do |\n|---|---|\n"
        );
        for error in errors {
            let hints = error.hints.join("; ");
            let _ = writeln!(page, "| {} | {} |", code(&error.message), cell(&hints));
        }
    }
    page
}

fn section_of(file: &str) -> &'static str {
    let fits = |(_, files): &&(&str, &[&str])| files.iter().any(|start| file.starts_with(start));
    let section = SECTIONS.iter().find(fits);
    section
        .unwrap_or_else(|| panic!("name the section for the errors of {file}"))
        .0
}

/// A message with `…` for its parameters.
fn parameters(message: &str) -> String {
    let mut parts = message.split('{');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push('…');
        shown.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    shown
}

/// A hint in a cell of a table; what it quotes as code needs no escapes.
fn cell(hint: &str) -> String {
    let parts = hint.split('`').enumerate().map(|(n, part)| match n % 2 {
        0 => linked(&reference::cell(part)),
        _ => part.replace('|', r"\|"),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Addresses become links, which Markdown does not make of them by itself.
fn linked(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let address = word.trim_end_matches(',');
        let rest = &word[address.len()..];
        match address.strip_prefix("https://") {
            Some(path) if !path.is_empty() => format!("<{address}>{rest}"),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A message as code in a cell of a table, where it may have backticks itself.
fn code(message: &str) -> String {
    let message = message
        .lines()
        .next()
        .unwrap_or_default()
        .replace('|', r"\|");
    if message.contains('`') {
        format!("`` {message} ``")
    } else {
        format!("`{message}`")
    }
}

#[test]
fn the_page_on_troubleshooting_is_current() {
    reference::hold(
        "troubleshooting.md",
        &page(),
        "kubewright-cli",
        "troubleshooting",
    );
}

#[test]
fn the_page_explains_every_check_of_doctor() {
    let page = page();
    for check in Check::ALL {
        let (cause, remedy) = explanation(*check);
        assert!(page.contains(&parameters(check.message())), "{check:?}");
        assert!(cause.len() > 20 && remedy.len() > 20, "{check:?}");
        assert_ne!(check.weight(), Weight::Good, "{check:?}");
    }
}

/// What the embedded API server says is compared with a real one by `tests/conformance`.
#[test]
fn the_api_server_says_what_the_page_quotes() {
    let mut said = String::new();
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apiserver");
    read(&sources, &mut said);
    for (message, ..) in CALLS {
        for part in message.split('…').filter(|part| part.trim().len() > 2) {
            assert!(said.contains(part.trim()), "no API server says {part}");
        }
    }
}

fn read(folder: &std::path::Path, text: &mut String) {
    for entry in folder.read_dir().expect("the sources are there") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            read(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&std::fs::read_to_string(&path).expect("a source file"));
        }
    }
}
