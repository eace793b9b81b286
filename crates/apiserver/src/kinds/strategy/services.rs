//! Services: which addresses and ports they keep, get and give back.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use crate::field::{FieldError, Path, quoted};
use crate::kinds::validation::services::addresses as check_addresses;
use crate::kinds::view::{Edit, View};

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
    fn take_port(&mut self, wanted: Option<u16>) -> Result<u16, String>;
    /// Gives a node port back.
    fn free_port(&mut self, port: u16);
}

/// Addresses of `10.0.0.0/24` and the node ports 30000 to 32767, in memory.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    addresses: BTreeSet<Ipv4Addr>,
    ports: BTreeSet<u16>,
    next: u32,
}

impl Pool {
    /// A pool from which nothing has been taken.
    pub fn new() -> Self {
        Self::default()
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
}

/// The cluster addresses that a service has.
pub(crate) fn addresses(service: &Value) -> Vec<Ipv4Addr> {
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

    fn take_port(&mut self, wanted: Option<u16>) -> Result<u16, String> {
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
        if !(FIRST_PORT..=LAST_PORT).contains(&wanted) {
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{LAST_PORT}"
            ));
        }
        if self.ports.insert(wanted) {
            Ok(wanted)
        } else {
            Err("provided port is already allocated".to_owned())
        }
    }

    fn free_port(&mut self, port: u16) {
        self.ports.remove(&port);
    }
}

