//! Programs that work in several clusters: named ones, and fleets.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use kube::ResourceExt;
use kubewright_controller::{Action, Cached, Context, Controller, Error, LeaderElection, Scope};
use kubewright_manager::{
    App, ClusterNeeds, ClusterState, Fleet, Kubeconfig, Live, Members, Needs, Program,
};
use kubewright_testing::{Server, TestCluster, TestMember, eventually, unique, yaml};
use serde_json::json;
use tokio::sync::mpsc;

thread_local! {
    /// The label of the Secrets of this test: a real API server is shared with others.
    static LABEL: String = unique("reported");
}

fn label() -> String {
    LABEL.with(Clone::clone)
}

/// What has been reconciled, and where.
type Reconciled = mpsc::UnboundedReceiver<(String, String)>;

/// Writes into the ConfigMap `report` of each cluster which Secrets with the label `app` are there.
fn reports(
    needs: &mut ClusterNeeds,
    told: mpsc::UnboundedSender<(String, String)>,
) -> Cached<Secret> {
    let cluster = needs.name().to_owned();
    let secrets = needs.labelled(label()).cached::<Secret>();
    let maps = needs.applier::<ConfigMap>();
    let reconcile = move |secret: Arc<Secret>, context: Context| {
        let (cluster, maps, told) = (cluster.clone(), maps.clone(), told.clone());
        async move {
            let mut report = ConfigMap::default();
            report.metadata.name = Some(format!("report-{}", secret.name_any()));
            assert_eq!(context.cluster(), Some(cluster.as_str()));
            report.data = Some([("cluster".to_owned(), cluster.clone())].into());
            context.apply(&maps, report).await?;
            drop(told.send((cluster, secret.name_any())));
            Ok::<_, Error>(Action::await_change())
        }
    };
    let apps = Scope::all().labelled(label());
    needs.controller(Controller::new("reports", reconcile).within(apps));
    secrets
}

fn fleet(needs: &mut Needs) -> (Fleet<Cached<Secret>>, Reconciled) {
    let (told, reconciled) = mpsc::unbounded_channel();
    let members = Members::from_secrets("fleet=all");
    let fleet = needs.fleet("all", members, move |cluster| {
        reports(cluster, told.clone())
    });
    (fleet, reconciled)
}

/// A hub with a program of a fleet.
async fn hub() -> (TestCluster, Fleet<Cached<Secret>>, Reconciled) {
    hub_on(Server::Embedded).await
}

async fn hub_on(server: Server) -> (TestCluster, Fleet<Cached<Secret>>, Reconciled) {
    let mut made = None;
    let app = |needs: &mut Needs| {
        made = Some(fleet(needs));
        App::new("reporter")
    };
    let hub = TestCluster::builder().on(server).app(app).start().await;
    let (fleet, reconciled) = made.unwrap();
    (hub, fleet, reconciled)
}

/// Has a cluster join with what the program has asked for in it, and nothing else.
async fn join(hub: &TestCluster, member: &TestMember, name: &str) {
    let program = Program::new(|needs| {
        drop(fleet(needs));
        App::new("reporter")
    });
    let kubeconfig = member.kubeconfig_for(&program, "all").await;
    let secret = TestMember::secret_with(name, &[("fleet", "all")], &kubeconfig);
    hub.apply(&secret).await.expect_allowed();
}

async fn write(cluster: &TestCluster, name: &str) {
    let label = label();
    let secret: Secret = yaml(&format!(
        "metadata: {{name: {name}, labels: {{{label}: a}}}}"
    ));
    cluster.create(&secret).await.expect_allowed();
}

async fn report(cluster: &TestCluster, name: &str) -> String {
    eventually("a report", async || {
        let map = cluster.get::<ConfigMap>(&format!("report-{name}")).await?;
        map.data?.remove("cluster")
    })
    .await
}

