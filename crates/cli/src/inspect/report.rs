//! What a program shows of its inside, as a person reads it.
//!
//! It takes what it finds: a program may be older or newer than this command.

use jiff::Timestamp;
use serde_json::Value;

use super::table::Table;

/// The report of one program.
pub(crate) fn report(page: &Value) -> String {
    let now = page["program"]["now"].as_str();
    let page = Page {
        all: page,
        now: now.and_then(|now| now.parse().ok()),
    };
    let tables = [
        page.controllers(),
        page.at_work(),
        page.failing(),
        page.waiting(),
        page.delayed(),
        page.caches(),
        page.tasks(),
        page.webhooks(),
        page.refused(),
        page.bundles(),
        page.configuration(),
        page.parts(),
    ];
    let tables = tables.iter().map(Table::to_string);
    let mut sections = vec![page.head()];
    sections.extend(tables.filter(|table| !table.is_empty()));
    sections.join("\n\n")
}

struct Page<'a> {
    all: &'a Value,
    /// When it was made.
    now: Option<Timestamp>,
}

impl Page<'_> {
    fn head(&self) -> String {
        let program = &self.all["program"];
        let pod = &self.all["pod"];
        let place = if pod.is_object() {
            object(pod)
        } else {
            text(&program["replica"])
        };
        let version = program["version"].as_str().unwrap_or_default();
        let name = format!("{} {version}", text(&program["name"]));
        let up = self.since(&program["started"]);
        let mut lines = vec![format!("{} in {place}, up {up}", name.trim_end())];
        lines.extend(self.leadership());
        lines.extend(self.certificate());
        let server = &self.all["server"];
        if server.is_object() {
            lines.push(format!(
                "serves on {}: connections: {}, calls in flight: {}",
                text(&server["address"]),
                text(&server["connections"]),
                text(&server["callsInFlight"]),
            ));
        }
        for probe in ["livez", "readyz"] {
            let checks = self.all["checks"][probe].as_object().into_iter().flatten();
            let failed = checks.filter(|(_, holds)| **holds == false);
            lines.extend(failed.map(|(name, _)| format!("/{probe} fails: {name}")));
        }
        lines.join("\n")
    }

    fn leadership(&self) -> Option<String> {
        let leadership = self.all["leadership"].as_object()?;
        let (lease, changes) = (text(&leadership["lease"]), text(&leadership["transitions"]));
        let who = if leadership["isLeader"] == true {
            "leads".to_owned()
        } else {
            format!("does not lead; holder: {}", text(&leadership["holder"]))
        };
        Some(format!("{who} (Lease {lease}, transitions: {changes})"))
    }

    fn certificate(&self) -> Option<String> {
        let certificate = self.all["certificate"].as_object()?;
        let serial = text(&certificate["serialNumber"]);
        let expires = self.until(&certificate["notAfter"]);
        let mut facts = vec![format!("certificate {serial} expires {expires}")];
        let rotation = &certificate["rotation"];
        if rotation.is_object() {
            facts.push(format!("rotation: {}", text(&rotation["phase"])));
        }
        facts.extend(rotation["trouble"].as_str().map(ToOwned::to_owned));
        Some(facts.join("; "))
    }

    fn controllers(&self) -> Table {
        let mut table = Table::new(&[
            "CONTROLLER",
            "KIND",
            "WORKERS",
            "AT WORK",
            "WAITING",
            "DELAYED",
            "FAILING",
            "ADDS",
            "RETRIES",
        ]);
        for controller in list(&self.all["controllers"]) {
            let totals = ["inProgress", "waiting", "delayed", "failing"];
            let totals = totals.map(|list| text(&controller[list]["total"]));
            let first = ["name", "kind", "workers"].map(|name| text(&controller[name]));
            let last = ["adds", "retries"].map(|name| text(&controller[name]));
            table.add(first.into_iter().chain(totals).chain(last));
        }
        table
    }

    fn at_work(&self) -> Table {
        self.objects(
            "inProgress",
            &["AT WORK", "SINCE", "FAILURES", "TRACE"],
            |item| {
                vec![
                    self.since(&item["since"]),
                    text(&item["failures"]),
                    text(&item["traceID"]),
                ]
            },
        )
    }

    fn failing(&self) -> Table {
        self.objects(
            "failing",
            &["FAILING", "FAILURES", "SINCE", "LAST", "ERROR"],
            |item| {
                let failures = if item["isTerminal"] == true {
                    "for good".to_owned()
                } else {
                    text(&item["failures"])
                };
                let (since, last) = (self.since(&item["since"]), self.since(&item["last"]));
                vec![failures, since, last, text(&item["error"])]
            },
        )
    }

    fn waiting(&self) -> Table {
        self.objects(
            "waiting",
            &["WAITING", "SINCE", "PRIORITY", "FAILURES"],
            |item| {
                vec![
                    self.since(&item["since"]),
                    text(&item["priority"]),
                    text(&item["failures"]),
                ]
            },
        )
    }

    fn delayed(&self) -> Table {
        self.objects(
            "delayed",
            &["DELAYED", "RETURNS", "PRIORITY", "FAILURES"],
            |item| {
                vec![
                    self.until(&item["until"]),
                    text(&item["priority"]),
                    text(&item["failures"]),
                ]
            },
        )
    }

    /// The first objects in a list of each controller, and how many there are beside them.
    fn objects(&self, name: &str, head: &[&str], cells: impl Fn(&Value) -> Vec<String>) -> Table {
        let mut table = Table::new(&[&["CONTROLLER"], head].concat());
        for controller in list(&self.all["controllers"]) {
            let objects = &controller[name];
            let mut shown = 0;
            for item in list(&objects["items"]).iter().take(OBJECTS) {
                shown += 1;
                let first = [text(&controller["name"]), object(item)];
                table.add(first.into_iter().chain(cells(item)));
            }
            let total = objects["total"].as_u64().unwrap_or_default();
            if total > shown {
                table.add([
                    text(&controller["name"]),
                    format!("… {} more", total - shown),
                ]);
            }
        }
        table
    }

    fn caches(&self) -> Table {
        let mut table = Table::new(&[
            "CACHE",
            "OF",
            "OBJECTS",
            "MEMORY",
            "VERSION",
            "LAST EVENT",
            "FAILURES",
            "STATE",
        ]);
        for cache in list(&self.all["caches"]) {
            let state = match (cache["served"] == true, cache["synced"] == true) {
                (false, _) => "not served",
                (true, false) => "not synced",
                (true, true) => "synced",
            };
            table.add([
                text(&cache["kind"]),
                text(&cache["scope"]),
                text(&cache["objects"]),
                size(&cache["bytes"]),
                text(&cache["resourceVersion"]),
                self.since(&cache["lastEvent"]),
                text(&cache["failures"]),
                state.to_owned(),
            ]);
        }
        table
    }

    fn tasks(&self) -> Table {
        let mut table = Table::new(&[
            "TASK", "RUNNING", "NEXT", "LAST", "OUTCOME", "FAILURES", "ERROR",
        ]);
        for task in list(&self.all["tasks"]) {
            let last = &task["last"];
            table.add([
                text(&task["name"]),
                self.since(&task["runningSince"]),
                self.until(&task["next"]),
                self.since(&last["ended"]),
                text(&last["outcome"]),
                text(&task["failures"]),
                text(&last["error"]),
            ]);
        }
        table
    }

    fn webhooks(&self) -> Table {
        let outcomes = [
            "allowed",
            "changed",
            "denied",
            "failed",
            "undecodable",
            "panicked",
            "stopped",
        ];
        let titles = outcomes.map(str::to_uppercase);
        let titles = titles.iter().map(String::as_str);
        let mut table = Table::new(&std::iter::once("WEBHOOK").chain(titles).collect::<Vec<_>>());
        for webhook in list(&self.all["webhooks"]) {
            let counts = outcomes.map(|outcome| text(&webhook[outcome]));
            table.add([text(&webhook["name"])].into_iter().chain(counts));
        }
        table
    }

    fn refused(&self) -> Table {
        let mut table = Table::new(&[
            "WEBHOOK",
            "REFUSED",
            "AGO",
            "OPERATION",
            "DECISION",
            "CODE",
            "REASON",
        ]);
        for webhook in list(&self.all["webhooks"]) {
            for review in list(&webhook["lastRefused"]).iter().take(OBJECTS) {
                let fields = list(&review["causes"])
                    .iter()
                    .map(|cause| text(&cause["field"]));
                let reason = match review["failure"].as_str() {
                    Some(failure) => failure.to_owned(),
                    None => std::iter::once(text(&review["reason"]))
                        .chain(fields)
                        .collect::<Vec<_>>()
                        .join(" "),
                };
                table.add([
                    text(&webhook["name"]),
                    format!("{} {}", text(&review["kind"]), object(review)),
                    self.since(&review["at"]),
                    text(&review["operation"]),
                    text(&review["decision"]),
                    text(&review["code"]),
                    reason,
                ]);
            }
        }
        table
    }

    fn bundles(&self) -> Table {
        let mut table = Table::new(&["CABUNDLE OF", "STATE", "WRITES"]);
        for bundle in list(&self.all["caBundles"]) {
            let is_in_sync = bundle["inSync"] == true;
            let state = if is_in_sync { "in sync" } else { "out of sync" };
            table.add([
                text(&bundle["object"]),
                state.to_owned(),
                text(&bundle["writes"]),
            ]);
        }
        table
    }

    fn configuration(&self) -> Table {
        let mut table = Table::new(&["CONFIGURATION", "STATE", "USED", "REFUSED"]);
        for source in list(&self.all["configuration"]) {
            let is_good = source["isGood"] == true;
            let state = if is_good { "valid" } else { "invalid" };
            table.add([
                text(&source["place"]),
                state.to_owned(),
                text(&source["used"]),
                text(&source["refused"]),
            ]);
        }
        table
    }

    fn parts(&self) -> Table {
        let mut table = Table::new(&["PART", "SINCE", "ENDED"]);
        for part in list(&self.all["parts"]) {
            table.add([
                text(&part["name"]),
                self.since(&part["since"]),
                self.since(&part["ended"]),
            ]);
        }
        table
    }

    /// How long ago a time was.
    fn since(&self, time: &Value) -> String {
        self.seconds(time)
            .map_or_else(|| text(time), |ago| length(ago.max(0)))
    }

    /// How far ahead a time is.
    fn until(&self, time: &Value) -> String {
        self.seconds(time)
            .map_or_else(|| text(time), |ago| format!("in {}", length((-ago).max(0))))
    }

    fn seconds(&self, time: &Value) -> Option<i64> {
        let time: Timestamp = time.as_str()?.parse().ok()?;
        Some(self.now?.duration_since(time).as_secs())
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Namespace and name.
fn object(item: &Value) -> String {
    match item["namespace"].as_str() {
        Some(namespace) => format!("{namespace}/{}", text(&item["name"])),
        None => text(&item["name"]),
    }
}

/// A length of time by its two largest units.
fn length(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        ..120 => format!("{seconds}s"),
        120..7200 => format!("{minutes}m{}s", seconds % 60),
        7200..172_800 => format!("{hours}h{}m", minutes % 60),
        _ => format!("{days}d{}h", hours % 24),
    }
}