/// Gives a new or changed service the addresses and ports that its type needs, and gives back what it no longer has.
///
/// Call it after `prepare_for_create` or `prepare_for_update` and before validation. When there are errors, or when the
/// write fails later, nothing must have been taken: use a copy of the pool.
pub fn allocate(
    new: &mut Value,
    old: Option<&Value>,
    addresses: &mut impl Addresses,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let before = old.map_or(&Value::Null, |old| old.at("spec")).clone();
    let nameless = new.at("metadata").text("name").is_empty();
    let Some(spec) = new.part("spec") else {
        return errors;
    };
    check_addresses(spec, &Path::new("spec"), &mut errors);
    if errors.is_empty() {
        families(spec, &before, &mut errors);
    }
    if !errors.is_empty() {
        return errors;
    }
    let had = addresses_of(&before);
    if needs_address(spec) {
        if nameless && spec.text("clusterIP").is_empty() {
            errors.push(unowned(spec));
            return errors;
        }
        // One that came to be through its status has none, and is given none later.
        let had_to_have = old.is_some() && needs_address(&before);
        if !had_to_have || !spec.text("clusterIP").is_empty() {
            give_address(spec, &had, addresses, &mut errors);
        }
    }
    let ports: BTreeSet<u16> = ports_of(&before).collect();
    if needs_ports(spec) {
        give_ports(spec, &ports, addresses, &mut errors);
    }
    give_health_check(spec, &ports, addresses, &mut errors);
    if errors.is_empty() {
        let kept = addresses_of(spec);
        for address in had.into_iter().filter(|address| !kept.contains(address)) {
            addresses.free_address(address);
        }
        let kept: BTreeSet<u16> = ports_of(spec).collect();
        for port in ports_of(&before).filter(|port| !kept.contains(port)) {
            addresses.free_port(port);
        }
    }
    errors
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
pub(crate) fn normalize_addresses(new: &mut Value, old: Option<&Value>) {
    let Some(spec) = new.part("spec") else {
        return;
    };
    if let Some(old) = old {
        let before = old.at("spec");
        keep_allocated(spec, before);
        let same_single = spec.text("clusterIP") == before.text("clusterIP");
        let same_list = super::same(spec.at("clusterIPs"), before.at("clusterIPs"));
        match (same_single, same_list) {
            // A client of the old field alone changed or cleared it.
            (false, true) => match spec.text("clusterIP").to_owned() {
                address if address.is_empty() => spec.drop_field("clusterIPs"),
                address => spec.put("clusterIPs", json!([address])),
            },
            (true, false) if spec.list("clusterIPs").is_empty() => spec.drop_field("clusterIP"),
            _ => {}
        }
        drop_what_the_type_does_not_have(spec, before);
    }
    let single = spec.text("clusterIP").to_owned();
    if !single.is_empty() && spec.list("clusterIPs").is_empty() {
        spec.put("clusterIPs", json!([single]));
    }
}

fn keep_allocated(spec: &mut Value, before: &Value) {
    let (kind, kind_before) = (spec.text("type"), before.text("type"));
    let addressed = |kind: &str| kind != "ExternalName" && !kind.is_empty();
    let ported = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    let keep_ports = ported(kind) && ported(kind_before);
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
    let same = |spec: &Value, field: &str| super::same(spec.at(field), before.at(field));
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
        let old: Vec<&Value> = before
            .list("ports")
            .iter()
            .map(|port| port.at("nodePort"))
            .collect();
        for (index, port) in spec.each("ports").enumerate() {
            if old.get(index) == Some(&port.at("nodePort")) {
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
        matches!(spec.text("type"), "NodePort" | "LoadBalancer")
            || !spec.list("externalIPs").is_empty()
    };
    if outside(before) && !outside(spec) && same(spec, "externalTrafficPolicy") {
        spec.drop_field("externalTrafficPolicy");
    }
    if external && before.text("type") != "ExternalName" && same(spec, "internalTrafficPolicy") {
        spec.drop_field("internalTrafficPolicy");
    }
}

/// Settles the families and their policy; this server has IPv4 alone.
fn families(spec: &mut Value, before: &Value, errors: &mut Vec<FieldError>) {
    if !needs_address(spec) || still_prefers_both(spec, before) {
        return;
    }
    let headless = spec.text("clusterIP") == "None";
    let selects = spec.map("selector").is_some_and(|map| !map.is_empty());
    // No controller watches the pods behind a headless service without a selector: its owner may list addresses of both families.
    let lists_both = headless && !selects;
    let policy = if lists_both {
        "RequireDualStack"
    } else {
        "SingleStack"
    };
    spec.fill("ipFamilyPolicy", policy);
    release_second(spec, before, errors);
    infer_families(spec, errors);
    if !errors.is_empty() {
        return;
    }
    if lists_both {
        if spec.text("ipFamilyPolicy") == "SingleStack" {
            if spec.list("ipFamilies").is_empty() {
                spec.put("ipFamilies", json!(["IPv4"]));
            }
        } else {
            match spec.list("ipFamilies") {
                [] => spec.put("ipFamilies", json!(["IPv4", "IPv6"])),
                [only] if only == "IPv4" => spec.put("ipFamilies", json!(["IPv4", "IPv6"])),
                [_] => spec.put("ipFamilies", json!(["IPv6", "IPv4"])),
                _ => {}
            }
        }
        return;
    }
    let path = Path::new("spec");
    if spec.text("ipFamilyPolicy") == "RequireDualStack" {
        errors.push(FieldError::invalid(
            &path.child("ipFamilyPolicy"),
            "RequireDualStack",
            "this cluster is not configured for dual-stack services",
        ));
    }
    for (index, family) in spec.list("ipFamilies").iter().enumerate() {
        if family != "IPv4" {
            errors.push(FieldError::invalid(
                &path.child("ipFamilies").index(index),
                family.clone(),
                "not configured on this cluster",
            ));
        }
    }
    if spec.list("ipFamilies").is_empty() {
        spec.put("ipFamilies", json!(["IPv4"]));
    }
}

/// Whether a service that takes what the cluster has is left as it was: a cluster that has changed changes no service.
fn still_prefers_both(spec: &Value, before: &Value) -> bool {
    let prefers = |spec: &Value| spec.text("ipFamilyPolicy") == "PreferDualStack";
    let same = |field: &str| super::same(spec.at(field), before.at(field));
    prefers(spec)
        && (prefers(before) || (before.is_object() && !before.has("ipFamilyPolicy")))
        && ["type", "clusterIPs", "ipFamilies"].into_iter().all(same)
}

/// One stack has one address and one family: what it had besides is released, which has to be said by the policy.
fn release_second(spec: &mut Value, before: &Value, errors: &mut Vec<FieldError>) {
    let single = spec.text("ipFamilyPolicy") == "SingleStack";
    for (field, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let (old, new) = (before.list(field), spec.list(field));
        if single && new.len() > 1 && old == new {
            let first = json!([new[0]]);
            spec.put(field, first);
        } else if !single && !new.is_empty() && new.len() < old.len() {
            let detail = format!("must be 'SingleStack' to release the secondary {what}");
            let value = spec.at("ipFamilyPolicy").clone();
            let at = Path::new("spec.ipFamilyPolicy");
            errors.push(FieldError::invalid(&at, value, &detail));
        }
    }
}

/// Adds the families of the addresses that a client names; one stack has one address and one family.
fn infer_families(spec: &mut Value, errors: &mut Vec<FieldError>) {
    let path = Path::new("spec");
    if spec.text("ipFamilyPolicy") == "SingleStack" {
        for (field, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if spec.list(field).len() == 2 {
                let detail = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                );
                let at = path.child("ipFamilyPolicy");
                errors.push(FieldError::invalid(&at, "SingleStack", &detail));
            }
        }
    }
    let mut families = spec.list("ipFamilies").to_vec();
    for (index, address) in spec.list("clusterIPs").iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        if address == "None" {
            break;
        }
        if index < families.len() {
            continue;
        }
        if address.contains(':') {
            let at = path.child("clusterIPs");
            let value = spec.at("clusterIPs").clone();
            let detail = "IPv6 is not configured on this cluster";
            errors.push(FieldError::invalid(&at.index(index), value, detail));
        } else {
            families.push("IPv4".into());
        }
    }
    if !families.is_empty() {
        spec.put("ipFamilies", families);
    }
}

