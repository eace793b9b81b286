//! `Cargo.toml`: the versions of Kubewright and of the crates that a program shares with it, moved to those of another version.

use toml_edit::{DocumentMut, Item, TableLike, Value};

/// The release that a project is moved to.
#[derive(Debug)]
pub(super) struct Release<'a> {
    /// The version of Kubewright.
    pub(super) version: &'a str,
    /// The manifest of a project that begins with it, if that is known.
    pub(super) model: Option<&'a str>,
}

/// A manifest that was moved, and where its Kubewright comes from elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) text: String,
    pub(super) elsewhere: Option<Elsewhere>,
}

/// Sources of Kubewright that a requirement in the manifest does not choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    Path(String),
    Git(String),
    /// The manifest of the workspace that the project is in.
    Workspace,
}

/// Moves the requirements to those of a release. What is newer already stays, and so does everything else.
pub(super) fn moved(text: &str, to: &Release<'_>) -> Result<Moved, String> {
    let parse = |text: &str| text.parse::<DocumentMut>();
    let mut document = parse(text).map_err(|error| format!("it is not TOML: {error}"))?;
    let model = to.model.map(parse).transpose();
    let model = model.map_err(|error| format!("the template is not TOML: {error}"))?;
    let mut elsewhere = None;
    for table in tables(&mut document) {
        for (name, entry) in table.iter_mut() {
            if *name == *KUBEWRIGHT || name.starts_with("kubewright-") {
                match source(entry) {
                    Some(other) => elsewhere = elsewhere.or(Some(other)),
                    None => require(entry, to.version),
                }
                continue;
            }
            let Some(model) = model.as_ref().and_then(|model| known(model, &name)) else {
                continue;
            };
            if let (Some(old), Some(new)) = (requirement(entry), requirement(model)) {
                let new = new.to_owned();
                if is_older(old, &new) {
                    require(entry, &new);
                }
                follow_kubernetes(entry, model);
            }
        }
    }
    if let Some(model) = &model {
        raise_rust(&mut document, model);
    }
    Ok(Moved {
        text: document.to_string(),
        elsewhere,
    })
}

/// The version of Kubewright that the manifest requires.
pub(super) fn required(text: &str) -> Option<String> {
    let document: DocumentMut = text.parse().ok()?;
    let entry = known(&document, KUBEWRIGHT)?;
    let version = requirement(entry)?.trim_start_matches(['^', '~', '=', ' ']);
    Some(version.to_owned())
}

/// The path of a checkout that the manifest takes Kubewright from.
pub(super) fn path(text: &str) -> Option<String> {
    let document: DocumentMut = text.parse().ok()?;
    match source(known(&document, KUBEWRIGHT)?) {
        Some(Elsewhere::Path(path)) => Some(path),
        _ => None,
    }
}

/// Whether a version is older than another one, by their numbers.
pub(super) fn is_older(one: &str, other: &str) -> bool {
    numbers(one) < numbers(other)
}

fn numbers(version: &str) -> [u64; 3] {
    let version = version.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(version.split('.')) {
        let digits = part.split(|c: char| !c.is_ascii_digit()).next();
        *number = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    }
    numbers
}

/// Every table of dependencies.
fn tables(document: &mut DocumentMut) -> Vec<&mut dyn TableLike> {
    let mut found = Vec::new();
    for (key, item) in document.iter_mut() {
        match &*key {
            "dependencies" | "dev-dependencies" | "build-dependencies" => {
                found.extend(item.as_table_like_mut());
            }
            "workspace" => found.extend(
                item.get_mut("dependencies")
                    .and_then(Item::as_table_like_mut),
            ),
            "target" => {
                let targets = item.as_table_like_mut().into_iter();
                let targets = targets.flat_map(|targets| targets.iter_mut());
                let tables = targets.filter_map(|(_, target)| target.as_table_like_mut());
                for table in tables {
                    let of_target = table
                        .iter_mut()
                        .filter(|(key, _)| key.ends_with("dependencies"));
                    found.extend(of_target.filter_map(|(_, item)| item.as_table_like_mut()));
                }
            }
            _ => {}
        }
    }
    found
}

fn known<'a>(document: &'a DocumentMut, name: &str) -> Option<&'a Item> {
    let tables = ["dependencies", "dev-dependencies"].into_iter();
    let mut entries = tables.filter_map(|table| document.get(table)?.get(name));
    entries.next()
}

fn requirement(entry: &Item) -> Option<&str> {
    entry.as_str().or_else(|| entry.get("version")?.as_str())
}

fn source(entry: &Item) -> Option<Elsewhere> {
    let said = |key: &str| entry.get(key).and_then(Item::as_str).map(str::to_owned);
    if entry.get("workspace").is_some() {
        return Some(Elsewhere::Workspace);
    }
    said("path")
        .map(Elsewhere::Path)
        .or_else(|| said("git").map(Elsewhere::Git))
}

