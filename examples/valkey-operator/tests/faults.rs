//! What must not go wrong when the API server, or another client, does.

use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kubewright::testing::{End, Faults, Refusal, Requests, Workloads};
use serde_json::json;
use valkey_operator::api::v1::{Valkey, ValkeyStatus};

use super::setting::{Setting, pass, program};

/// Scales and upgrades a Valkey while something goes wrong, and sees it come to rest.
async fn upgraded_under(fault: impl Fn(&Faults), lasting: Duration) {
    let setting = Setting::of(program, Workloads::default()).await;
    setting
        .create("cache", json!({"version": "8.0", "replicas": 2}))
        .await;
    setting.at_rest("cache").await;
    let password = setting.secret("cache").await.data.unwrap()["password"].clone();
    let faults = setting.cluster.faults();
    setting.cluster.forget_sent();
    fault(faults);
    setting
        .change("cache", json!({"spec": {"version": "8.1", "replicas": 3}}))
        .await;
    if lasting > Duration::ZERO {
        // The program notices before the time is over.
        tokio::time::sleep(Duration::from_millis(50)).await;
        pass(lasting).await;
        faults.clear();
    }
    let is_done = |status: &ValkeyStatus| {
        (status.version.as_deref(), status.ready_instances) == (Some("8.1"), 3)
    };
    setting.status("cache", "upgraded", is_done).await;
    setting.at_rest("cache").await;
    assert_eq!(
        setting.secret("cache").await.data.unwrap()["password"],
        password
    );
    assert_eq!(setting.list::<StatefulSet>("").await.len(), 1);
    assert!(setting.told("Upgraded").await.len() <= 1);
    // It is not written on and on: a template, a partition a step, and each once more after an error.
    let sets = Requests::of::<StatefulSet>().writes();
    let written = setting.cluster.sent(&sets);
    let done = written.iter().filter(|sent| sent.status() == Some(200));
    assert!(done.count() <= 8, "{written:?}");
}

macro_rules! upgraded {
    ($($name:ident: $lasting:expr, $fault:expr;)*) => {$(
        #[tokio::test]
        async fn $name() {
            upgraded_under($fault, $lasting).await;
        }
    )*};
}

upgraded! {
    when_all_watches_end: Duration::ZERO, Faults::drop_watches;
    when_watches_end_in_the_middle_of_a_line: Duration::ZERO, |faults| {
        faults.on(Requests::all().watches()).times(20).end_after(777, End::Broken);
        faults.drop_watches();
    };
    when_a_watch_says_gone: Duration::ZERO, Faults::gone;
    when_watches_end_with_errors: Duration::ZERO, |faults| {
        for refusal in [Refusal::gone(), Refusal::unavailable(), Refusal::too_many_requests()] {
            faults.on(Requests::all().watches()).times(3).answer_within(refusal);
        }
        faults.drop_watches();
    };
    when_streamed_lists_are_refused: Duration::ZERO, |faults| {
        faults.refuse_streamed_lists();
        faults.gone();
    };
    when_a_watch_is_silent: Duration::from_mins(10), |faults| {
        faults.end_watches(&Requests::of::<Pod>().watches(), &End::Silent);
    };
    when_the_api_server_is_down_for_ten_minutes: Duration::from_mins(10), |faults| faults.outage(Duration::from_mins(10));
    when_the_api_server_is_overloaded: Duration::ZERO, |faults| {
        let pause = Duration::from_millis(20);
        faults.on(Requests::all().writes()).times(5).answer(Refusal::too_many_requests().retry_after(pause));
    };
    when_writes_conflict: Duration::ZERO, |faults| {
        faults.conflict_once::<StatefulSet>();
        faults.conflict_once::<Valkey>();
    };
    when_writes_get_no_answer: Duration::ZERO, |faults| {
        faults.on(Requests::of::<StatefulSet>().writes()).times(2).reset();
        faults.on(Requests::of::<Valkey>().subresource("status").writes()).times(2).reset();
    };
    when_secrets_cannot_be_written: Duration::from_secs(30), |faults| {
        faults.on(Requests::of::<Secret>().writes()).answer(Refusal::unavailable());
    };
    when_everything_is_slow: Duration::ZERO, |faults| faults.slow(Duration::from_millis(20));
    when_the_lease_cannot_be_renewed: Duration::from_mins(1), |faults| {
        faults.on(Requests::of::<Lease>()).answer(Refusal::unavailable());
    };
}

#[tokio::test]
async fn nothing_is_written_at_rest() {
    let setting = Setting::of(program, Workloads::default()).await;
    let backup = json!({"schedule": "@yearly", "claim": "backups"});
    let spec = json!({"version": "8.0", "replicas": 2, "password": {"rotateEveryDays": 30}, "backup": backup});
    setting.create("cache", spec).await;
    setting.at_rest("cache").await;
    setting.create("other", json!({"version": "8.0"})).await;
    setting.at_rest("other").await;
    setting.cluster.forget_sent();
    // Each of them leads to a reconcile.
    for day in 1..=3 {
        let annotation = json!({"metadata": {"annotations": {"day": day.to_string()}}});
        setting.change("cache", annotation).await;
        setting
            .create(&format!("later-{day}"), json!({"version": "8.0"}))
            .await;
        setting.at_rest(&format!("later-{day}")).await;
    }
    for requests in [
        Requests::of::<Valkey>().writes().named("cache"),
        Requests::of::<StatefulSet>().writes().named("cache"),
        Requests::of::<Secret>().writes().named("cache-password"),
        Requests::of::<Job>().writes(),
    ] {
        let sent = setting.cluster.sent(&requests);
        assert!(sent.is_empty(), "{sent:?}");
    }
}

/// Another replica of the program takes the Lease: this one must not write any more.
#[tokio::test]
async fn a_leader_that_lost_the_lease_writes_nothing() {
    let setting = Setting::of(program, Workloads::default()).await;
    setting.create("cache", json!({"version": "8.0"})).await;
    setting.at_rest("cache").await;
    let now = serde_json::to_value(k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime(
        jiff::Timestamp::now(),
    ));
    let taken = json!({"spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600, "renewTime": now.unwrap()}});
    let lease = setting
        .cluster
        .merge::<Lease>("valkey-operator", &taken)
        .await;
    lease.expect_allowed();
    // It learns of that by its watch, or when it renews at the latest.
    pass(Duration::from_secs(11)).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    setting.cluster.forget_sent();
    setting
        .change("cache", json!({"spec": {"replicas": 3}}))
        .await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let written = setting
        .cluster
        .sent(&Requests::of::<StatefulSet>().writes());
    assert!(written.is_empty(), "{written:?}");
    let given = json!({"spec": {"holderIdentity": ""}});
    setting
        .cluster
        .merge::<Lease>("valkey-operator", &given)
        .await
        .expect_allowed();
    pass(Duration::from_secs(3)).await;
    let is_scaled = |status: &ValkeyStatus| status.ready_instances == 3;
    setting.status("cache", "scaled", is_scaled).await;
}
