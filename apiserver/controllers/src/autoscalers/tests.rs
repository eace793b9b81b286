//! Numbers of replicas, by usage and by what was recommended and done before.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::annotations::{self, Identifier};
use super::calculator::{Calculator, Utilization};
use super::limits::{Behavior, History, Range, limited};
use super::pods::{Pod, Usage};
use super::tolerances::Tolerances;

/// What a pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// It was never ready.
    Unready,
    /// It runs for less than five minutes, and became unready after it was ready.
    HotUnready,
    Pending,
    Failed,
    Deleting,
}
use State::{Deleting, Failed, HotUnready, Pending, Ready, Unready};

fn now() -> Timestamp {
    "2026-11-25T12:00:00Z".parse().unwrap()
}

/// Pods `0` and on, each with one container that requests one processor.
fn pods(states: &[State]) -> Vec<Pod> {
    let ago = |seconds| {
        let time = now()
            .saturating_sub(SignedDuration::from_secs(seconds))
            .unwrap();
        time.to_string()
    };
    let pod = |(index, state): (usize, &State)| {
        let hot = *state == HotUnready;
        let mut pod = json!({
            "metadata": {"name": index.to_string()},
            "spec": {"containers": [
                {"name": "main", "resources": {"requests": {"cpu": "1"}}},
            ]},
            "status": {
                "phase": match state {
                    Pending => "Pending",
                    Failed => "Failed",
                    _ => "Running",
                },
                "startTime": ago(if hot { 120 } else { 600 }),
                "conditions": [{
                    "type": "Ready",
                    "status": if *state == Ready || *state == Deleting { "True" } else { "False" },
                    "lastTransitionTime": ago(if hot { 60 } else { 595 }),
                }],
            },
        });
        if *state == Deleting {
            pod["metadata"]["deletionTimestamp"] = ago(1).into();
        }
        Pod::new(pod)
    };
    states.iter().enumerate().map(pod).collect()
}

fn usage(levels: &[i64]) -> Usage {
    let levels = levels.iter().enumerate();
    levels
        .map(|(index, level)| (index.to_string(), *level))
        .collect()
}

fn calculator(pods: &[Pod], current: i32) -> Calculator<'_> {
    Calculator {
        pods,
        current,
        existing: current,
        tolerances: Tolerances::default(),
        now: now(),
    }
}

#[test]
fn utilization_of_requests_decides_over_the_replicas() {
    // Pods, the usage of the first ones, the current replicas, the target, the replicas, and the percentage now.
    type Case<'a> = (&'a [State], &'a [i64], i32, i32, i32, i32);
    let cases: &[Case<'_>] = &[
        (&[Ready; 3], &[300, 500, 700], 3, 30, 5, 50),
        (&[Ready; 5], &[100, 300, 500, 250, 250], 5, 50, 3, 28),
        (&[Ready; 3], &[1010, 1030, 1020], 3, 100, 3, 102),
        (&[Ready; 3], &[1110, 1110, 1110], 3, 100, 4, 111),
        // What starts uses nothing when there should be more.
        (&[Unready, Ready, Ready], &[300, 500, 700], 3, 30, 4, 60),
        (&[HotUnready, Ready, Ready], &[300, 500, 700], 3, 30, 4, 60),
        (&[Pending, Ready, Ready], &[300, 500, 700], 3, 30, 4, 60),
        (&[Ready, Unready, Unready], &[400, 500, 700], 3, 30, 3, 40),
        // What ends does not count.
        (&[Ready, Ready, Failed, Failed], &[500, 700], 2, 30, 4, 60),
        (
            &[Ready, Ready, Deleting, Deleting],
            &[500, 700, 9000, 9000],
            2,
            30,
            4,
            60,
        ),
        // Missing usage is all of the request where there would be fewer, and nothing where there would be more.
        (&[Ready; 4], &[400, 95], 4, 100, 3, 24),
        (&[Ready; 2], &[1000], 2, 100, 2, 100),
        (&[Ready; 2], &[1900], 2, 100, 2, 190),
        (&[Ready; 2], &[600], 2, 100, 2, 60),
        (&[Unready, Ready, Ready], &[100, 450], 3, 50, 3, 45),
        (&[Unready, Ready, Ready], &[100, 2000], 3, 50, 4, 200),
        // Usage beyond the request.
        (&[Ready; 4], &[4000, 9500, 3000, 7000], 4, 100, 24, 587),
    ];
    for case @ (states, levels, current, target, replicas, percentage) in cases {
        let pods = pods(states);
        let proposed =
            calculator(&pods, *current).by_utilization(usage(levels), *target, "cpu", None);
        let proposed = proposed.unwrap();
        assert_eq!(
            (proposed.replicas, proposed.percentage),
            (*replicas, *percentage),
            "{case:?}"
        );
    }
}

