//! The platforms that programs are built for, by Go's names, which those of the archives are.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An operating system and a processor, such as linux-amd64.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Platform {
    os: String,
    arch: String,
}

impl Platform {
    /// The platform of these names.
    pub(crate) fn of(os: &str, arch: &str) -> Self {
        Self {
            os: os.to_owned(),
            arch: arch.to_owned(),
        }
    }

    /// The system that this program runs on.
    pub(crate) fn os_here() -> &'static str {
        match std::env::consts::OS {
            "macos" => "darwin",
            os => os,
        }
    }

    /// The processor that this program runs on.
    pub(crate) fn arch_here() -> &'static str {
        match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            // Rust's name is for both orders of bytes; only one of them has archives.
            "powerpc64" => "ppc64le",
            arch => arch,
        }
    }

    /// The name of a program's file.
    pub(crate) fn file(&self, program: &str) -> String {
        if self.os == "windows" {
            format!("{program}.exe")
        } else {
            program.to_owned()
        }
    }

    /// Whether it is one of those that the two words name; `*` names all.
    pub(crate) fn is(&self, os: &str, arch: &str) -> bool {
        let is = |word: &str, name: &str| word == "*" || word == name;
        is(os, &self.os) && is(arch, &self.arch)
    }
}

impl FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = |text: &str| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        match text.split_once('-') {
            Some((os, arch)) if word(os) && word(arch) => Ok(Self::of(os, arch)),
            _ => Err(format!("{text} is no platform, such as linux-amd64")),
        }
    }
}

impl TryFrom<String> for Platform {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Platform> for String {
    fn from(platform: Platform) -> Self {
        platform.to_string()
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.os, self.arch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_names_every_platform() {
        let mac: Platform = "darwin-arm64".parse().unwrap();
        assert!(mac.is("*", "arm64") && mac.is("darwin", "*") && mac.is("*", "*"));
        assert!(!mac.is("linux", "*") && !mac.is("*", "amd64"));
    }

    #[test]
    fn this_machine_has_a_platform_by_gos_names() {
        let here = Platform::of(Platform::os_here(), Platform::arch_here());
        assert_eq!(here.to_string().parse::<Platform>().unwrap(), here);
        assert!(
            !["macos", "x86_64", "aarch64"]
                .iter()
                .any(|rusts| here.to_string().contains(rusts))
        );
    }

    #[test]
    fn a_name_that_could_lead_elsewhere_is_no_platform() {
        for text in [
            "linux",
            "linux-",
            "-amd64",
            "../x-y",
            "linux-am/d64",
            "linux-amd64-x",
        ] {
            assert!(text.parse::<Platform>().is_err(), "{text}");
        }
    }
}
