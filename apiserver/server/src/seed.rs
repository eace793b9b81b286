//! The objects that a real server creates at its start: namespaces, the roles of RBAC, flow control, the registrations of
//! its groups, the range of the services' addresses and the Service `kubernetes`.
//!
//! They are a table of JSON documents, recorded from a real server (`conformance first-objects` writes it). Most are never
//! read: the objects of a resource are decoded when a client first requests that resource. Their revisions are fixed from the
//! start.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use kubewright_apimachinery::time::now;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_auth::Authorities;
use kubewright_registry::services::Pool;
use kubewright_storage::{Draft, FIRST_REVISION, InitialObjects};
use serde_json::Value;
use uuid::Uuid;

use crate::authentication_config::{self, PATH, TABLE};

/// A line for each object: the resource, a tab, the path, a tab, and the object without the fields that each server sets.
const TEXT: &str = include_str!("seed/objects.tsv");

/// What older versions make otherwise: the version, a tab, and a line as above, with no object where they make none.
const OLDER: &str = include_str!("seed/older.tsv");

/// The placeholders in the JSON for the time and the day of the server's start.
const NOW: &str = "{now}";
const TODAY: &str = "{today}";

/// The first objects of one server.
#[derive(Debug)]
pub(crate) struct Seed {
    index: &'static Index,
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

impl Index {
    fn newest() -> Self {
        Self::of(TEXT.lines().filter(|line| !line.starts_with('#')))
    }

    fn older(version: KubernetesVersion) -> Self {
        let mut objects: BTreeMap<_, _> = TEXT
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| Some((line.rsplit_once('\t')?.0, line)))
            .collect();
        let version = format!("{version}\t");
        for line in OLDER.lines().filter_map(|line| line.strip_prefix(&version)) {
            match line.rsplit_once('\t') {
                Some((place, "")) => drop(objects.remove(place)),
                Some((place, _)) => drop(objects.insert(place, line)),
                None => {}
            }
        }
        Self::of(objects.into_values())
    }

    fn of(lines: impl Iterator<Item = &'static str>) -> Self {
        let mut index = Self {
            lines: Vec::with_capacity(300),
            tables: Vec::new(),
        };
        for line in lines {
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
    }

    fn find(&self, table: &str) -> Option<Range<usize>> {
        let found = self.tables.binary_search_by(|lines| lines.table.cmp(table));
        Some(self.tables[found.ok()?].lines.clone())
    }
}

fn index(version: KubernetesVersion) -> &'static Index {
    static NEWEST: LazyLock<Index> = LazyLock::new(Index::newest);
    static V1_36: LazyLock<Index> = LazyLock::new(|| Index::older(KubernetesVersion::V1_36));
    static V1_35: LazyLock<Index> = LazyLock::new(|| Index::older(KubernetesVersion::V1_35));
    match version {
        KubernetesVersion::V1_35 => &V1_35,
        KubernetesVersion::V1_36 => &V1_36,
        _ => &NEWEST,
    }
}

impl Seed {
    /// The first objects of a server of a version that starts now.
    pub(crate) fn now(version: KubernetesVersion) -> Self {
        Self {
            index: index(version),
            started: now(),
            authorities: None,
        }
    }

    /// The first objects of a server with these authorities.
    pub(crate) fn with(version: KubernetesVersion, authorities: Arc<Authorities>) -> Self {
        Self {
            authorities: Some(authorities),
            ..Self::now(version)
        }
    }

    /// Marks the addresses of the first objects as allocated.
    pub(crate) fn adopt(addresses: &mut Pool) {
        addresses.adopt(&serde_json::json!({"spec": {"clusterIPs": ["10.0.0.1"]}}));
    }

    /// One of the first objects in its initial state.
    fn object_at(&self, table: &str, path: &str) -> Option<Value> {
        let line = |at: usize| self.index.lines[at].split_once('\t');
        let mut lines = self.index.find(table)?.filter_map(line);
        let (_, text) = lines.find(|(at, _)| *at == path)?;
        self.object(text)
    }

    /// The role of all nodes.
    pub(crate) fn node_role(&self) -> Option<Value> {
        self.object_at("clusterroles.rbac.authorization.k8s.io", "system:node")
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
        FIRST_REVISION + (self.index.lines.len() + written) as u64
    }

    fn resources(&self) -> Vec<&str> {
        self.index.tables.iter().map(|lines| lines.table).collect()
    }

    fn has(&self, resource: &str) -> bool {
        self.index.find(resource).is_some()
    }

    fn of(&self, resource: &str) -> Vec<(u64, String, Draft)> {
        let Some(lines) = self.index.find(resource) else {
            return Vec::new();
        };
        let recorded = lines.filter_map(|at| {
            let (path, text) = self.index.lines[at].split_once('\t')?;
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

#[cfg(test)]
mod tests {
    use kubewright_apimachinery::status::qualified;
    use kubewright_storage::{At, CommitError, Limits, OutOfRange, Raced, Store};

    use super::*;

    #[test]
    fn every_line_is_an_object_of_a_resource_that_is_stored_so() {
        let registry = kubewright_apiextensions::builtin::registry();
        let seed = Seed::now(KubernetesVersion::default());
        let mut count = 0;
        for Lines { table, lines } in &index(KubernetesVersion::default()).tables {
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
        assert!(
            index(KubernetesVersion::default())
                .tables
                .is_sorted_by(|a, b| a.table < b.table)
        );
        for lines in &index(KubernetesVersion::default()).tables {
            let paths = &index(KubernetesVersion::default()).lines[lines.lines.clone()];
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
        let seeded = || {
            Store::with_initial_objects(Limits::default(), Seed::now(KubernetesVersion::default()))
        };
        let store = seeded();
        assert_eq!(
            store.revision(),
            Seed::now(KubernetesVersion::default()).revision()
        );
        let default = store.get("namespaces", "default").expect("a namespace");
        assert!(default.revision <= Seed::now(KubernetesVersion::default()).revision());
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
        assert_eq!(
            again.revision(),
            Seed::now(KubernetesVersion::default()).revision()
        );
    }

    #[test]
    fn compaction_forgets_the_first_objects_past_too() {
        let store =
            Store::with_initial_objects(Limits::default(), Seed::now(KubernetesVersion::default()));
        store.compact(store.revision());
        let first = At::Exactly(FIRST_REVISION);
        assert!(matches!(
            store.list("namespaces", "", "", usize::MAX, first),
            Err(OutOfRange::TooOld { .. })
        ));
    }
}
