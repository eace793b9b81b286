//! The `deploy/` trees of the samples, as a person applies them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::machine::kubectls;
use crate::session::with_each_kubectl_since;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every tree of a sample.
fn trees() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("examples")).unwrap();
    let trees = folders.flat_map(|entry| {
        let deploy = entry.unwrap().path().join("deploy");
        [deploy.join("admission"), deploy]
    });
    let trees: Vec<PathBuf> = trees
        .filter(|path| path.join("kustomization.yaml").exists())
        .map(|path| path.canonicalize().unwrap())
        .collect();
    assert!(trees.len() > 6, "{trees:?}");
    trees
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tree_is_applied_and_then_up_to_date() {
    let others = root().join("crates/kubewright/tests/others.yaml");
    // Each tree by one kubectl: a tree that one of them applies, the others do, too.
    let able = kubectls()
        .iter()
        .filter(|kubectl| kubectl.minor >= STRICT)
        .count();
    for (place, tree) in trees().into_iter().enumerate() {
        let asked = AtomicUsize::new(0);
        with_each_kubectl_since(STRICT, async |person| {
            if asked.fetch_add(1, Ordering::Relaxed) != place % able {
                return;
            }
            let applied = person.run(&format!("apply -f {}", others.display())).await;
            assert_eq!(applied.code, 0, "{applied:?}");
            let tree = tree.display();
            let rendered = person.run(&format!("kustomize {tree}")).await;
            assert_eq!(rendered.code, 0, "{tree}: {rendered:?}");
            let objects = rendered.out.matches("\nkind: ").count();
            let applied = person.run(&format!("apply -k {tree}")).await;
            assert_eq!(applied.code, 0, "{tree}: {applied:?}");
            assert_eq!(applied.err, "", "{tree}");
            let lines = applied.out.lines();
            assert_eq!(
                lines.filter(|line| line.ends_with(" created")).count(),
                objects,
                "{tree}"
            );
            // The cluster now has webhooks without a server: API servers call none of them for the program's own objects.
            let again = format!("apply -k {tree} --dry-run=server");
            let again = person.run(&again).await;
            assert_eq!(again.code, 0, "{tree}: {again:?}");
            let mut lines = again.out.lines();
            // kubectl always sends the selector of a budget, since it would replace it as a whole.
            let is_unchanged = |line: &str| {
                line.ends_with(" unchanged (server dry run)")
                    || line.starts_with("poddisruptionbudget.policy/")
            };
            assert!(lines.all(is_unchanged), "{tree}: {again:?}");
        })
        .await;
    }
}

/// The first kubectl that has the API server refuse fields that it does not know.
const STRICT: u32 = 27;
