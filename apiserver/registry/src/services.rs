//! Services: which addresses and ports they keep, get and give back.

mod families;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use crate::core::validation::services::{Writing, addresses as check_addresses};
use families::{adds_family, ipv4, needs_address};

/// Where cluster addresses and node ports come from.
pub trait Addresses {
    /// Takes the wanted address, or any free one.
    ///
    /// # Errors
    /// Why the address cannot be had, in the API server's words.
    fn take_address(&mut self, wanted: Option<Ipv4Addr>) -> Result<Ipv4Addr, String>;
    /// Gives an address back.
    fn free_address(&mut self, address: Ipv4Addr);
    /// Takes the wanted node port for a protocol, or any free one.
    ///
    /// # Errors
    /// Why the port cannot be had, in the API server's words.
    fn take_port(&mut self, wanted: Option<i64>) -> Result<u16, String>;
    /// Gives a node port back.
    fn free_port(&mut self, port: u16);
    /// Whether addresses may be written as they once were.
    fn are_loose(&self) -> bool;
}

/// Addresses of `10.0.0.0/24` and the node ports 30000 to 32767, in memory.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    addresses: BTreeSet<Ipv4Addr>,
    ports: BTreeSet<u16>,
    next: u32,
    loose: bool,
}

impl Pool {
    /// A pool from which nothing has been taken.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same of a version of Kubernetes.
    pub fn of_version(version: KubernetesVersion) -> Self {
        Self {
            // The gate is `StrictIPCIDRValidation`.
            loose: version < KubernetesVersion::V1_36,
            ..Self::default()
        }
    }

    /// Marks what a stored service has as taken.
    pub fn adopt(&mut self, service: &Value) {
        let spec = service.at("spec");
        for address in addresses_of(spec) {
            self.addresses.insert(address);
        }
        self.ports.extend(ports_of(spec));
    }

    /// Gives back what a deleted service had.
    pub fn release(&mut self, service: &Value) {
        release(service, self);
    }

    /// Takes what a copy of this pool has taken. Returns that, and what the copy has given back, which stays taken here.
    pub fn take_over(&mut self, copy: &Self) -> (Self, Self) {
        let (taken, given_back) = (copy.beyond(self), self.beyond(copy));
        self.addresses.extend(&taken.addresses);
        self.ports.extend(&taken.ports);
        self.next = copy.next;
        (taken, given_back)
    }

    /// Gives back everything that another pool has.
    pub fn give_back(&mut self, other: &Self) {
        *self = self.beyond(other);
    }

    /// What is taken here and not in another pool.
    fn beyond(&self, other: &Self) -> Self {
        Self {
            addresses: &self.addresses - &other.addresses,
            ports: &self.ports - &other.ports,
            next: self.next,
            loose: self.loose,
        }
    }
}

/// Why a service does not get its addresses or ports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the three errors that there are")]
pub enum Refused {
    /// Its fields ask for what cannot be had.
    Invalid(Vec<FieldError>),
    /// The real server answers with an internal error that says this.
    Internal(String),
    /// The real server answers with an error of its own, which has no reason.
    Plain(String),
}

impl Refused {
    fn field(path: &Path<'_>, value: impl Into<Value>, why: &str) -> Self {
        Self::Invalid(vec![FieldError::invalid(path, value, why)])
    }
}

/// The cluster addresses that a service has.
pub fn addresses(service: &Value) -> Vec<Ipv4Addr> {
    addresses_of(service.at("spec"))
}

const FIRST_PORT: u16 = 30_000;
const LAST_PORT: u16 = 32_767;

/// The first port and the last byte of the first address for those who name none. What is below is kept for those who do,
/// until nothing else is left: a part of the range, as large as the real server keeps (KEP-3668, KEP-3070).
const FIRST_UNNAMED_PORT: u16 = 30_086;
const FIRST_UNNAMED_ADDRESS: u8 = 17;

