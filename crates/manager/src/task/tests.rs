//! Which tasks cannot be declared.

use std::time::Duration;

use kubewright_controller::Error;

use super::*;

async fn nothing(_: TaskContext) -> Result<(), Error> {
    Ok(())
}

fn named(name: &str) -> Task {
    Task::on_leader(name, nothing)
}

#[test]
fn a_task_has_a_name_of_its_own_in_the_form_of_a_dns_label() {
    let longest = "a".repeat(63);
    for name in ["a", "7", "clean-up-2", &longest] {
        assert_eq!(check(&[named(name)]), Ok(()), "{name}");
    }
    for name in [
        "",
        "-a",
        "a-",
        "Report",
        "a b",
        "a.b",
        "ä",
        &format!("{longest}a"),
    ] {
        let refused = Err(TaskError::Name(name.to_owned()));
        assert_eq!(check(&[named(name)]), refused, "{name}");
    }
    let both = [named("a"), named("b"), Task::on_each_replica("a", nothing)];
    let error = check(&both).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the task `a` is there twice: each task needs a name of its own"
    );
}

#[test]
fn times_that_make_no_sense_are_refused() {
    let (second, minute) = (Duration::from_secs(1), Duration::from_mins(1));
    let name = || "a".to_owned();
    for (task, checked) in [
        (named("a").every(second), Ok(())),
        (named("a").every(minute).jitter(second), Ok(())),
        (named("a").cron("@daily").jitter(minute), Ok(())),
        (
            named("a").cron("@daily".to_owned()).time_zone("UTC"),
            Ok(()),
        ),
        (
            named("a").cron("0 0 * * *".parse::<Cron>().unwrap()),
            Ok(()),
        ),
        (
            named("a").every(Duration::ZERO),
            Err(TaskError::Period(name())),
        ),
        (
            named("a").every(second).jitter(second),
            Err(TaskError::Jitter(name())),
        ),
        (
            named("a").jitter(second),
            Err(TaskError::JitterAlone(name())),
        ),
        (
            named("a").time_zone("UTC"),
            Err(TaskError::TimeZone(name())),
        ),
        (
            named("a").every(second).time_zone("UTC"),
            Err(TaskError::TimeZone(name())),
        ),
    ] {
        assert_eq!(check(std::slice::from_ref(&task)), checked, "{task:?}");
    }
    for task in [
        named("a").cron("@often"),
        named("a").cron("@daily").time_zone("Nowhere"),
    ] {
        let refused = check(&[task]);
        assert!(
            matches!(refused, Err(TaskError::Cron { .. })),
            "{refused:?}"
        );
    }
}
