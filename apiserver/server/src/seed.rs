//! The objects that a real server creates at its start: namespaces, the roles of RBAC, flow control, the registrations of
//! its groups, the range of the services' addresses and the Service `kubernetes`.
//!
//! They are a table of JSON documents, recorded from a real server (`conformance first-objects` writes it). Most are never
//! read: the objects of a resource are decoded when a client first requests that resource. Their revisions are fixed from the
//! start.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use kubewright_apimachinery::time::now;
use kubewright_auth::Authorities;
use kubewright_registry::services::Pool;
use kubewright_storage::{Draft, FIRST_REVISION, InitialObjects};
use serde_json::Value;
use uuid::Uuid;

use crate::authentication_config::{self, PATH, TABLE};

/// A line for each object: the resource, a tab, the path, a tab, and the object without the fields that each server sets.
const TEXT: &str = include_str!("seed/objects.tsv");

/// The placeholders in the JSON for the time and the day of the server's start.
const NOW: &str = "{now}";
const TODAY: &str = "{today}";

/// The first objects of one server.
#[derive(Debug)]
pub(crate) struct Seed {
    started: String,
    /// The authorities of a server whose objects no other server has had. Others write their ConfigMap when they start.
    authorities: Option<Arc<Authorities>>,
}

/// The lines of one resource.
#[derive(Debug)]
struct Lines {
    table: &'static str,
    lines: Range<usize>,
}

#[derive(Debug)]
struct Index {
    lines: Vec<&'static str>,
    /// By table.
    tables: Vec<Lines>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index {
        lines: Vec::with_capacity(300),
        tables: Vec::new(),
    };
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        let (table, rest) = line.split_once('\t').unwrap_or_default();
        let at = index.lines.len();
        index.lines.push(rest);
        match index.tables.last_mut() {
            Some(last) if last.table == table => last.lines.end = at + 1,
            _ => index.tables.push(Lines {
                table,
                lines: at..at + 1,
            }),
        }
    }
    index
});

impl Seed {
    /// The first objects of a server that starts now.
    pub(crate) fn now() -> Self {
        Self {
            started: now(),
            authorities: None,
        }
    }

    /// The first objects of a server with these authorities.
    pub(crate) fn with(authorities: Arc<Authorities>) -> Self {
        Self {
            authorities: Some(authorities),
            ..Self::now()
        }
    }

    /// Marks the addresses of the first objects as allocated.
    pub(crate) fn adopt(addresses: &mut Pool) {
        addresses.adopt(&serde_json::json!({"spec": {"clusterIPs": ["10.0.0.1"]}}));
    }

    /// One of the first objects in its initial state.
    fn object_at(&self, table: &str, path: &str) -> Option<Value> {
        let line = |at: usize| INDEX.lines[at].split_once('\t');
        let (_, text) = find(table)?.filter_map(line).find(|(at, _)| *at == path)?;
        self.object(text)
    }

    /// The role of all nodes.
    pub(crate) fn node_role() -> Option<Value> {
        Self::now().object_at("clusterroles.rbac.authorization.k8s.io", "system:node")
    }

    fn object(&self, text: &str) -> Option<Value> {
        let day = self.started.get(..10)?;
        let text = text.replace(NOW, &self.started).replace(TODAY, day);
        let mut object: Value = serde_json::from_str(&text).ok()?;
        object["metadata"]["uid"] = Uuid::new_v4().to_string().into();
        object["metadata"]["creationTimestamp"] = self.started.as_str().into();
        Some(object)
    }
}

impl InitialObjects for Seed {
    fn revision(&self) -> u64 {
        let written = usize::from(self.authorities.is_some());
        FIRST_REVISION + (INDEX.lines.len() + written) as u64
    }

    fn resources(&self) -> Vec<&str> {
        INDEX.tables.iter().map(|lines| lines.table).collect()
    }

    fn has(&self, resource: &str) -> bool {
        find(resource).is_some()
    }

