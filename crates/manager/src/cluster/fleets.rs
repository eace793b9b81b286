//! The other clusters of a program at work.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use kube::Client;
use kubewright_controller::{AnyController, Informers};
use kubewright_manifests::{Permissions, PolicyRule};
use prometheus_client::registry::Registry;
use tokio::task::{JoinError, JoinSet};

use super::lead::Leads;
use super::member::{Home, Member, Observe};
use super::members::Listing;
use super::roster::Roster;
use super::{Kubeconfig, Members};
use crate::ClusterNeeds;
use crate::metrics::OtherClusters;
use crate::sentence::sentence;

/// The other clusters that a program declares.
#[derive(Default)]
pub(crate) struct Declared {
    named: Vec<(Kubeconfig, ClusterNeeds)>,
    fleets: Vec<DeclaredFleet>,
    begin: Option<BeginClusters>,
}

/// How other clusters come to be kept. The code is in no program without any.
pub(crate) type BeginClusters = fn(Declared, Observe, &mut Registry) -> Clusters;

/// A fleet that a program declares.
pub(crate) struct DeclaredFleet {
    pub(super) name: Arc<str>,
    pub(super) members: Members,
    pub(super) permissions: Permissions,
    pub(super) controllers: Vec<AnyController>,
    pub(super) joins: Box<dyn Joins>,
}

/// What a fleet makes of a cluster that comes.
pub(super) trait Joins: Send + Sync {
    fn join(&self, name: &Arc<str>) -> Result<ClusterNeeds, &'static str>;

    fn leave(&self, name: &str);
}

/// The other clusters that a program works in, ready to run.
pub(crate) struct Clusters {
    leads: Leads,
    keep: Box<dyn FnOnce(Client, Arc<str>) -> BoxFuture<'static, ()> + Send + Sync>,
}

/// What all clusters of a program share.
struct All {
    named: Vec<(Kubeconfig, Arc<Member>)>,
    fleets: Vec<DeclaredFleet>,
    roster: Roster,
    observe: Observe,
}

impl Declared {
    /// `None`: there are no others.
    pub(crate) fn begin(&self) -> Option<BeginClusters> {
        self.begin
    }

    /// What the program requests in a cluster; if it is new, with the rule for its Secret.
    pub(crate) fn cluster(
        &mut self,
        kubeconfig: Kubeconfig,
    ) -> (&mut ClusterNeeds, Option<PolicyRule>) {
        self.begin = Some(Clusters::begin);
        let name: Arc<str> = kubeconfig.cluster_or_secret().into();
        let known = self.named.iter().position(|(_, needs)| needs.name == name);
        let mut rule = None;
        let at = known.unwrap_or_else(|| {
            let secret = PolicyRule::new("", "secrets", ["get", "list", "watch"]);
            rule = Some(secret.named(kubeconfig.secret()));
            self.named.push((kubeconfig, ClusterNeeds::of(name)));
            self.named.len() - 1
        });
        (&mut self.named[at].1, rule)
    }

    pub(crate) fn fleet(&mut self, fleet: DeclaredFleet) {
        self.begin = Some(Clusters::begin);
        self.fleets.push(fleet);
    }

    /// What the program may do in a cluster, or in each cluster of a fleet.
    pub(crate) fn permissions(&self, name: &str) -> Option<&Permissions> {
        let named = self.named.iter().map(|(_, needs)| needs);
        let named = named.map(|needs| (&needs.name, &needs.permissions));
        let fleets = self.fleets.iter();
        let fleets = fleets.map(|fleet| (&fleet.name, &fleet.permissions));
        let mut all = named.chain(fleets);
        all.find_map(|(known, permissions)| (**known == *name).then_some(permissions))
    }

    /// A name that two of them have: roles are printed by name.
    pub(crate) fn ambiguous(&self) -> Option<String> {
        let mut names = self.names();
        names.sort_unstable();
        let mut pairs = names.windows(2);
        pairs.find_map(|pair| (pair[0] == pair[1]).then(|| pair[0].to_owned()))
    }

    /// A controller whose objects replicas would share, which they do in their own cluster alone.
    pub(crate) fn sharded(&self) -> Option<&AnyController> {
        let named = self.named.iter().flat_map(|(_, needs)| &needs.controllers);
        let fleets = self.fleets.iter().flat_map(|fleet| &fleet.controllers);
        let mut all = named.chain(fleets);
        all.find(|controller| controller.sharding_lease().is_some())
    }

    /// The names of clusters and fleets.
    pub(crate) fn names(&self) -> Vec<&str> {
        let named = self.named.iter().map(|(_, needs)| &*needs.name);
        named
            .chain(self.fleets.iter().map(|fleet| &*fleet.name))
            .collect()
    }
}

impl DeclaredFleet {
    pub(crate) fn ask(&self, permissions: &mut Permissions) {
        self.members.ask(permissions);
    }

    /// Follows which clusters are members, and has each at work as long as it is one.
    async fn keep(self, home: Home, roster: Roster, observe: Observe) {
        let own = home.client.default_namespace();
        let namespace: Arc<str> = self.members.namespace().unwrap_or(own).into();
        let informers = Informers::new();
        let listing = self.members.follow(&informers, &namespace);
        let fleet = Keeping {
            fleet: self,
            namespace,
            present: BTreeMap::new(),
            at_work: JoinSet::new(),
            home,
            roster,
            observe,
        };
        let client = fleet.home.client.clone();
        tokio::select! {
            () = informers.run(client) => {}
            () = fleet.follow(listing) => {}
        }
    }
}

