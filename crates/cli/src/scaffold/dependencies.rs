//! `Cargo.toml`: crates that what is made needs, added in their order, with everything else as it is.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

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

/// What objects need that are written as JSON.
pub(super) const FOR_JSON: [Dependency; 1] = {
    let [_, _, _, serde_json] = FOR_KINDS;
    [serde_json]
};

/// Adds crates to `[dependencies]` that are not there yet.
pub(super) fn add(text: &str, crates: &[Dependency]) -> Result<String, String> {
    let mut document = parsed(text)?;
    let known = document.get("dependencies").cloned().unwrap_or_default();
    let new = crates
        .iter()
        .filter(|dependency| known.get(dependency.name).is_none())
        .map(|dependency| (dependency.name, dependency.item()));
    insert(&mut document, "dependencies", new)?;
    Ok(document.to_string())
}

/// Turns the feature on that the tests need, for them alone: a program that is deployed contains no API server.
pub(super) fn for_tests(text: &str) -> Result<String, String> {
    let mut document = parsed(text)?;
    let uses = |document: &DocumentMut, table: &str| {
        document
            .get(table)
            .and_then(|table| table.get(KUBEWRIGHT))
            .cloned()
    };
    let program = uses(&document, "dependencies");
    let tests = uses(&document, "dev-dependencies");
    if [&program, &tests].into_iter().flatten().any(has_testing) {
        return Ok(text.to_owned());
    }
    let entry = tests
        .or(program)
        .ok_or("it has no dependency `kubewright`")?;
    insert(
        &mut document,
        "dev-dependencies",
        [(KUBEWRIGHT, with_testing(&entry)?)],
    )?;
    Ok(document.to_string())
}

/// Turns the feature on that policies need.
pub(super) fn for_policies(text: &str) -> Result<String, String> {
    let mut document = parsed(text)?;
    with_features(&mut document, "dependencies", KUBEWRIGHT, &["policies"])?;
    Ok(document.to_string())
}

/// Turns the features on with which tests move the clock.
pub(super) fn for_clocks(text: &str) -> Result<String, String> {
    let mut document = parsed(text)?;
    with_features(
        &mut document,
        "dev-dependencies",
        "tokio",
        &["test-util", "time"],
    )?;
    Ok(document.to_string())
}

/// Adds features to a dependency.
fn with_features(
    document: &mut DocumentMut,
    table: &str,
    name: &str,
    features: &[&str],
) -> Result<(), String> {
    let entry = document
        .get_mut(table)
        .and_then(|table| table.get_mut(name));
    let entry = entry.filter(|entry| !entry.is_none());
    let entry = entry.ok_or_else(|| format!("it has no dependency `{name}` in [{table}]"))?;
    if let Item::Value(Value::String(version)) = entry {
        let version = version.value().clone();
        *entry = toml_edit::value(InlineTable::from_iter([("version", version)]));
    }
    let dependency = entry
        .as_table_like_mut()
        .ok_or_else(|| format!("its dependency `{name}` is neither a version nor a table"))?;
    if !dependency.contains_key("features") {
        dependency.insert("features", toml_edit::value(Array::new()));
        if let Item::Value(Value::InlineTable(table)) = entry {
            table.fmt();
        }
    }
    let known = entry.get_mut("features").and_then(Item::as_array_mut);
    let known =
        known.ok_or_else(|| format!("the features of its dependency `{name}` are no list"))?;
    for feature in features {
        if !known.iter().any(|known| known.as_str() == Some(feature)) {
            known.push(*feature);
        }
    }
    known.fmt();
    Ok(())
}

const KUBEWRIGHT: &str = "kubewright";
const TESTING: &str = "testing";

fn has_testing(entry: &Item) -> bool {
    let features = entry.get("features").and_then(Item::as_array);
    features.is_some_and(|features| features.iter().any(|name| name.as_str() == Some(TESTING)))
}

/// The same version, path or repository, with the feature for tests.
fn with_testing(entry: &Item) -> Result<Item, String> {
    let mut table = match entry {
        Item::Value(Value::String(version)) => {
            InlineTable::from_iter([("version", version.value().as_str())])
        }
        Item::Value(Value::InlineTable(table)) => table.clone(),
        Item::Table(table) => table.clone().into_inline_table(),
        _ => return Err("its dependency `kubewright` is neither a version nor a table".to_owned()),
    };
    // Cargo takes an optional dependency in `[dependencies]` alone.
    table.remove("optional");
    let features = table
        .entry("features")
        .or_insert(Value::Array(Array::new()));
    features
        .as_array_mut()
        .ok_or("the features of its dependency `kubewright` are no list")?
        .push(TESTING);
    table.fmt();
    Ok(toml_edit::value(table))
}

