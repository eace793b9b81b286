//! The program is killed at each of its requests, while it creates and while it collects, and started again.

use std::time::Duration;

use kubewright_testing::{Faults, Refusal, Requests, Server, TestCluster};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::world::{NAME, Program, World};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nothing does, and the program runs on.
    None,
    /// It fails, and the program runs on.
    Fails,
    /// The program is killed before it arrives.
    KilledBefore,
    /// The program is killed when it has been carried out.
    KilledAfter,
}

/// When a garden is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deletion {
    /// When it has its plots.
    Late,
    /// While no program runs, or when it has its plots.
    BetweenPrograms,
}

/// Runs the life of a garden, in which something happens to the request of this number, and returns how many requests there were.
async fn live(number: usize, fate: Fate, deletion: Deletion) -> usize {
    let case = format!("{fate:?} of request {number}, deletion {deletion:?}");
    let cluster = TestCluster::builder().on(Server::Embedded).start().await;
    let world = World::new(cluster).await;
    // Those of others: one without a label, and one of an owner that is not of these gardens.
    world.plot("another", json!({})).await;
    let foreign = json!({"labels": {NAME: "1"}, "annotations": {NAME: "elsewhere/kitchen"}});
    world.plot("foreign", foreign).await;

    let (faults, all) = (Faults::new(), Requests::all);
    match fate {
        Fate::None => {}
        Fate::Fails => faults
            .on(all())
            .after(number)
            .once()
            .answer(Refusal::unavailable()),
        Fate::KilledBefore => faults.on(all()).after(number).unreachable(),
        Fate::KilledAfter => {
            faults.on(all()).after(number).once().reset();
            faults.on(all()).after(number).unreachable();
        }
    }
    let is_killed = || {
        let is_fatal = matches!(fate, Fate::KilledBefore | Fate::KilledAfter);
        is_fatal && faults.sent(&all()).len() > number
    };
    let mut program = Program::start(&world, world.cluster.client_under(&faults), &world.home);
    let (mut is_first, mut is_deleted) = (true, false);
    world.garden("kitchen", &["beans", "peas"]).await;
    let end = async {
        loop {
            if is_first && is_killed() {
                // What was on its way has arrived.
                sleep(Duration::from_millis(100)).await;
                drop(program);
                if deletion == Deletion::BetweenPrograms && !is_deleted {
                    world.delete("kitchen").await;
                    is_deleted = true;
                }
                program = world.start();
                is_first = false;
            }
            if !is_deleted && world.all_plots().await.len() == 4 {
                world.delete("kitchen").await;
                is_deleted = true;
            }
            if is_deleted && world.gardens().get_opt("kitchen").await.unwrap().is_none() {
                break program;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let program = timeout(Duration::from_hours(1), end).await;
    let program = program.unwrap_or_else(|_| panic!("no end of the garden: {case}"));
    // The finalizer was removed when nothing was left.
    assert_eq!(world.all_plots().await, ["another", "foreign"], "{case}");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(world.all_plots().await, ["another", "foreign"], "{case}");
    drop(program);
    faults.sent(&all()).len()
}

/// A life in which something happens to each request in turn.
async fn each(fate: Fate, deletion: Deletion) {
    let requests = live(usize::MAX, Fate::None, deletion).await;
    assert!(requests > 10, "{requests} requests are no life");
    for number in 0..requests {
        live(number, fate, deletion).await;
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_behind_when_a_request_fails() {
    each(Fate::Fails, Deletion::Late).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_behind_when_the_program_is_killed_before_a_request() {
    each(Fate::KilledBefore, Deletion::Late).await;
    each(Fate::KilledBefore, Deletion::BetweenPrograms).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_behind_when_the_program_is_killed_behind_a_request() {
    each(Fate::KilledAfter, Deletion::Late).await;
    each(Fate::KilledAfter, Deletion::BetweenPrograms).await;
}