impl Addresses for Pool {
    fn take_address(&mut self, wanted: Option<Ipv4Addr>) -> Result<Ipv4Addr, String> {
        let Some(wanted) = wanted else {
            let start = u32::from(FIRST_UNNAMED_ADDRESS);
            let size = 255 - start;
            let turned = self.next % size;
            self.next = self.next.wrapping_add(1);
            // The first address is the API server's own (the service `kubernetes`), given out only by name.
            let above = (0..size).map(|step| start + (turned + step) % size);
            let mut all = above.chain(2..start);
            let free = all.find_map(|last| {
                let address = Ipv4Addr::from((10 << 24) | last);
                self.addresses.insert(address).then_some(address)
            });
            return free.ok_or_else(|| "range is full".to_owned());
        };
        let [10, 0, 0, 1..=254] = wanted.octets() else {
            return Err("the provided network does not match the current range".to_owned());
        };
        if self.addresses.insert(wanted) {
            Ok(wanted)
        } else {
            Err("provided IP is already allocated".to_owned())
        }
    }

    fn free_address(&mut self, address: Ipv4Addr) {
        self.addresses.remove(&address);
    }

    fn take_port(&mut self, wanted: Option<i64>) -> Result<u16, String> {
        let Some(wanted) = wanted else {
            let size = u32::from(LAST_PORT - FIRST_UNNAMED_PORT) + 1;
            let turned = self.next % size;
            self.next = self.next.wrapping_add(1);
            // A stride that is prime to the size spreads the ports as the real server's dice do.
            let above = (0..size).map(|step| (turned + step) * 1_021 % size);
            let above = above.filter_map(|step| u16::try_from(step).ok());
            let above = above.map(|step| FIRST_UNNAMED_PORT + step);
            let mut all = above.chain(FIRST_PORT..FIRST_UNNAMED_PORT);
            let free = all.find(|port| self.ports.insert(*port));
            return free.ok_or_else(|| "range is full".to_owned());
        };
        let valid = u16::try_from(wanted).ok();
        let Some(wanted) = valid.filter(|port| (FIRST_PORT..=LAST_PORT).contains(port)) else {
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{LAST_PORT}"
            ));
        };
        if self.ports.insert(wanted) {
            Ok(wanted)
        } else {
            Err("provided port is already allocated".to_owned())
        }
    }

    fn free_port(&mut self, port: u16) {
        self.ports.remove(&port);
    }

    fn are_loose(&self) -> bool {
        self.loose
    }
}

/// Gives a new or changed service the addresses and ports that its type needs, and gives back what it no longer has.
///
/// Call it after `prepare_for_create` or `prepare_for_update` and before validation.
///
/// # Errors
/// What cannot be had, the first alone. Some of the rest may have been taken then: use a copy of the pool.
pub fn allocate(
    new: &mut Value,
    old: Option<&Value>,
    addresses: &mut impl Addresses,
) -> Result<(), Refused> {
    let before = old.map_or(&Value::Null, |old| old.at("spec")).clone();
    let unnamable = unnamable(new.at("metadata").text("name"));
    let Some(spec) = new.part("spec") else {
        return Ok(());
    };
    let mut errors = Vec::new();
    let writing = if addresses.are_loose() {
        Writing::Loose
    } else {
        Writing::Strict
    };
    check_addresses(spec, &Path::new("spec"), writing, &mut errors);
    if errors.is_empty() {
        families::settle(spec, &before, &mut errors);
    }
    if !errors.is_empty() {
        return Err(Refused::Invalid(errors));
    }
    // One that could have an address keeps what it has, which for some is none: another is refused by validation.
    if needs_address(spec) && (old.is_none() || !needs_address(&before)) {
        if !unnamable.is_empty() && spec.text("clusterIP").is_empty() {
            return Err(Refused::Invalid(vec![unowned(spec, &unnamable)]));
        }
        give_address(spec, addresses)?;
    }
    if adds_family(spec, &before) {
        give_second_address(spec, addresses)?;
    }
    if needs_ports(spec) {
        match old {
            None => new_ports(spec, addresses)?,
            Some(_) => changed_ports(spec, &before, addresses)?,
        }
    }
    if needs_health_check(spec) && (old.is_none() || !needs_health_check(&before)) {
        give_health_check(spec, addresses)?;
    }
    let (had, kept) = (addresses_of(&before), addresses_of(spec));
    for address in had.into_iter().filter(|address| !kept.contains(address)) {
        addresses.free_address(address);
    }
    let kept: BTreeSet<u16> = ports_of(spec).collect();
    for port in ports_of(&before).filter(|port| !kept.contains(port)) {
        addresses.free_port(port);
    }
    Ok(())
}