async fn is_in(fleet: &Fleet<Cached<Secret>>, name: &str, expected: &str) {
    eventually(expected, async || {
        let state = fleet.state(name)?;
        (state.as_str() == expected).then_some(())
    })
    .await;
}

/// Has two members with an object of the same name each.
async fn members_do_not_mix(hub: Server, member: Server) {
    let (hub, fleet, _reconciled) = hub_on(hub).await;
    let names = ["east", "west"];
    let mut members = Vec::new();
    for server in [member, Server::Embedded] {
        let cluster = TestCluster::builder().on(server).listen().start().await;
        members.push(TestMember::before(cluster).await);
    }
    for (member, name) in members.iter().zip(names) {
        // The same name in each.
        write(member, "same").await;
        join(&hub, member, name).await;
    }
    for (member, name) in members.iter().zip(names) {
        assert_eq!(report(member, "same").await, name);
        is_in(&fleet, name, "ready").await;
    }
    write(&members[0], "alone").await;
    assert_eq!(report(&members[0], "alone").await, "east");
    for (name, expected) in [("east", 2), ("west", 1)] {
        let secrets = fleet.get(name).unwrap();
        assert_eq!(secrets.list().await.unwrap().len(), expected, "{name}");
    }
    assert!(members[1].get::<ConfigMap>("report-alone").await.is_none());
    assert!(hub.get::<ConfigMap>("report-same").await.is_none());
}

