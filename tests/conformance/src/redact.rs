//! The one list of what may differ between two servers without meaning anything: uids, times, versions, ports.
//!
//! Equal values get equal numbers within a case, so that "the same uid as before" is still compared.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

use regex::{Captures, NoExpand, Regex};
use serde_json::{Map, Value};

use crate::vars::Vars;

/// Gives values that differ from run to run names that do not. One for a case.
#[derive(Debug, Default)]
pub(crate) struct Redactor {
    uids: Vec<String>,
    versions: Vec<String>,
    namespace: (String, String),
    saved: Vec<(String, String)>,
    bases: Vec<(String, Regex)>,
}

/// Where an event has its version: in the object, or in the row of a table.
fn version_of(event: &mut Value) -> Option<&mut Value> {
    let of_row = "/object/rows/0/object/metadata/resourceVersion";
    let place = if event.pointer(of_row).is_some() {
        of_row
    } else {
        "/object/metadata/resourceVersion"
    };
    event.pointer_mut(place)
}

impl Redactor {
    /// Shows a namespace of this run under the name that it has in every run.
    pub(crate) fn new(namespace: &str, shown: &str) -> Self {
        Self {
            namespace: (namespace.to_owned(), shown.to_owned()),
            ..Self::default()
        }
    }

    /// Shows a value that a case saved under its name. Short ones would be found where they are not meant; versions are
    /// numbered anyway, and have more digits on a server that has seen more.
    pub(crate) fn saved(&mut self, vars: &Vars) {
        self.saved = vars
            .iter()
            .filter_map(|(name, value)| Some((value.as_str()?, name)))
            .filter(|(value, name)| value.len() >= 5 && !is_number(value) && name.as_str() != "ns")
            .map(|(value, name)| (value.to_owned(), format!("{{{name}}}")))
            .collect();
    }

    /// Shows what a server makes of the base of a name that an object is sent with. Written cases have one base for all.
    pub(crate) fn sent(&mut self, body: &[u8]) {
        if !body
            .windows(BASE.len())
            .any(|window| window == BASE.as_bytes())
        {
            return;
        }
        let Ok(object) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        let base = object["metadata"][BASE].as_str().unwrap_or_default();
        let base = base.get(..LONGEST_BASE).unwrap_or(base);
        if !base.is_empty() && base != "gen-" {
            // Messages quote it.
            let quoted = format!("{base:?}");
            for base in [base, quoted.trim_matches('"')] {
                let generated = format!("{}[{LETTERS}]{{5}}\\b", regex::escape(base));
                self.bases.push((base.to_owned(), pattern(&generated)));
            }
        }
    }

    pub(crate) fn value(&mut self, value: &Value) -> Value {
        self.field("", value)
    }

    /// The events of a watch. The version of a bookmark is the server's, to which others write at the same time: it is that of a
    /// list, unless an earlier event has a later one.
    pub(crate) fn events(&mut self, events: &[Value]) -> Vec<Value> {
        let mut last = 0;
        let mut redacted = Vec::new();
        for event in events {
            let mut event = event.clone();
            let is_bookmark = event["type"] == "BOOKMARK";
            if let Some(version) = version_of(&mut event) {
                let number = version.as_str().and_then(|text| text.parse::<u64>().ok());
                if is_bookmark && number.is_some_and(|number| number >= last) {
                    *version = "LIST-VERSION".into();
                }
                last = last.max(number.unwrap_or(0));
            }
            redacted.push(self.value(&event));
        }
        redacted
    }

    /// The audit events of a request. Where other cases run at the same time, the number of a webhook among all webhooks
    /// is its number among those that were called.
    pub(crate) fn audit(&mut self, events: &[Value], id: &str, alone: bool) -> Value {
        let events = events.iter().map(|event| {
            let mut event = event.clone();
            if event["auditID"] == id {
                event["auditID"] = "the Audit-Id".into();
            }
            if let Value::String(uri) = &mut event["requestURI"] {
                *uri = VERSION_IN_URI.replace_all(uri, "${1}VERSION").into();
            }
            if let Value::Object(annotations) = &mut event["annotations"] {
                // Only the events of slow requests have latency annotations.
                annotations.retain(|name, _| !name.starts_with("apiserver.latency.k8s.io/"));
                if !alone {
                    *annotations = renumbered(std::mem::take(annotations));
                }
            }
            self.value(&event)
        });
        events.collect()
    }