fn size(bytes: &Value) -> String {
    match bytes.as_u64() {
        None => text(bytes),
        Some(bytes) if bytes < 10 << 10 => format!("{bytes}B"),
        Some(bytes) if bytes < 10 << 20 => format!("{}Ki", bytes >> 10),
        Some(bytes) => format!("{}Mi", bytes >> 20),
    }
}

/// So many objects of each list of a controller are printed. JSON has them all.
const OBJECTS: usize = 10;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_has_a_table_for_each_list_that_is_not_empty() {
        let page = json!({
            "pod": {"namespace": "blue", "name": "gardens-0"},
            "program": {"name": "gardens", "version": "1.2.0", "started": "2026-01-01T00:00:00Z", "now": "2026-01-01T03:12:00Z"},
            "leadership": {"lease": "gardens", "isLeader": false, "holder": "gardens-1", "transitions": 4},
            "checks": {"livez": {}, "readyz": {"caches": true, "certificate-renewal": false}},
            "certificate": {"serialNumber": "0a:1b", "notAfter": "2026-01-03T00:00:00Z",
                "rotation": {"phase": "settled", "trouble": "the Secret is gone"}},
            "controllers": [{
                "name": "gardens", "kind": "gardens.example.com", "isRunning": true, "workers": 2, "adds": 70, "retries": 9,
                "inProgress": {"total": 1, "items": [
                    {"namespace": "blue", "name": "tulips", "since": "2026-01-01T03:11:59.5Z", "failures": 0, "traceID": null}]},
                "waiting": {"total": 30, "items": [
                    {"namespace": "blue", "name": "lilies", "since": "2026-01-01T03:10:59Z", "priority": -100, "failures": 1}]},
                "delayed": {"total": 0, "items": []},
                "failing": {"total": 2, "items": [
                    {"namespace": null, "name": "roses", "failures": 0, "isTerminal": true, "since": "2026-01-01T00:12:00Z",
                     "last": "2026-01-01T03:11:00Z", "error": "no bucket"},
                    {"namespace": "blue", "name": "lilies", "failures": 1, "isTerminal": false, "since": "2026-01-01T03:00:00Z",
                     "last": "2026-01-01T03:00:00Z", "error": null}]},
            }],
            "caches": [{"kind": "gardens.example.com", "scope": "objects in blue", "objects": 12_000, "bytes": 5_000_000,
                "synced": true, "served": true, "failures": 0, "lastEvent": null, "resourceVersion": "812"}],
            "webhooks": [{"name": "names.example.com", "allowed": 7, "changed": 0, "denied": 1, "failed": 1, "undecodable": 0, "panicked": 0,
                "stopped": 0, "lastRefused": [
                    {"at": "2026-01-01T03:11:30Z", "operation": "CREATE", "kind": "Garden", "namespace": "blue", "name": "x", "decision": "denied",
                     "code": 422, "reason": "Invalid", "causes": [{"field": "spec.size"}], "failure": null}]}],
            "of a later version": [1, 2, 3],
        });
        let expected = "\
gardens 1.2.0 in blue/gardens-0, up 3h12m
does not lead; holder: gardens-1 (Lease gardens, transitions: 4)
certificate 0a:1b expires in 44h48m; rotation: settled; the Secret is gone
/readyz fails: certificate-renewal

CONTROLLER  KIND                 WORKERS  AT WORK  WAITING  DELAYED  FAILING  ADDS  RETRIES
gardens     gardens.example.com  2        1        30       0        2        70    9

CONTROLLER  AT WORK      SINCE  FAILURES  TRACE
gardens     blue/tulips  0s     0         -

CONTROLLER  FAILING      FAILURES  SINCE  LAST   ERROR
gardens     roses        for good  3h0m   60s    no bucket
gardens     blue/lilies  1         12m0s  12m0s  -

CONTROLLER  WAITING      SINCE  PRIORITY  FAILURES
gardens     blue/lilies  61s    -100      1
gardens     … 29 more

CACHE                OF               OBJECTS  MEMORY  VERSION  LAST EVENT  FAILURES  STATE
gardens.example.com  objects in blue  12000    4882Ki  812      -           0         synced

WEBHOOK            ALLOWED  CHANGED  DENIED  FAILED  UNDECODABLE  PANICKED  STOPPED
names.example.com  7        0        1       1       0            0         0

WEBHOOK            REFUSED        AGO  OPERATION  DECISION  CODE  REASON
names.example.com  Garden blue/x  30s  CREATE     denied    422   Invalid spec.size";
        assert_eq!(report(&page), expected);
    }

    #[test]
    fn a_page_of_which_nothing_is_known_is_printed_all_the_same() {
        assert_eq!(report(&json!({})), "- in -, up -");
        assert_eq!(
            report(&json!({"controllers": [{}], "caches": 3}))
                .lines()
                .count(),
            4
        );
    }
}
