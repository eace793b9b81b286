//! The record of what has a name of its own: controllers beside that of a kind, tasks and policies.

use toml_edit::Table;

use super::project::{Api, Project, boolean, set, string};
use super::schedule::Schedule;
use super::target::Target;
use super::{Refused, names};

/// A controller that is not called after its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedController {
    pub(super) name: String,
    /// The kind that it reconciles.
    pub(super) of: KindName,
    /// The kind whose objects it creates; ConfigMaps if there is none.
    pub(super) owned: Option<KindName>,
    /// Whether it updates the status, which one controller of a kind does.
    pub(super) status: bool,
}

/// A task of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedTask {
    pub(super) name: String,
    pub(super) schedule: Schedule,
    pub(super) on_each_replica: bool,
}

/// A policy of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedPolicy {
    pub(super) name: String,
    pub(super) of: KindName,
}

/// A version of a kind in the record, with its group as the record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KindName {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

impl KindName {
    pub(super) fn of(api: &Api) -> Self {
        Self {
            group: api.group.clone(),
            version: api.version.clone(),
            kind: api.kind.clone(),
        }
    }

    pub(super) fn is(&self, api: &Api) -> bool {
        *self == Self::of(api)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/').map(str::to_owned);
        Some(Self {
            group: parts.next()?,
            version: parts.next()?,
            kind: parts.next()?,
        })
    }

    fn text(&self) -> String {
        format!("{}/{}/{}", self.group, self.version, self.kind)
    }
}

impl NamedController {
    /// The name of its module.
    pub(super) fn module(&self) -> String {
        names::module(&self.name)
    }
}

impl NamedTask {
    /// The name of its module.
    pub(super) fn module(&self) -> String {
        names::module(&self.name)
    }
}

impl NamedPolicy {
    /// The name of its module.
    pub(super) fn module(&self) -> String {
        names::module(&self.name)
    }
}

impl Project {
    pub(super) fn controllers(&self) -> Vec<NamedController> {
        let tables = self.tables(CONTROLLER).into_iter();
        let controllers = tables.filter_map(|table| {
            Some(NamedController {
                name: string(table, "name"),
                of: KindName::parse(&string(table, "of"))?,
                owned: KindName::parse(&string(table, "owned")),
                status: boolean(table, "status"),
            })
        });
        controllers.collect()
    }

    pub(super) fn record_controller(&mut self, controller: &NamedController) {
        let table = self.named(CONTROLLER, &controller.name);
        set(table, "of", controller.of.text().into());
        if let Some(owned) = &controller.owned {
            set(table, "owned", owned.text().into());
        }
        set(table, "status", controller.status.into());
    }

    pub(super) fn forget_controller(&mut self, name: &str) {
        self.forget_where(CONTROLLER, |table| string(table, "name") == name);
    }

    pub(super) fn tasks(&self) -> Vec<NamedTask> {
        let tables = self.tables(TASK).into_iter();
        let tasks = tables.map(|table| NamedTask {
            name: string(table, "name"),
            schedule: schedule(table),
            on_each_replica: boolean(table, "on-each-replica"),
        });
        tasks.collect()
    }

    pub(super) fn record_task(&mut self, task: &NamedTask) {
        let table = self.named(TASK, &task.name);
        let (every, cron) = match &task.schedule {
            Schedule::Once => (None, None),
            Schedule::Every(period) => (Some(format!("{}s", period.as_secs())), None),
            Schedule::Cron(schedule) => (None, Some(schedule.clone())),
        };
        for (key, value) in [("every", every), ("cron", cron)] {
            match value {
                Some(value) => set(table, key, value.into()),
                None => drop(table.remove(key)),
            }
        }
        set(table, "on-each-replica", task.on_each_replica.into());
    }

    pub(super) fn forget_task(&mut self, name: &str) {
        self.forget_where(TASK, |table| string(table, "name") == name);
    }

    pub(super) fn policies(&self) -> Vec<NamedPolicy> {
        let tables = self.tables(POLICY).into_iter();
        let policies = tables.filter_map(|table| {
            Some(NamedPolicy {
                name: string(table, "name"),
                of: KindName::parse(&string(table, "of"))?,
            })
        });
        policies.collect()
    }

    pub(super) fn record_policy(&mut self, policy: &NamedPolicy) {
        let table = self.named(POLICY, &policy.name);
        set(table, "of", policy.of.text().into());
    }

    pub(super) fn forget_policy(&mut self, name: &str) {
        self.forget_where(POLICY, |table| string(table, "name") == name);
    }

    fn named(&mut self, key: &str, name: &str) -> &mut Table {
        let table = self.table_where(key, |table| string(table, "name") == name);
        set(table, "name", name.into());
        table
    }

    /// Finds the kind that the record names.
    pub(super) fn find_named(&self, kind: &KindName) -> Result<Target, Refused> {
        self.find(&kind.kind, Some(&kind.group), Some(&kind.version))
    }
}

fn schedule(table: &Table) -> Schedule {
    let (every, cron) = (string(table, "every"), string(table, "cron"));
    if !cron.is_empty() {
        return Schedule::Cron(cron);
    }
    Schedule::every(&every).unwrap_or(Schedule::Once)
}

const CONTROLLER: &str = "controller";
const TASK: &str = "task";
const POLICY: &str = "policy";
