//! Which crate may use which: the graph of ARCHITECTURE.md, exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tree::{is_in_a_crate, packages, root};

/// What each crate uses of the others at run time.
const EDGES: &[(&str, &[&str])] = &[
    (
        "admission",
        &[
            "apiextensions",
            "apimachinery",
            "cel",
            "fieldmanagement",
            "pod-security",
            "quota",
            "registry",
            "validation",
            "webhook-client",
        ],
    ),
    (
        "apiextensions",
        &[
            "apimachinery",
            "cel",
            "registry",
            "storage",
            "validation",
            "webhook-client",
        ],
    ),
    ("apimachinery", &[]),
    (
        "apiserver",
        &[
            "admission",
            "apiextensions",
            "apimachinery",
            "auth",
            "cel",
            "controllers",
            "endpoints",
            "etcd",
            "fieldmanagement",
            "kubelet",
            "registry",
            "storage",
            "webhook-client",
        ],
    ),
    ("auth", &["apimachinery", "cel", "registry", "storage"]),
    ("cel", &[]),
    ("certificates", &[]),
    ("check", &["apimachinery", "apiserver"]),
    (
        "cli",
        &[
            "apiserver",
            "certificates",
            "check",
            "manager",
            "manifests",
            "testing",
        ],
    ),
    ("controller", &[]),
    (
        "controllers",
        &[
            "apimachinery",
            "cel",
            "kubelet",
            "quota",
            "registry",
            "storage",
        ],
    ),
    (
        "endpoints",
        &[
            "admission",
            "apiextensions",
            "apimachinery",
            "auth",
            "cel",
            "fieldmanagement",
            "kubelet",
            "registry",
            "storage",
            "validation",
            "webhook-client",
        ],
    ),
    ("etcd", &["storage"]),
    (
        "fieldmanagement",
        &[
            "apiextensions",
            "apimachinery",
            "registry",
            "webhook-client",
        ],
    ),
    (
        "kubewright",
        &[
            "certificates",
            "controller",
            "manager",
            "manifests",
            "policy",
            "review",
            "server",
            "testing",
            "webhook",
        ],
    ),
    (
        "manager",
        &[
            "certificates",
            "controller",
            "manifests",
            "server",
            "webhook",
        ],
    ),
    ("kubelet", &["apimachinery"]),
    ("manifests", &["webhook"]),
    ("pod-security", &["apimachinery"]),
    // The language is that of the API server, and nothing else is shared with it.
    ("policy", &["cel", "controller", "webhook"]),
    ("quota", &["apimachinery"]),
    (
        "registry",
        &["apimachinery", "cel", "storage", "validation"],
    ),
    ("review", &[]),
    ("server", &["certificates"]),
    ("storage", &["apimachinery"]),
    (
        "testing",
        &[
            "apiserver",
            "certificates",
            "manager",
            "manifests",
            "policy",
            "webhook",
        ],
    ),
    ("validation", &["apimachinery", "cel"]),
    ("webhook", &["review"]),
    ("webhook-client", &["apimachinery"]),
];

