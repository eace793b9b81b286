//! Changes to Rust files, as a careful person makes them: found by their syntax, made as a few characters of text.
//!
//! Everything else in the file stays as it is to the letter: comments, blank lines, a layout of one's own.

mod chain;
mod fields;
mod modules;

pub(super) use chain::{append, parameter, prepend, remove, unname};
pub(super) use fields::{Field, Parts, parts, with_version};
pub(super) use modules::{Api, add_api, add_module, remove_api, remove_module};

use proc_macro2::Span;
use syn::spanned::Spanned;

/// A Rust file that has been understood.
struct Source<'a> {
    text: &'a str,
    file: syn::File,
}

impl<'a> Source<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        // The parser steps over both, and places would be counted from behind them.
        if text.starts_with('\u{feff}') || (text.starts_with("#!") && !text.starts_with("#![")) {
            return Err("the file begins with a byte order mark or a shebang".to_owned());
        }
        let file = syn::parse_file(text).map_err(|error| {
            let at = error.span().start();
            format!("line {} is not Rust: {error}", at.line)
        })?;
        Ok(Self { text, file })
    }

    /// The text with something put in at a place.
    fn insert(&self, at: usize, what: &str) -> String {
        self.replace(at..at, what)
    }

    fn replace(&self, range: std::ops::Range<usize>, what: &str) -> String {
        let what = if self.text.contains("\r\n") {
            what.replace('\n', "\r\n")
        } else {
            what.to_owned()
        };
        format!(
            "{}{what}{}",
            &self.text[..range.start],
            &self.text[range.end..]
        )
    }

    /// Where the line of a place begins.
    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    /// Where the line after a place begins.
    fn next_line(&self, at: usize) -> usize {
        self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |end| at + end + 1)
    }

    /// The white space that the line of a place begins with.
    fn indent(&self, at: usize) -> &'a str {
        let line = &self.text[self.line_start(at)..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

fn range(of: &impl Spanned) -> std::ops::Range<usize> {
    of.span().byte_range()
}

fn end(of: Span) -> usize {
    of.byte_range().end
}

/// Whether two pieces of Rust are the same but for white space.
fn is_same(one: &impl quote::ToTokens, other: &str) -> bool {
    let tokens: Result<proc_macro2::TokenStream, _> = other.parse();
    tokens.is_ok_and(|tokens| tokens.to_string() == one.to_token_stream().to_string())
}
