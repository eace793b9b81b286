//! Services, endpoints and endpoint slices.

use std::collections::BTreeSet;
use std::net::IpAddr;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::{Value, json};

use kubewright_validation::check::{
    Errors, ip, label, labels, one_of, one_of_if_set, port, port_or_name, problems, qualified_name,
    required, subdomain,
};
use kubewright_validation::formats::{self, Family};
use kubewright_validation::internal::shown;
use kubewright_validation::semantic::same;

pub(crate) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// What a load balancer says of a service.
pub(crate) fn status(service: &Value, errors: &mut Errors) {
    let balanced = service.at("spec").text("type") == "LoadBalancer";
    let ingress = service.at("status").at("loadBalancer").list("ingress");
    if !ingress.is_empty() && !balanced {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        let path = Path::new("status.loadBalancer.ingress");
        errors.push(FieldError::forbidden(&path, detail));
        return;
    }
    let path = Path::new("status.loadBalancer.ingress");
    for (index, ingress) in ingress.iter().enumerate() {
        balancer_ingress(ingress, &path.index(index), errors);
    }
}

/// A place where the balancer of a service can be reached.
fn balancer_ingress(ingress: &Value, path: &Path<'_>, errors: &mut Errors) {
    let address = ingress.text("ip");
    if !address.is_empty() {
        ip(address, &path.child("ip"), errors);
    }
    let at = path.child("ipMode");
    match (ingress.has("ipMode"), address.is_empty()) {
        (false, false) => {
            let detail = "must be specified when `ip` is set";
            errors.push(FieldError::required(&at, detail));
        }
        (true, true) => {
            let detail = "may not be specified when `ip` is not set";
            errors.push(FieldError::forbidden(&at, detail));
        }
        _ => one_of_if_set(ingress, path, "ipMode", &["Proxy", "VIP"], errors),
    }
    let (name, at) = (ingress.text("hostname"), path.child("hostname"));
    if !name.is_empty() {
        subdomain(&at, name, errors);
        if formats::without_zeros(name).parse::<IpAddr>().is_ok() {
            let detail = "must be a DNS name, not an IP address";
            errors.push(FieldError::invalid(&at, name, detail));
        }
    }
}

/// How the endpoints of a service are chosen was once said by another annotation, which has to say the same.
fn topology(object: &Value, errors: &mut Errors) {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    const MODE: &str = "service.kubernetes.io/topology-mode";
    let annotations = object.at("metadata").at("annotations");
    let mode = annotations.at(MODE);
    if annotations.has(HINTS) && annotations.has(MODE) && mode != annotations.at(HINTS) {
        let path = Path::new("metadata.annotations");
        let detail = format!("must match annotations[{HINTS}] when both are specified");
        errors.push(FieldError::invalid(&path.key(MODE), mode.clone(), &detail));
    }
}

pub(crate) fn service(object: &Value, errors: &mut Errors) {
    topology(object, errors);
    let spec = object.at("spec");
    let path = Path::new("spec");
    let kind = spec.text("type");
    let headless = is_headless(spec);
    let ports = spec.list("ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(FieldError::required(&path.child("ports"), ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let at = path.child("clusterIPs");
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid(&at.index(0), "None", &detail));
        }
        "ExternalName" => external_name(spec, &path, errors),
        _ => {}
    }
    service_ports(spec, &path.child("ports"), errors);
    labels(spec, &path, "selector", errors);
    affinity(spec, &path, errors);
    addresses(spec, &path, Writing::Strict, errors);
    let external = path.child("externalIPs");
    for (index, address) in spec.list("externalIPs").iter().enumerate() {
        let (address, at) = (address.as_str().unwrap_or_default(), external.index(index));
        if ip(address, &at, errors) {
            ordinary(address, &at, errors);
        }
    }
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of(spec, &path, "type", &kinds, errors);
    port_clashes(spec, &path.child("ports"), errors);
    source_ranges(spec, &path, errors);
    annotated_ranges(object, errors);
    let allocate = "allocateLoadBalancerNodePorts";
    if spec.has(allocate) && kind != "LoadBalancer" {
        let detail = "may only be used when `type` is 'LoadBalancer'";
        errors.push(FieldError::forbidden(&path.child(allocate), detail));
    }
    balancer_class(spec, &path, errors);
    traffic(spec, &path, errors);
}

fn balancer_class(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let class = "loadBalancerClass";
    if !spec.has(class) {
        return;
    }
    let at = path.child(class);
    if spec.text("type") == "LoadBalancer" {
        qualified_name(&at, spec.text(class), errors);
    } else {
        let detail = "may only be used when `type` is 'LoadBalancer'";
        errors.push(FieldError::forbidden(&at, detail));
    }
}

/// Whether a service has no address and says so.
fn is_headless(spec: &Value) -> bool {
    spec.list("clusterIPs") == ["None"]
}

