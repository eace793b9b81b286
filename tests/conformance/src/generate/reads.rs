//! Lists, watches and single reads with parameters that are good, odd and bad.

use serde_json::{Map, Value, json};

use crate::generate::random::Random;

const PATHS: [&str; 3] = [
    "/api/v1/namespaces/{ns}/configmaps",
    "/api/v1/namespaces/{ns}/pods",
    "/apis/apps/v1/namespaces/{ns}/deployments",
];

/// Some objects, and reads of them.
pub(crate) fn entry(random: &mut Random) -> Map<String, Value> {
    let path = random.one_of(&PATHS);
    let mut steps = vec![
        json!({"send": format!("GET {path}?limit=1"), "save": {"empty": "/metadata/resourceVersion"}}),
    ];
    for number in 0..random.between(1, 5) {
        let mut step =
            json!({"send": format!("POST {path}"), "body": object(random, path, number)});
        step["save"] = json!({format!("v{number}"): "/metadata/resourceVersion"});
        steps.push(step);
    }
    for _ in 0..random.between(3, 7) {
        steps.push(read(random, path));
        if random.one_in(5) {
            let body = json!({"metadata": {"labels": {random.pick(&["a", "b"]): random.pick(&["1", "2"])}}});
            steps.push(json!({
                "send": format!("PATCH {path}/o0"),
                "headers": {"Content-Type": "application/merge-patch+json"},
                "body": body,
            }));
        } else if random.one_in(12) {
            steps.push(json!({"send": format!("DELETE {path}/o0?gracePeriodSeconds=0")}));
        }
    }
    // A real server waits for a state that is still to come, and the watches do not wait for it.
    steps.sort_by_key(|step| step.to_string().contains("99999999999"));
    let mut entry = Map::new();
    entry.insert("name".into(), "reads".into());
    entry.insert("steps".into(), steps.into());
    entry
}

fn object(random: &mut Random, path: &str, number: i64) -> Value {
    let labels = random.one_of(&[
        json!({}),
        json!({"a": "1"}),
        json!({"a": "2", "b": "1"}),
        json!({"b": "", "c.d/e": "x"}),
        json!({"a": "10"}),
    ]);
    let mut object = if path.ends_with("pods") {
        let node = random.one_of(&[Value::Null, json!("n")]);
        json!({"spec": {"nodeName": node, "restartPolicy": random.pick(&["Always", "Never"]), "containers": [{"name": "c", "image": "i"}]}})
    } else if path.ends_with("deployments") {
        json!({"spec": {
            "selector": {"matchLabels": {"x": "y"}},
            "template": {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        }})
    } else {
        json!({"data": {"k": "v"}})
    };
    object["metadata"] = json!({"name": format!("o{number}"), "labels": labels});
    object
}

/// A list, a watch that ends by itself, or the read of one object.
fn read(random: &mut Random, path: &str) -> Value {
    let watch = random.one_in(3);
    let mut path = match random.below(16) {
        0 => format!("{path}/o0"),
        1 => format!("{path}/nosuch"),
        _ => path.to_owned(),
    };
    if random.one_in(60) {
        path.push('/');
    }
    let mut parts: Vec<String> = Vec::new();
    let count = random.one_of(&[1, 1, 2, 2, 3, 4]);
    for _ in 0..count {
        parts.push(parameter(random, watch));
    }
    if !watch {
        let mut step = json!({"send": format!("GET {path}?{}", parts.join("&"))});
        accept(random, &mut step);
        return step;
    }
    if !random.one_in(20) {
        parts.retain(|part| !part.starts_with("timeoutSeconds"));
        parts.push("timeoutSeconds=1".to_owned());
    }
    // How far back a real server remembers depends on when it started.
    parts.retain(|part| !part.starts_with("resourceVersion=01"));
    // Without a revision the first events come in no order.
    if !random.one_in(6) {
        parts.retain(|part| !part.starts_with("resourceVersion="));
        parts.push(format!(
            "resourceVersion={}",
            random.pick(&["{empty}", "{v0}", "{empty}"])
        ));
    }
    parts.push(random.pick(&["watch=1", "watch=true", "watch"]).to_owned());
    // A request that is refused is no stream: both are read to their ends.
    let mut step = json!({"watch": format!("{path}?{}", parts.join("&"))});
    accept(random, &mut step);
    step
}

fn accept(random: &mut Random, step: &mut Value) {
    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    const LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    if random.one_in(3) {
        let accepted = random.one_of(&[
            TABLE.to_owned(),
            METADATA.to_owned(),
            LIST.to_owned(),
            format!("{TABLE},application/json"),
            "*/*".to_owned(),
            "application/*".to_owned(),
            "text/html".to_owned(),
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io".to_owned(),
            "application/json;as=Table;v=v2;g=meta.k8s.io, application/json".to_owned(),
            "application/json;as=Nosuch;v=v1;g=meta.k8s.io".to_owned(),
            "application/json;pretty=1".to_owned(),
            "application/json;q=0.1".to_owned(),
            "text/plain, application/json".to_owned(),
        ]);
        step["headers"] = json!({"Accept": accepted});
    }
}

fn parameter(random: &mut Random, watch: bool) -> String {
    let version = |random: &mut Random| {
        random
            .pick(&[
                "",
                "0",
                "{empty}",
                "{v0}",
                "1x",
                "-1",
                "99999999999",
                "abc",
                "0",
                "01",
                "1.5",
            ])
            .to_owned()
    };
    match random.below(18) {
        0..3 => format!(
            "limit={}",
            random.pick(&[
                "1",
                "2",
                "2",
                "500",
                "0",
                "-1",
                "x",
                "",
                "1.5",
                "99999999999999999999"
            ])
        ),
        3..6 => format!("labelSelector={}", encoded(random.pick(LABELS))),
        6..9 => format!("fieldSelector={}", encoded(random.pick(FIELDS))),
        9..11 => format!("resourceVersion={}", version(random)),
        11 => format!(
            "resourceVersionMatch={}",
            random.pick(&["Exact", "NotOlderThan", "", "exact", "Nosuch"])
        ),
        12 => format!(
            "resourceVersion={}&resourceVersionMatch={}",
            version(random),
            random.pick(&["Exact", "NotOlderThan", "Nosuch"])
        ),
        13 => format!(
            "continue={}",
            random.pick(&[
                "x",
                "",
                "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
                "e30"
            ])
        ),
        14 if watch => format!(
            "sendInitialEvents={}&resourceVersionMatch={}",
            random.pick(&["true", "false", "1", "x"]),
            random.pick(&["NotOlderThan", "Exact", ""])
        ),
        14 => format!("sendInitialEvents={}", random.pick(&["true", "false", ""])),
        15 => format!(
            "allowWatchBookmarks={}",
            random.pick(&["true", "false", "1", "x", ""])
        ),
        16 => match random.pick(&["1", "x", "-1", "", "1.5"]) {
            // Whether a watch whose time is over before it begins still has events is a race.
            "-1" if watch => "timeoutSeconds=1".to_owned(),
            seconds => format!("timeoutSeconds={seconds}"),
        },
        _ => random
            .pick(&[
                "pretty=true",
                "pretty=x",
                "nosuch=1",
                "exact=true",
                "export=true",
                "includeObject=None",
                "includeObject=Nosuch",
                "watch=0",
                "watch=false",
                "fieldValidation=x",
                "dryRun=All",
            ])
            .to_owned(),
    }
}

/// Percent-encodes what a query cannot have; names in braces are filled in later.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~!()*',/{}".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.extend([format!("%{byte:02X}")]);
        }
    }
    encoded
}

