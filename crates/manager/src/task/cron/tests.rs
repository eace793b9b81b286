//! The times of schedules, against those of the library that Kubernetes uses, and what is said of those that are none.

use proptest::prelude::*;

use super::*;

/// Made by that library: see the first line of the file.
const ROBFIG: &str = include_str!("robfig.tsv");

#[test]
fn schedules_name_the_times_that_they_name_in_a_cron_job() {
    let rows = ROBFIG.lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for row in rows {
        let columns: Vec<&str> = row.split('\t').collect();
        let [schedule, zone, from, expected @ ..] = columns.as_slice() else {
            panic!("{row}");
        };
        let cron: Cron = schedule.parse().unwrap();
        let cron = cron.in_time_zone(zone).unwrap();
        let mut time: Timestamp = from.parse().unwrap();
        for expected in expected {
            time = cron.next_after(time).unwrap();
            assert_eq!(time.to_string(), **expected, "{row}");
            count += 1;
        }
    }
    assert_eq!(count, 600);
}

#[test]
fn a_time_that_the_clocks_leave_out_does_not_come_and_one_that_they_repeat_comes_twice() {
    let nightly: Cron = "30 2 * * *".parse().unwrap();
    let berlin = nightly.in_time_zone("Europe/Berlin").unwrap();
    let after = |time: &str| {
        let next = berlin.next_after(time.parse().unwrap());
        next.unwrap().to_string()
    };
    // On 29 March 2026 the clocks go from two to three.
    assert_eq!(after("2026-03-28T12:00:00Z"), "2026-03-30T00:30:00Z");
    // On 25 October they go from three to two.
    assert_eq!(after("2026-10-24T12:00:00Z"), "2026-10-25T00:30:00Z");
    assert_eq!(after("2026-10-25T00:30:00Z"), "2026-10-25T01:30:00Z");
    assert_eq!(after("2026-10-25T01:30:00Z"), "2026-10-26T01:30:00Z");
}

#[test]
fn words_name_the_times_that_their_fields_name() {
    for (word, fields) in [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 JAN ?"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * sun"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("0 9-17/4 * * 1-5", "0 9,13,17 * * Mon,Tue,Wed,Thu,Fri"),
        ("5/20 0 1 */3 *", "5,25,45 0 1 1,4,7,10 *"),
    ] {
        let parsed = |text: &str| text.parse::<Cron>().unwrap().fields;
        assert_eq!(parsed(word), parsed(fields), "{word}");
    }
}

#[test]
fn a_mistake_is_named_with_its_place() {
    for (schedule, why) in [
        (
            "",
            "it has 0 fields instead of five: minute, hour, day of the month, month, day of the week",
        ),
        (
            "0 0 * * * *",
            "it has 6 fields instead of five: minute, hour, day of the month, month, day of the week",
        ),
        ("60 * * * *", "the minute `60`: 60 is not between 0 and 59"),
        ("0 1,24 * * *", "the hour `24`: 24 is not between 0 and 23"),
        (
            "0 0 0 * *",
            "the day of the month `0`: 0 is not between 1 and 31",
        ),
        ("0 0 5-1 * *", "the day of the month `5-1`: 5 is after 1"),
        ("0 0 * 13 *", "the month `13`: 13 is not between 1 and 12"),
        (
            "0 0 * * frei",
            "the day of the week `frei`: `frei` is neither a number nor one of SUN, MON, TUE, WED, THU, FRI, SAT",
        ),
        (
            "0 0 * * 7",
            "the day of the week `7`: 7 is no day: Sunday is 0",
        ),
        ("*/0 * * * *", "the minute `*/0`: a step is at least 1"),
        (
            "*/x * * * *",
            "the minute `*/x`: `x` is no step: a number follows the `/`",
        ),
        ("+5 * * * *", "the minute `+5`: `+5` is no number"),
        ("1,,2 * * * *", "the minute ``: `` is no number"),
        ("1-2-3 * * * *", "the minute `1-2-3`: `2-3` is no number"),
        (
            "99999999999 * * * *",
            "the minute `99999999999`: 99999999999 is not between 0 and 59",
        ),
        (
            "0 0 30 FEB *",
            "no month `FEB` has a day `30`: it would never come",
        ),
        (
            "@fortnightly",
            "`@fortnightly` is unknown: there are @hourly, @daily, @weekly, @monthly and @yearly",
        ),
        (
            "@every 1h",
            "`@every` is no time of the day: call `every` with a Duration",
        ),
        (
            "CRON_TZ=UTC 0 0 * * *",
            "the time zone is no part of the schedule: call `time_zone` with its name",
        ),
    ] {
        let error = schedule.parse::<Cron>().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("invalid schedule `{schedule}`: {why}")
        );
    }
    let daily: Cron = "@daily".parse().unwrap();
    let error = daily
        .in_time_zone("Europe/Atlantis")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("unknown time zone `Europe/Atlantis`: "),
        "{error}"
    );
}

fn field(least: u8, most: u8) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("*".to_owned()),
        2 => (least..=most).prop_map(|number| number.to_string()),
        1 => (1..=most).prop_map(|step| format!("*/{step}")),
        1 => (least..=most, least..=most).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_minute_before_the_next_time_is_one_of_the_schedule(
        fields in (field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6)),
        start in 1_700_000_000_i64..1_800_000_000,
        zone in prop_oneof![Just("UTC"), Just("Europe/Berlin"), Just("Australia/Lord_Howe")],
    ) {
        let text = format!("{} {} {} {} {}", fields.0, fields.1, fields.2, fields.3, fields.4);
        let cron = text.parse::<Cron>().unwrap().in_time_zone(zone).unwrap();
        let start = Timestamp::from_second(start).unwrap();
        let next = cron.next_after(start).unwrap();
        prop_assert!(next > start);
        let is_one = |time: Timestamp| {
            let there = time.to_zoned(cron.zone.clone());
            cron.fields.has_month(there.date())
                && cron.fields.has_day(there.date())
                && cron.fields.has_hour(there.hour())
                && cron.fields.has_minute(there.minute())
                && there.second() == 0
        };
        prop_assert!(is_one(next), "{next}");
        // A week of minutes is enough to look at.
        let minutes = (1..=7 * 24 * 60).map(|back| next - SignedDuration::from_mins(back));
        for time in minutes.take_while(|time| *time > start) {
            prop_assert!(!is_one(time), "{text}: {time} comes before {next}");
        }
    }
}