    fn field(&mut self, name: &str, value: &Value) -> Value {
        match value {
            Value::Object(fields) => self.object(fields),
            Value::Array(entries) if name == "managedFields" => {
                let mut entries = entries.clone();
                by_manager(&mut entries);
                entries.iter().map(|entry| self.field("", entry)).collect()
            }
            // The bindings of a user are in the order of a Go map.
            Value::Array(rules) if matches!(name, "resourceRules" | "nonResourceRules") => {
                let mut rules: Vec<Value> = rules.iter().map(|rule| self.field("", rule)).collect();
                rules.sort_by_cached_key(Value::to_string);
                rules.into()
            }
            Value::Array(items) => items.iter().map(|item| self.field(name, item)).collect(),
            Value::String(text) if name == "cells" && AGE.is_match(text) => "AGE".into(),
            Value::String(text) => self.text(text).into(),
            // Allocated from the range of node ports.
            Value::Number(number)
                if matches!(name, "nodePort" | "healthCheckNodePort")
                    && number
                        .as_u64()
                        .is_some_and(|port| (30_000..=32_767).contains(&port)) =>
            {
                "NODE-PORT".into()
            }
            other => other.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Value {
        let of_server = without_address(fields);
        let fields = of_server.as_ref().unwrap_or(fields);
        // The version of a list is the server's, and others write to the server at the same time.
        let is_list = fields.contains_key("items") || fields.contains_key("rows");
        // Its items are in the order in which the probes of a real server ended.
        let is_of_components = fields
            .get("kind")
            .is_some_and(|kind| kind == "ComponentStatusList");
        let is_of_node_port = fields
            .get("field")
            .and_then(Value::as_str)
            .is_some_and(|field| field.ends_with(".nodePort"));
        let mut redacted = Map::new();
        for (name, value) in fields {
            let value = match (name.as_str(), value) {
                ("items", Value::Array(items)) if is_of_components => {
                    let mut items: Vec<Value> =
                        items.iter().map(|one| self.field("", one)).collect();
                    items.sort_by_cached_key(Value::to_string);
                    items.into()
                }
                ("message", Value::String(text)) if is_of_node_port => {
                    let text = self.text(&format!("nodePort: {text}"));
                    text.trim_start_matches("nodePort: ").into()
                }
                // Each server has authorities of its own.
                ("client-ca-file" | "requestheader-client-ca-file", Value::String(text))
                    if text.starts_with("-----BEGIN CERTIFICATE-----") =>
                {
                    "CERTIFICATES".into()
                }
                // Where the server is.
                ("serverAddress", Value::String(text)) if text.parse::<SocketAddr>().is_ok() => {
                    "ADDRESS:PORT".into()
                }
                ("jwks_uri", Value::String(text)) => self
                    .text(&AUTHORITY.replace(text, "https://ADDRESS:PORT/"))
                    .into(),
                // The day of the server's start.
                ("since", Value::String(text)) if DAY.is_match(text) => "DAY".into(),
                // How the server was built.
                ("compiler" | "goVersion", Value::String(_)) => "BUILD".into(),
                ("metadata", Value::Object(metadata)) if is_list => list_metadata(metadata),
                ("resourceVersion", Value::String(version)) if is_number(version) => {
                    number_of(&mut self.versions, version, "VERSION").into()
                }
                _ => self.field(name, value),
            };
            redacted.insert(self.text(name), value);
        }
        Value::Object(redacted)
    }

    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        if !self.namespace.0.is_empty() {
            text = text.replace(&self.namespace.0, &self.namespace.1);
        }
        // A search prepares itself with all of what it searches for, which may be far longer than the text.
        for (value, name) in &self.saved {
            if value.len() <= text.len() {
                text = text.replace(value, name);
            }
        }
        // An object within a text has the order of Go's structs.
        let text = OBJECT.replace_all(&text, |found: &Captures<'_>| {
            sorted(&found[1]).unwrap_or_else(|| found[1].to_owned())
        });
        let uids = &mut self.uids;
        let text = UID.replace_all(&text, |found: &Captures<'_>| {
            number_of(uids, &found[0], "UID")
        });
        let text = TIME.replace_all(&text, |found: &Captures<'_>| {
            if found.get(1).is_some() {
                "MICROTIME"
            } else {
                "TIME"
            }
        });
        // A name may look like anything else.
        let mut text = GENERATED.replace_all(&text, "$1-GENERATED").into_owned();
        for (base, generated) in &self.bases {
            let shown = format!("{base}GENERATED");
            text = generated.replace_all(&text, NoExpand(&shown)).into_owned();
        }
        let text = PORT.replace_all(&text, "$1:PORT");
        let text = SERVICE_PORT.replace_all(&text, "$1:PORT");
        let text = CLUSTER_IP.replace_all(&text, "10.0.0.X");
        let text = NODE_PORT.replace_all(&text, "${1}NODE-PORT");
        let text = TOKEN.replace_all(&text, "TOKEN");
        let text = ETAG.replace_all(&text, "\"ETAG\"");
        let text = TYPE.replace_all(&text, "$1");
        let text = HASH.replace_all(&text, "hash=HASH");
        let text = CREDENTIAL.replace_all(&text, "$1=CREDENTIAL");
        // Versions within messages: those of conflicts, and of patches that cannot be applied, which quote the object.
        let text = VERSION.replace_all(&text, "${1}VERSION");
        let text = AGE_IN_LINE.replace(&text, "${1}AGE${2}");
        by_manager_in_text(&text)
    }
}

