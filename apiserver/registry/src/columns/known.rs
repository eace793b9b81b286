//! The columns of built-in kinds, as Kubernetes' printers register them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::column::Column;

/// Group and kind, name, type, format, priority and description of a column.
#[derive(Debug, Deserialize)]
struct Line(String, String, String, String, i64, String);

/// Written by `tests/kube-apiserver/declare`.
static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("columns.json")).expect("the table is JSON of its form")
});

static TABLES: LazyLock<HashMap<&str, Vec<Column<'static>>>> = LazyLock::new(|| {
    let mut tables: HashMap<&str, Vec<Column<'_>>> = HashMap::new();
    for Line(of, name, kind, format, priority, description) in LINES.iter() {
        tables.entry(of).or_default().push(Column {
            name,
            kind,
            format,
            description,
            priority: *priority,
        });
    }
    tables
});

/// Kinds whose printer is not called, or whose cells are not made here: all but the first and the last are served on demand.
const WITHOUT_CELLS: [&str; 8] = [
    "storage.k8s.io/CSIStorageCapacity",
    "internal.apiserver.k8s.io/StorageVersion",
    "lifecycle.k8s.io/Eviction",
    "lifecycle.k8s.io/EvictionRequest",
    "resource.k8s.io/ResourcePoolStatusRequest",
    "scheduling.k8s.io/CompositePodGroup",
    "scheduling.k8s.io/PodGroup",
    "storagemigration.k8s.io/StorageVersionMigration",
];

/// The columns of a kind; those of any object if it has no printer.
pub(crate) fn of((group, kind): (&str, &str)) -> Vec<Column<'static>> {
    let kind = format!("{group}/{kind}");
    let known = TABLES
        .get(kind.as_str())
        .filter(|_| !WITHOUT_CELLS.contains(&kind.as_str()));
    known
        .or_else(|| TABLES.get(""))
        .cloned()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_without_a_printer_has_the_columns_of_any_object() {
        let names = |kind| {
            let columns = of(kind);
            let names = columns.iter().map(|column| column.name);
            names.collect::<Vec<_>>().join("|")
        };
        assert_eq!(names(("", "ConfigMap")), "Name|Data|Age");
        assert_eq!(
            names(("rbac.authorization.k8s.io", "ClusterRole")),
            "Name|Created At"
        );
    }
}
