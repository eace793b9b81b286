//! The mirrors: indexes that are asked in order, and the places that they name.

use std::path::Path;

use anyhow::Context as _;
use http::Uri;

use super::download::download;
use super::hash::Sha512;
use super::http::Http;
use super::index::{Archive, Index};
use super::platform::Platform;
use super::version::Selector;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// Indexes, read when they are needed.
#[derive(Debug)]
pub(crate) struct Sources<'a> {
    ui: &'a Ui,
    http: Http,
    unread: std::vec::IntoIter<Uri>,
    read: Vec<(Uri, Index)>,
    /// Why others could not be read.
    trouble: Vec<String>,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(ui: &'a Ui, http: Http, indexes: Vec<Uri>) -> Self {
        Self {
            ui,
            http,
            unread: indexes.into_iter(),
            read: Vec::new(),
            trouble: Vec::new(),
        }
    }

    /// All archives of the first index that can be read.
    pub(crate) async fn archives(&mut self) -> Outcome<Vec<Archive>> {
        match self.index(0).await {
            Some(index) => Ok(index.archives().to_vec()),
            None => Err(self.failure("no index of archives can be read".to_owned())),
        }
    }

    /// The archives, for all platforms, of the newest version that is meant and that there is for `platform`, in the first
    /// index that has one.
    pub(crate) async fn newest(
        &mut self,
        selector: &Selector,
        platform: &Platform,
    ) -> Outcome<Vec<Archive>> {
        let mut position = 0;
        while let Some(index) = self.index(position).await {
            if let Some(newest) = index.newest(selector, platform) {
                let all = index.archives().iter();
                let all = all.filter(|archive| archive.version == newest.version);
                return Ok(all.cloned().collect());
            }
            position += 1;
        }
        if self.read.is_empty() {
            return Err(self.failure("no index of archives can be read".to_owned()));
        }
        let what = format!("no index has {selector} for {platform}");
        Err(self
            .failure(what)
            .hint("run `kubewright assets list` to see what there is"))
    }

    /// Downloads an archive into `part`: from where it was found, or else from other mirrors that have the same one.
    pub(crate) async fn fetch(&mut self, archive: &Archive, part: &Path) -> Outcome {
        let (version, platform) = (archive.version, &archive.platform);
        let mut tried = archive.places.clone();
        if self.fetch_from(&archive.places, &archive.hash, part).await {
            return Ok(());
        }
        let mut position = 0;
        while self.index(position).await.is_some() {
            let (address, index) = &self.read[position];
            position += 1;
            let wanted = Selector::exactly(version);
            let Some(other) = index.newest(&wanted, platform).cloned() else {
                continue;
            };
            if other.hash != archive.hash {
                self.trouble.push(format!("{address} has another archive"));
                continue;
            }
            let mut places = other.places;
            places.retain(|place| !tried.contains(place));
            if self.fetch_from(&places, &archive.hash, part).await {
                return Ok(());
            }
            tried.extend(places);
        }
        Err(self.failure(format!("cannot download {version} for {platform}")))
    }

    /// Whether one of the places had it.
    async fn fetch_from(&mut self, places: &[Uri], hash: &Sha512, part: &Path) -> bool {
        for place in places {
            match download(self.ui, &self.http, place, hash, part).await {
                Ok(()) => return true,
                Err(error) => self.trouble.push(format!("{place}: {error:#}")),
            }
        }
        false
    }

    /// The index at this position among those that can be read.
    async fn index(&mut self, position: usize) -> Option<&Index> {
        while self.read.len() <= position {
            let address = self.unread.next()?;
            let text = self.http.text(&address, LONGEST).await;
            let index = text.and_then(|text| {
                let index = Index::read(&text, &address);
                index.map_err(anyhow::Error::msg)
            });
            match index.with_context(|| address.to_string()) {
                Ok(index) => self.read.push((address, index)),
                Err(error) => {
                    self.ui.note(format!("cannot read the index {error:#}"));
                    self.trouble.push(format!("{error:#}"));
                }
            }
        }
        self.read.get(position).map(|(_, index)| index)
    }

    fn failure(&self, what: String) -> Failure {
        let text = self
            .trouble
            .iter()
            .fold(what, |text, trouble| text + "\n  " + trouble);
        let failure = Failure::new(text);
        if self.trouble.is_empty() {
            failure
        } else {
            failure.hint(
                "name mirrors with --index, or download the archive elsewhere and run `kubewright assets sideload`",
            )
        }
    }
}

/// The published index has 70 KB.
const LONGEST: usize = 16 << 20;
