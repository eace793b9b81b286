//! The format `email`: one address of a message (RFC 5322), as Go's `net/mail` reads it.

use std::net::IpAddr;

/// Whether a text is one address: `a@b`, `a@b (Name)`, `Name <a@b>` or `Group: a@b;`.
pub(super) fn is_email(text: &str) -> bool {
    let mut parser = Parser { rest: text };
    parser.addresses(true) == Some(1) && parser.comments().is_some() && parser.rest.is_empty()
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    /// A mailbox or a group; how many addresses were read.
    fn addresses(&mut self, groups: bool) -> Option<usize> {
        self.spaces();
        if self.rest.is_empty() {
            return None;
        }
        if self.address().is_some() {
            self.spaces();
            if self.rest.starts_with('(') {
                self.comment()?;
            }
            return Some(1);
        }
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.spaces();
        if groups && self.take(':') {
            return self.group();
        }
        (self.take('<') && self.address().is_some() && self.take('>')).then_some(1)
    }

    /// What is behind the colon of a group.
    fn group(&mut self) -> Option<usize> {
        self.spaces();
        let mut found = 0;
        if !self.take(';') {
            loop {
                found += self.addresses(false)?;
                self.comments()?;
                if self.take(';') {
                    break;
                }
                if !self.take(',') {
                    return None;
                }
            }
        }
        self.comments()?;
        Some(found)
    }

    /// `local@domain`; nothing is read where it is none.
    fn address(&mut self) -> Option<()> {
        let start = self.rest;
        let found = self.local_and_domain();
        if found.is_none() {
            self.rest = start;
        }
        found
    }

    fn local_and_domain(&mut self) -> Option<()> {
        self.spaces();
        if self.rest.starts_with('"') {
            if self.quoted()? == 0 {
                return None;
            }
        } else {
            self.strict_atom()?;
        }
        if !self.take('@') {
            return None;
        }
        self.spaces();
        if self.rest.starts_with('[') {
            self.domain_literal()
        } else {
            self.strict_atom()
        }
    }

    /// Parses atoms and quoted strings with spaces and comments between them.
    fn phrase(&mut self) -> Option<()> {
        self.spaces();
        self.word()?;
        loop {
            self.comments()?;
            if self.word().is_none() {
                return Some(());
            }
        }
    }

    fn word(&mut self) -> Option<()> {
        if self.rest.starts_with('"') {
            self.quoted().map(|_| ())
        } else {
            self.atom().map(|_| ())
        }
    }

    /// Parses a quoted string; returns its number of characters.
    fn quoted(&mut self) -> Option<usize> {
        let mut escaped = false;
        let mut count = 0;
        for (at, character) in self.rest.char_indices().skip(1) {
            let blank = matches!(character, ' ' | '\t');
            match character {
                _ if escaped => {
                    if !is_visible(character) && !blank {
                        return None;
                    }
                    escaped = false;
                    count += 1;
                }
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(count);
                }
                '\\' => escaped = true,
                _ if is_visible(character) || blank => count += 1,
                _ => return None,
            }
        }
        None
    }

    /// An atom with dots in it: none at an end, and none beside another.
    fn strict_atom(&mut self) -> Option<()> {
        let atom = self.atom()?;
        let wrong = atom.starts_with('.') || atom.ends_with('.') || atom.contains("..");
        (!wrong).then_some(())
    }

    fn atom(&mut self) -> Option<&str> {
        let special = |c: char| !is_visible(c) || "()[];@\\,<>\":".contains(c);
        let end = self.rest.find(special).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!atom.is_empty()).then_some(atom)
    }

    /// `[1.2.3.4]`
    fn domain_literal(&mut self) -> Option<()> {
        let (address, rest) = self.rest[1..].split_once(']')?;
        self.rest = rest;
        address.parse::<IpAddr>().ok().map(|_| ())
    }

    fn comments(&mut self) -> Option<()> {
        self.spaces();
        while self.rest.starts_with('(') {
            self.comment()?;
            self.spaces();
        }
        Some(())
    }

    /// A text in parentheses, which may hold others.
    fn comment(&mut self) -> Option<()> {
        let mut depth = 0;
        let mut escaped = false;
        for (at, character) in self.rest.char_indices() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '(' => depth += 1,
                ')' => {
                    depth -= 1;
                    if depth == 0 {
                        self.rest = &self.rest[at + 1..];
                        return Some(());
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, character: char) -> bool {
        let rest = self.rest.strip_prefix(character);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

fn is_visible(character: char) -> bool {
    ('!'..='~').contains(&character) || !character.is_ascii()
}
