//! The names that a person gives, checked as Kubernetes and Rust check them, and what else is called after them.

use heck::{ToKebabCase, ToSnakeCase};

/// Defines names that are checked when they are read from a command line.
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident by $check:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct $name(String);

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $check(text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    )+};
}

names! {
    /// The domain that groups, webhooks and labels belong to, such as `example.com`.
    Domain by is_domain;
    /// The name of a project: of its package, its program and its namespace.
    Name by is_name;
    /// A group without its domain, such as `police`, or the whole one of a built-in kind, such as `apps`.
    Group by is_group;
    /// A version, such as `v1beta1`.
    Version by is_version;
    /// A kind, such as `WhiteList`.
    Kind by is_kind;
    /// The plural of a kind in URLs, such as `whitelists`.
    Plural by is_label;
}

/// An owner as a command line names it: its kind, with the group behind a dot if several groups have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) kind: String,
    pub(crate) group: Option<String>,
}

impl std::str::FromStr for Owner {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, group) = match text.split_once('.') {
            Some((kind, group)) => (kind, Some(group)),
            None => (text, None),
        };
        is_kind(kind)?;
        group.map(is_group).transpose()?;
        Ok(Self {
            kind: kind.to_owned(),
            group: group.map(str::to_owned),
        })
    }
}

fn is_label(text: &str) -> Result<(), String> {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.len() <= 63
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || c == '-')
    {
        return Ok(());
    }
    Err("it may have lower case letters, digits and `-` in between, and 63 of them".to_owned())
}

fn is_group(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("the group of Pods and their like is called core".to_owned());
    }
    text.split('.').try_for_each(is_label)
}

fn is_domain(text: &str) -> Result<(), String> {
    if !text.contains('.') {
        return Err("a domain has a dot, such as example.com".to_owned());
    }
    text.split('.').try_for_each(is_label)
}

fn is_name(text: &str) -> Result<(), String> {
    is_label(text)?;
    if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err("a package starts with a letter".to_owned());
    }
    // What cargo refuses to build, or what would hide a crate that is used.
    let taken = [
        "test",
        "core",
        "std",
        "alloc",
        "proc-macro",
        "kubewright",
        "kube",
        "tokio",
    ];
    if taken.contains(&text) || is_keyword(&text.replace('-', "_")) {
        return Err("this name is taken in Rust".to_owned());
    }
    Ok(())
}

fn is_version(text: &str) -> Result<(), String> {
    // v1, v1alpha1, v1beta1: what API servers know how to order.
    let digits = |text: &str| {
        !text.is_empty() && !text.starts_with('0') && text.chars().all(|c| c.is_ascii_digit())
    };
    let rest = text.strip_prefix('v').unwrap_or_default();
    let is_one = digits(rest)
        || ["alpha", "beta"].iter().any(|stage| {
            let parts = rest.split_once(stage);
            parts.is_some_and(|(major, minor)| digits(major) && digits(minor))
        });
    if is_one {
        return Ok(());
    }
    Err("a version is such as v1, v1beta1 or v1alpha1".to_owned())
}

fn is_kind(text: &str) -> Result<(), String> {
    let is_one = text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_one {
        return Err("a kind is a word in capitals and small letters, such as WhiteList".to_owned());
    }
    if is_keyword(&text.to_snake_case()) {
        return Err("a module of this name cannot be made: it is a word of Rust".to_owned());
    }
    Ok(())
}

/// Checks the name of a kind that the project defines: its type must not clash with other names in the generated code.
pub(crate) fn check_own_kind(kind: &Kind) -> Result<(), String> {
    let kind = kind.as_ref();
    if STANDARD.contains(&kind) {
        return Err(format!("a type {kind} would hide that of Rust in its file"));
    }
    if USED.contains(&kind) {
        return Err(format!(
            "a type {kind} would hide one that webhooks and controllers use"
        ));
    }
    Ok(())
}

/// What every Rust file has without an import.
const STANDARD: [&str; 42] = [
    "AsMut",
    "AsRef",
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "Hash",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Send",
    "Sized",
    "Some",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Vec",
];

/// What the files that are made import.
const USED: [&str; 35] = [
    "Action",
    "App",
    "Arc",
    "BTreeMap",
    "Change",
    "Condition",
    "ConfigMap",
    "Context",
    "Controller",
    "Create",
    "CreateOrUpdate",
    "CustomResource",
    "Deserialize",
    "DynamicObject",
    "Error",
    "Hook",
    "JsonSchema",
    "Mutated",
    "Needs",
    "OperationResult",
    "OrDeny",
    "Path",
    "Predicate",
    "Program",
    "Reconcile",
    "Requests",
    "ResourceExt",
    "Review",
    "Serialize",
    "SharedAuthority",
    "StatusWriter",
    "TestCluster",
    "Validated",
    "Value",
    "Webhooks",
];