#[test]
fn memory_of_a_starting_pod_counts() {
    let pods = pods(&[Unready, Ready]);
    let cpu = calculator(&pods, 2).by_average(usage(&[400, 100]), 100, Some("cpu"));
    let memory = calculator(&pods, 2).by_average(usage(&[400, 100]), 100, Some("memory"));
    assert_eq!((cpu, memory), (Ok((2, 100)), Ok((5, 250))));
}

#[test]
fn an_average_decides_over_the_replicas() {
    for (levels, current, target, replicas, average) in [
        (&[20_000, 10_000, 30_000][..], 3, 15_000, 4, 20_000),
        (
            &[12_000, 12_000, 12_000, 12_000, 12_000],
            5,
            20_000,
            3,
            12_000,
        ),
        (&[20_000, 21_000, 21_000], 3, 20_000, 3, 20_666),
    ] {
        let pods = pods(&vec![Ready; levels.len()]);
        let proposed = calculator(&pods, current).by_average(usage(levels), target, None);
        assert_eq!(proposed, Ok((replicas, average)), "{levels:?}");
    }
}

#[test]
fn a_value_for_all_pods_is_for_the_ready_ones() {
    for (states, current, value, target, replicas) in [
        (&[Ready; 3][..], 3, 20_000, 15_000, 4),
        (&[Ready, Unready, Unready], 3, 50_000, 10_000, 5),
        (
            &[Ready, Ready, Unready, Unready, Unready],
            5,
            6_000,
            10_000,
            2,
        ),
        (&[Ready; 4], 4, 20_166, 20_000, 4),
        (&[Ready; 3], 3, i64::MAX, 1, i32::MAX),
        // Without pods, the value alone decides.
        (&[], 0, 50_000, 15_000, 4),
        (&[], 0, 0, 15_000, 0),
    ] {
        let pods = pods(states);
        let proposed = calculator(&pods, current).by_value(value, target);
        assert_eq!(proposed, Ok(replicas), "{states:?} {value}");
    }
}

#[test]
fn a_value_per_pod_is_divided_by_the_existing_ones() {
    for (existing, value, target, expected) in [
        (3, 20_000, 5_000, (4, 6_667)),
        (5, 6_000, 2_000, (3, 1_200)),
        (4, 20_166, 5_000, (4, 5_042)),
        (1, i64::MAX, i64::MAX, (1, i64::MAX)),
    ] {
        assert_eq!(calculator(&[], existing).per_pod(value, target), expected);
    }
}

#[test]
fn each_direction_has_its_own_tolerance() {
    for (up, down, levels, replicas) in [
        (0.0, 0.1, [1010, 1010, 1010], 4),
        (2.0, 0.1, [1890, 1910, 1900], 3),
        (0.08, 2.0, [1100, 1080, 1090], 4),
        (0.1, 0.36, [660, 640, 650], 3),
        (0.1, 0.34, [660, 640, 650], 2),
    ] {
        let pods = pods(&[Ready; 3]);
        let mut calculator = calculator(&pods, 3);
        calculator.tolerances = Tolerances { up, down };
        let proposed = calculator.by_utilization(usage(&levels), 100, "cpu", None);
        assert_eq!(proposed.unwrap().replicas, replicas, "{up} {down}");
    }
}

#[test]
fn usage_that_cannot_be_compared_is_an_error() {
    let ready = pods(&[Ready]);
    let unready = pods(&[Unready]);
    for (pods, levels, container, error) in [
        (
            &[][..],
            &[500][..],
            None,
            "no pods returned by selector while calculating replica count",
        ),
        (
            &unready,
            &[500],
            None,
            "did not receive metrics for targeted pods (pods might be unready)",
        ),
        (
            &ready,
            &[500],
            Some("log"),
            "container log not found in Pod 0",
        ),
    ] {
        let proposed = calculator(pods, 1).by_utilization(usage(levels), 50, "cpu", container);
        assert_eq!(proposed, Err(error.to_owned()));
    }
    let mut greedy = pods(&[Ready]);
    greedy[0].object["spec"]["containers"][0]["resources"] = json!({});
    assert_eq!(
        calculator(&greedy, 1).by_utilization(usage(&[500]), 50, "cpu", None),
        Err("missing request for cpu in container main of Pod 0".to_owned())
    );
}

#[test]
fn requests_of_the_pod_as_a_whole_come_before_those_of_containers() {
    let mut pods = pods(&[Ready]);
    pods[0].object["spec"]["resources"] = json!({"requests": {"cpu": "2"}});
    let of_pod = calculator(&pods, 1).by_utilization(usage(&[1000]), 50, "cpu", None);
    let of_container = calculator(&pods, 1).by_utilization(usage(&[1000]), 50, "cpu", Some("main"));
    let expected = |replicas, percentage| {
        Ok(Utilization {
            replicas,
            percentage,
            average: 1000,
        })
    };
    assert_eq!((of_pod, of_container), (expected(1, 50), expected(2, 100)));
}

