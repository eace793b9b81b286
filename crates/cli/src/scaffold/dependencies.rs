//! `Cargo.toml`: crates that what is made needs, added in their order, with everything else as it is.

use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

/// A crate that a project uses, with the version and the features that Kubewright uses it with.
pub(super) struct Dependency {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) features: &'static [&'static str],
    pub(super) defaults: bool,
}

/// What the types of custom resources need.
pub(super) const FOR_KINDS: [Dependency; 4] = [
    Dependency {
        name: "kube",
        version: "5.0.0",
        features: &["derive"],
        defaults: false,
    },
    Dependency {
        name: "schemars",
        version: "1.2",
        features: &[],
        defaults: true,
    },
    Dependency {
        name: "serde",
        version: "1.0.229",
        features: &["derive"],
        defaults: true,
    },
    // The code that kube derives names it.
    Dependency {
        name: "serde_json",
        version: "1.0.154",
        features: &[],
        defaults: true,
    },
];

/// What the types of kinds that others define need: they have no schema.
pub(super) const FOR_EXTERNAL_KINDS: [Dependency; 3] = {
    let [kube, _, serde, serde_json] = FOR_KINDS;
    [kube, serde, serde_json]
};

/// Adds crates to `[dependencies]` that are not there yet.
pub(super) fn add(text: &str, crates: &[Dependency]) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| format!("it is not TOML: {error}"))?;
    let table = document
        .entry("dependencies")
        .or_insert(Item::Table(Table::new()))
        .as_table_mut()
        .ok_or("`dependencies` is no table")?;
    let keys = |table: &Table| {
        table
            .iter()
            .map(|(key, _)| key.to_owned())
            .collect::<Vec<_>>()
    };
    let was_sorted = keys(table).is_sorted();
    for dependency in crates {
        if !table.contains_key(dependency.name) {
            table.insert(dependency.name, dependency.item());
        }
    }
    if was_sorted {
        table.sort_values();
    }
    Ok(document.to_string())
}

/// Sets the license of the package, or takes it away.
pub(super) fn license(text: &str, license: Option<&str>) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| format!("it is not TOML: {error}"))?;
    let package = document
        .get_mut("package")
        .and_then(Item::as_table_mut)
        .ok_or("it has no table `package`")?;
    match license {
        Some(license) => {
            package.insert("license", toml_edit::value(license));
        }
        None => {
            package.remove("license");
        }
    }
    Ok(document.to_string())
}

impl Dependency {
    fn item(&self) -> Item {
        if self.features.is_empty() && self.defaults {
            return toml_edit::value(self.version);
        }
        let mut table = InlineTable::new();
        table.insert("version", self.version.into());
        if !self.defaults {
            table.insert("default-features", false.into());
        }
        if !self.features.is_empty() {
            table.insert(
                "features",
                Value::Array(self.features.iter().copied().collect()),
            );
        }
        toml_edit::value(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The allocator of a new project.
    const ALLOCATOR: Dependency = Dependency {
        name: "mimalloc",
        version: "0.1.52",
        features: &["no_thp"],
        defaults: true,
    };

    #[test]
    fn crates_are_added_once_where_they_sort() {
        let text = "# Mine.\n[dependencies]\n# The types of Kubernetes.\nk8s-openapi = \"0.29\"\nserde = \"1\" # mine\n\n[dev-dependencies]\n";
        let new = add(text, &FOR_KINDS).unwrap();
        assert_eq!(
            new,
            "# Mine.\n[dependencies]\n# The types of Kubernetes.\nk8s-openapi = \"0.29\"\n\
             kube = { version = \"5.0.0\", default-features = false, features = [\"derive\"] }\n\
             schemars = \"1.2\"\nserde = \"1\" # mine\nserde_json = \"1.0.154\"\n\n[dev-dependencies]\n"
        );
        assert_eq!(add(&new, &FOR_KINDS).unwrap(), new);
    }

    #[test]
    fn a_new_project_has_an_allocator_and_what_its_first_kind_needs() {
        let template = include_str!("templates/Cargo.toml.jinja");
        for dependency in [ALLOCATOR].iter().chain(&FOR_KINDS) {
            let line = format!("{} = {}", dependency.name, dependency.item());
            let mut lines = template.lines();
            assert!(lines.any(|own| own == line), "{line}");
        }
    }

    /// What a project uses has to be what Kubewright is built with, or there would be two of it.
    #[test]
    fn versions_are_those_of_the_workspace() {
        let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
        let document: DocumentMut = std::fs::read_to_string(workspace).unwrap().parse().unwrap();
        let known = &document["workspace"]["dependencies"];
        for dependency in [ALLOCATOR].iter().chain(&FOR_KINDS) {
            let entry = &known[dependency.name];
            let version = entry.as_str().or_else(|| entry["version"].as_str());
            assert_eq!(version, Some(dependency.version), "{}", dependency.name);
        }
    }
}
