//! Many things at once, at random: changes by users, time that passes, and faults. What must always hold is looked at all the while.
//!
//! `KUBEWRIGHT_SOAK` is for how many seconds, and `KUBEWRIGHT_SEED` which sequence: `KUBEWRIGHT_SOAK=1800 cargo test -p valkey-operator soak`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kubewright::testing::{Refusal, Requests, yaml};
use serde_json::json;
use valkey_operator::api::v1::Valkey;

use super::passwords::Accepted;
use super::setting::{Setting, image, pass, passing};

const NAMES: [&str; 3] = ["blue", "green", "red"];

struct Soak {
    setting: Setting,
    random: fastrand::Rng,
    accepted: BTreeMap<&'static str, Accepted>,
    /// How often each thing was done.
    done: BTreeMap<&'static str, usize>,
}

#[tokio::test]
async fn soak() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let time = Duration::from_secs(number("KUBEWRIGHT_SOAK").unwrap_or(5));
    let seed = number("KUBEWRIGHT_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("KUBEWRIGHT_SEED={seed}");
    let mut soak = Soak {
        setting: Setting::start().await,
        random: fastrand::Rng::with_seed(seed),
        accepted: BTreeMap::new(),
        done: BTreeMap::new(),
    };
    let neighbour: ConfigMap = yaml("{metadata: {name: blue-settings-of-others}, data: {a: b}}");
    let neighbour = soak
        .setting
        .cluster
        .create(&neighbour)
        .await
        .expect_allowed();
    let end = Instant::now() + time;
    while Instant::now() < end {
        soak.step().await;
        soak.look().await;
    }
    soak.end().await;
    let stays = soak
        .setting
        .cluster
        .get::<ConfigMap>("blue-settings-of-others")
        .await;
    assert_eq!(stays, Some(neighbour));
    println!("{:?}", soak.done);
}

impl Soak {
    /// Does one thing, as users, time and the network do.
    async fn step(&mut self) {
        let name = NAMES[self.random.usize(..NAMES.len())];
        let what = match self.random.u8(..100) {
            0..15 => self.create(name).await,
            15..30 => self.scale(name).await,
            30..42 => self.upgrade(name).await,
            42..50 => self.delete(name).await,
            50..60 => self.kill(name).await,
            60..75 => self.wait().await,
            _ => self.fault(),
        };
        *self.done.entry(what).or_default() += 1;
        tokio::time::sleep(Duration::from_millis(self.random.u64(1..60))).await;
    }