/// Sets the version, with everything around it as it is.
fn require(entry: &mut Item, version: &str) {
    let value = match entry {
        Item::Value(value @ Value::String(_)) => Some(value),
        entry => entry.get_mut("version").and_then(Item::as_value_mut),
    };
    if let Some(value) = value
        && value.as_str() != Some(version)
    {
        let decor = value.decor().clone();
        *value = Value::from(version);
        *value.decor_mut() = decor;
    }
}

/// The types of a program are those of the version of Kubernetes that Kubewright is for.
fn follow_kubernetes(entry: &mut Item, model: &Item) {
    let features = |entry: &Item| {
        let features = entry.get("features").and_then(Item::as_array);
        let versions = features.into_iter().flatten().filter_map(Value::as_str);
        versions
            .filter(|name| name.starts_with("v1_"))
            .map(str::to_owned)
            .last()
    };
    let (Some(old), Some(new)) = (features(entry), features(model)) else {
        return;
    };
    if numbers(&old.replace('_', ".")) >= numbers(&new.replace('_', ".")) {
        return;
    }
    let list = entry.get_mut("features").and_then(Item::as_array_mut);
    for feature in list.into_iter().flat_map(|list| list.iter_mut()) {
        if feature.as_str() == Some(&old) {
            let decor = feature.decor().clone();
            *feature = Value::from(&new);
            *feature.decor_mut() = decor;
        }
    }
}

fn raise_rust(document: &mut DocumentMut, model: &DocumentMut) {
    let of = |document: &DocumentMut| {
        let version = document.get("package")?.get("rust-version")?.as_str()?;
        Some(version.to_owned())
    };
    if let (Some(old), Some(new)) = (of(document), of(model))
        && is_older(&old, &new)
        && let Some(entry) = document
            .get_mut("package")
            .and_then(|package| package.get_mut("rust-version"))
    {
        require(entry, &new);
    }
}

const KUBEWRIGHT: &str = "kubewright";

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "\
[package]
rust-version = \"1.99\"

[dependencies]
k8s-openapi = { version = \"0.31\", features = [\"v1_39\"] }
kube = { version = \"6.0.0\", default-features = false }
serde = \"1.0.229\"

[dev-dependencies]
tokio = { version = \"1\", features = [\"macros\"] }
";

    fn update(text: &str) -> Moved {
        let release = Release {
            version: "0.3.0",
            model: Some(MODEL),
        };
        moved(text, &release).unwrap()
    }

    #[test]
    fn older_requirements_are_raised_and_everything_else_stays() {
        let text = "\
# Mine.
[package]
rust-version = \"1.95\" # ours

[dependencies]
k8s-openapi = { version = \"0.29\", features = [\"v1_37\", \"schemars\"] } # types
kube = \"7\"
kubewright = \"0.1.0\" # the library
mine = \"0.1\"
serde = { workspace = true }

[dev-dependencies.kubewright]
version = \"0.1.0\"
features = [\"testing\"]

[target.'cfg(unix)'.dependencies]
kubewright-etcd = { version = \"0.1\" }

[workspace.dependencies]
kubewright = { version = \"0.2\", default-features = false }
";
        let expected = text
            .replace("\"1.95\"", "\"1.99\"")
            .replace("\"0.29\"", "\"0.31\"")
            .replace("v1_37", "v1_39")
            .replace("kubewright = \"0.1.0\"", "kubewright = \"0.3.0\"")
            .replace("version = \"0.1.0\"", "version = \"0.3.0\"")
            .replace("version = \"0.1\" }", "version = \"0.3.0\" }")
            .replace("version = \"0.2\"", "version = \"0.3.0\"");
        let new = update(text);
        assert_eq!(new.text, expected);
        assert_eq!(new.elsewhere, None);
        assert_eq!(update(&expected).text, expected, "a second time");
    }

    #[test]
    fn what_comes_from_elsewhere_is_named_and_stays() {
        for (entry, from) in [
            ("{ path = \"../k\" }", Elsewhere::Path("../k".to_owned())),
            (
                "{ git = \"https://a.b/k\" }",
                Elsewhere::Git("https://a.b/k".to_owned()),
            ),
            ("{ workspace = true }", Elsewhere::Workspace),
        ] {
            let text = format!("[dependencies]\nkubewright = {entry}\n");
            let new = update(&text);
            assert_eq!((new.text, new.elsewhere), (text, Some(from)));
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        for (older, newer) in [
            ("0.9.0", "0.10.0"),
            ("1", "1.0.1"),
            ("^0.1", "0.2"),
            ("0.1.9", "1"),
        ] {
            assert!(
                is_older(older, newer) && !is_older(newer, older),
                "{older} {newer}"
            );
        }
        assert!(!is_older("1", "1.0.0") && !is_older("1.0.0", "1"));
    }

    #[test]
    fn the_version_of_a_project_is_found() {
        let of = |entry: &str| required(&format!("[dependencies]\nkubewright = {entry}\n"));
        assert_eq!(of("\"^0.2.1\"").as_deref(), Some("0.2.1"));
        assert_eq!(of("{ version = \"0.2\" }").as_deref(), Some("0.2"));
        assert_eq!(of("{ path = \"../k\" }"), None);
    }
}
