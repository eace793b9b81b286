//! Leaders that end, as processes: another replica soon leads, and never two at once.

use std::path::Path;

use replicas::Ending;
use replicas::hand_over::Trial;

/// How often, unless `KUBEWRIGHT_HAND_OVERS` says more; a tenth as often by SIGKILL.
const HAND_OVERS: usize = 30;

#[tokio::test]
async fn another_replica_follows_a_leader_and_two_never_write_at_once() {
    let said = std::env::var("KUBEWRIGHT_HAND_OVERS").ok();
    let rounds = said.map_or(HAND_OVERS, |said| said.parse().expect("a number"));
    let program = Path::new(env!("CARGO_BIN_EXE_leader"));
    let mut trial = Trial::start(program).await.unwrap();
    for round in 0..rounds {
        trial.hand_over(Ending::Graceful).await.unwrap();
        if round % 10 == 9 {
            trial.hand_over(Ending::Killed).await.unwrap();
        }
    }
    let (leaders, writes) = trial.verdict().await.unwrap();
    assert_eq!(leaders, 1 + rounds + rounds / 10);
    assert!(writes > leaders);
}