/// Gives back everything that a deleted service had.
pub fn release(service: &Value, addresses: &mut impl Addresses) {
    let spec = service.at("spec");
    for address in addresses_of(spec) {
        addresses.free_address(address);
    }
    for port in ports_of(spec) {
        addresses.free_port(port);
    }
}

/// Keeps `clusterIP` and `clusterIPs` in step, and takes from the stored service what a client left out.
pub fn normalize_addresses(new: &mut Value, old: Option<&Value>) {
    let Some(spec) = new.part("spec") else {
        return;
    };
    if let Some(old) = old {
        let before = old.at("spec");
        keep_allocated(spec, before);
        let same_single = spec.text("clusterIP") == before.text("clusterIP");
        let same_list =
            kubewright_validation::semantic::same(spec.at("clusterIPs"), before.at("clusterIPs"));
        match (same_single, same_list) {
            // A client of the old field alone changed or cleared it.
            (false, true) => match spec.text("clusterIP").to_owned() {
                address if address.is_empty() => spec.drop_field("clusterIPs"),
                address => spec.put("clusterIPs", json!([address])),
            },
            // A client of the old field alone left the new one out.
            (true, false) if spec.list("clusterIPs").is_empty() => {
                spec.take_from(before, "clusterIPs");
            }
            _ => {}
        }
        drop_what_the_type_does_not_have(spec, before);
    }
    let single = spec.text("clusterIP").to_owned();
    let completes = old.is_none() || needs_address(spec);
    if completes && !single.is_empty() && spec.list("clusterIPs").is_empty() {
        spec.put("clusterIPs", json!([single]));
    }
}

fn keep_allocated(spec: &mut Value, before: &Value) {
    let (kind, kind_before) = (spec.text("type"), before.text("type"));
    let addressed = |kind: &str| kind != "ExternalName" && !kind.is_empty();
    let ported = |spec: &Value| needs_ports(spec) && allocates_ports(spec);
    let keep_ports = ported(spec) && ported(before);
    let is_external = kind == "ExternalName";
    if addressed(kind) && addressed(kind_before) {
        if spec.text("clusterIP").is_empty() {
            spec.take_from(before, "clusterIP");
        }
        if spec.list("clusterIPs").is_empty() {
            spec.take_from(before, "clusterIPs");
        }
    }
    if !is_external && !spec.has("ipFamilyPolicy") {
        spec.take_from(before, "ipFamilyPolicy");
    }
    if keep_ports {
        let number = |port: &Value| port.int("nodePort").filter(|number| *number != 0);
        let numbers = |spec: &Value| -> BTreeSet<i64> {
            spec.list("ports").iter().filter_map(number).collect()
        };
        let taken = &numbers(spec) & &numbers(before);
        for port in spec.each("ports").filter(|port| number(port).is_none()) {
            // A port is known by its name, and of several ports with one name the last counts.
            let mut old = before.list("ports").iter().rev();
            let same = old.find(|old| old.text("name") == port.text("name"));
            if let Some(number) = same.and_then(number)
                && !taken.contains(&number)
            {
                port.put("nodePort", number);
            }
        }
    }
    if needs_health_check(spec)
        && needs_health_check(before)
        && spec.int("healthCheckNodePort").unwrap_or(0) == 0
    {
        spec.take_from(before, "healthCheckNodePort");
    }
}