#[tokio::test]
async fn what_is_created_in_a_member_is_reconciled_there_and_nowhere_else() {
    members_do_not_mix(Server::Embedded, Server::Embedded).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn what_is_created_in_a_real_member_is_reconciled_there_and_nowhere_else() {
    members_do_not_mix(Server::Embedded, Server::Real).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn a_program_on_a_real_api_server_works_in_a_fleet() {
    members_do_not_mix(Server::Real, Server::Embedded).await;
}

#[tokio::test]
async fn a_member_that_leaves_leaves_nothing_and_may_come_back() {
    let (hub, fleet, mut reconciled) = hub().await;
    let members = TestCluster::fleet(2).await;
    join(&hub, &members[0], "east").await;
    join(&hub, &members[1], "west").await;
    for (member, name) in members.iter().zip(["east", "west"]) {
        write(member, "first").await;
        assert_eq!(report(member, "first").await, name);
    }
    let handles = Arc::downgrade(&fleet.get("east").unwrap());
    hub.delete::<Secret>("east").await.expect_allowed();
    eventually("the end of east", async || {
        (fleet.get("east").is_none() && handles.strong_count() == 0).then_some(())
    })
    .await;
    assert_eq!(fleet.names(), ["west".into()]);
    assert!(fleet.state("east").is_none());

    while reconciled.try_recv().is_ok() {}
    write(&members[0], "second").await;
    write(&members[1], "second").await;
    assert_eq!(report(&members[1], "second").await, "west");
    let told = reconciled.recv().await.unwrap();
    assert_eq!(told, ("west".to_owned(), "second".to_owned()));
    assert!(members[0].get::<ConfigMap>("report-second").await.is_none());

    // Another cluster by the same name has no part of the first.
    let secret = members[1].secret("east", &[("fleet", "all")]);
    hub.apply(&secret).await.expect_allowed();
    is_in(&fleet, "east", "ready").await;
    let secrets = fleet.get("east").unwrap().list().await.unwrap();
    let names: BTreeSet<String> = secrets.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["first".to_owned(), "second".to_owned()].into());
}

#[tokio::test]
async fn members_that_come_and_go_fifty_times_leave_no_task() {
    let (hub, fleet, _reconciled) = hub().await;
    let member = TestMember::before(TestCluster::builder().listen().start().await).await;
    let runtime = tokio::runtime::Handle::current().metrics();
    let mut first = None;
    for round in 0..50 {
        let secret = member.secret("east", &[("fleet", "all")]);
        hub.apply(&secret).await.expect_allowed();
        if round % 10 == 0 {
            is_in(&fleet, "east", "ready").await;
        }
        hub.delete::<Secret>("east").await.expect_allowed();
        eventually("the end of east", async || {
            fleet.state("east").is_none().then_some(())
        })
        .await;
        if round == 10 {
            first = Some(runtime.num_alive_tasks());
        }
    }
    let first = first.unwrap();
    // The connections of the last one close a moment later.
    eventually("the end of all tasks", async || {
        (runtime.num_alive_tasks() <= first + 5).then_some(())
    })
    .await;
}

async fn credentials_are_rotated_on(server: Server) {
    let (hub, fleet, _reconciled) = hub().await;
    let cluster = TestCluster::builder().on(server).listen().start().await;
    let member = &TestMember::before(cluster).await;
    join(&hub, member, "east").await;
    write(member, "before").await;
    assert_eq!(report(member, "before").await, "east");

    // The account of the first kubeconfig is gone, and the administrator's takes its place.
    member
        .delete::<ServiceAccount>("reporter")
        .await
        .expect_allowed();
    let secret = member.secret("east", &[("fleet", "all")]);
    hub.apply(&secret).await.expect_allowed();
    write(member, "after").await;
    assert_eq!(report(member, "after").await, "east");
    is_in(&fleet, "east", "ready").await;
    assert_eq!(fleet.get("east").unwrap().list().await.unwrap().len(), 2);
}

#[tokio::test]
async fn credentials_are_rotated_while_the_program_runs() {
    credentials_are_rotated_on(Server::Embedded).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn credentials_of_a_real_api_server_are_rotated_while_the_program_runs() {
    credentials_are_rotated_on(Server::Real).await;
}

#[tokio::test]
async fn another_server_in_the_kubeconfig_has_the_objects_of_the_first_forgotten() {
    let mut east: Option<(Cached<Secret>, Live<ClusterState>)> = None;
    let app = |needs: &mut Needs| {
        let cluster = needs.cluster(Kubeconfig::in_secret("access").of_cluster("east"));
        east = Some((cluster.labelled(label()).cached(), cluster.state()));
        App::new("census")
    };
    let hub = TestCluster::builder().app(app).start().await;
    let members = TestCluster::fleet(2).await;
    write(&members[0], "of-the-first").await;
    write(&members[1], "of-the-second").await;
    let (secrets, mut state) = east.unwrap();
    for (member, expected) in members.iter().zip(["of-the-first", "of-the-second"]) {
        hub.apply(&member.secret("access", &[]))
            .await
            .expect_allowed();
        eventually(expected, async || {
            let all = secrets.list().await.unwrap();
            (all.len() == 1 && all[0].name_any() == expected).then_some(())
        })
        .await;
    }
    while !state.current().is_ready() {
        state.next().await;
    }
    hub.delete::<Secret>("access").await.expect_allowed();
    while state.current().is_ready() {
        state.next().await;
    }
    let why = state.current().to_string();
    assert_eq!(why, "unreachable: there is no Secret default/access");
}

#[tokio::test]
async fn a_kubeconfig_that_would_run_a_command_is_refused_and_the_last_one_holds() {
    let (hub, fleet, _reconciled) = hub().await;
    let member = &TestCluster::fleet(1).await[0];
    let bad = member.kubeconfig();
    let user = bad.split("users:").next().unwrap().to_owned();
    let file = std::env::temp_dir().join(unique("ran"));
    let bad = format!(
        "{user}users:\n- name: kubernetes-admin\n  user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: touch, \
         args: [{}], interactiveMode: Never}}}}\n",
        file.display()
    );
    let labels = [("fleet", "all")];
    hub.apply(&TestMember::secret_with("east", &labels, &bad))
        .await
        .expect_allowed();
    is_in(&fleet, "east", "unreachable").await;
    let why = fleet.state("east").unwrap().to_string();
    assert!(why.contains("`exec`"), "{why}");

    hub.apply(&member.secret("east", &labels))
        .await
        .expect_allowed();
    is_in(&fleet, "east", "ready").await;
    hub.apply(&TestMember::secret_with("east", &labels, &bad))
        .await
        .expect_allowed();
    write(member, "later").await;
    assert_eq!(report(member, "later").await, "east");
    assert!(fleet.state("east").unwrap().is_ready());
    assert!(!file.exists());
}

#[tokio::test]
async fn a_member_that_hangs_or_flaps_or_refuses_the_credentials_holds_up_no_other() {
    let (hub, fleet, mut reconciled) = hub().await;
    let members = TestCluster::fleet(4).await;
    let names = ["good", "hangs", "flaps", "expired"];
    for (member, name) in members.iter().zip(names) {
        join(&hub, member, name).await;
        write(member, "first").await;
        assert_eq!(report(member, "first").await, name);
    }
    members[1].link().hang();
    members[2].link().cut();
    members[3]
        .delete::<ServiceAccount>("reporter")
        .await
        .expect_allowed();
    while reconciled.try_recv().is_ok() {}
    for number in 0..20 {
        let name = format!("next-{number}");
        write(&members[0], &name).await;
        let told = reconciled.recv().await.unwrap();
        assert_eq!(told, ("good".to_owned(), name));
    }
    assert!(fleet.state("good").unwrap().is_ready());

    // They go on where they were, each on its own.
    for member in &members[1..3] {
        member.link().mend();
        write(member, "second").await;
    }
    for (member, name) in members.iter().zip(names).skip(1).take(2) {
        assert_eq!(report(member, "second").await, name);
    }
}

#[tokio::test]
async fn a_fleet_that_asks_for_more_in_one_cluster_than_it_declares_does_not_let_it_join() {
    let mut made = None;
    let app = |needs: &mut Needs| {
        made = Some(
            needs.fleet("all", Members::from_secrets("fleet=all"), |cluster| {
                if cluster.name() == "east" {
                    drop(cluster.writer::<Namespace>());
                }
                assert_ne!(cluster.name(), "west", "on purpose");
            }),
        );
        App::new("greedy")
    };
    let hub = TestCluster::builder().app(app).start().await;
    let fleet = made.unwrap();
    let member = &TestCluster::fleet(1).await[0];
    for (name, expected) in [("east", "other permissions"), ("west", "panicked")] {
        let secret = member.secret(name, &[("fleet", "all")]);
        hub.apply(&secret).await.expect_allowed();
        let why = eventually("a refusal", async || Some(fleet.state(name)?.to_string())).await;
        assert!(why.contains(expected), "{why}");
        assert!(fleet.get(name).is_none());
    }
    let secret = member.secret("north", &[("fleet", "all")]);
    hub.apply(&secret).await.expect_allowed();
    eventually("north", async || fleet.get("north")).await;
}

#[tokio::test]
async fn objects_of_a_kind_of_ones_own_say_which_clusters_there_are() {
    let mut made = None;
    let app = |needs: &mut Needs| {
        // A ConfigMap in place of Cluster API's Cluster.
        let members = Members::of(|cluster: &ConfigMap| {
            let is_up = cluster.data.as_ref()?["state"] == "up";
            is_up.then(|| Kubeconfig::in_secret(format!("{}-kubeconfig", cluster.name_any())))
        });
        made = Some(needs.fleet("all", members.labelled("cluster"), |cluster| {
            cluster.cached::<Namespace>()
        }));
        App::new("census")
    };
    let hub = TestCluster::builder().app(app).start().await;
    let fleet: Fleet<Cached<Namespace>> = made.unwrap();
    let member = &TestCluster::fleet(1).await[0];
    let cluster = |state: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"state": state},
            "metadata": {"name": "east", "labels": {"cluster": "a"}}})
    };
    hub.apply(&member.secret("east-kubeconfig", &[]))
        .await
        .expect_allowed();
    hub.apply(&cluster("planned")).await.expect_allowed();
    hub.apply(&cluster("up")).await.expect_allowed();
    let east = eventually("east", async || fleet.get("east")).await;
    assert!(east.get("default").await.unwrap().is_some());
    hub.apply(&cluster("down")).await.expect_allowed();
    eventually("the end of east", async || {
        fleet.get("east").is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_leader_alone_works_in_a_fleet_and_caches_are_filled_everywhere() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let app = |fleets: &mut Vec<Fleet<Cached<Secret>>>, needs: &mut Needs, replica: usize| {
        let seen = Arc::clone(&seen);
        let (told, mut reconciled) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while reconciled.recv().await.is_some() {
                seen.lock().unwrap().push(replica);
            }
        });
        let members = Members::from_secrets("fleet=all");
        fleets.push(needs.fleet("all", members, move |cluster| {
            reports(cluster, told.clone())
        }));
        App::new("reporter").leader_election("reporter")
    };
    let mut fleets = Vec::new();
    let hub = TestCluster::builder()
        .app(|needs| app(&mut fleets, needs, 0))
        .app(|needs| app(&mut fleets, needs, 1))
        .start()
        .await;
    let member = &TestCluster::fleet(1).await[0];
    hub.apply(&member.secret("east", &[("fleet", "all")]))
        .await
        .expect_allowed();
    for number in 0..10 {
        write(member, &format!("a-{number}")).await;
        report(member, &format!("a-{number}")).await;
    }
    for fleet in &fleets {
        is_in(fleet, "east", "ready").await;
        eventually("all objects", async || {
            (fleet.get("east")?.list().await.ok()?.len() == 10).then_some(())
        })
        .await;
    }
    let replicas: BTreeSet<usize> = seen.lock().unwrap().iter().copied().collect();
    assert_eq!(replicas.len(), 1, "{replicas:?}");
}

