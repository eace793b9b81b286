//! Measures what clusters that hang, flap or refuse the credentials do to the reconciles in the other clusters of a fleet.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use kubewright_controller::{Action, Context, Controller, Error};
use kubewright_manager::{App, Fleet, Members, Needs};
use kubewright_testing::{Server, TestCluster, TestMember};
use tokio::sync::mpsc;
use tokio::time::{interval, sleep, timeout};

/// By how much the 99th percentile of the others may change.
const BAR: f64 = 10.0;

/// Between two objects.
const PAUSE: Duration = Duration::from_millis(4);

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many clusters, three of which are in trouble half of the time.
    #[arg(long, default_value_t = 20)]
    clusters: usize,
    /// How many rounds with trouble, and as many without.
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// How many objects are created in a round.
    #[arg(long, default_value_t = 1000)]
    objects: usize,
}

type Heard = mpsc::UnboundedReceiver<(String, Instant)>;

/// Creates objects in the good clusters, in turns with and without trouble in the others.
pub(crate) async fn run(options: &Options) -> Result<()> {
    let (told, mut heard) = mpsc::unbounded_channel();
    let mut fleet: Option<Fleet<()>> = None;
    let app = |needs: &mut Needs| {
        let members = Members::from_secrets("fleet=all");
        fleet = Some(needs.fleet("all", members, move |cluster| {
            let told = told.clone();
            let reconcile = move |map: Arc<ConfigMap>, _: Context| {
                // The receiver goes when the measurement is over.
                drop(told.send((map.name_any(), Instant::now())));
                async { Ok::<_, Error>(Action::await_change()) }
            };
            cluster.controller(Controller::new("maps", reconcile));
        }));
        App::new("measured")
    };
    let hub = TestCluster::builder()
        .on(Server::Embedded)
        .app(app)
        .start()
        .await;
    let fleet = fleet.context("the program was not made")?;
    let members = TestCluster::fleet(options.clusters).await;
    for (number, member) in members.iter().enumerate() {
        let secret = member.secret(&name(number), &[("fleet", "all")]);
        hub.apply(&secret).await.expect_allowed();
    }
    let (mut calm, mut trouble) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        mend(&hub, &members, &fleet).await;
        measure(
            &members,
            options.objects,
            &mut heard,
            &format!("calm-{round}"),
            &mut calm,
        )
        .await?;
        let flapping = async {
            let mut ticks = interval(Duration::from_millis(500));
            loop {
                ticks.tick().await;
                members[1].link().cut();
                ticks.tick().await;
                members[1].link().mend();
            }
        };
        break_up(&hub, &members).await;
        let name = format!("trouble-{round}");
        tokio::select! {
            () = flapping => {}
            measured = measure(&members, options.objects, &mut heard, &name, &mut trouble) => measured?,
        }
    }
    let [calm_p50, calm_p99] = [50, 99].map(|part| share(&mut calm, part));
    let [p50, p99] = [50, 99].map(|part| share(&mut trouble, part));
    let change = (p99 / calm_p99 - 1.0) * 100.0;
    println!(
        "{:<34} {:>8} {:>8} {:>8}",
        "create to reconcile", "objects", "p50 ms", "p99 ms"
    );
    println!(
        "{:<34} {:>8} {calm_p50:>8.2} {calm_p99:>8.2}",
        "all clusters are well",
        calm.len()
    );
    println!(
        "{:<34} {:>8} {p50:>8.2} {p99:>8.2}",
        "one hangs, one flaps, one expired",
        trouble.len()
    );
    let verdict = if change < BAR { "met" } else { "missed" };
    println!("the p99 changes by {change:.1} %, bar {BAR} %: {verdict}");
    Ok(())
}

fn name(number: usize) -> String {
    format!("cluster-{number}")
}

/// Has the first cluster hang and the third refuse the credentials; the second flaps meanwhile.
async fn break_up(hub: &TestCluster, members: &[TestMember]) {
    members[0].link().hang();
    let expired = members[2].kubeconfig();
    let expired = expired.split("users:").next().unwrap_or_default();
    let expired =
        format!("{expired}users: [{{name: kubernetes-admin, user: {{token: expired}}}}]\n");
    let secret = TestMember::secret_with(&name(2), &[("fleet", "all")], &expired);
    hub.apply(&secret).await.expect_allowed();
}

async fn mend(hub: &TestCluster, members: &[TestMember], fleet: &Fleet<()>) {
    members[0].link().mend();
    members[1].link().mend();
    let secret = members[2].secret(&name(2), &[("fleet", "all")]);
    hub.apply(&secret).await.expect_allowed();
    for number in 0..members.len() {
        while !fleet
            .state(&name(number))
            .is_some_and(|state| state.is_ready())
        {
            sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Creates one object after the other in the clusters that are well all the time.
async fn measure(
    members: &[TestMember],
    objects: usize,
    heard: &mut Heard,
    prefix: &str,
    times: &mut Vec<f64>,
) -> Result<()> {
    for number in 0..objects {
        let member = &members[3 + number % (members.len() - 3)];
        let name = format!("{prefix}-{number}");
        let maps: Api<ConfigMap> = Api::namespaced(member.client(), member.namespace());
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.clone());
        let begun = Instant::now();
        maps.create(&PostParams::default(), &map).await?;
        let reconciled = async {
            loop {
                let (told, at) = heard.recv().await.context("the program has ended")?;
                if told == name {
                    return anyhow::Ok(at);
                }
            }
        };
        let at = timeout(Duration::from_secs(30), reconciled).await;
        let at = at.with_context(|| format!("{name} was not reconciled"))??;
        times.push(at.duration_since(begun).as_secs_f64() * 1e3);
        // A round lasts long enough for a cluster to flap in it.
        sleep(PAUSE).await;
    }
    Ok(())
}

fn share(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * percent / 100).min(values.len() - 1)]
}
