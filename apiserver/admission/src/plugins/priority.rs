//! Priority: a pod's priority comes from its class, and there is one default class.

use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::view::{Edit as _, View as _};
use parking_lot::Mutex;
use serde_json::Value;

use super::subject::{creates, forbidden, is_about};
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

const GROUP: &str = "scheduling.k8s.io";

/// The class of pods that name none, as of the last change of any class.
#[derive(Debug, Default)]
pub(super) struct DefaultClass(Mutex<Option<(u64, Class)>>);

pub(super) fn admit(
    default: &DefaultClass,
    cluster: &dyn Cluster,
    attributes: &mut Attributes,
) -> Result<()> {
    if creates(attributes, "", "pods") {
        resolve(default, cluster, attributes)
    } else {
        if is_about(attributes, "", "pods") && attributes.operation == Operation::Update {
            keep(attributes);
        }
        Ok(())
    }
}

/// Only one class may be the default.
pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    let is_class = is_about(attributes, GROUP, "priorityclasses");
    if !writes || !is_class || !attributes.object.flag("globalDefault") {
        return Ok(());
    }
    let name = attributes.object.at("metadata").text("name");
    let classes = cluster.list(GROUP, "priorityclasses", "");
    let is_other = |class: &&std::sync::Arc<Value>| {
        class.flag("globalDefault") && class.at("metadata").text("name") != name
    };
    match classes.iter().find(is_other) {
        None => Ok(()),
        Some(other) => Err(forbidden(
            attributes,
            &format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                other.at("metadata").text("name")
            ),
        )),
    }
}

#[derive(Clone, Debug)]
struct Class {
    name: String,
    value: i64,
    preemption: String,
}

impl DefaultClass {
    fn get(&self, cluster: &dyn Cluster) -> Class {
        let number = cluster.change_number(GROUP, "priorityclasses");
        let mut known = self.0.lock();
        match &*known {
            Some((of, class)) if *of == number => class.clone(),
            _ => {
                let class = find_default(cluster);
                *known = Some((number, class.clone()));
                class
            }
        }
    }
}

fn resolve(
    default: &DefaultClass,
    cluster: &dyn Cluster,
    attributes: &mut Attributes,
) -> Result<()> {
    let spec = attributes.object.at("spec");
    let class = match spec.text("priorityClassName") {
        "" => default.get(cluster),
        name => {
            let class = cluster.get(GROUP, "priorityclasses", "", name);
            let unknown = || format!("no PriorityClass with name {name} was found");
            let class = class.ok_or_else(|| forbidden(attributes, &unknown()))?;
            read(&class)
        }
    };
    if let Some(given) = spec.int("priority").filter(|given| *given != class.value) {
        let computed = class.value;
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {computed} from the given PriorityClass name"
        );
        return Err(forbidden(attributes, &why));
    }
    let given = spec.text("preemptionPolicy");
    if spec.has("preemptionPolicy") && given != class.preemption {
        let why = format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name",
            class.preemption
        );
        return Err(forbidden(attributes, &why));
    }
    if let Some(spec) = attributes.object.part("spec") {
        if !class.name.is_empty() {
            spec.put("priorityClassName", class.name);
        }
        spec.put("priority", class.value);
        spec.put("preemptionPolicy", class.preemption);
    }
    Ok(())
}

/// Clients that do not know the fields send a pod without them; they stay what they were.
fn keep(attributes: &mut Attributes) {
    let old = attributes.old_object.at("spec");
    if let Some(spec) = attributes.object.part("spec") {
        for field in ["priority", "preemptionPolicy"] {
            if old.has(field) {
                spec.fill(field, old.at(field).clone());
            }
        }
    }
}

/// Of several default classes (which only a race can make) the one with the lowest value.
fn find_default(cluster: &dyn Cluster) -> Class {
    let classes = cluster.list(GROUP, "priorityclasses", "");
    let defaults = classes.iter().filter(|class| class.flag("globalDefault"));
    defaults.min_by_key(|class| class.int("value")).map_or_else(
        || Class {
            name: String::new(),
            value: 0,
            preemption: "PreemptLowerPriority".to_owned(),
        },
        |class| read(class),
    )
}

fn read(class: &Value) -> Class {
    let preemption = match class.text("preemptionPolicy") {
        "" => "PreemptLowerPriority",
        policy => policy,
    };
    Class {
        name: class.at("metadata").text("name").to_owned(),
        value: class.int("value").unwrap_or(0),
        preemption: preemption.to_owned(),
    }
}