pub(crate) fn service_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let named = |spec: &Value| spec.text("type") == "ExternalName";
    if !named(spec) && !named(before) {
        let first = |spec: &Value, list: &str| spec.list(list).first().cloned();
        if let Some(was) = first(before, "clusterIPs")
            && first(spec, "clusterIPs").is_some_and(|now| now != was)
        {
            let at = path.child("clusterIPs");
            let value = spec.at("clusterIPs").clone();
            let detail = "may not change once set";
            errors.push(FieldError::invalid(&at.index(0), value, detail));
        }
        // What has no addresses may have others.
        if !is_headless(spec)
            && !is_headless(before)
            && let Some(was) = first(before, "ipFamilies")
            && first(spec, "ipFamilies").is_some_and(|now| now != was)
        {
            let at = path.child("ipFamilies");
            // Of a family that is added, the addresses are shown.
            let is_added = before.list("ipFamilies").len() < spec.list("ipFamilies").len();
            let shown = if is_added { "clusterIPs" } else { "ipFamilies" };
            let value = spec.at(shown).clone();
            let detail = "may not change once set";
            errors.push(FieldError::invalid(&at.index(0), value, detail));
        }
    }
    let balanced = |spec: &Value| spec.text("type") == "LoadBalancer";
    let class = "loadBalancerClass";
    if balanced(spec) && balanced(before) && !same(spec.at(class), before.at(class)) {
        let detail = "may not change once set";
        let value = spec.at(class).clone();
        errors.push(FieldError::invalid(&path.child(class), value, detail));
    }
    // The service as such tells it again.
    balancer_class(spec, &path, errors);
    let checked = |spec: &Value| balanced(spec) && spec.text("externalTrafficPolicy") == "Local";
    let field = "healthCheckNodePort";
    if checked(spec) && checked(before) && spec.at(field) != before.at(field) {
        errors.push(FieldError::forbidden(
            &path.child(field),
            "field is immutable",
        ));
    }
}

pub(crate) fn endpoints(object: &Value, old: &Value, errors: &mut Errors) {
    // What is stored is taken again, whatever the rules are now.
    if !old.is_null() && same(object.at("subsets"), old.at("subsets")) {
        return;
    }
    let path = Path::new("subsets");
    for (index, subset) in object.list("subsets").iter().enumerate() {
        let at = path.index(index);
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|list| subset.list(list).is_empty()) {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            errors.push(FieldError::required(&at, detail));
        }
        for list in lists {
            let addresses = at.child(list);
            for (index, address) in subset.list(list).iter().enumerate() {
                let at = addresses.index(index);
                let text = address.text("ip");
                ip(text, &at.child("ip"), errors);
                if !address.text("hostname").is_empty() {
                    label(&at.child("hostname"), address.text("hostname"), errors);
                }
                if address.has("nodeName") {
                    subdomain(&at.child("nodeName"), address.text("nodeName"), errors);
                }
                ordinary(text, &at.child("ip"), errors);
            }
        }
        let ports = subset.list("ports");
        let list = at.child("ports");
        for (index, item) in ports.iter().enumerate() {
            let at = list.index(index);
            if ports.len() > 1 {
                required(item, &at, "name", errors);
            }
            if !item.text("name").is_empty() {
                label(&at.child("name"), item.text("name"), errors);
            }
            port(item.int("port").unwrap_or(0), &at.child("port"), errors);
            one_of(item, &at, "protocol", &PROTOCOLS, errors);
            app_protocol(item, &at, errors);
        }
    }
}

pub(crate) fn app_protocol(port: &Value, path: &Path<'_>, errors: &mut Errors) {
    if port.has("appProtocol") {
        qualified_name(&path.child("appProtocol"), port.text("appProtocol"), errors);
    }
}

/// A name with a domain, which may end with a dot.
pub(crate) fn domain(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let plain = name.strip_suffix('.').unwrap_or(name);
    let found = names::dns1123_subdomain(plain);
    let valid = found.is_empty();
    problems(path, plain, found, errors);
    if valid && !plain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, plain, detail));
    }
}

fn external_name(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !same(spec.at(field), &Value::Null) {
            let detail = "may not be set for ExternalName services";
            errors.push(FieldError::forbidden(&path.child(field), detail));
        }
    }
    let name = spec.text("externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    let at = path.child("externalName");
    if name.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else {
        subdomain(&at, name, errors);
    }
}

