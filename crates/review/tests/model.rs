//! Objects of every shape that matters to grafting, and random changes to them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A type that knows some fields, makes up those that it requires, and drops the rest: as k8s-openapi's types do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Thing {
    pub(crate) metadata: Meta,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spec: Option<Spec>,
    pub(crate) template: Template,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Meta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) labels: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) containers: Vec<Container>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tolerations: Vec<Toleration>,
    pub(crate) replicas: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Template {
    pub(crate) metadata: Meta,
    pub(crate) args: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Container {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) image: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ports: Option<Vec<Port>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(
    clippy::struct_field_names,
    reason = "Kubernetes calls it `containerPort`"
)]
pub(crate) struct Port {
    pub(crate) container_port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Toleration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds: Option<i64>,
}

/// One change that a handler could make.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Label(String, String),
    NoLabels,
    Annotate(String, String),
    ForgetAnnotations,
    AddContainer(Index, Container),
    RemoveContainer(Index),
    MoveContainer(Index, Index),
    Image(Index, Option<String>),
    Ports(Index, Option<Vec<Port>>),
    ReversePorts(Index),
    Args(Index, Vec<String>),
    TemplateArg(Index, String),
    RemoveTemplateArg(Index),
    Tolerations(Vec<Toleration>),
    AddToleration(Index, Toleration),
    Replicas(Option<i64>),
    Weight(Option<f64>),
    NoSpec,
    NewSpec(Spec),
}

impl Change {
    pub(crate) fn apply(self, thing: &mut Thing) {
        let spec = &mut thing.spec;
        match self {
            Self::Label(key, value) => {
                thing
                    .metadata
                    .labels
                    .get_or_insert_default()
                    .insert(key, value);
            }
            Self::NoLabels => thing.metadata.labels = None,
            Self::Annotate(key, value) => {
                thing.template.metadata.annotations.insert(key, value);
            }
            Self::ForgetAnnotations => thing.template.metadata.annotations.clear(),
            Self::NoSpec => *spec = None,
            Self::NewSpec(new) => *spec = Some(new),
            Self::TemplateArg(at, arg) => insert(&mut thing.template.args, at, arg),
            Self::RemoveTemplateArg(at) => drop(remove(&mut thing.template.args, at)),
            Self::Replicas(replicas) => spec.get_or_insert_default().replicas = replicas,
            Self::Weight(weight) => spec.get_or_insert_default().weight = weight,
            Self::Tolerations(all) => spec.get_or_insert_default().tolerations = all,
            Self::AddToleration(at, one) => {
                insert(&mut spec.get_or_insert_default().tolerations, at, one);
            }
            Self::AddContainer(at, container) => {
                insert(&mut spec.get_or_insert_default().containers, at, container);
            }
            Self::RemoveContainer(at) => {
                drop(remove(&mut spec.get_or_insert_default().containers, at));
            }
            Self::MoveContainer(from, to) => {
                let containers = &mut spec.get_or_insert_default().containers;
                if let Some(moved) = remove(containers, from) {
                    insert(containers, to, moved);
                }
            }
            Self::Image(at, image) => on(spec, at, |container| container.image = image),
            Self::Ports(at, ports) => on(spec, at, |container| container.ports = ports),
            Self::ReversePorts(at) => on(spec, at, |container| {
                container.ports.iter_mut().for_each(|ports| ports.reverse());
            }),
            Self::Args(at, args) => on(spec, at, |container| container.args = args),
        }
    }
}

fn on(spec: &mut Option<Spec>, at: Index, act: impl FnOnce(&mut Container)) {
    let containers = &mut spec.get_or_insert_default().containers;
    if !containers.is_empty() {
        act(at.get_mut(containers));
    }
}

fn insert<T>(list: &mut Vec<T>, at: Index, value: T) {
    list.insert(at.index(list.len() + 1), value);
}

fn remove<T>(list: &mut Vec<T>, at: Index) -> Option<T> {
    (!list.is_empty()).then(|| list.remove(at.index(list.len())))
}

/// Words with everything that a pointer or a string has to escape.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "c", "web", "nginx"]).prop_map(String::from),
        // Long strings are compared in another way.
        1 => prop::sample::select(vec!["l", "m"]).prop_map(|text| text.repeat(600)),
        2 => prop::sample::select(vec!["", "a/b", "~", "~1", "ä\"\\\n", "-", "0", "a.b/c~d"]).prop_map(String::from),
    ]
}

fn map() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map(word(), word(), 0..4)
}

fn meta() -> impl Strategy<Value = Meta> {
    (prop::option::of(map()), map()).prop_map(|(labels, annotations)| Meta {
        labels,
        annotations,
    })
}

