//! What the log tells, and how that changes.

use std::io::Write;
use std::sync::{Arc, Mutex};

use super::*;

fn levels(text: &str) -> Levels {
    text.parse().unwrap()
}

#[test]
fn levels_and_lists_are_read_and_nonsense_is_not() {
    for good in [
        "debug",
        "WARN",
        "off",
        "info,kubewright_server=debug",
        " info , kube=warn ",
        "kube::client=trace",
    ] {
        assert!(good.parse::<Levels>().is_ok(), "{good}");
    }
    for bad in [
        "",
        "debugg",
        "loud=very",
        "info,",
        "=info",
        "info;debug",
        "3",
        "a=b=c",
        "[span]=info",
    ] {
        let error = bad.parse::<Levels>().unwrap_err().to_string();
        assert!(error.contains("is no level; say off, error"), "{error}");
    }
}

#[test]
fn a_level_by_itself_holds_for_everything_else() {
    let filter = levels("warn,kubewright_server=debug").filter();
    assert!(filter.would_enable("kubewright_server::run", &tracing::Level::DEBUG));
    assert!(!filter.would_enable("kubewright_webhook", &tracing::Level::INFO));
    // Without one it is that of a program that was told nothing.
    let filter = levels("kubewright_server=debug").filter();
    assert!(filter.would_enable("kubewright_webhook", &tracing::Level::INFO));
    assert!(!filter.would_enable("kubewright_webhook", &tracing::Level::DEBUG));
}

#[test]
fn lines_that_hold_whole_objects_are_left_to_the_level_trace() {
    for silent in [
        "info",
        "debug",
        "kube_client=debug",
        "debug,kube_client::client=trace",
        "trace,kube_client=warn",
    ] {
        let filter = levels(silent).filter();
        assert!(
            !filter.would_enable("kube_client::client", &tracing::Level::ERROR),
            "{silent}"
        );
    }
    for whole in ["trace", "info,kube_client=trace"] {
        let filter = levels(whole).filter();
        assert!(
            filter.would_enable("kube_client::client", &tracing::Level::WARN),
            "{whole}"
        );
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Runs a function under a log in a format, and returns the lines.
fn logged(format: LogFormat, first: &str, run: impl FnOnce(&Log)) -> String {
    let (lines, first) = (Lines::default(), levels(first));
    let writer = lines.clone();
    let (layer, filter) = layer(format, &first, move || writer.clone(), false);
    let subscriber = tracing_subscriber::registry().with(layer);
    let log = Log { filter, first };
    tracing::subscriber::with_default(subscriber, || run(&log));
    lines.text()
}

#[test]
fn the_level_changes_while_the_program_runs_and_comes_back() {
    let lines = logged(LogFormat::Text, "info", |log| {
        tracing::debug!("first");
        log.set(Some(&levels("debug")));
        tracing::debug!("second");
        log.set(Some(&levels("debug,kubewright_manager=error")));
        tracing::warn!("third");
        log.set(None);
        tracing::info!("fourth");
        tracing::debug!("fifth");
    });
    for (word, is_there) in [
        ("first", false),
        ("second", true),
        ("third", false),
        ("fourth", true),
        ("fifth", false),
    ] {
        assert_eq!(lines.contains(word), is_there, "{word}: {lines}");
    }
    assert!(
        lines.contains("the level of the log has changed levels=debug"),
        "{lines}"
    );
}

#[test]
fn lines_are_text_or_json() {
    let tell = |_: &Log| tracing::info!(number = 7, "said");
    let text = logged(LogFormat::Text, "info", tell);
    assert!(
        text.contains("INFO kubewright_manager::logging::tests: said number=7"),
        "{text}"
    );
    let line: serde_json::Value =
        serde_json::from_str(&logged(LogFormat::Json, "info", tell)).unwrap();
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["fields"]["message"], "said");
    assert_eq!(line["fields"]["number"], 7);
}

#[test]
fn an_event_is_one_line_whatever_it_says() {
    const FORGED: &str = "team\n2026-01-01T00:00:00Z  INFO kubewright: all is well\r\u{1b}[2K";
    let tell = |_: &Log| {
        tracing::error!("{FORGED}");
        tracing::error!(key = %FORGED, "refused");
        tracing::error!(key = FORGED, "refused");
    };
    for format in [LogFormat::Text, LogFormat::Json] {
        let lines = logged(format, "info", tell);
        assert_eq!(lines.lines().count(), 3, "{lines}");
        assert!(!lines.contains(['\r', '\u{1b}']), "{lines}");
        assert!(lines.contains(r"team\n2026"), "{lines}");
    }
}

#[test]
fn a_long_event_is_cut_and_its_json_stays_whole() {
    let long = "x".repeat(6 << 20);
    let tell = |_: &Log| tracing::error!(key = long, number = 7, "refused");
    let text = logged(LogFormat::Text, "info", tell);
    assert!(text.len() < 17_000 && text.ends_with(" more bytes)\n"));
    let json = logged(LogFormat::Json, "info", tell);
    assert!(json.len() < 17_000);
    let line: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(line["fields"]["number"], 7);
    let key = line["fields"]["key"].as_str().unwrap();
    assert!(key.starts_with("xxx") && key.ends_with("… (6289408 more bytes)"));
}

#[test]
fn decisions_in_shadow_mode_are_logged_by_default_and_without_values_of_objects() {
    use k8s_openapi::api::core::v1::Secret;
    use kubewright_webhook::{Change, Mutated, Review, Webhooks, mutating};
    use tower::ServiceExt as _;

    async fn other(change: Change<Secret>, _: Review) -> Mutated<Secret> {
        let mut secret = change.into_object();
        secret.string_data = Some([("token".to_owned(), "hunter2".to_owned())].into());
        Ok(secret)
    }
    let review = serde_json::json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "CREATE", "namespace": "blue", "name": "a", "dryRun": true,
            "kind": {"group": "", "version": "v1", "kind": "Secret"},
            "resource": {"group": "", "version": "v1", "resource": "secrets"},
            "object": {"apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGVyMQ=="}},
        },
    });
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    let lines = logged(LogFormat::Json, "info", |_| {
        let webhooks = Webhooks::new("example.com").with(mutating("tokens", other).shadow());
        let request = http::Request::post("/tokens")
            .header("content-type", "application/json")
            .body(review.to_string())
            .unwrap();
        runtime.block_on(webhooks.oneshot(request)).unwrap();
    });
    assert!(!lines.contains("hunter"), "{lines}");
    assert!(!lines.contains("aHVudGVyM"), "{lines}");
    let line: serde_json::Value = serde_json::from_str(&lines).unwrap();
    let fields = &line["fields"];
    assert_eq!(fields["message"], "decided in shadow mode");
    for (field, value) in [
        ("hook", "tokens"),
        ("uid", "u"),
        ("operation", "CREATE"),
        ("kind", "Secret"),
        ("namespace", "blue"),
        ("name", "a"),
        ("decision", "changed"),
        ("detail", "/stringData"),
    ] {
        assert_eq!(fields[field], value, "{field}");
    }
    assert_eq!(fields["dry_run"], true);
}
