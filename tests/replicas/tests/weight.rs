//! A program has no code for what it does not ask for.

/// The file, something that it alone says, and whether the program that shares objects has its code.
const PARTS: [(&str, &str, bool); 7] = [
    (
        include_str!("../../../crates/controller/src/shards/sharer.rs"),
        "waiting for replicas that share other objects",
        true,
    ),
    (
        include_str!("../../../crates/manager/src/cluster/fleets.rs"),
        "cannot read which clusters are members of the fleet",
        false,
    ),
    (
        include_str!("../../../crates/manager/src/cluster/member.rs"),
        "the kubeconfig of the cluster was replaced",
        false,
    ),
    (
        include_str!("../../../crates/manager/src/diagnostics/readers.rs"),
        "cannot review who reads this page",
        false,
    ),
    (
        include_str!("../../../crates/manager/src/inspection/mod.rs"),
        "uptimeSeconds",
        false,
    ),
    (
        include_str!("../../../crates/manager/src/task/runner.rs"),
        "the task has ended and does not run again",
        false,
    ),
    (
        include_str!("../../../crates/manager/src/metrics/clusters.rs"),
        "kubewright_cluster_cached_objects",
        false,
    ),
];

#[test]
fn a_program_has_no_code_for_what_it_does_not_ask_for() {
    let texts_of = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let (leader, sharer) = (
        texts_of(env!("CARGO_BIN_EXE_leader")),
        texts_of(env!("CARGO_BIN_EXE_sharer")),
    );
    for (file, sentence, is_shared) in PARTS {
        assert!(file.contains(sentence), "{sentence}");
        assert!(!leader.contains(sentence), "{sentence}");
        assert_eq!(sharer.contains(sentence), is_shared, "{sentence}");
    }
}