fn service_ports(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let ports = spec.list("ports");
    for (index, item) in ports.iter().enumerate() {
        let at = path.index(index);
        let name = item.text("name");
        if name.is_empty() {
            if ports.len() > 1 {
                errors.push(FieldError::required(&at.child("name"), ""));
            }
        } else {
            label(&at.child("name"), name, errors);
            if ports[..index]
                .iter()
                .any(|other| other.text("name") == name)
            {
                errors.push(FieldError::duplicate(&at.child("name"), name));
            }
        }
        port(item.int("port").unwrap_or(0), &at.child("port"), errors);
        one_of(item, &at, "protocol", &PROTOCOLS, errors);
        port_or_name(item.at("targetPort"), &at.child("targetPort"), errors);
        app_protocol(item, &at, errors);
    }
}

fn affinity(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    const MOST: i64 = 86_400;
    one_of(spec, path, "sessionAffinity", &["ClientIP", "None"], errors);
    let at = path.child("sessionAffinityConfig");
    let config = spec.at("sessionAffinityConfig");
    match spec.text("sessionAffinity") {
        "ClientIP" => {
            let seconds = config.at("clientIP").int("timeoutSeconds");
            match seconds {
                None => errors.push(FieldError::required(
                    &at,
                    "when session affinity type is ClientIP",
                )),
                Some(seconds) if !(1..=MOST).contains(&seconds) => {
                    let detail = format!("must be greater than 0 and less than {MOST}");
                    let at = at.child("clientIP.timeoutSeconds");
                    errors.push(FieldError::invalid(&at, seconds, &detail));
                }
                Some(_) => {}
            }
        }
        "None" if !config.is_null() => errors.push(FieldError::forbidden(
            &at,
            "must not be set when session affinity is None",
        )),
        _ => {}
    }
}

/// How addresses have to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    Strict,
    /// As any version before 1.36 takes them.
    Loose,
}

/// Addresses and their families: what is looked at before any is given.
pub(crate) fn addresses(spec: &Value, path: &Path<'_>, writing: Writing, errors: &mut Errors) {
    if spec.text("type") == "ExternalName" {
        return;
    }
    let list = spec.list("clusterIPs");
    let at = path.child("clusterIPs");
    let single = spec.text("clusterIP");
    if !single.is_empty() && list.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    if let Some(first) = list.first()
        && (first != single || single.is_empty())
    {
        let value = spec.at("clusterIPs").clone();
        let detail = if single.is_empty() {
            "must be empty when `clusterIP` is not specified"
        } else {
            "first value must match `clusterIP`"
        };
        errors.push(FieldError::invalid(&at, value, detail));
    }
    let families = ["IPv4", "IPv6"];
    let family_path = path.child("ipFamilies");
    let mut seen = BTreeSet::new();
    for (index, family) in spec.list("ipFamilies").iter().enumerate() {
        let (family, at) = (
            family.as_str().unwrap_or_default(),
            family_path.index(index),
        );
        if !families.contains(&family) {
            errors.push(FieldError::not_supported(&at, family, &families));
        }
        if !seen.insert(family) {
            errors.push(FieldError::duplicate(&at, family));
        }
    }
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    one_of_if_set(spec, path, "ipFamilyPolicy", &policies, errors);
    let mut valid = true;
    for (index, address) in list.iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        if index == 0 && address == "None" {
            if list.len() > 1 {
                valid = false;
                let value = spec.at("clusterIPs").clone();
                let detail = "'None' must be the first and only value";
                errors.push(FieldError::invalid(&at, value, detail));
            }
            continue;
        }
        let is_wrong = |why: &&str| writing == Writing::Strict || !formats::STRICT.contains(why);
        let problem = formats::ip(address).filter(is_wrong);
        valid &= problem.is_none();
        problems(&at.index(index), address, problem, errors);
    }
    if list.len() > 2 {
        let value = spec.at("clusterIPs").clone();
        let detail = "may only hold up to 2 values";
        errors.push(FieldError::invalid(&at, value, detail));
    }
    if !valid || list.first().is_some_and(|first| first == "None") {
        return;
    }
    let family = |address: &Value| Family::of_address(address.as_str().unwrap_or_default());
    let given: Vec<_> = list.iter().map(family).collect();
    if list.len() > 1 && !Family::are_both(&given) {
        let value = spec.at("clusterIPs").clone();
        let detail = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid(&at, value, detail));
    }
    for (index, (address, wanted)) in list.iter().zip(spec.list("ipFamilies")).enumerate() {
        let contradicts = matches!(
            (wanted.as_str(), given[index]),
            (Some("IPv4"), Some(Family::Six)) | (Some("IPv6"), Some(Family::Four))
        );
        if contradicts {
            let wanted = wanted.as_str().unwrap_or_default();
            let detail =
                format!("expected an {wanted} value as indicated by `ipFamilies[{index}]`");
            errors.push(FieldError::invalid(
                &at.index(index),
                address.clone(),
                &detail,
            ));
        }
    }
}