/// A change of the type alone takes with it what the new type cannot have.
fn drop_what_the_type_does_not_have(spec: &mut Value, before: &Value) {
    let same = |spec: &Value, field: &str| {
        kubewright_validation::semantic::same(spec.at(field), before.at(field))
    };
    let external = spec.text("type") == "ExternalName";
    if external && before.text("type") != "ExternalName" {
        if same(spec, "clusterIPs") {
            spec.drop_field("clusterIP");
            spec.drop_field("clusterIPs");
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if same(spec, field) {
                spec.drop_field(field);
            }
        }
    }
    if needs_ports(before) && !needs_ports(spec) {
        let number = |port: &Value| port.int("nodePort").filter(|number| *number != 0);
        let old: Vec<i64> = before.list("ports").iter().filter_map(number).collect();
        let mut asked = spec.list("ports").iter().filter_map(number);
        if asked.all(|number| old.contains(&number)) {
            for port in spec.each("ports") {
                port.drop_field("nodePort");
            }
        }
    }
    if needs_health_check(before) && !needs_health_check(spec) && same(spec, "healthCheckNodePort")
    {
        spec.drop_field("healthCheckNodePort");
    }
    let balanced = |spec: &Value| spec.text("type") == "LoadBalancer";
    if balanced(before) && !balanced(spec) {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(spec, field) {
                spec.drop_field(field);
            }
        }
    }
    let outside = |spec: &Value| {
        needs_ports(spec)
            || spec.text("type") == "ClusterIP" && !spec.list("externalIPs").is_empty()
    };
    if outside(before) && !outside(spec) && same(spec, "externalTrafficPolicy") {
        spec.drop_field("externalTrafficPolicy");
    }
}

/// Why the IPAddress of a cluster IP cannot refer to a service of this name.
fn unnamable(name: &str) -> Vec<FieldError> {
    let path = Path::new("spec.parentRef.name");
    if name.is_empty() {
        return vec![FieldError::required(&path, "")];
    }
    let problems = names::path_segment(name).into_iter();
    problems
        .map(|why| FieldError::invalid(&path, name, &why))
        .collect()
}

/// The error for a service whose cluster IP cannot have an IPAddress.
fn unowned(spec: &mut Value, why: &[FieldError]) -> FieldError {
    const FIRST: &str = "10.0.0.1";
    let shown = json!([spec.text("clusterIP")]);
    let why = match why {
        [one] => one.to_string(),
        all => {
            let all: Vec<String> = all.iter().map(ToString::to_string).collect();
            format!("[{}]", all.join(", "))
        }
    };
    let detail = format!(
        "failed to allocate IP: IPAddress.networking.k8s.io {} is invalid: {why}",
        quoted(FIRST)
    );
    FieldError::invalid(&Path::new("spec.clusterIPs"), shown, &detail)
}

fn give_address(spec: &mut Value, addresses: &mut impl Addresses) -> Result<(), Refused> {
    let wanted = spec.text("clusterIP").to_owned();
    if wanted == "None" {
        return Ok(());
    }
    let parsed = ipv4(&wanted);
    // What is no address is validation's business.
    if !wanted.is_empty() && parsed.is_none() {
        return Ok(());
    }
    let address = addresses.take_address(parsed).map_err(|why| {
        let shown = spec.at("clusterIPs").clone();
        let detail = format!("failed to allocate IP {wanted}: {why}");
        Refused::field(&Path::new("spec.clusterIPs"), shown, &detail)
    })?;
    let written = Some(wanted).filter(|wanted| !wanted.is_empty());
    let address = written.unwrap_or_else(|| address.to_string());
    spec.put("clusterIPs", json!([address]));
    spec.put("clusterIP", address);
    Ok(())
}

fn give_second_address(spec: &mut Value, addresses: &mut impl Addresses) -> Result<(), Refused> {
    let [first] = spec.list("clusterIPs") else {
        return Ok(());
    };
    let first = first.clone();
    let address = addresses.take_address(None).map_err(|why| {
        let detail = format!("failed to allocate IP: {why}");
        Refused::field(&Path::new("spec.clusterIPs"), json!([first, ""]), &detail)
    })?;
    spec.put("clusterIPs", json!([first, address.to_string()]));
    Ok(())
}

/// Gives a new service its node ports: several ports with one number share theirs.
fn new_ports(spec: &mut Value, addresses: &mut impl Addresses) -> Result<(), Refused> {
    let allocates = allocates_ports(spec);
    let number = |port: &Value, field: &str| port.int(field).unwrap_or(0);
    let asked: Vec<(i64, i64)> = spec
        .list("ports")
        .iter()
        .map(|port| (number(port, "port"), number(port, "nodePort")))
        .collect();
    let mut given: BTreeMap<i64, i64> = BTreeMap::new();
    for (index, port) in spec.each("ports").enumerate() {
        let (service_port, wanted) = asked[index];
        if wanted == 0 && !allocates {
            continue;
        }
        let node_port = match given.get(&service_port) {
            Some(shared) if wanted == 0 || wanted == *shared => *shared,
            Some(_) => take_port(wanted, index, addresses)?,
            None => {
                let same = |(port, wanted): &&(i64, i64)| *port == service_port && *wanted != 0;
                let node_port = match asked.iter().find(same) {
                    Some((_, wanted)) => take_port(*wanted, index, addresses)?,
                    None => any_port(addresses)?,
                };
                given.insert(service_port, node_port);
                node_port
            }
        };
        port.put("nodePort", node_port);
    }
    Ok(())
}

