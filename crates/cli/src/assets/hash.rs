//! The sha512 of files and archives.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use ring::digest::{Context, SHA512};
use serde::{Deserialize, Serialize};

/// A sha512, in lower case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Sha512(String);

impl Sha512 {
    /// That of a file.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut context = Context::new(&SHA512);
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => context.update(&buffer[..read]),
            }
        }
        let digest = context.finish();
        let hex = |byte: &u8| format!("{byte:02x}");
        Ok(Self(digest.as_ref().iter().map(hex).collect()))
    }

    /// Its first digits, for people and names of files.
    pub(crate) fn short(&self) -> &str {
        &self.0[..16]
    }
}

impl FromStr for Sha512 {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() == 128 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err("a sha512 has 128 hexadecimal digits".to_owned())
        }
    }
}

impl TryFrom<String> for Sha512 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Sha512> for String {
    fn from(hash: Sha512) -> Self {
        hash.0
    }
}

impl fmt::Display for Sha512 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_the_standard() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("abc");
        std::fs::write(&file, "abc").unwrap();
        let hash = Sha512::of_file(&file).unwrap();
        // FIPS 180-2, appendix C.1.
        assert_eq!(
            hash.to_string(),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        );
        assert_eq!(hash.to_string().to_uppercase().parse(), Ok(hash));
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        assert!("".parse::<Sha512>().is_err());
        assert!("f".repeat(127).parse::<Sha512>().is_err());
        assert!("g".repeat(128).parse::<Sha512>().is_err());
    }
}
