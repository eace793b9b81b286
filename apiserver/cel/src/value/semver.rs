//! Semantic versions, and the looser ones that Kubernetes' `normalize` accepts.

use std::cmp::Ordering;

use crate::quote::quoted;

/// A semantic version. Build metadata has no influence on its order.
#[derive(Clone, Debug)]
pub struct Semver {
    pub(crate) numbers: [u64; 3],
    pre_release: Vec<Identifier>,
}

/// Numbers come before words, as in the specification.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Semver {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts.as_slice() else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let major = number("Major", "major", major)?;
        let minor = number("Minor", "minor", minor)?;
        let (rest, build) = rest
            .split_once('+')
            .map_or((*rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, pre_release) = rest
            .split_once('-')
            .map_or((rest, None), |(patch, words)| (patch, Some(words)));
        let patch = number("Patch", "patch", patch)?;
        let pre_release = match pre_release {
            None => Vec::new(),
            Some(words) => words.split('.').map(identifier).collect::<Result<_, _>>()?,
        };
        for word in build.into_iter().flat_map(|build| build.split('.')) {
            if word.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !is_word(word) {
                return Err(format!(
                    "Invalid character(s) found in build meta data {}",
                    quoted(word)
                ));
            }
        }
        Ok(Self {
            numbers: [major, minor, patch],
            pre_release,
        })
    }

    /// Takes a `v` before the number, zeros before each part, and one or two missing parts.
    pub(crate) fn parse_normalized(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".to_owned());
            }
            parts.resize(3, "0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    pub(crate) fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.pre_release.is_empty(), other.pre_release.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.pre_release.cmp(&other.pre_release),
            }
        })
    }
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let trimmed = part.trim_start_matches('0');
    let zero = if trimmed.starts_with(|first: char| first.is_ascii_digit()) {
        ""
    } else {
        "0"
    };
    format!("{zero}{trimmed}")
}

fn number(title: &str, name: &str, text: &str) -> Result<u64, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!(
            "Invalid character(s) found in {name} number {}",
            quoted(text)
        ));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!(
            "{title} number must not contain leading zeroes {}",
            quoted(text)
        ));
    }
    text.parse().map_err(|_| {
        let reason = if text.is_empty() {
            "invalid syntax"
        } else {
            "value out of range"
        };
        format!("strconv.ParseUint: parsing {}: {reason}", quoted(text))
    })
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                quoted(text)
            ));
        }
        return text.parse().map(Identifier::Number).map_err(|_| {
            format!(
                "strconv.ParseUint: parsing {}: value out of range",
                quoted(text)
            )
        });
    }
    if !is_word(text) {
        return Err(format!(
            "Invalid character(s) found in prerelease {}",
            quoted(text)
        ));
    }
    Ok(Identifier::Word(text.to_owned()))
}

fn is_word(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