fn port() -> impl Strategy<Value = Port> {
    let protocol = prop::sample::select(vec!["TCP", "UDP"]).prop_map(String::from);
    (
        80_u16..83,
        prop::option::of(protocol),
        prop::option::of(word()),
    )
        .prop_map(|(container_port, protocol, name)| Port {
            container_port,
            protocol,
            name,
        })
}

fn ports() -> impl Strategy<Value = Option<Vec<Port>>> {
    prop::option::of(prop::collection::vec(port(), 0..4))
}

fn args() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(word(), 0..5)
}

fn container() -> impl Strategy<Value = Container> {
    (word(), prop::option::of(word()), args(), ports()).prop_map(|(name, image, args, ports)| {
        Container {
            name,
            image,
            args,
            ports,
        }
    })
}

fn toleration() -> impl Strategy<Value = Toleration> {
    (prop::option::of(word()), prop::option::of(0_i64..3))
        .prop_map(|(key, seconds)| Toleration { key, seconds })
}

fn spec() -> impl Strategy<Value = Spec> {
    (
        prop::collection::vec(container(), 0..5),
        prop::collection::vec(toleration(), 0..4),
        prop::option::of(-2_i64..3),
        prop::option::of(prop::sample::select(vec![0.5, -1.0, 1e300])),
    )
        .prop_map(|(containers, tolerations, replicas, weight)| Spec {
            containers,
            tolerations,
            replicas,
            weight,
        })
}

pub(crate) fn thing() -> impl Strategy<Value = Thing> {
    (meta(), prop::option::of(spec()), meta(), args()).prop_map(|(metadata, spec, inner, args)| {
        Thing {
            metadata,
            spec,
            template: Template {
                metadata: inner,
                args,
            },
        }
    })
}

pub(crate) fn changes() -> impl Strategy<Value = Vec<Change>> {
    let at = any::<Index>;
    let change = prop_oneof![
        (word(), word()).prop_map(|(key, value)| Change::Label(key, value)),
        Just(Change::NoLabels),
        (word(), word()).prop_map(|(key, value)| Change::Annotate(key, value)),
        Just(Change::ForgetAnnotations),
        (at(), container()).prop_map(|(at, new)| Change::AddContainer(at, new)),
        at().prop_map(Change::RemoveContainer),
        (at(), at()).prop_map(|(from, to)| Change::MoveContainer(from, to)),
        (at(), prop::option::of(word())).prop_map(|(at, image)| Change::Image(at, image)),
        (at(), ports()).prop_map(|(at, ports)| Change::Ports(at, ports)),
        at().prop_map(Change::ReversePorts),
        (at(), args()).prop_map(|(at, args)| Change::Args(at, args)),
        (at(), word()).prop_map(|(at, arg)| Change::TemplateArg(at, arg)),
        at().prop_map(Change::RemoveTemplateArg),
        prop::collection::vec(toleration(), 0..4).prop_map(Change::Tolerations),
        (at(), toleration()).prop_map(|(at, new)| Change::AddToleration(at, new)),
        prop::option::of(-2_i64..3).prop_map(Change::Replicas),
        prop::option::of(Just(2.5)).prop_map(Change::Weight),
        Just(Change::NoSpec),
        spec().prop_map(Change::NewSpec),
    ];
    prop::collection::vec(change, 0..6)
}

/// What a raw object has beyond its typed form: fields that the type does not know, and none that it made up.
pub(crate) fn raw(thing: &Thing, decisions: &[u8]) -> Value {
    let mut decisions = decisions.iter().copied().cycle();
    let mut raw = serde_json::to_value(thing).unwrap();
    roughen(&mut raw, &mut decisions);
    raw
}

pub(crate) fn decisions() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..60)
}

fn roughen(value: &mut Value, decisions: &mut impl Iterator<Item = u8>) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| {
                let made_up = value.is_null()
                    || value.as_array().is_some_and(Vec::is_empty)
                    || value.as_object().is_some_and(serde_json::Map::is_empty);
                !(made_up && decisions.next().unwrap().is_multiple_of(2))
            });
            for value in members.values_mut() {
                // Maps of strings would read an unknown field as one of theirs.
                let strings = value
                    .as_object()
                    .is_some_and(|map| map.values().all(Value::is_string));
                if !strings {
                    roughen(value, decisions);
                }
            }
            match decisions.next().unwrap() {
                0..80 => drop(members.insert("x-unknown".into(), decisions.next().into())),
                80..100 => {
                    drop(members.insert("x/~y".into(), serde_json::json!([{"name": "kept"}])));
                }
                _ => {}
            }
        }
        Value::Array(elements) => elements
            .iter_mut()
            .for_each(|element| roughen(element, decisions)),
        _ => {}
    }
}
