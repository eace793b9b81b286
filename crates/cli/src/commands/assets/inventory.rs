//! `kubewright assets list`, `cleanup` and `verify`: what is installed.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::flags::{MirrorFlags, OutputFlag, PlatformFlags, StoreFlag};
use crate::assets::platform::Platform;
use crate::assets::store::{Installed, Store};
use crate::assets::version::{Newest, Selector, Version};
use crate::failure::{Failure, Outcome};
use crate::ui::{Tone, Ui};

#[derive(Debug, Args)]
pub(super) struct List {
    /// The versions, such as 1.30.0, 1.30 or <1.30 [default: all]
    #[arg(value_name = "VERSION")]
    selector: Option<Selector>,

    /// Do not contact any mirror
    #[arg(short, long, visible_alias = "installed-only")]
    installed: bool,

    #[command(flatten)]
    pub(super) output: OutputFlag,

    #[command(flatten)]
    platform: PlatformFlags,

    #[command(flatten)]
    mirrors: MirrorFlags,

    #[command(flatten)]
    store: StoreFlag,
}

#[derive(Debug, Args)]
pub(super) struct Cleanup {
    /// The versions, such as 1.30.0, 1.30 or <1.30
    #[arg(value_name = "VERSION", required_unless_present = "all")]
    selector: Option<Selector>,

    /// All versions
    #[arg(long, conflicts_with = "selector")]
    all: bool,

    #[command(flatten)]
    pub(super) output: OutputFlag,

    #[command(flatten)]
    platform: PlatformFlags,

    #[command(flatten)]
    store: StoreFlag,
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The versions, such as 1.30.0, 1.30 or <1.30 [default: all]
    #[arg(value_name = "VERSION")]
    selector: Option<Selector>,

    #[command(flatten)]
    pub(super) output: OutputFlag,

    #[command(flatten)]
    platform: PlatformFlags,

    #[command(flatten)]
    store: StoreFlag,
}

pub(super) fn list(ui: &Ui, arguments: List) -> Outcome {
    let selector = arguments.selector.unwrap_or(Selector::ANY);
    let platforms = arguments.platform;
    let store = arguments.store.open()?;
    let mut known: BTreeMap<(std::cmp::Reverse<Version>, Platform), Option<Installed>> =
        BTreeMap::new();
    if !arguments.installed && selector.newest() != Newest::Installed {
        let runtime = tokio::runtime::Runtime::new().map_err(Failure::internal)?;
        let mut sources = arguments.mirrors.sources(ui)?;
        for archive in runtime.block_on(sources.archives())? {
            let key = (std::cmp::Reverse(archive.version), archive.platform);
            known.insert(key, None);
        }
    }
    for installed in store.list()? {
        let key = (
            std::cmp::Reverse(installed.version),
            installed.platform.clone(),
        );
        known.insert(key, Some(installed));
    }
    known.retain(|(version, platform), _| {
        selector.matches(version.0) && platform.is(&platforms.os, &platforms.arch)
    });

    if arguments.output.json() {
        let entry = |((version, platform), installed): (
            &(std::cmp::Reverse<Version>, Platform),
            &Option<Installed>,
        )| {
            let path = installed.as_ref().map(|installed| &installed.folder);
            json!({"version": version.0, "platform": platform, "installed": path})
        };
        let entries: Vec<Value> = known.iter().map(entry).collect();
        ui.json(&json!(entries));
        return Ok(());
    }
    for ((version, platform), installed) in &known {
        let state = match installed {
            Some(_) => ui.paint(Tone::Good, "installed"),
            None => ui.paint(Tone::Faint, "available"),
        };
        ui.line(format!(
            "{:<8} {platform:<14} {state}",
            version.0.to_string(),
            platform = platform.to_string()
        ));
    }
    if known.is_empty() {
        ui.note("there is none");
    }
    Ok(())
}

pub(super) fn cleanup(ui: &Ui, arguments: &Cleanup) -> Outcome {
    let store = Store::at(arguments.store.store.clone())?;
    let meant = meant(&store, arguments.selector, &arguments.platform)?;
    for installed in &meant {
        let guard = store.lock(ui, installed.version, &installed.platform)?;
        store.remove(&guard, installed)?;
        if !arguments.output.json() {
            ui.line(format!(
                "removed {} for {}",
                installed.version, installed.platform
            ));
        }
    }
    store.forget_downloads()?;
    if arguments.output.json() {
        let entry = |installed: &Installed| json!({"version": installed.version, "platform": installed.platform});
        ui.json(&json!(meant.iter().map(entry).collect::<Vec<_>>()));
    } else if meant.is_empty() {
        ui.note("there is nothing to remove");
    }
    Ok(())
}

pub(super) fn verify(ui: &Ui, arguments: &Verify) -> Outcome {
    let store = Store::at(arguments.store.store.clone())?;
    let meant = meant(&store, arguments.selector, &arguments.platform)?;
    if meant.is_empty() {
        return Err(Failure::new("there is nothing installed to verify")
            .hint("run `kubewright assets use`, or name a platform with --os and --arch"));
    }
    let mut damaged = 0;
    let mut entries = Vec::new();
    for installed in &meant {
        let damage = installed.damage()?;
        damaged += usize::from(!damage.is_empty());
        let (version, platform) = (installed.version, &installed.platform);
        if arguments.output.json() {
            entries.push(json!({"version": version, "platform": platform, "damage": damage}));
        } else if damage.is_empty() {
            ui.line(format!(
                "{version} for {platform}: {}",
                ui.paint(Tone::Good, "as it was installed")
            ));
        } else {
            let damage = ui.paint(Tone::Bad, &damage.join(", "));
            ui.line(format!("{version} for {platform}: {damage}"));
        }
    }
    if arguments.output.json() {
        ui.json(&json!(entries));
    }
    match damaged {
        0 => Ok(()),
        n => Err(Failure::new(format!(
            "{n} of {} are not as they were installed",
            meant.len()
        ))
        .hint("run `kubewright assets use VERSION --force` to install it again")),
    }
}

fn meant(
    store: &Store,
    selector: Option<Selector>,
    platforms: &PlatformFlags,
) -> Outcome<Vec<Installed>> {
    let selector = selector.unwrap_or(Selector::ANY);
    let mut installed = store.list()?;
    installed.retain(|one| {
        selector.matches(one.version) && one.platform.is(&platforms.os, &platforms.arch)
    });
    Ok(installed)
}