    async fn create(&mut self, name: &str) -> &'static str {
        // What is left of one that was deleted goes first: its instances are not those of the new one.
        let is_left = self.setting.get(name).await.is_some()
            || self
                .setting
                .cluster
                .get::<Secret>(&format!("{name}-password"))
                .await
                .is_some()
            || !self.setting.pods(name).await.is_empty();
        if is_left {
            return "nothing";
        }
        let backup = json!({
            "schedule": "0 */6 * * *", "claim": "backups", "keep": 2,
            "beforeUpgrade": self.random.bool(), "beforeDeletion": self.random.bool(),
        });
        let spec = json!({
            "version": "8.0", "replicas": self.random.i32(1..4), "backup": backup,
            "password": {"rotateEveryDays": 1},
        });
        self.setting.create(name, spec).await;
        "create"
    }

    async fn scale(&mut self, name: &str) -> &'static str {
        let replicas = self.random.i32(1..4);
        self.change(name, json!({"spec": {"replicas": replicas}}))
            .await;
        "scale"
    }

    async fn upgrade(&mut self, name: &str) -> &'static str {
        let Some(valkey) = self.setting.get(name).await else {
            return "nothing";
        };
        let minor: u32 = valkey.spec.version["8.".len()..].parse().unwrap();
        let version = format!("8.{}", minor + 1);
        self.change(name, json!({"spec": {"version": version}}))
            .await;
        "upgrade"
    }

    /// A Valkey that is not there, or about to go, is not changed.
    async fn change(&self, name: &str, patch: serde_json::Value) {
        let _ = self.setting.cluster.merge::<Valkey>(name, &patch).await;
    }

    async fn delete(&self, name: &str) -> &'static str {
        let _ = self.setting.cluster.delete::<Valkey>(name).await;
        "delete"
    }

    async fn kill(&mut self, name: &str) -> &'static str {
        let pods = self.setting.pods(name).await;
        if let Some(pod) = self.random.choice(pods) {
            let name = pod.metadata.name.unwrap_or_default();
            let _ = self.setting.cluster.delete::<Pod>(&name).await;
        }
        "kill"
    }

    async fn wait(&mut self) -> &'static str {
        let minutes = self.random.u64(1..600);
        pass(Duration::from_mins(minutes)).await;
        "wait"
    }

    fn fault(&mut self) -> &'static str {
        let faults = self.setting.cluster.faults();
        let some = self.random.usize(1..6);
        let writes = Requests::all().writes();
        match self.random.u8(..10) {
            0 => faults.drop_watches(),
            1 => faults.gone(),
            2 => faults.refuse_streamed_lists(),
            3 => faults.outage(Duration::from_secs(self.random.u64(1..120))),
            4 => faults.on(writes).times(some).answer(Refusal::unavailable()),
            5 => faults.on(writes).times(some).answer(Refusal::conflict()),
            6 => faults.on(writes).times(some).reset(),
            7 => faults
                .on(writes)
                .times(some)
                .slow(Duration::from_millis(50)),
            8 => faults
                .on(Requests::all().watches())
                .times(some)
                .answer_within(Refusal::gone()),
            _ => faults.clear(),
        }
        "fault"
    }

    /// What holds at each moment.
    async fn look(&mut self) {
        for name in NAMES {
            let before = self.setting.get(name).await;
            let pods = self.setting.pods(name).await;
            let after = self.setting.get(name).await;
            let (Some(before), Some(after)) = (before, after) else {
                continue;
            };
            let version = |pod: &Pod| image(pod).rsplit(':').next().map(str::to_owned);
            let wanted = Some(before.spec.version.clone());
            let is_primary =
                |pod: &Pod| pod.metadata.name.as_deref() == Some(&*format!("{name}-0"));
            let has_primary_got_it = pods
                .iter()
                .any(|pod| is_primary(pod) && version(pod) == wanted);
            if before.spec == after.spec
                && before.metadata.uid == after.metadata.uid
                && has_primary_got_it
            {
                let last = pods.iter().all(|pod| version(pod) == wanted);
                assert!(last, "{name}: the primary was upgraded before the others");
            }
            let jobs: Vec<Job> = self
                .setting
                .list(&format!("valkey.example.com/name={name}"))
                .await;
            let scheduled = |job: &&Job| {
                let name = job.metadata.name.as_deref().unwrap_or_default();
                !name.ends_with("final") && !name.contains("before")
            };
            let is_active = |job: &Job| {
                job.status
                    .as_ref()
                    .is_some_and(|status| status.active > Some(0))
            };
            let active = jobs.iter().filter(scheduled).filter(|job| is_active(job));
            assert!(
                active.count() <= 1,
                "{name}: two backups by schedule at once"
            );
        }
        self.look_at_passwords().await;
    }

    async fn look_at_passwords(&mut self) {
        for name in NAMES {
            let accepted = self.accepted.entry(name).or_default();
            let refusing = accepted.look(&self.setting, name).await;
            assert!(
                refusing.is_empty(),
                "{name}: {refusing:?} refuse the password"
            );
        }
    }

    /// When all is well again, everything comes to rest, and what was deleted leaves nothing.
    async fn end(&mut self) {
        self.setting.cluster.faults().clear();
        for name in NAMES {
            let is_going = |valkey: &Valkey| valkey.metadata.deletion_timestamp.is_some();
            let what = format!("{name} at rest");
            passing(&what, Duration::from_secs(30), async || {
                match self.setting.get(name).await {
                    None => self.setting.pods(name).await.is_empty().then_some(()),
                    Some(valkey) if is_going(&valkey) => None,
                    Some(valkey) => {
                        let status = valkey.status?;
                        let is_current = status.version == Some(valkey.spec.version)
                            && status.ready_instances == valkey.spec.replicas;
                        is_current.then_some(())
                    }
                }
            })
            .await;
        }
    }
}