/// A fleet at work.
struct Keeping {
    fleet: DeclaredFleet,
    namespace: Arc<str>,
    present: BTreeMap<Arc<str>, Present>,
    at_work: JoinSet<Arc<str>>,
    home: Home,
    roster: Roster,
    observe: Observe,
}

struct Present {
    kubeconfig: Kubeconfig,
    /// None: it could not join.
    member: Option<Arc<Member>>,
    is_leaving: bool,
}

impl Keeping {
    async fn follow(mut self, mut listing: Listing) {
        let mut wanted = BTreeMap::new();
        loop {
            tokio::select! {
                listed = listing.next() => match listed {
                    Some(Ok(listed)) => wanted = listed,
                    Some(Err(error)) => tracing::warn!(
                        fleet = &*self.fleet.name, error = sentence(&error),
                        "cannot read which clusters are members of the fleet: they stay as they are"
                    ),
                    None => return,
                },
                Some(ended) = self.at_work.join_next() => {
                    let name = unless_panicked(ended);
                    if let Some(gone) = name.and_then(|name| self.present.remove(&name)) {
                        self.roster.strike(gone.member.as_ref());
                    }
                }
            }
            self.dismiss(&wanted);
            // One that comes back waits until the last of it has ended: no object is reconciled twice at once.
            for (name, kubeconfig) in &wanted {
                if !self.present.contains_key(name) {
                    self.join(name, kubeconfig);
                }
            }
        }
    }

    fn dismiss(&mut self, wanted: &BTreeMap<Arc<str>, Kubeconfig>) {
        let fleet = &self.fleet;
        self.present.retain(|name, present| {
            if present.is_leaving || wanted.get(name) == Some(&present.kubeconfig) {
                return true;
            }
            tracing::info!(
                fleet = &*fleet.name,
                cluster = &**name,
                "the cluster leaves"
            );
            present.is_leaving = true;
            fleet.joins.leave(name);
            if let Some(member) = &present.member {
                member.leave();
            }
            present.member.is_some()
        });
    }

    fn join(&mut self, name: &Arc<str>, kubeconfig: &Kubeconfig) {
        let fleet = &*self.fleet.name;
        let member = match self.fleet.joins.join(name) {
            Ok(needs) => {
                tracing::info!(fleet, cluster = &**name, "the cluster joins");
                let member = Arc::new(Member::new(needs, &self.observe));
                let (name, namespace) = (Arc::clone(name), Some(Arc::clone(&self.namespace)));
                let life =
                    Arc::clone(&member).live(kubeconfig.clone(), namespace, self.home.clone());
                self.at_work.spawn(async move {
                    life.await;
                    name
                });
                self.roster.enter(&member);
                Some(member)
            }
            Err(why) => {
                tracing::error!(fleet, cluster = &**name, why, "the cluster cannot join");
                None
            }
        };
        let present = Present {
            kubeconfig: kubeconfig.clone(),
            member,
            is_leaving: false,
        };
        self.present.insert(Arc::clone(name), present);
    }
}

impl Clusters {
    fn begin(declared: Declared, observe: Observe, registry: &mut Registry) -> Self {
        let (leads, roster) = (Leads::new(), Roster::default());
        registry.register_collector(Box::new(OtherClusters(roster.clone())));
        let named = declared.named.into_iter().map(|(kubeconfig, needs)| {
            let member = Arc::new(Member::new(needs, &observe));
            roster.enter(&member);
            (kubeconfig, member)
        });
        let all = All {
            named: named.collect(),
            fleets: declared.fleets,
            roster,
            observe,
        };
        let lead = leads.subscribe();
        Self {
            leads,
            keep: Box::new(move |client, program| {
                let home = Home {
                    client,
                    program,
                    lead,
                };
                Box::pin(all.keep(home))
            }),
        }
    }

    /// What has their controllers at work.
    pub(crate) fn leads(&self) -> Leads {
        self.leads.clone()
    }

    /// Works in all of them.
    pub(crate) fn keep(self, client: Client, program: Arc<str>) -> BoxFuture<'static, ()> {
        (self.keep)(client, program)
    }
}

impl All {
    async fn keep(self, home: Home) {
        let mut all = JoinSet::new();
        for (kubeconfig, member) in self.named {
            all.spawn(member.live(kubeconfig, None, home.clone()));
        }
        for fleet in self.fleets {
            all.spawn(fleet.keep(home.clone(), self.roster.clone(), Arc::clone(&self.observe)));
        }
        while let Some(ended) = all.join_next().await {
            unless_panicked(ended);
        }
        std::future::pending::<()>().await;
    }
}

/// A panic of a part of a program ends the program, as everywhere else.
fn unless_panicked<T>(ended: Result<T, JoinError>) -> Option<T> {
    ended
        .map_err(|error| {
            if error.is_panic() {
                std::panic::resume_unwind(error.into_panic());
            }
        })
        .ok()
}
