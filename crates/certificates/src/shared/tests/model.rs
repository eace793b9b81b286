//! In whatever order things happen, a replica that was once believed everywhere is believed everywhere; and each rule is
//! needed for that.

use super::world::{Bounds, Without, World};

const STEPS: u64 = 400;

/// Schedules of a kind; a failure names the seed that leads to it.
fn schedules(bounds: Bounds, seeds: std::ops::Range<u64>) -> Result<(u64, u64), String> {
    let (mut switches, mut retirements) = (0, 0);
    for seed in seeds {
        let mut world = World::new(bounds, seed);
        for step in 0..STEPS {
            world
                .step()
                .map_err(|why| format!("seed {seed}, step {step}: {why}"))?;
        }
        switches += world.switches;
        retirements += world.retirements;
    }
    Ok((switches, retirements))
}

/// A number that a test usually has, or with `KUBEWRIGHT_THOROUGH` the whole one.
fn thorough(usual: u64, whole: u64) -> u64 {
    match std::env::var_os("KUBEWRIGHT_THOROUGH") {
        Some(_) => whole,
        None => usual,
    }
}

const ROUGH: Bounds = Bounds {
    replicas: 3,
    objects: 2,
    authority: 10_000,
    has_losses: false,
    without: Without::Nothing,
};

#[test]
fn replicas_that_are_late_crash_and_write_late_are_believed_everywhere() {
    let (switches, retirements) = schedules(ROUGH, 0..thorough(300, 30_000)).unwrap();
    assert!(
        switches > 100 && retirements > 100,
        "{switches}, {retirements}"
    );
}

#[test]
fn so_are_they_when_the_secret_is_lost_and_set_back() {
    let bounds = Bounds {
        has_losses: true,
        ..ROUGH
    };
    let (switches, _) = schedules(bounds, 0..thorough(300, 30_000)).unwrap();
    assert!(switches > 100, "{switches}");
}

#[test]
fn so_are_they_when_authorities_near_their_end() {
    let bounds = Bounds {
        authority: 120,
        ..ROUGH
    };
    let (switches, retirements) = schedules(bounds, 0..thorough(300, 30_000)).unwrap();
    assert!(
        switches > 100 && retirements > 100,
        "{switches}, {retirements}"
    );
}

#[test]
fn one_replica_and_five_are_believed_as_well() {
    for replicas in [1, 5] {
        let bounds = Bounds { replicas, ..ROUGH };
        schedules(bounds, 0..thorough(60, 10_000)).unwrap();
    }
}

#[test]
fn whatever_has_happened_it_settles() {
    for has_losses in [false, true] {
        let bounds = Bounds {
            has_losses,
            ..ROUGH
        };
        for seed in 0..thorough(60, 5_000) {
            let mut world = World::new(bounds, seed);
            for _ in 0..STEPS {
                world.step().unwrap();
            }
            world
                .calm(120)
                .unwrap_or_else(|why| panic!("seed {seed}: {why}"));
            assert!(world.is_settled(), "seed {seed}");
        }
    }
}

/// A rule that is left out is missed within a few schedules: the model would notice.
fn is_missed(without: Without) {
    let bounds = Bounds {
        without,
        has_losses: matches!(without, Without::Proof | Without::Memory),
        ..ROUGH
    };
    let found = schedules(bounds, 0..3_000);
    assert!(found.is_err(), "it holds without {without:?}");
}

#[test]
fn a_switch_has_to_wait_for_the_objects() {
    is_missed(Without::Publication);
}

#[test]
fn a_switch_has_to_wait_for_the_api_servers() {
    is_missed(Without::Settling);
}

#[test]
fn a_retirement_has_to_wait_for_what_was_signed() {
    is_missed(Without::Expiry);
}

#[test]
fn a_certificate_has_to_live_from_before_the_secret_was_read() {
    is_missed(Without::FreshRead);
}

#[test]
fn a_bundle_has_to_keep_what_its_publisher_does_not_know() {
    is_missed(Without::Merging);
}

#[test]
fn an_unconfirmed_authority_has_to_be_seen() {
    is_missed(Without::Proof);
}

#[test]
fn an_older_secret_must_not_be_believed() {
    is_missed(Without::Memory);
}