#[test]
fn an_annotation_is_the_usage_of_the_first_container_or_of_several() {
    for (annotation, container, expected) in [
        ("250m", None, Some(250)),
        ("250m", Some("web"), Some(250)),
        ("250m", Some("log"), None),
        ("web=200m, log=50m", None, Some(250)),
        ("web=200m, log=50m", Some("log"), Some(50)),
    ] {
        let pod = Pod::new(json!({
            "metadata": {"name": "a", "annotations": {"metrics.kubewright.dev/cpu": annotation}},
            "spec": {"containers": [{"name": "web"}, {"name": "log"}]},
        }));
        let usage = annotations::resource(&[pod], "cpu", container).unwrap();
        assert_eq!(
            usage.get("a").copied(),
            expected,
            "{annotation} {container:?}"
        );
    }
    let pod = Pod::new(json!({
        "metadata": {"name": "a", "annotations": {"metrics.kubewright.dev/cpu": "much"}},
    }));
    assert_eq!(
        annotations::resource(&[pod], "cpu", None),
        Err("unable to fetch metrics from resource metrics API: annotation metrics.kubewright.dev/cpu of pod a: \
             \"much\" is not a quantity".to_owned())
    );
}

#[test]
fn the_selector_of_a_metric_selects_series_by_their_labels() {
    let pod = |annotation: &str| {
        Pod::new(json!({
            "metadata": {"name": "a", "annotations": {"metrics.kubewright.dev/hits": annotation}},
        }))
    };
    let mail = json!({"name": "hits", "selector": {"matchLabels": {"queue": "mail"}}});
    let any = json!({"name": "hits"});
    let none = || Err("no metrics returned from custom metrics API".to_owned());
    for (annotation, metric, expected) in [
        ("30", &any, Ok(30_000)),
        ("30", &mail, none()),
        ("30{queue=mail}", &any, Ok(30_000)),
        ("12{queue=web} 30{queue=mail,zone=a}", &mail, Ok(30_000)),
        ("12{queue=web}", &mail, none()),
        (
            "many{queue=mail}",
            &mail,
            Err("unable to fetch metrics from custom metrics API: annotation metrics.kubewright.dev/hits of pod a: \
                 \"many\" is not a quantity".to_owned()),
        ),
    ] {
        let usage = annotations::of_pods(&[pod(annotation)], Identifier::of(metric));
        assert_eq!(usage.map(|usage| usage["a"]), expected, "{annotation} {metric}");
    }
}

#[test]
fn without_a_behavior_replicas_at_most_double() {
    let range = |least, most| Range { least, most };
    for (range, current, desired, replicas, reason) in [
        (range(3, 8), 5, 7, 7, "DesiredWithinRange"),
        (range(2, 8), 3, 1, 2, "TooFewReplicas"),
        (range(0, 10), 1, 0, 0, "DesiredWithinRange"),
        (range(1, 10), 20, 1000, 10, "TooManyReplicas"),
        (range(1, 2000), 3, 1000, 6, "ScaleUpLimit"),
        (range(1, 2000), 1, 1000, 4, "ScaleUpLimit"),
    ] {
        let limited = limited(range, current, desired);
        assert_eq!((limited.0, limited.1), (replicas, reason));
    }
}

fn behavior(rules: &Value) -> Behavior {
    let mut behavior = json!({
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        },
        "scaleDown": {
            "selectPolicy": "Max",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        },
    });
    for (direction, rules) in rules.as_object().unwrap() {
        for (field, value) in rules.as_object().unwrap() {
            behavior[direction][field] = value.clone();
        }
    }
    Behavior::of(&json!({"behavior": behavior})).unwrap()
}

fn policy(of: &str, value: i32, period: u32) -> Value {
    json!({"type": of, "value": value, "periodSeconds": period})
}