/// An address is some service's, which has a name to be known by.
fn unowned(spec: &mut Value) -> FieldError {
    const FIRST: &str = "10.0.0.1";
    let shown = json!([spec.text("clusterIP")]);
    let detail = format!(
        "failed to allocate IP: IPAddress.networking.k8s.io {} is invalid: spec.parentRef.name: Required value",
        quoted(FIRST)
    );
    FieldError::invalid(&Path::new("spec.clusterIPs"), shown, &detail)
}

fn give_address(
    spec: &mut Value,
    had: &[Ipv4Addr],
    addresses: &mut impl Addresses,
    errors: &mut Vec<FieldError>,
) {
    let wanted = spec.text("clusterIP").to_owned();
    if wanted == "None" {
        return;
    }
    let parsed: Option<Ipv4Addr> = wanted.parse().ok();
    // What is no address is validation's business.
    if (!wanted.is_empty() && parsed.is_none())
        || parsed.is_some_and(|address| had.contains(&address))
    {
        return;
    }
    match addresses.take_address(parsed) {
        Ok(address) => {
            let address = address.to_string();
            spec.put("clusterIPs", json!([address]));
            spec.put("clusterIP", address);
        }
        Err(why) => {
            let path = Path::new("spec.clusterIPs");
            let shown = spec.at("clusterIPs").clone();
            let detail = format!("failed to allocate IP {wanted}: {why}");
            errors.push(FieldError::invalid(&path, shown, &detail));
        }
    }
}

fn give_ports(
    spec: &mut Value,
    had: &BTreeSet<u16>,
    addresses: &mut impl Addresses,
    errors: &mut Vec<FieldError>,
) {
    let path = Path::new("spec.ports");
    // One node port may serve the same port over several protocols.
    let mut mine: Vec<(u16, String)> = Vec::new();
    for (index, port) in spec.each("ports").enumerate() {
        let number = port.int("nodePort").unwrap_or(0);
        let protocol = port.text("protocol").to_owned();
        let wanted = u16::try_from(number).ok().filter(|number| *number != 0);
        if number != 0 && wanted.is_none() {
            continue;
        }
        let shared = wanted.is_some_and(|wanted| {
            had.contains(&wanted)
                || mine
                    .iter()
                    .any(|(port, other)| *port == wanted && *other != protocol)
        });
        let taken = match wanted {
            Some(wanted) if shared => Ok(wanted),
            wanted => addresses.take_port(wanted),
        };
        match taken {
            Ok(number) => {
                port.put("nodePort", number);
                mine.push((number, protocol));
            }
            Err(why) => {
                let item = path.index(index);
                errors.push(FieldError::invalid(&item.child("nodePort"), number, &why));
            }
        }
    }
}

/// The port for health checks does not hang on whether the other node ports are wanted.
fn give_health_check(
    spec: &mut Value,
    had: &BTreeSet<u16>,
    addresses: &mut impl Addresses,
    errors: &mut Vec<FieldError>,
) {
    if needs_health_check(spec) {
        let number = spec.int("healthCheckNodePort").unwrap_or(0);
        let wanted = u16::try_from(number).ok().filter(|number| *number != 0);
        if wanted.is_some_and(|wanted| had.contains(&wanted)) {
            return;
        }
        match addresses.take_port(wanted) {
            Ok(number) => spec.put("healthCheckNodePort", number),
            Err(why) => errors.push(FieldError::invalid(
                &Path::new("spec.healthCheckNodePort"),
                number,
                &why,
            )),
        }
    }
}

/// Whether a service gets an address. One of an unknown type does, too: validation refuses it later.
fn needs_address(spec: &Value) -> bool {
    spec.text("type") != "ExternalName"
}

fn needs_ports(spec: &Value) -> bool {
    match spec.text("type") {
        "NodePort" => true,
        "LoadBalancer" => spec
            .at("allocateLoadBalancerNodePorts")
            .as_bool()
            .unwrap_or(true),
        _ => false,
    }
}

fn needs_health_check(spec: &Value) -> bool {
    spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local"
}

fn addresses_of(spec: &Value) -> Vec<Ipv4Addr> {
    spec.list("clusterIPs")
        .iter()
        .filter_map(|address| address.as_str()?.parse().ok())
        .collect()
}

fn ports_of(spec: &Value) -> impl Iterator<Item = u16> {
    spec.list("ports")
        .iter()
        .map(|port| port.int("nodePort"))
        .chain(std::iter::once(spec.int("healthCheckNodePort")))
        .filter_map(|port| u16::try_from(port?).ok().filter(|port| *port != 0))
}