#[tokio::test]
async fn a_program_is_ready_while_its_other_clusters_are_away() {
    let mut state: Option<Live<ClusterState>> = None;
    let app = |needs: &mut Needs| {
        let east = needs.cluster("east");
        drop(east.cached::<Namespace>());
        state = Some(east.state());
        App::new("census")
    };
    // It starts, and so is ready, without the Secret.
    let hub = TestCluster::builder().app(app).start().await;
    let member = &TestCluster::fleet(1).await[0];
    member.link().cut();
    hub.apply(&member.secret("east", &[]))
        .await
        .expect_allowed();
    let mut state = state.unwrap();
    while !state.current().to_string().contains("error") {
        tokio::time::timeout(Duration::from_secs(20), state.next())
            .await
            .unwrap();
    }
    member.link().mend();
    while !state.current().is_ready() {
        state.next().await;
    }
}

#[tokio::test]
async fn a_leader_that_its_own_cluster_does_not_hear_of_works_in_its_fleet_no_more() {
    let mut made = None;
    let app = |needs: &mut Needs| {
        made = Some(fleet(needs));
        let election = LeaderElection::by_lease("reporter")
            .lease_duration(Duration::from_secs(1))
            .renew_deadline(Duration::from_millis(600))
            .retry_period(Duration::from_millis(200));
        App::new("reporter").leader_election(election)
    };
    let hub = TestCluster::builder().app(app).start().await;
    let (_fleet, mut reconciled) = made.unwrap();
    let member = &TestCluster::fleet(1).await[0];
    join(&hub, member, "east").await;
    write(member, "before").await;
    assert_eq!(reconciled.recv().await.unwrap().1, "before");

    // The member can be reached all the time.
    hub.faults().outage(Duration::from_secs(3));
    tokio::time::sleep(Duration::from_secs(1)).await;
    write(member, "meanwhile").await;
    let none = tokio::time::timeout(Duration::from_secs(1), reconciled.recv()).await;
    assert!(none.is_err(), "{none:?}");
    // It comes to lead again, and reconciles what it has missed.
    while reconciled.recv().await.unwrap().1 != "meanwhile" {}
}