#[tokio::test(start_paused = true)]
async fn policies_limit_how_fast_replicas_change() {
    // Two minutes ago, one was added; a minute later five; and a moment ago nine.
    let added = [1, 5, 9];
    let up = |policies: Vec<Value>| json!({"scaleUp": {"policies": policies}});
    let down = |policies: Vec<Value>| json!({"scaleDown": {"policies": policies}});
    // The rules, what was added, the largest number, the current and the desired replicas, and what comes of it.
    for (rules, added, most, current, desired, replicas, reason) in [
        (json!({}), &[][..], 1000, 10, 50, 20, "ScaleUpLimit"),
        (
            up(vec![policy("Pods", 100, 60), policy("Percent", 100, 60)]),
            &[],
            1000,
            10,
            500,
            110,
            "ScaleUpLimit",
        ),
        (
            up(vec![policy("Pods", 2, 60), policy("Percent", 100, 60)]),
            &[],
            1000,
            10,
            500,
            20,
            "ScaleUpLimit",
        ),
        (
            up(vec![policy("Percent", 1, 60)]),
            &[],
            1000,
            3,
            1000,
            4,
            "ScaleUpLimit",
        ),
        (
            up(vec![policy("Pods", 100, 60)]),
            &[],
            1000,
            10,
            50,
            50,
            "DesiredWithinRange",
        ),
        (
            up(vec![policy("Pods", 300, 60)]),
            &added,
            200,
            100,
            500,
            200,
            "TooManyReplicas",
        ),
        (
            up(vec![policy("Pods", 5, 180)]),
            &added,
            1000,
            100,
            500,
            100,
            "ScaleUpLimit",
        ),
        (
            up(vec![policy("Pods", 150, 180)]),
            &added,
            1000,
            100,
            500,
            235,
            "ScaleUpLimit",
        ),
        (
            up(vec![policy("Percent", 200, 180)]),
            &added,
            1000,
            100,
            500,
            255,
            "ScaleUpLimit",
        ),
        (
            down(vec![policy("Pods", 20, 60), policy("Percent", 1, 60)]),
            &[],
            1000,
            100,
            2,
            80,
            "ScaleDownLimit",
        ),
        (
            down(vec![policy("Pods", 2, 60), policy("Percent", 1, 60)]),
            &[],
            1000,
            100,
            2,
            98,
            "ScaleDownLimit",
        ),
        (
            down(vec![policy("Pods", 100, 60)]),
            &[],
            1000,
            10,
            0,
            1,
            "TooFewReplicas",
        ),
        (
            down(vec![policy("Percent", 50, 60)]),
            &[],
            1000,
            10,
            5,
            5,
            "DesiredWithinRange",
        ),
    ] {
        let long = behavior(&json!({"scaleUp": {"policies": [policy("Pods", 1, 1800)]}}));
        let mut history = History::default();
        let start = Instant::now();
        for (minute, replicas) in (0_u64..).zip(added) {
            let at = start + Duration::from_mins(minute);
            history.scaled(at, 10, 10 + replicas, &long);
        }
        let now = start + Duration::from_secs(121);
        let range = Range { least: 1, most };
        let limited = history.limited_by(now, range, current, desired, &behavior(&rules));
        assert_eq!(
            (limited.0, limited.1),
            (replicas, reason),
            "{rules} {current} {desired}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_direction_can_be_disabled_or_take_the_smallest_change() {
    let both = json!([policy("Pods", 2, 60), policy("Percent", 50, 60)]);
    for (direction, select, current, desired, replicas) in [
        ("scaleUp", "Disabled", 5, 9, 5),
        ("scaleDown", "Disabled", 5, 1, 5),
        ("scaleUp", "Min", 1, 9, 2),
        ("scaleUp", "Max", 1, 9, 3),
        ("scaleDown", "Min", 10, 1, 8),
        ("scaleDown", "Max", 10, 1, 5),
    ] {
        let behavior = behavior(&json!({direction: {"selectPolicy": select, "policies": both}}));
        let range = Range { least: 1, most: 10 };
        let history = History::default();
        let limited = history.limited_by(Instant::now(), range, current, desired, &behavior);
        assert_eq!(limited.0, replicas, "{direction} {select}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_highest_recommendation_of_five_minutes_holds_replicas_up() {
    let mut history = History::default();
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    history.start(at(0), 5);
    assert_eq!(history.stabilized(at(15), 3), 5);
    assert_eq!(history.stabilized(at(200), 8), 8);
    assert_eq!(history.stabilized(at(310), 2), 8);
    assert_eq!(history.stabilized(at(501), 1), 2);
    assert_eq!(history.stabilized(at(612), 1), 1);
}

#[tokio::test(start_paused = true)]
async fn windows_of_a_behavior_hold_replicas_up_and_down() {
    let behavior = behavior(&json!({
        "scaleUp": {"stabilizationWindowSeconds": 60},
        "scaleDown": {"stabilizationWindowSeconds": 120},
    }));
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut history = History::default();
    history.start(at(0), 4);
    let up = history.stabilized_by(at(15), 4, 9, &behavior);
    assert_eq!((up.0, up.1), (4, "ScaleUpStabilized"));
    // The first recommendation is more than a minute old.
    assert_eq!(history.stabilized_by(at(61), 4, 10, &behavior).0, 9);
    let down = history.stabilized_by(at(90), 9, 2, &behavior);
    assert_eq!((down.0, down.1), (9, "ScaleDownStabilized"));
    assert_eq!(history.stabilized_by(at(190), 9, 2, &behavior).0, 2);
}