/// Gives a changed service the node ports that it did not have. For a service that is changed, nothing shares them.
fn changed_ports(
    spec: &mut Value,
    before: &Value,
    addresses: &mut impl Addresses,
) -> Result<(), Refused> {
    let allocates = allocates_ports(spec);
    let had = before.list("ports").iter();
    let mut mine: BTreeSet<i64> = had.filter_map(|port| port.int("nodePort")).collect();
    let mut given: Vec<(String, i64)> = Vec::new();
    for (index, port) in spec.each("ports").enumerate() {
        let wanted = port.int("nodePort").unwrap_or(0);
        if wanted == 0 && !allocates {
            continue;
        }
        let node_port = if wanted == 0 {
            any_port(addresses)?
        } else if mine.insert(wanted) {
            take_port(wanted, index, addresses)?
        } else {
            wanted
        };
        let protocol = port.text("protocol").to_owned();
        if given.contains(&(protocol.clone(), node_port)) {
            let why = format!("duplicate nodePort: {{{protocol} {node_port}}}");
            return Err(Refused::Plain(why));
        }
        given.push((protocol, node_port));
        port.put("nodePort", node_port);
    }
    Ok(())
}

/// Takes the node port that the port at an index asks for.
fn take_port(wanted: i64, index: usize, addresses: &mut impl Addresses) -> Result<i64, Refused> {
    let taken = addresses.take_port(Some(wanted)).map_err(|why| {
        let (ports, wanted) = (Path::new("spec.ports"), Value::from(wanted));
        Refused::field(&ports.index(index).child("nodePort"), wanted, &why)
    })?;
    Ok(i64::from(taken))
}

fn any_port(addresses: &mut impl Addresses) -> Result<i64, Refused> {
    let failed = |why| Refused::Internal(format!("failed to allocate a nodePort: {why}"));
    Ok(i64::from(addresses.take_port(None).map_err(failed)?))
}

/// Gives a service its port for health checks, which does not hang on whether the other node ports are wanted.
fn give_health_check(spec: &mut Value, addresses: &mut impl Addresses) -> Result<(), Refused> {
    let wanted = spec.int("healthCheckNodePort").unwrap_or(0);
    let asked = (wanted != 0).then_some(wanted);
    let given = addresses.take_port(asked).map_err(|why| {
        Refused::Internal(match asked {
            Some(_) => format!("failed to allocate requested HealthCheck NodePort {wanted}: {why}"),
            None => format!("failed to allocate a HealthCheck NodePort 0: {why}"),
        })
    })?;
    spec.put("healthCheckNodePort", given);
    Ok(())
}

fn needs_ports(spec: &Value) -> bool {
    matches!(spec.text("type"), "NodePort" | "LoadBalancer")
}

/// Whether ports that ask for no node port get one.
fn allocates_ports(spec: &Value) -> bool {
    spec.text("type") == "NodePort"
        || spec
            .at("allocateLoadBalancerNodePorts")
            .as_bool()
            .unwrap_or(true)
}

fn needs_health_check(spec: &Value) -> bool {
    spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local"
}

fn addresses_of(spec: &Value) -> Vec<Ipv4Addr> {
    spec.list("clusterIPs")
        .iter()
        .filter_map(|address| ipv4(address.as_str()?))
        .collect()
}

fn ports_of(spec: &Value) -> impl Iterator<Item = u16> {
    spec.list("ports")
        .iter()
        .map(|port| port.int("nodePort"))
        .chain(std::iter::once(spec.int("healthCheckNodePort")))
        .filter_map(|port| u16::try_from(port?).ok().filter(|port| *port != 0))
}
