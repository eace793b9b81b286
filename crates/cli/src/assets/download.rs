//! Downloading an archive: carried on where it broke off, and judged by its hash alone.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE};
use http::{Response, StatusCode, Uri};

use super::hash::Sha512;
use super::http::{Body, Http};
use crate::ui::{Progress, Ui};

/// Brings what is at `place` into the file `part`, from where that ends.
///
/// # Errors
/// The place has not got it, or something else. What came stays in `part` if more of it can be had, here or elsewhere.
///
/// # Cancel safety
/// What came stays in `part`.
pub(crate) async fn download(
    ui: &Ui,
    http: &Http,
    place: &Uri,
    hash: &Sha512,
    part: &Path,
) -> anyhow::Result<()> {
    let (mut broken, mut anew) = (0, false);
    loop {
        let before = size(part);
        match attempt(ui, http, place, part).await {
            Ok(()) => {}
            Err(Broken::Refused(error)) => return Err(error),
            Err(Broken::Midway(error)) => {
                // A connection that brings something each time is slow, not broken.
                broken = if size(part) > before { 1 } else { broken + 1 };
                if broken == ATTEMPTS {
                    return Err(error);
                }
                ui.note(format!(
                    "{place}: {error:#}; carrying on from byte {}",
                    size(part)
                ));
                continue;
            }
        }
        let found = Sha512::of_file(part).context("cannot read what was downloaded")?;
        if found == *hash {
            return Ok(());
        }
        fs::remove_file(part).context("cannot remove what was downloaded")?;
        if before == 0 || anew {
            bail!(
                "what it sends has the sha512 {}…, and not {}…",
                found.short(),
                hash.short()
            );
        }
        anew = true;
        // The beginning came from elsewhere, or from another day.
        ui.note(format!(
            "{place}: the pieces do not fit together; from the beginning"
        ));
    }
}

/// How an attempt ended early.
enum Broken {
    /// More attempts would end in the same way.
    Refused(anyhow::Error),
    Midway(anyhow::Error),
}

async fn attempt(ui: &Ui, http: &Http, place: &Uri, part: &Path) -> Result<(), Broken> {
    let have = size(part);
    let answer = http.get(place, have).await.map_err(Broken::Midway)?;
    let begins = match answer.status() {
        StatusCode::OK => 0,
        StatusCode::PARTIAL_CONTENT if resumes_at(&answer) == Some(have) => have,
        StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => {
            // It is whole already, or longer than what is here: its hash will tell.
            return Ok(());
        }
        status if status.is_server_error() => {
            return Err(Broken::Midway(anyhow!("the server answers {status}")));
        }
        status => return Err(Broken::Refused(anyhow!("the server answers {status}"))),
    };
    let file = open(part, begins).map_err(|error| Broken::Refused(error.into()));
    receive(ui, http, answer, file?, begins).await
}

async fn receive(
    ui: &Ui,
    http: &Http,
    answer: Response<Body>,
    mut file: File,
    begins: u64,
) -> Result<(), Broken> {
    let length = answer.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let whole = length.map(|length| begins.saturating_add(length));
    check_length(whole.unwrap_or_default()).map_err(Broken::Refused)?;
    let mut received = begins;
    let mut progress = Progress::new(ui, begins, whole);
    let mut body = answer.into_body();
    while let Some(piece) = http.piece(&mut body).await.map_err(Broken::Midway)? {
        received = received.saturating_add(piece.len() as u64);
        check_length(received).map_err(Broken::Refused)?;
        let written = file.write_all(&piece);
        let written = written.context("cannot write the download");
        written.map_err(Broken::Midway)?;
        progress.add(piece.len());
    }
    let synced = file.sync_data().context("cannot write the download");
    synced.map_err(Broken::Midway)
}

fn check_length(bytes: u64) -> anyhow::Result<()> {
    if bytes > LARGEST {
        bail!(
            "it has more than {} MiB, as no archive of programs does",
            LARGEST >> 20
        );
    }
    Ok(())
}

/// Opens the file to write from this byte on.
fn open(part: &Path, begins: u64) -> std::io::Result<File> {
    let mut options = File::options();
    if begins == 0 {
        options.write(true).create(true).truncate(true);
    } else {
        options.append(true);
    }
    options.open(part)
}

/// Where a partial answer begins.
fn resumes_at(answer: &Response<Body>) -> Option<u64> {
    let range = answer.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    let (begins, _) = range.strip_prefix("bytes ")?.split_once('-')?;
    begins.parse().ok()
}

fn size(part: &Path) -> u64 {
    fs::metadata(part).map_or(0, |metadata| metadata.len())
}

/// A server that sends without end must not fill the disk: archives of a control plane have about 100 MiB.
const LARGEST: u64 = 1 << 30;

/// How often in a row a place may break off without having brought anything.
const ATTEMPTS: u32 = 3;
