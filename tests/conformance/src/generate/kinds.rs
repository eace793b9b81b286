//! Objects of the built-in kinds, each changed in a field or two: created, and put in the place of a valid one.

mod chains;
mod fields;
mod valid;

use serde_json::{Map, Value, json};

use self::chains::CHAINS;
use self::valid::{VALID, Valid, root};
use crate::generate::random::Random;

/// One kind, and some requests with objects of it.
pub(crate) fn entry(random: &mut Random) -> Map<String, Value> {
    let kinds: Vec<&String> = VALID.keys().collect();
    let kind = random.one_of(&kinds);
    let valid = &VALID[kind];
    let valid = &valid[random.below(valid.len())];
    let writes = Writes {
        change: &|random, object| {
            if let (Some(root), Value::Object(fields)) = (root(&valid.object), object) {
                for _ in 0..random.one_of(&[1, 1, 1, 2, 3]) {
                    fields::change(random, root, fields);
                }
            }
        },
        of_status: &|random| random.one_in(6),
        at_most: 3,
    };
    requests(random, kind, valid, &writes)
}

/// One kind, and requests with objects of it that are changed in one field, which may be as deep as any.
pub(crate) fn field_entry(random: &mut Random) -> Map<String, Value> {
    let kinds: Vec<&&str> = CHAINS.keys().collect();
    let kind = random.one_of(&kinds);
    let chain = random.one_of(&CHAINS[*kind]);
    let valid = &VALID[*kind];
    let valid = &valid[random.below(valid.len())];
    let is_status = chain[0].name() == "status";
    let writes = Writes {
        change: &|random, object| {
            if let Value::Object(fields) = object {
                chains::put(random, &chain, fields);
            }
        },
        of_status: &|_| is_status,
        at_most: 5,
    };
    let mut entry = requests(random, kind, valid, &writes);
    let name = format!("{} of a {kind}", chains::path(&chain));
    entry.insert("name".into(), name.into());
    entry
}

/// A manifest: a valid object, in most cases changed in one field, which may be as deep as any.
pub(crate) fn manifest(random: &mut Random) -> Value {
    let kinds: Vec<&&str> = CHAINS.keys().filter(|kind| can_be_applied(kind)).collect();
    let kind = random.one_of(&kinds);
    let chain = random.one_of(&CHAINS[*kind]);
    let valid = &VALID[*kind];
    let mut object = valid[random.below(valid.len())].object.clone();
    if let Value::Object(fields) = &mut object
        && !random.one_in(4)
    {
        chains::put(random, &chain, fields);
    }
    object
}

/// Reviews are asked, not stored.
fn can_be_applied(kind: &str) -> bool {
    !kind.contains("Review")
}

/// How the objects of the requests of a case differ from a valid one.
struct Writes<'a> {
    change: &'a dyn Fn(&mut Random, &mut Value),
    /// Whether an update is one of the status.
    of_status: &'a dyn Fn(&mut Random) -> bool,
    /// How many updates there are.
    at_most: i64,
}

fn requests(
    random: &mut Random,
    kind: &str,
    valid: &Valid,
    writes: &Writes<'_>,
) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("name".into(), format!("a {kind}").into());
    let name = valid.object["metadata"]["name"].as_str();
    let Some(name) = name.filter(|_| !kind.contains("Review")) else {
        let steps = (0..3).map(|_| post(random, valid, writes, None));
        entry.insert("steps".into(), steps.collect());
        return entry;
    };
    let mut steps = vec![post(random, valid, writes, Some(&format!("{name}-1")))];
    let mut whole = json!({"send": format!("POST {}", valid.path), "body": valid.object});
    whole["save"] = json!({"version": "/metadata/resourceVersion"});
    steps.push(whole);
    // A controller of the real server writes the status of these as soon as they are there.
    let written = kind.contains("of flowcontrol.apiserver.k8s.io");
    for _ in 0..if written {
        0
    } else {
        random.between(1, writes.at_most)
    } {
        steps.push(put(random, valid, writes, name));
    }
    // What all objects of the cluster take as their default must not be seen by other cases.
    if CLUSTER_WIDE.iter().any(|(_, of)| kind.starts_with(of)) {
        entry.insert("alone".into(), true.into());
        steps.extend(
            ["", "-1"].map(|end| json!({"send": format!("DELETE {}/{name}{end}", valid.path)})),
        );
    }
    entry.insert("steps".into(), steps.into());
    entry
}

/// The kinds whose objects may be the default of a whole cluster, and where all of them but those of the server are.
pub(crate) const CLUSTER_WIDE: [(&str, &str); 3] = [
    (
        "/apis/scheduling.k8s.io/v1/priorityclasses?fieldSelector=metadata.name!=system-node-critical,metadata.name!=system-cluster-critical",
        "PriorityClass of",
    ),
    ("/apis/storage.k8s.io/v1/storageclasses", "StorageClass of"),
    (
        "/apis/networking.k8s.io/v1/ingressclasses",
        "IngressClass of",
    ),
];

fn changed(random: &mut Random, valid: &Valid, writes: &Writes<'_>) -> Value {
    let mut object = valid.object.clone();
    (writes.change)(random, &mut object);
    object
}

fn query(random: &mut Random) -> &'static str {
    random.pick(&[
        "",
        "",
        "",
        "?fieldValidation=Strict",
        "?fieldValidation=Warn",
        "?fieldValidation=Ignore",
    ])
}

fn post(random: &mut Random, valid: &Valid, writes: &Writes<'_>, name: Option<&str>) -> Value {
    let mut object = changed(random, valid, writes);
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let (Some(name), Some(metadata)) = (name, metadata)
        && metadata.get("name") == valid.object["metadata"].get("name")
    {
        metadata.insert("name".into(), name.into());
    }
    json!({"send": format!("POST {}{}", valid.path, query(random)), "body": object})
}

fn put(random: &mut Random, valid: &Valid, writes: &Writes<'_>, name: &str) -> Value {
    let mut object = changed(random, valid, writes);
    let part = if (writes.of_status)(random) {
        "/status"
    } else {
        ""
    };
    let path = format!("{}/{name}{part}", valid.path);
    if random.one_in(5) {
        return json!({
            "send": format!("PATCH {path}"),
            "headers": {"Content-Type": random.pick(&["application/merge-patch+json", "application/strategic-merge-patch+json"])},
            "body": object,
        });
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && !random.one_in(4)
    {
        metadata.insert("resourceVersion".into(), "{version}".into());
    }
    json!({"send": format!("PUT {path}{}", query(random)), "body": object})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_valid_object_is_of_a_kind_with_a_type() {
        for valid in VALID.values().flatten() {
            assert!(root(&valid.object).is_some(), "{}", valid.object);
        }
    }
}