    fn of(&self, resource: &str) -> Vec<(u64, String, Draft)> {
        let Some(lines) = find(resource) else {
            return Vec::new();
        };
        let recorded = lines.filter_map(|at| {
            let (path, text) = INDEX.lines[at].split_once('\t')?;
            let revision = FIRST_REVISION + 1 + at as u64;
            Some((revision, path.to_owned(), Draft::new(&self.object(text)?)))
        });
        let configuration = self.authorities.as_ref().filter(|_| resource == TABLE);
        let configuration = configuration.and_then(|authorities| {
            let object = authentication_config::object(authorities).ok()?;
            Some((self.revision(), PATH.to_owned(), Draft::new(&object)))
        });
        recorded.chain(configuration).collect()
    }
}

fn find(table: &str) -> Option<Range<usize>> {
    let at = INDEX
        .tables
        .binary_search_by(|lines| lines.table.cmp(table))
        .ok()?;
    Some(INDEX.tables[at].lines.clone())
}

#[cfg(test)]
mod tests {
    use kubewright_apimachinery::status::qualified;
    use kubewright_storage::{At, CommitError, Limits, OutOfRange, Raced, Store};

    use super::*;

    #[test]
    fn every_line_is_an_object_of_a_resource_that_is_stored_so() {
        let registry = kubewright_apiextensions::builtin::registry();
        let seed = Seed::now();
        let mut count = 0;
        for Lines { table, lines } in &INDEX.tables {
            let (plural, group) = table.split_once('.').unwrap_or((table, ""));
            let versions = &registry.group(group).expect("a group").versions;
            let resource = versions
                .iter()
                .find_map(|version| registry.find(group, &version.version, plural))
                .expect("a resource");
            assert_eq!(qualified(plural, group), *table);
            let objects = seed.of(table);
            assert_eq!(objects.len(), lines.len(), "{table}");
            for (revision, path, draft) in objects {
                count += 1;
                assert_eq!(revision, FIRST_REVISION + count);
                let text = draft.into_text(Some(revision));
                let object: Value = serde_json::from_slice(&text).expect("an object");
                assert_eq!(object["kind"], resource.kind, "{table} {path}");
                assert_eq!(object["apiVersion"], resource.api_version());
                assert!(path.ends_with(object["metadata"]["name"].as_str().expect("a name")));
                assert_eq!(path.contains('/'), resource.namespaced);
                assert!(!text.windows(4).any(|part| part == b"{now"), "{path}");
            }
        }
        assert_eq!(seed.revision(), FIRST_REVISION + count);
    }

    #[test]
    fn the_resources_and_their_objects_stand_in_order() {
        assert!(INDEX.tables.is_sorted_by(|a, b| a.table < b.table));
        for lines in &INDEX.tables {
            let paths = &INDEX.lines[lines.lines.clone()];
            let path = |line: &&str| line.split('\t').next().map(str::to_owned);
            assert!(
                paths.is_sorted_by(|a, b| path(a) < path(b)),
                "{}",
                lines.table
            );
        }
    }

    #[test]
    fn the_first_objects_are_there_when_they_are_asked_for() {
        let seeded = || Store::with_initial_objects(Limits::default(), Seed::now());
        let store = seeded();
        assert_eq!(store.revision(), Seed::now().revision());
        let default = store.get("namespaces", "default").expect("a namespace");
        assert!(default.revision <= Seed::now().revision());
        let listed = store.list("namespaces", "", "", usize::MAX, At::Now);
        let listed = listed.expect("a list");
        let names: Vec<_> = listed.objects.iter().map(|object| object.name()).collect();
        assert_eq!(
            names,
            ["default", "kube-node-lease", "kube-public", "kube-system"]
        );
        assert_eq!(store.changed("namespaces"), listed.objects[3].revision);
        let again = seeded();
        assert!(
            matches!(
                again.create("namespaces", "default", Draft::new(&default.value())),
                Err(CommitError::Raced(Raced(Some(_))))
            ),
            "initial objects exist for a write before the first read"
        );
        assert_eq!(again.revision(), Seed::now().revision());
    }

    #[test]
    fn compaction_forgets_the_first_objects_past_too() {
        let store = Store::with_initial_objects(Limits::default(), Seed::now());
        store.compact(store.revision());
        let first = At::Exactly(FIRST_REVISION);
        assert!(matches!(
            store.list("namespaces", "", "", usize::MAX, first),
            Err(OutOfRange::TooOld { .. })
        ));
    }
}
