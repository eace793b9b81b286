//! The scaffolder: the files of a project in, the files as they are to be out. It reads and writes nothing itself.
//!
//! What a command makes is taken down in `kubewright.toml`, so that the same command changes nothing the second time. New files
//! come from [`templates`]; files that are there already are changed where they have to be, and nowhere else: Rust by
//! [`rust`], `Cargo.toml` by [`dependencies`], the demo by [`demo`]. A change that is not safe is left to the person, in words.

mod api;
mod changelog;
mod controller;
mod definition;
mod delete;
mod demo;
mod dependencies;
mod external;
mod init;
mod kinds;
mod lists;
mod named;
mod names;
mod places;
mod policy;
mod project;
mod requirements;
mod rust;
mod schedule;
mod settings;
mod sums;
mod target;
mod task;
mod templates;
mod tree;
mod types;
mod update;
mod webhook;

pub(crate) use api::{NewApi, create as create_api};
pub(crate) use delete::{
    api as delete_api, controller as delete_controller, policy as delete_policy,
    task as delete_task, webhook as delete_webhook,
};
pub(crate) use init::{NewProject, init};
pub(crate) use names::{Domain, Group, Kind, Name, Owner, Plural, Version};
pub(crate) use policy::{NewPolicy, create as create_policy};
pub(crate) use requirements::Elsewhere;
pub(crate) use schedule::Schedule;
pub(crate) use settings::{Settings, edit};
pub(crate) use sums::RECORD;
pub(crate) use task::{NewTask, create as create_task};
pub(crate) use tree::{Change, Existing, Tree};
pub(crate) use update::{Updated, update};
pub(crate) use webhook::{NewWebhook, create as create_webhook};

use std::fmt;

/// Why a command is refused: nothing has been changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Refused {
    fn new(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