fn parsed(text: &str) -> Result<DocumentMut, String> {
    text.parse()
        .map_err(|error| format!("it is not TOML: {error}"))
}

/// Puts entries into a table of dependencies, in their order if it has one.
fn insert<'a>(
    document: &mut DocumentMut,
    table: &str,
    entries: impl IntoIterator<Item = (&'a str, Item)>,
) -> Result<(), String> {
    let entry = document.entry(table).or_insert(Item::Table(Table::new()));
    let Some(table) = entry.as_table_mut() else {
        return Err(format!("`{table}` is no table"));
    };
    let was_sorted = table.iter().map(|(key, _)| key).is_sorted();
    for (name, item) in entries {
        table.insert(name, item);
    }
    if was_sorted {
        table.sort_values();
    }
    Ok(())
}

/// Sets the license of the package, or takes it away.
pub(super) fn license(text: &str, license: Option<&str>) -> Result<String, String> {
    let mut document = parsed(text)?;
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
    fn tests_use_the_same_kubewright_with_an_api_server() {
        let of = |entry: &str| for_tests(&format!("[dependencies]\n{entry}\n")).unwrap();
        for (entry, tests) in [
            (
                "kubewright = \"0.1.0\"",
                "kubewright = { version = \"0.1.0\", features = [\"testing\"] }",
            ),
            (
                "kubewright = { path = \"../k\", features = [\"otlp\"] }",
                "kubewright = { path = \"../k\", features = [\"otlp\", \"testing\"] }",
            ),
            (
                "kubewright.workspace = true",
                "kubewright = { workspace = true, features = [\"testing\"] }",
            ),
        ] {
            assert_eq!(
                of(entry),
                format!("[dependencies]\n{entry}\n\n[dev-dependencies]\n{tests}\n")
            );
        }
    }

    #[test]
    fn features_are_added_once_to_a_dependency_of_any_form() {
        for (entry, with) in [
            (
                "kubewright = \"0.1.0\"",
                "kubewright = { version = \"0.1.0\", features = [\"policies\"] }",
            ),
            (
                "kubewright = { path = \"../k\" }",
                "kubewright = { path = \"../k\", features = [\"policies\"] }",
            ),
            (
                "kubewright = { workspace = true, features = [\"otlp\"] } # mine",
                "kubewright = { workspace = true, features = [\"otlp\", \"policies\"] } # mine",
            ),
        ] {
            let new = for_policies(&format!("[dependencies]\n{entry}\n")).unwrap();
            assert_eq!(new, format!("[dependencies]\n{with}\n"));
            assert_eq!(for_policies(&new).unwrap(), new);
        }
        let lacking = for_policies("[dependencies]\n").unwrap_err();
        assert_eq!(
            lacking,
            "it has no dependency `kubewright` in [dependencies]"
        );
    }

    #[test]
    fn tests_that_have_an_api_server_keep_it() {
        for text in [
            "[dependencies]\nkubewright = { version = \"0.1.0\", features = [\"testing\"] }\n",
            "[dependencies]\nkubewright = \"0.1.0\"\n\n[dev-dependencies]\n\
             kubewright = { version = \"0.1.0\", features = [\"testing\"] } # mine\n",
        ] {
            assert_eq!(for_tests(text).unwrap(), text);
        }
        let lacking =
            "[dev-dependencies]\nkubewright = { version = \"0.1.0\", features = [\"rsa\"] }\n";
        assert_eq!(
            for_tests(lacking).unwrap(),
            "[dev-dependencies]\nkubewright = { version = \"0.1.0\", features = [\"rsa\", \"testing\"] }\n"
        );
        let table = "[dev-dependencies.kubewright]\nversion = \"0.1.0\"\n";
        let new: DocumentMut = for_tests(table).unwrap().parse().unwrap();
        let features = &new["dev-dependencies"]["kubewright"]["features"];
        assert_eq!(features.to_string().trim(), "[\"testing\"]");
        assert_eq!(for_tests(&new.to_string()).unwrap(), new.to_string());
        assert!(for_tests("[dependencies]\n").is_err());
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