/// Crates of others that a crate must not use, with the reason.
const FOREIGN: &[(&str, &[&str], &str)] = &[
    (
        "review",
        &["tokio", "hyper", "kube", "k8s-openapi"],
        "review knows no async and no cluster",
    ),
    (
        "webhook",
        &["hyper", "rustls", "tokio-rustls", "kube"],
        "webhook knows no sockets and no client",
    ),
    (
        "server",
        &["kube", "kube-core", "k8s-openapi", "serde_json"],
        "server knows no Kubernetes objects",
    ),
    (
        "controller",
        &["hyper", "rustls", "clap"],
        "controller knows no sockets and no command line",
    ),
    (
        "apiserver",
        &["kube", "kube-core", "k8s-openapi"],
        "the API server is a second, independent reading",
    ),
    (
        "apimachinery",
        &["tokio", "hyper", "kube", "kube-core", "k8s-openapi"],
        "what all parts of the API server have in common knows no async, no HTTP and no Kubernetes client",
    ),
    (
        "registry",
        &["tokio", "hyper", "http", "kube", "kube-core", "k8s-openapi"],
        "the rules of kinds know no async, no HTTP and no Kubernetes client",
    ),
    (
        "validation",
        &["tokio", "hyper", "http", "kube", "kube-core", "k8s-openapi"],
        "shared rules know no async, no HTTP and no Kubernetes client",
    ),
    (
        "storage",
        &["hyper", "kube", "kube-core", "k8s-openapi"],
        "the store knows no HTTP and no Kubernetes client",
    ),
    (
        "auth",
        &["hyper", "kube", "kube-core", "k8s-openapi"],
        "authentication and authorization know no connections and no Kubernetes client",
    ),
    (
        "controllers",
        &["hyper", "kube", "kube-core", "k8s-openapi"],
        "controllers know the API server as a tower service only",
    ),
    (
        "webhook-client",
        &["kube", "kube-core", "k8s-openapi"],
        "the client of webhooks is a second, independent reading",
    ),
    (
        "kubelet",
        &["kube", "kube-core", "k8s-openapi"],
        "the kubelet is a second, independent reading",
    ),
    (
        "apiextensions",
        &["hyper", "kube", "kube-core", "k8s-openapi"],
        "definitions and custom resources know no connections and no Kubernetes client",
    ),
    (
        "fieldmanagement",
        &["hyper", "kube", "kube-core", "k8s-openapi"],
        "managers of fields know no connections and no Kubernetes client",
    ),
    (
        "admission",
        &["hyper", "kube", "kube-core", "k8s-openapi"],
        "admission knows no connections and no Kubernetes client",
    ),
    (
        "endpoints",
        &["kube", "kube-core", "k8s-openapi"],
        "endpoints are a second, independent reading",
    ),
    (
        "cel",
        &["tokio", "hyper", "kube", "kube-core", "k8s-openapi"],
        "the expression language knows no async, no HTTP and no Kubernetes client",
    ),
];

#[test]
fn crates_use_each_other_only_as_drawn() {
    let drawn: BTreeMap<String, BTreeSet<String>> = EDGES
        .iter()
        .map(|(name, uses)| {
            (
                crate_name(name),
                uses.iter().map(|used| crate_name(used)).collect(),
            )
        })
        .collect();
    let mut found = BTreeMap::new();
    let root = root();
    for package in packages() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.strip_prefix(&root).unwrap_or(manifest);
        if package["publish"]
            .as_array()
            .is_none_or(|registries| !registries.is_empty())
            && is_in_a_crate(&folder.to_string_lossy())
        {
            let name = package["name"].as_str().unwrap().to_owned();
            let uses = dependencies(&package)
                .filter(|used| used.starts_with("kubewright"))
                .collect();
            found.insert(name, uses);
        }
    }
    assert_eq!(
        found, drawn,
        "left: Cargo.toml files; right: the drawing in this test"
    );
}

#[test]
fn crates_stay_free_of_what_they_must_not_know() {
    let packages = packages();
    for (name, banned, reason) in FOREIGN {
        let package = packages
            .iter()
            .find(|package| package["name"] == crate_name(name))
            .unwrap_or_else(|| panic!("no crate {name}"));
        for used in dependencies(package) {
            assert!(
                !banned.contains(&used.as_str()),
                "{name} uses {used}: {reason}"
            );
        }
    }
}

#[test]
fn the_expression_language_brings_no_client_and_no_runtime_into_a_program() {
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "-p",
            "kubewright-cel",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let tree = String::from_utf8_lossy(&output.stdout);
    let names: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(names.contains("serde_json"), "{names:?}");
    for name in &names {
        let is_foreign = [
            "kube", "k8s", "hyper", "tokio", "tower", "http", "rustls", "futures",
        ]
        .iter()
        .any(|banned| name.starts_with(banned) && *name != "kubewright-cel");
        assert!(
            !is_foreign,
            "kubewright-cel uses {name}: an evaluation is a function call"
        );
    }
}

fn dependencies(package: &serde_json::Value) -> impl Iterator<Item = String> {
    package["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|dependency| dependency["kind"].is_null())
        .filter_map(|dependency| dependency["name"].as_str().map(str::to_owned))
        .collect::<Vec<_>>()
        .into_iter()
}

fn crate_name(directory: &str) -> String {
    if directory == "kubewright" {
        directory.to_owned()
    } else {
        format!("kubewright-{directory}")
    }
}