const LABELS: &[&str] = &[
    "a=1",
    "a==1",
    "a!=1",
    "a",
    "!a",
    "a in (1,2)",
    "a notin (1)",
    "a in ()",
    "a in (1",
    "a=1,b=1",
    "a=1,,b",
    ",",
    "",
    " a = 1 ",
    "a=",
    "a!=",
    "a in (,1)",
    "a>1",
    "a<5",
    "a>x",
    "a>",
    "c.d/e=x",
    "c.d/e/f=x",
    "a b",
    "a=b c",
    "=a",
    "a in 1",
    "!a=1",
    "a exists",
    "in",
    "in in (in)",
    "notin",
    "a=1;b",
    "a=(1)",
    "a,b,!x",
    "a in (1,1)",
    "é=1",
    "a=é",
    "a===1",
    "a=!1",
    "!",
    "a !in (1)",
    "a=>1",
    "a NotIn (1)",
    "a=1 b=2",
    "-a=1",
    "a=-1",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1",
    "a=\"1\"",
    "(a=1)",
];

const FIELDS: &[&str] = &[
    "metadata.name=o0",
    "metadata.name==o1",
    "metadata.name!=o0",
    "metadata.name=o0,metadata.name=o1",
    "metadata.namespace={ns}",
    "metadata.namespace=x",
    "metadata.nosuch=1",
    "spec.nodeName=n",
    "spec.nodeName=",
    "spec.nodeName!=n",
    "status.phase=Pending",
    "spec.restartPolicy=Never",
    "status.phase!=Pending,spec.nodeName=n",
    "a",
    "=",
    "==",
    "!=",
    "a=b=c",
    "",
    ",",
    "metadata.name",
    "metadata.name=",
    "!metadata.name",
    "metadata.name=o\\,0",
    "metadata.name=o\\",
    "metadata.name in (o0)",
    " metadata.name = o0 ",
    "metadata.name=o0,",
    "spec.schedulerName=default-scheduler",
    "status.podIP=",
    "spec.hostNetwork=false",
    "metadata.name=O0",
    "metadata.name>o0",
];