fn port_clashes(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let ports = spec.list("ports");
    if spec.text("type") == "ClusterIP" {
        for (index, port) in ports.iter().enumerate() {
            if port.int("nodePort").unwrap_or(0) != 0 {
                let at = path.index(index);
                let detail = "may not be used when `type` is 'ClusterIP'";
                errors.push(FieldError::forbidden(&at.child("nodePort"), detail));
            }
        }
    }
    let mut node = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let number = port.int("nodePort").unwrap_or(0);
        if number != 0 && !node.insert((port.text("protocol"), number)) {
            let at = path.index(index);
            errors.push(FieldError::duplicate(&at.child("nodePort"), number));
        }
    }
    let mut own = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let (protocol, number) = (port.text("protocol"), port.int("port").unwrap_or(0));
        if !own.insert((protocol, number)) {
            let value = shown(
                "ServicePort",
                &json!({ "port": number, "protocol": protocol }),
            );
            errors.push(FieldError::duplicate_shown(&path.index(index), &value));
        }
    }
}

fn source_ranges(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let ranges = spec.list("loadBalancerSourceRanges");
    if ranges.is_empty() {
        return;
    }
    let at = path.child("LoadBalancerSourceRanges");
    if spec.text("type") != "LoadBalancer" {
        let detail = "may only be used when `type` is 'LoadBalancer'";
        errors.push(FieldError::forbidden(&at, detail));
    }
    for (index, range) in ranges.iter().enumerate() {
        let range = range.as_str().unwrap_or_default().trim();
        problems(&at.index(index), range, formats::cidr(range), errors);
    }
}

/// The older place for ranges, which is only looked at where the field says nothing.
fn annotated_ranges(object: &Value, errors: &mut Errors) {
    const ANNOTATION: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let spec = object.at("spec");
    let annotations = object.at("metadata").at("annotations");
    if !spec.list("loadBalancerSourceRanges").is_empty() || !annotations.has(ANNOTATION) {
        return;
    }
    let path = Path::new("metadata.annotations");
    let at = path.key(ANNOTATION);
    if spec.text("type") != "LoadBalancer" {
        let detail = "may only be used when `type` is 'LoadBalancer'";
        errors.push(FieldError::forbidden(&at, detail));
    }
    let ranges = annotations.text(ANNOTATION).trim();
    for range in ranges.split(',').filter(|_| !ranges.is_empty()) {
        problems(&at, range.trim(), formats::cidr(range.trim()), errors);
    }
}

fn traffic(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = spec.text("type");
    let policies = ["Cluster", "Local"];
    let outside = matches!(kind, "NodePort" | "LoadBalancer")
        || (kind == "ClusterIP" && !spec.list("externalIPs").is_empty());
    let policy = spec.text("externalTrafficPolicy");
    if outside {
        one_of(spec, path, "externalTrafficPolicy", &policies, errors);
    } else if !policy.is_empty() {
        errors.push(FieldError::invalid(
            &path.child("externalTrafficPolicy"),
            policy,
            "may only be set for externally-accessible services",
        ));
    }
    let check = spec.int("healthCheckNodePort").unwrap_or(0);
    let at = path.child("healthCheckNodePort");
    if kind == "LoadBalancer" && policy == "Local" {
        if check == 0 {
            errors.push(FieldError::required(&at, ""));
        } else {
            port(check, &at, errors);
        }
    } else if check != 0 {
        errors.push(FieldError::invalid(
            &at,
            check,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ));
    }
    let field = "internalTrafficPolicy";
    // An empty word is no missing one.
    if matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer") && !spec.has(field) {
        errors.push(FieldError::required(&path.child(field), ""));
    } else {
        one_of_if_set(spec, path, field, &policies, errors);
    }
    let ways = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    one_of_if_set(spec, path, "trafficDistribution", &ways, errors);
}

/// Addresses that mean the machine itself, or its link, cannot be an endpoint.
/// The canonical form of an address that is written in another one.
pub(crate) fn uncanonical(address: &str) -> Option<String> {
    let canonical = address.parse::<IpAddr>().ok()?.to_string();
    (canonical != address).then_some(canonical)
}

pub(crate) fn ordinary(address: &str, path: &Path<'_>, errors: &mut Errors) {
    // Leading zeros are told elsewhere.
    let Ok(parsed) = formats::without_zeros(address).parse::<IpAddr>() else {
        let detail = "must be a valid IP address";
        errors.push(FieldError::invalid(path, address, detail));
        return;
    };
    let (link, link_group) = match parsed {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.segments()[0] == 0xff02),
    };
    if parsed.is_unspecified() {
        let detail = format!("may not be unspecified ({address})");
        errors.push(FieldError::invalid(path, address, &detail));
    }
    for (is, detail) in [
        (
            parsed.is_loopback(),
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
        ),
        (
            link,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
        ),
        (
            link_group,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    ] {
        if is {
            errors.push(FieldError::invalid(path, address, detail));
        }
    }
}
