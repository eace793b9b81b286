//! Reads a pattern as Go's `regexp/syntax` does and writes it for the `regex` crate.
//!
//! Go's `\d`, `\s`, `\w` and `\b` know ASCII only; `\Q..\E` quotes; a class has no operators and no nested classes; a
//! brace that begins no repetition matches itself; repetitions do not follow each other; groups may share a name.

use std::fmt::Write as _;

use super::class::{self, class};
use crate::failure::Failure;

/// How often a part may be repeated by all repetitions around it.
const MAX_REPEAT: u32 = 1_000;
/// How deep groups may be nested.
const MAX_GROUPS: usize = 1_000;

/// The pattern as the `regex` crate writes it.
pub(super) fn translate(pattern: &str) -> Result<String, Failure> {
    let mut translator = Translator {
        pattern,
        rest: pattern,
        out: String::with_capacity(pattern.len() + 8),
        flags: String::new(),
        groups: vec![Group::default()],
    };
    let mut last_repeat = None;
    while let Some(character) = translator.rest.chars().next() {
        last_repeat = translator.step(character, last_repeat)?;
    }
    if translator.groups.len() > 1 {
        return Err(Failure::invalid_pattern("missing closing )", pattern));
    }
    Ok(translator.out)
}

struct Translator<'p> {
    pattern: &'p str,
    rest: &'p str,
    out: String,
    /// Flags that were read and not yet written: a repetition behind them is of what is before them.
    flags: String,
    /// The open groups; the first is the whole pattern.
    groups: Vec<Group>,
}

/// What was read of a group.
#[derive(Default)]
struct Group {
    parts: Vec<Part>,
    /// Whether there is something to repeat.
    repeatable: bool,
}

/// A part of a pattern: how often it is repeated by numbers, and what it consists of.
#[derive(Default)]
struct Part {
    times: Option<u32>,
    inside: Vec<Self>,
}

impl Part {
    /// Whether no part is repeated more often than `limit`.
    fn fits(&self, mut limit: u32) -> bool {
        match self.times {
            Some(0) => return true,
            Some(times) if times > limit => return false,
            Some(times) => limit /= times,
            None => {}
        }
        self.inside.iter().all(|part| part.fits(limit))
    }

    fn is_plain(&self) -> bool {
        self.times.is_none() && self.inside.is_empty()
    }
}

