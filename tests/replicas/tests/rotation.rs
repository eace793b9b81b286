//! Certificates that look after themselves: replicas as processes, rotations under load, and no call lost.

use std::path::Path;
use std::time::Duration;

use kubewright_testing::Server;
use replicas::rotation::{Phase, Trial};

/// How often, unless `KUBEWRIGHT_ROTATIONS` says more.
const ROTATIONS: usize = 8;
/// How many calls there are for each: a hundred thousand for two hundred.
const CALLS: usize = 500;

fn rotations() -> usize {
    let said = std::env::var("KUBEWRIGHT_ROTATIONS").ok();
    said.map_or(ROTATIONS, |said| said.parse().expect("a number"))
}

async fn start(server: Server) -> Trial {
    let program = Path::new(env!("CARGO_BIN_EXE_webhook"));
    let trial = Trial::start(program, server, 8, Duration::from_millis(5));
    trial.await.expect("a trial")
}

/// Waits for the calls that belong to so many rotations, and expects all of them to have been answered.
async fn judge(trial: Trial, rounds: usize) {
    trial.has_called(rounds * CALLS).await;
    let verdict = trial.verdict().await.expect("an end");
    assert!(verdict.lost.is_empty(), "{:?}", verdict.lost);
    let made = rounds * CALLS;
    assert!(
        verdict.answered > made * 9 / 10,
        "{} of {made}",
        verdict.answered
    );
}

#[tokio::test]
async fn no_call_is_lost_while_authorities_and_certificates_are_rotated() {
    let mut trial = start(Server::Embedded).await;
    for round in 0..rotations() {
        trial.rotate().await.unwrap();
        trial.has_called(round * CALLS).await;
    }
    judge(trial, rotations()).await;
}

#[tokio::test]
async fn no_call_is_lost_that_another_replica_could_answer_when_one_is_killed_in_any_phase() {
    let mut trial = start(Server::Embedded).await;
    for round in 0..rotations() {
        let phase = Phase::ALL[round % Phase::ALL.len()];
        trial.rotate_and_kill(phase).await.unwrap();
        trial.has_called(round * CALLS).await;
    }
    judge(trial, rotations()).await;
}

#[tokio::test]
async fn no_call_is_lost_that_could_be_answered_when_the_secret_is_deleted_and_the_bundle_wiped() {
    let mut trial = start(Server::Embedded).await;
    for round in 0..rotations() {
        match round % 3 {
            0 => trial.delete_secret().await.unwrap(),
            1 => trial.wipe_bundle().await.unwrap(),
            _ => trial.rotate().await.unwrap(),
        }
        trial.has_called(round * CALLS).await;
    }
    judge(trial, rotations()).await;
}

/// On a real kube-apiserver, where `KUBEBUILDER_ASSETS` or `tests/kube-apiserver/build` has put one.
#[cfg(feature = "real")]
#[tokio::test]
async fn no_call_of_a_real_api_server_is_lost_while_authorities_are_rotated() {
    let mut trial = start(Server::Real).await;
    for _ in 0..rotations() {
        trial.rotate().await.unwrap();
    }
    judge(trial, rotations()).await;
}