/// A text with the managed fields that an expression prints sorted: as in an object, their order depends on the second.
fn by_manager_in_text(text: &str) -> String {
    let mut sorted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = MANAGED_FIELDS.find(rest) {
        let (before, list) = rest.split_at(found.end());
        sorted.push_str(before);
        let mut depth = 0_usize;
        let mut start = 0;
        let mut entries = Vec::new();
        let mut behind = 0;
        let mut between = "";
        let end = list.char_indices().find_map(|(at, character)| {
            match character {
                '{' if depth == 0 => {
                    between = &list[behind..at];
                    (start, depth) = (at, 1);
                }
                '{' | '[' => depth += 1,
                ']' if depth == 0 => return Some(at),
                '}' if depth == 1 => {
                    entries.push(&list[start..=at]);
                    (behind, depth) = (at + 1, 0);
                }
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            None
        });
        rest = list;
        if let Some(end) = end {
            entries.sort_unstable();
            sorted.push_str(&entries.join(between));
            rest = &list[end..];
        }
    }
    sorted + rest
}

/// The objects by which a server says where it is, without its address and its port.
fn without_address(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let metadata = fields.get("metadata")?;
    if metadata["name"] != "kubernetes" || metadata["namespace"] != "default" {
        return None;
    }
    let mut object = Value::Object(fields.clone());
    for place in [
        "/spec/ports/0/targetPort",
        "/ports/0/port",
        "/subsets/0/ports/0/port",
    ] {
        if let Some(port) = object.pointer_mut(place).filter(|port| port.is_u64()) {
            *port = "PORT".into();
        }
    }
    for place in ["/endpoints/0/addresses/0", "/subsets/0/addresses/0/ip"] {
        let address = object.pointer_mut(place);
        let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
        if let Some(address) = address.filter(|one| one.as_str().is_some_and(is_address)) {
            *address = "ADDRESS".into();
        }
    }
    match object {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// A quoted JSON object with sorted members.
fn sorted(quoted: &str) -> Option<String> {
    let text: String = serde_json::from_str(quoted).ok()?;
    let mut object: Map<String, Value> = serde_json::from_str(&text).ok()?;
    if let Some(Value::Object(metadata)) = object.get_mut("metadata")
        && let Some(Value::Array(entries)) = metadata.get_mut("managedFields")
    {
        by_manager(entries);
    }
    Some(Value::from(Value::Object(object).to_string()).to_string())
}

/// The annotations with the numbers of mutating webhooks counted from 0 in each round, without gaps.
fn renumbered(annotations: Map<String, Value>) -> Map<String, Value> {
    let place = |name: &str| -> Option<(String, u32)> {
        let found = MUTATING.captures(name)?;
        Some((found["round"].to_owned(), found["number"].parse().ok()?))
    };
    let known: BTreeSet<(String, u32)> =
        annotations.keys().filter_map(|name| place(name)).collect();
    let renumber = |(name, value): (String, Value)| {
        let Some((round, number)) = place(&name) else {
            return (name, value);
        };
        let of_round = known.iter().filter(|(other, _)| *other == round);
        let rank = of_round.filter(|(_, other)| *other < number).count();
        let name = MUTATING.replace(&name, format!("${{prefix}}round_${{round}}_index_{rank}"));
        (name.into(), value)
    };
    annotations.into_iter().map(renumber).collect()
}

/// The order of managed fields depends on whether two writes fell into one second.
fn by_manager(entries: &mut [Value]) {
    entries.sort_by_cached_key(|entry| {
        ["operation", "manager", "apiVersion", "subresource"]
            .map(|name| entry[name].as_str().unwrap_or_default().to_owned())
    });
}

fn list_metadata(metadata: &Map<String, Value>) -> Value {
    let mut metadata = metadata.clone();
    if let Some(version) = metadata.get_mut("resourceVersion")
        && version.as_str().is_some_and(is_number)
    {
        *version = "LIST-VERSION".into();
    }
    if let Some(token) = metadata.get_mut("continue")
        && token.as_str().is_some_and(|token| !token.is_empty())
    {
        *token = "CONTINUE".into();
    }
    Value::Object(metadata)
}

fn number_of(known: &mut Vec<String>, value: &str, what: &str) -> String {
    let at = known
        .iter()
        .position(|known| known == value)
        .unwrap_or_else(|| {
            known.push(value.to_owned());
            known.len() - 1
        });
    format!("{what}-{}", at + 1)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text != "0" && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of this file are well formed")
}

static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
// Cases write years before 2026 where they mean a certain time.
static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:202[6-9]|20[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"));
static PORT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(127\.0\.0\.1|localhost|\[::1\]):\d{2,5}"));
// The port of a service is a case's own choice, unless it is that of the scripted webhooks.
static SERVICE_PORT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\.svc):\d{5}\b"));
static CLUSTER_IP: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b10\.0\.0\.\d+\b"));
const BASE: &str = "generateName";
const LONGEST_BASE: usize = 58;
/// What the end of a generated name is made of.
const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
// Written cases generate names from `gen-`, and from nothing else; the other one is that of a volume with a token.
static GENERATED: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"\b(gen|kube-api-access)-[{LETTERS}]{{5}}\b")));
/// A node port in a message: in JSON that is quoted there, in a Go map, or one that comes twice.
static NODE_PORT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(\\"(?:nodePort|healthCheckNodePort)\\": ?|nodePort:|nodePort: Duplicate value: |duplicate nodePort: \{\w+ )3[0-2]\d{3}\b"#,
    )
});
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"));
static CREDENTIAL: LazyLock<Regex> = LazyLock::new(|| pattern("(X509SHA256|JTI)=[0-9a-f-]+"));
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(not decodable revision=|record \(|ResourceVersion in object meta: |ResourceVersion in the precondition \(|\\*"resourceVersion\\*": ?\\*"|resourceVersion: "|current: )\d+"#,
    )
});
static VERSION_IN_URI: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\bresourceVersion=)[1-9]\d+"));
static MUTATING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?<prefix>(?:failed-open\.)?(?:mutation|patch)\.webhook\.admission\.k8s\.io/)round_(?<round>\d)_index_(?<number>\d+)$",
    )
});
static ETAG: LazyLock<Regex> = LazyLock::new(|| pattern("\"[0-9A-F]{128}\""));
static HASH: LazyLock<Regex> = LazyLock::new(|| pattern("hash=[0-9A-F]{128}"));
// A type of a rule's `self` that has no name of its own.
static TYPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(selfType)\d+"));
static AUTHORITY: LazyLock<Regex> = LazyLock::new(|| pattern("^https://[^/]+/"));
static DAY: LazyLock<Regex> = LazyLock::new(|| pattern(r"^202[6-9]-\d\d-\d\d$"));
static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\d+[smhdy])+( ago)?$"));
// A cell of a table that is indented for people.
static AGE_IN_LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^( +")\d+s(",?\s*)$"#));
static MANAGED_FIELDS: LazyLock<Regex> = LazyLock::new(|| pattern(r#"managedFields\\*":\["#));
static OBJECT: LazyLock<Regex> = LazyLock::new(|| pattern(r#"("\{(?:[^"\\]|\\.)*\}")"#));

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_get_equal_names() {
        let mut redactor = Redactor::default();
        let (one, two) = (
            "0b5a8a4e-7d3f-4e44-9d0c-0f1f8a7f1a11",
            "1b5a8a4e-7d3f-4e44-9d0c-0f1f8a7f1a11",
        );
        let object =
            json!({"uid": one, "owner": two, "metadata": {"uid": one, "resourceVersion": "17"}});
        assert_eq!(
            redactor.value(&object),
            json!({"uid": "UID-1", "owner": "UID-2", "metadata": {"uid": "UID-1", "resourceVersion": "VERSION-1"}}),
            "fields come in alphabetical order: metadata is first"
        );
    }

    #[test]
    fn a_bookmark_has_the_version_of_a_list_unless_it_goes_back() {
        let event = |kind: &str, version: &str| json!({"type": kind, "object": {"metadata": {"resourceVersion": version}}});
        for (bookmark, shown) in [
            ("8", "LIST-VERSION"),
            ("7", "LIST-VERSION"),
            ("6", "VERSION-2"),
        ] {
            let events = [event("ADDED", "7"), event("BOOKMARK", bookmark)];
            let redacted = Redactor::default().events(&events);
            assert_eq!(
                redacted,
                [event("ADDED", "VERSION-1"), event("BOOKMARK", shown)]
            );
        }
    }

    #[test]
    fn times_of_the_run_go_and_times_of_a_case_stay() {
        let mut redactor = Redactor::default();
        assert_eq!(
            redactor.text(
                "at 2026-11-20T10:00:00Z, 2026-11-20T10:00:00.000001Z and 2020-01-01T00:00:00Z"
            ),
            "at TIME, MICROTIME and 2020-01-01T00:00:00Z"
        );
    }

    #[test]
    fn managed_fields_that_an_expression_prints_are_sorted() {
        let of = |entries: &str| {
            let text =
                format!(r#"{{\"metadata\":{{\"managedFields\":[{entries}], \"name\":\"a\"}}}}"#);
            Redactor::default().text(&text)
        };
        let (a, b) = (
            r#"{\"f\":{\"k:{}\":[]}, \"manager\":\"a\"}"#,
            r#"{\"manager\":\"b\"}"#,
        );
        assert_eq!(of(&format!("{a}, {b}")), of(&format!("{b}, {a}")));
        assert_ne!(of(a), of(b));
        assert!(of(&format!("{b}, {a}")).ends_with(r#"], \"name\":\"a\"}}"#));
    }

    #[test]
    fn ages_go_and_other_cells_stay() {
        let mut redactor = Redactor::default();
        assert_eq!(
            redactor.value(&json!({"cells": ["5s", "3m2s", "6y326d", "5s-web", 5]})),
            json!({"cells": ["AGE", "AGE", "AGE", "5s-web", 5]})
        );
        for (line, redacted) in [
            ("        \"1s\",\n", "        \"AGE\",\n"),
            ("    \"12s\"\n", "    \"AGE\"\n"),
            ("    \"a-1s\"\n", "    \"a-1s\"\n"),
            ("    \"timeout\": \"1s\"\n", "    \"timeout\": \"1s\"\n"),
        ] {
            assert_eq!(redactor.text(line), redacted);
        }
    }

    #[test]
    fn an_object_within_a_text_is_sorted_and_so_are_its_managers() {
        let mut redactor = Redactor::default();
        assert_eq!(
            redactor.text(
                r#"Invalid value: "{\"b\":1,\"a\":{},\"metadata\":{\"managedFields\":[{\"manager\":\"b\"},{\"manager\":\"a\"}]}}": why"#
            ),
            r#"Invalid value: "{\"a\":{},\"b\":1,\"metadata\":{\"managedFields\":[{\"manager\":\"a\"},{\"manager\":\"b\"}]}}": why"#
        );
    }

    #[test]
    fn a_server_says_where_it_is_and_other_addresses_stay() {
        let mut redactor = Redactor::default();
        let endpoints = |name: &str| {
            json!({
                "metadata": {"name": name, "namespace": "default"},
                "subsets": [{"addresses": [{"ip": "192.0.2.2"}], "ports": [{"name": "https", "port": 39327}]}],
            })
        };
        let redacted = redactor.value(&endpoints("kubernetes"));
        assert_eq!(
            redacted["subsets"],
            json!([{"addresses": [{"ip": "ADDRESS"}], "ports": [{"name": "https", "port": "PORT"}]}])
        );
        assert_eq!(redactor.value(&endpoints("other")), endpoints("other"));
        let wrong = json!({
            "metadata": {"name": "kubernetes", "namespace": "default"},
            "subsets": [{"addresses": [{"ip": "nowhere"}], "ports": [{"port": "https"}]}],
        });
        assert_eq!(redactor.value(&wrong), wrong);
        assert_eq!(
            redactor.value(&json!({
                "serverAddress": "192.0.2.2:6443",
                "jwks_uri": "https://192.0.2.2:6443/openid/v1/jwks",
            })),
            json!({"serverAddress": "ADDRESS:PORT", "jwks_uri": "https://ADDRESS:PORT/openid/v1/jwks"})
        );
    }

    #[test]
    fn webhooks_are_counted_among_those_of_their_round() {
        let event = json!({
            "auditID": "one",
            "requestURI": "/api/v1/configmaps?resourceVersion=812&watch=1",
            "requestObject": {"metadata": {"name": "a", "managedFields": []}},
            "annotations": {
                "mutation.webhook.admission.k8s.io/round_0_index_9": "a",
                "patch.webhook.admission.k8s.io/round_0_index_9": "a",
                "mutation.webhook.admission.k8s.io/round_0_index_10": "b",
                "mutation.webhook.admission.k8s.io/round_1_index_4": "a",
                "failed-open.validating.webhook.admission.k8s.io/round_0_index_7": "c",
                "apiserver.latency.k8s.io/total": "1.2s",
            },
        });
        let events = [event];
        let redacted = Redactor::default().audit(&events, "one", false);
        assert_eq!(
            redacted,
            json!([{
                "auditID": "the Audit-Id",
                "requestURI": "/api/v1/configmaps?resourceVersion=VERSION&watch=1",
                "requestObject": {"metadata": {"name": "a", "managedFields": []}},
                "annotations": {
                    "mutation.webhook.admission.k8s.io/round_0_index_0": "a",
                    "patch.webhook.admission.k8s.io/round_0_index_0": "a",
                    "mutation.webhook.admission.k8s.io/round_0_index_1": "b",
                    "mutation.webhook.admission.k8s.io/round_1_index_0": "a",
                    "failed-open.validating.webhook.admission.k8s.io/round_0_index_7": "c",
                },
            }])
        );
        let alone = Redactor::default().audit(&events, "two", true);
        assert_eq!(alone[0]["auditID"], "one");
        let annotations = alone[0]["annotations"].as_object().expect("annotations");
        assert!(annotations.contains_key("mutation.webhook.admission.k8s.io/round_0_index_9"));
    }

    #[test]
    fn the_version_of_a_list_says_nothing() {
        let mut redactor = Redactor::default();
        assert_eq!(
            redactor.value(&json!({"items": [], "metadata": {"resourceVersion": "812"}})),
            json!({"items": [], "metadata": {"resourceVersion": "LIST-VERSION"}})
        );
    }
}
