//! The directory of `kubewright apiserver --data`: the objects of a cluster and the keys that its clients trust, kept between
//! two starts.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use kubewright_apiserver::{Authority, Builder, FileBackend, ServiceAccountTokens};

use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write_durably};

const OBJECTS: &str = "objects.redb";
const AUTHORITY: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";
const TOKEN_KEY: &str = "sa.key";

/// Gives a server the objects of a directory; there are none in a new one.
pub(crate) fn keep_objects(server: Builder, directory: &Path) -> Outcome<Builder> {
    Ok(server.storage(objects(directory)?)?)
}

/// Opens the objects of a directory, which no other process can then open.
pub(crate) fn objects(directory: &Path) -> Outcome<FileBackend> {
    FileBackend::open(directory.join(OBJECTS)).map_err(|error| {
        let hint = if error.is_in_use() {
            "end the `kubewright apiserver` that uses this directory, or choose another one with --data"
        } else {
            "choose another directory with --data, or remove this one to begin a new cluster in it"
        };
        Failure::from(error).hint(hint)
    })
}

/// Whether a directory has objects of a cluster.
pub(crate) fn is_kept(directory: &Path) -> bool {
    directory.join(OBJECTS).is_file()
}

/// Gives a server the keys of a directory, which are made if there are none.
pub(crate) fn keep_keys(server: Builder, directory: &Path) -> Outcome<Builder> {
    let authority = authority(directory)?;
    let tokens = tokens(directory)?;
    Ok(server
        .certificate_authority(authority)
        .service_account_tokens(tokens))
}

fn authority(directory: &Path) -> Outcome<Authority> {
    let (certificate, key) = (directory.join(AUTHORITY), directory.join(AUTHORITY_KEY));
    if !certificate.exists() {
        let authority = Authority::new()?;
        write_durably(&key, &authority.key_pem(), Readers::Owner)?;
        // Last: where it is, the key is.
        write_durably(&certificate, authority.certificate_pem(), Readers::Owner)?;
    }
    let pem = read(&certificate)?;
    let authority = Authority::from_pem(&pem, &read(&key)?);
    let reading = || {
        format!(
            "cannot read the certificate authority in {}",
            directory.display()
        )
    };
    let authority = authority.with_context(reading)?;
    Ok(authority)
}

fn tokens(directory: &Path) -> Outcome<ServiceAccountTokens> {
    let path = directory.join(TOKEN_KEY);
    if !path.exists() {
        write_durably(&path, &ServiceAccountTokens::new_key()?, Readers::Owner)?;
    }
    let tokens = ServiceAccountTokens::signed_with(read(&path)?);
    Ok(tokens.with_context(|| format!("cannot read {}", path.display()))?)
}

fn read(path: &Path) -> Outcome<String> {
    let text = fs::read_to_string(path);
    Ok(text.with_context(|| format!("cannot read {}", path.display()))?)
}

/// Secrets are in it: no user but its owner may look inside.
#[cfg(unix)]
pub(crate) fn make_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(not(unix))]
pub(crate) fn make_private(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)
}