impl<'p> Translator<'p> {
    /// Reads the next element; answers where it began if it is a repetition.
    fn step(
        &mut self,
        character: char,
        last_repeat: Option<&'p str>,
    ) -> Result<Option<&'p str>, Failure> {
        let here = self.rest;
        match character {
            '(' if here.starts_with("(?") => self.perl_group()?,
            '(' => self.open(1)?,
            ')' => self.close()?,
            '|' => {
                self.write_flags();
                self.out.push('|');
                self.group().repeatable = false;
                self.rest = &here[1..];
            }
            '^' | '$' | '.' => self.atom(character.encode_utf8(&mut [0; 4]), 1),
            '[' => {
                let (text, rest) = class(here)?;
                self.atom(&text, here.len() - rest.len());
            }
            '*' | '+' | '?' => {
                self.rest = &here[1..];
                self.repeat(here, last_repeat, None)?;
                return Ok(Some(here));
            }
            '{' => {
                let Some((count, length)) = Count::read(here) else {
                    self.literal(u32::from('{'), 1);
                    return Ok(None);
                };
                if !count.is_valid() {
                    return Err(Failure::invalid_pattern(
                        "invalid repeat count",
                        &here[..length],
                    ));
                }
                self.rest = &here[length..];
                self.repeat(here, last_repeat, Some(count))?;
                return Ok(Some(here));
            }
            '\\' => self.escape()?,
            other => self.literal(u32::from(other), other.len_utf8()),
        }
        Ok(None)
    }

    fn group(&mut self) -> &mut Group {
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    /// Writes an element that can be repeated, and steps over `length` bytes of the pattern.
    fn atom(&mut self, text: &str, length: usize) {
        self.write_flags();
        self.out.push_str(text);
        self.part(Part::default());
        self.rest = &self.rest[length..];
    }

    fn literal(&mut self, code: u32, length: usize) {
        match char::from_u32(code) {
            Some(character) => {
                let text = regex::escape(character.encode_utf8(&mut [0; 4]));
                self.atom(&text, length);
            }
            None => self.atom(class::NOTHING, length),
        }
    }

    fn part(&mut self, part: Part) {
        let group = self.group();
        group.repeatable = true;
        // What is not repeated by numbers does not count, unless it is what comes last.
        if group.parts.last().is_some_and(Part::is_plain) {
            group.parts.pop();
        }
        group.parts.push(part);
    }

    fn write_flags(&mut self) {
        self.out.push_str(&std::mem::take(&mut self.flags));
    }

    fn open(&mut self, length: usize) -> Result<(), Failure> {
        self.write_flags();
        self.out.push_str("(?:");
        self.groups.push(Group::default());
        if self.groups.len() > MAX_GROUPS {
            return Err(Failure::invalid_pattern(
                "expression nests too deeply",
                self.pattern,
            ));
        }
        self.rest = &self.rest[length..];
        Ok(())
    }

    fn close(&mut self) -> Result<(), Failure> {
        if self.groups.len() == 1 {
            return Err(Failure::invalid_pattern("unexpected )", self.pattern));
        }
        let inside = self.groups.pop().unwrap_or_default().parts;
        self.write_flags();
        self.out.push(')');
        self.part(Part {
            times: None,
            inside,
        });
        self.rest = &self.rest[1..];
        Ok(())
    }

    /// A repetition that begins at `start` and, without a `?` behind it, ends where the rest begins.
    fn repeat(
        &mut self,
        start: &'p str,
        last: Option<&'p str>,
        count: Option<Count>,
    ) -> Result<(), Failure> {
        let lazy = self.rest.starts_with('?');
        if lazy {
            self.rest = &self.rest[1..];
        }
        let until = |from: &'p str| &from[..from.len() - self.rest.len()];
        if let Some(last) = last {
            let (reason, at) = ("invalid nested repetition operator", until(last));
            return Err(Failure::invalid_pattern(reason, at));
        }
        let shown = until(start);
        let group = self.group();
        let last = group.parts.pop().filter(|_| group.repeatable);
        let Some(last) = last else {
            return Err(Failure::invalid_pattern(
                "missing argument to repetition operator",
                shown,
            ));
        };
        let part = match &count {
            Some(count) => Part {
                times: Some(count.times()),
                inside: vec![last],
            },
            None => last,
        };
        let is_repeated = count.as_ref().is_some_and(Count::repeats);
        if is_repeated && !part.fits(MAX_REPEAT) {
            return Err(Failure::invalid_pattern("invalid repeat count", shown));
        }
        group.parts.push(part);
        match count {
            Some(count) => count.write(&mut self.out),
            None => self.out.push_str(&start[..1]),
        }
        if lazy {
            self.out.push('?');
        }
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?flags)` or `(?flags:`.
    fn perl_group(&mut self) -> Result<(), Failure> {
        let rest = self.rest;
        let named = ["(?P<", "(?<"]
            .into_iter()
            .find(|start| rest.starts_with(start) && rest.len() > start.len());
        if let Some(start) = named {
            let Some(end) = rest.find('>') else {
                return Err(Failure::invalid_pattern("invalid named capture", rest));
            };
            let name = &rest[start.len()..end];
            let word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
            if name.is_empty() || !name.bytes().all(word) {
                return Err(Failure::invalid_pattern(
                    "invalid named capture",
                    &rest[..=end],
                ));
            }
            return self.open(end + 1);
        }
        let mut flags = Flags::default();
        for (at, flag) in rest.char_indices().skip(2) {
            match flag {
                'i' | 'm' | 's' | 'U' => flags.set(flag),
                '-' if !flags.off => (flags.off, flags.fresh) = (true, true),
                ':' | ')' if !(flags.off && flags.fresh) => {
                    if flag == ':' {
                        self.open(at + 1)?;
                        self.flags = flags.written();
                    } else {
                        self.flags.push_str(&flags.written());
                        self.rest = &rest[at + 1..];
                    }
                    return Ok(());
                }
                _ => {
                    let read = &rest[..at + flag.len_utf8()];
                    return Err(Failure::invalid_pattern(
                        "invalid or unsupported Perl syntax",
                        read,
                    ));
                }
            }
        }
        Err(Failure::invalid_pattern(
            "invalid or unsupported Perl syntax",
            rest,
        ))
    }

    fn escape(&mut self) -> Result<(), Failure> {
        let rest = self.rest;
        let escaped = rest[1..].chars().next();
        match escaped {
            Some('A') => self.atom("\\A", 2),
            Some('z') => self.atom("\\z", 2),
            Some('b') => self.atom("(?-u:\\b)", 2),
            Some('B') => self.atom("(?-u:\\B)", 2),
            Some('Q') => {
                let (quoted, _) = rest[2..].split_once("\\E").unwrap_or((&rest[2..], ""));
                self.rest = &rest[2..];
                for character in quoted.chars() {
                    self.literal(u32::from(character), character.len_utf8());
                }
                self.rest = self.rest.strip_prefix("\\E").unwrap_or(self.rest);
            }
            _ => {
                if let Some((group, after)) = class::escaped(rest)? {
                    self.atom(&group, rest.len() - after.len());
                } else {
                    let (code, after) = class::character(rest)?;
                    self.literal(code, rest.len() - after.len());
                }
            }
        }
        Ok(())
    }
}

/// The flags that a group sets and clears.
#[derive(Default)]
struct Flags {
    set: String,
    cleared: String,
    /// Whether a `-` was read, and whether no flag was read behind it.
    off: bool,
    fresh: bool,
}

impl Flags {
    fn set(&mut self, flag: char) {
        self.fresh = false;
        let (to, from) = if self.off {
            (&mut self.cleared, &mut self.set)
        } else {
            (&mut self.set, &mut self.cleared)
        };
        from.retain(|other| other != flag);
        if !to.contains(flag) {
            to.push(flag);
        }
    }

    fn written(&self) -> String {
        match (self.set.as_str(), self.cleared.as_str()) {
            ("", "") => String::new(),
            (set, "") => format!("(?{set})"),
            (set, cleared) => format!("(?{set}-{cleared})"),
        }
    }
}

/// `{least}`, `{least,}` or `{least,most}`.
struct Count {
    least: u32,
    most: Option<u32>,
}

impl Count {
    /// The count at the start of a text, and its length.
    fn read(text: &str) -> Option<(Self, usize)> {
        let end = text.find('}')?;
        let (least, most) = match text[1..end].split_once(',') {
            None => (&text[1..end], None),
            Some((least, most)) => (least, Some(most)),
        };
        let least = number(least)?;
        let most = match most {
            None => Some(least),
            Some("") => None,
            Some(most) => Some(number(most)?),
        };
        Some((Self { least, most }, end + 1))
    }

    fn is_valid(&self) -> bool {
        let most = self.most.unwrap_or(self.least);
        self.least <= most && most <= MAX_REPEAT
    }

    fn times(&self) -> u32 {
        self.most.unwrap_or(self.least)
    }

    fn repeats(&self) -> bool {
        self.times() >= 2
    }

    fn write(&self, out: &mut String) {
        let least = self.least;
        // Writing into a text cannot fail.
        let _ = match self.most {
            None => write!(out, "{{{least},}}"),
            Some(most) => write!(out, "{{{least},{most}}}"),
        };
    }
}

/// A decimal number without leading zeros; the largest where it is larger.
fn number(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some(digits.parse().unwrap_or(u32::MAX))
}
