//! Flags that several of these commands take.

use std::path::PathBuf;
use std::time::Duration;

use ::http::Uri;
use clap::Args;

use crate::assets::http::Http;
use crate::assets::index::PUBLISHED;
use crate::assets::platform::Platform;
use crate::assets::sources::Sources;
use crate::assets::store::Store;
use crate::failure::Outcome;
use crate::output::Output;
use crate::ui::Ui;

/// Where installed versions are.
#[derive(Debug, Args)]
pub(super) struct StoreFlag {
    /// The directory of installed versions [default: kubewright/assets in the user's data directory]
    #[arg(long, value_name = "DIRECTORY", env = "KUBEWRIGHT_ASSETS_STORE")]
    pub(super) store: Option<PathBuf>,
}

impl StoreFlag {
    pub(super) fn open(self) -> Outcome<Store> {
        Store::at(self.store)
    }
}

/// The platform.
#[derive(Debug, Args)]
pub(super) struct PlatformFlags {
    /// The operating system (GOOS)
    #[arg(long, value_name = "OS", default_value = Platform::os_here())]
    pub(super) os: String,

    /// The architecture (GOARCH)
    #[arg(long, value_name = "ARCH", default_value = Platform::arch_here())]
    pub(super) arch: String,
}

impl PlatformFlags {
    /// One platform: no `*`.
    pub(super) fn one(&self) -> Outcome<Platform> {
        let platform = format!("{}-{}", self.os, self.arch).parse();
        platform.map_err(|error: String| crate::failure::Failure::new(error))
    }
}

/// Where archives are looked for.
#[derive(Debug, Args)]
pub(super) struct MirrorFlags {
    /// URLs of release indexes, tried in this order; archives may be next to them
    #[arg(
        long,
        value_name = "URLS",
        value_delimiter = ',',
        env = "KUBEWRIGHT_ASSETS_INDEX",
        default_value = PUBLISHED,
        value_parser = address
    )]
    pub(super) index: Vec<Uri>,

    /// Try the next mirror after this many seconds without data
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) timeout: u64,
}

impl MirrorFlags {
    pub(super) fn sources(self, ui: &Ui) -> Outcome<Sources<'_>> {
        let http = Http::new(Duration::from_secs(self.timeout))?;
        Ok(Sources::new(ui, http, self.index))
    }
}

fn address(text: &str) -> Result<Uri, String> {
    let uri: Uri = text.parse().map_err(|error| format!("{error}"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(_)) => Ok(uri),
        _ => Err("it has to begin with https:// or http://".to_owned()),
    }
}

/// Whether people or programs read the result.
#[derive(Debug, Args)]
pub(super) struct OutputFlag {
    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(super) output: Output,
}

impl OutputFlag {
    pub(super) fn json(&self) -> bool {
        self.output == Output::Json
    }
}