fn is_keyword(word: &str) -> bool {
    syn::parse_str::<syn::Ident>(word).is_err()
}

/// The name of a module for a kind or a group: `white_list` for `WhiteList`, `rbac_authorization` for `rbac.authorization`.
pub(crate) fn module(name: &str) -> String {
    let module = name.to_snake_case();
    if is_keyword(&module) {
        return format!("{module}_");
    }
    module
}

/// A name with hyphens: `white-list` for `WhiteList`.
pub(crate) fn hyphened(name: &str) -> String {
    name.to_kebab_case()
}

/// The plural of an English word, by rule; `--plural` overrides it.
pub(crate) fn plural(word: &str) -> String {
    let before_y = word
        .strip_suffix('y')
        .filter(|rest| !rest.ends_with(['a', 'e', 'i', 'o', 'u']));
    if let Some(rest) = before_y {
        return format!("{rest}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"];
    let ending = if hisses.iter().any(|ending| word.ends_with(ending)) {
        "es"
    } else {
        "s"
    };
    format!("{word}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted<T: std::str::FromStr>(names: &[&str]) -> Vec<bool> {
        names.iter().map(|name| name.parse::<T>().is_ok()).collect()
    }

    #[test]
    fn what_kubernetes_or_cargo_would_refuse_is_refused_here() {
        assert_eq!(
            accepted::<Domain>(&["example.com", "com", "Example.com", "a..b", ""]),
            [true, false, false, false, false]
        );
        assert_eq!(
            accepted::<Name>(&["guard", "my-guard", "1st", "test", "fn", "-a", "Guard"]),
            [true, true, false, false, false, false, false]
        );
        assert_eq!(
            accepted::<Version>(&[
                "v1",
                "v1beta1",
                "v2alpha10",
                "1",
                "v",
                "v01",
                "v1gamma1",
                "v1beta"
            ]),
            [true, true, true, false, false, false, false, false]
        );
        assert_eq!(
            accepted::<Kind>(&["WhiteList", "whiteList", "White-List", "Type", "Größe"]),
            [true, false, false, false, false]
        );
        assert_eq!(
            accepted::<Group>(&["police", "ship.navy", "", "Police"]),
            [true, true, false, false]
        );
    }

    #[test]
    fn a_kind_that_would_hide_a_type_is_refused() {
        let refused = |kind: &str| check_own_kind(&kind.parse().unwrap()).unwrap_err();
        assert_eq!(
            refused("Option"),
            "a type Option would hide that of Rust in its file"
        );
        for kind in ["String", "Vec", "Result", "Ok", "Controller", "Needs"] {
            refused(kind);
        }
        assert!(check_own_kind(&"WhiteList".parse().unwrap()).is_ok());
        assert!(STANDARD.is_sorted() && USED.is_sorted());
    }

    /// A name of the library that no file uses is free: a type hides it in its own files only.
    #[test]
    fn every_name_that_made_files_take_from_the_library_is_refused() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let prelude = std::fs::read_to_string(here.join("../kubewright/src/prelude.rs")).unwrap();
        let words = |text: &str| -> Vec<String> {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let types = words.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()));
            types.map(str::to_owned).collect()
        };
        let library: Vec<String> = words(prelude.split_once("\npub use").unwrap().1);
        for entry in here.join("src/scaffold/templates").read_dir().unwrap() {
            let path = entry.unwrap().path();
            if !path.to_string_lossy().ends_with(".rs.jinja") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            if !text.contains("{{ kind }}") {
                // No kind is imported, so that no name is hidden.
                continue;
            }
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            // A path hides nothing, and is not hidden.
            let code = code.collect::<Vec<_>>().join("\n");
            for word in words(&code.replace("policy::Policy", "")) {
                assert!(
                    !library.contains(&word) || USED.contains(&word.as_str()),
                    "{word} of {}",
                    path.display()
                );
            }
        }
    }

    #[test]
    fn words_get_their_plural() {
        for (word, plural_of_it) in [
            ("whitelist", "whitelists"),
            ("policy", "policies"),
            ("gateway", "gateways"),
            ("ingress", "ingresses"),
            ("box", "boxes"),
            ("watch", "watches"),
        ] {
            assert_eq!(plural(word), plural_of_it);
        }
    }
}
