//! The contents of brackets and braces: lists, maps, objects and arguments.

use super::grammar::{Parsed, Parser, STARTS, Stop};
use super::lexer::Tok;
use crate::ast::{Element, Entry, Expr, Field, Kind};

impl Parser<'_> {
    pub(super) fn object(&mut self, rooted: bool, length: usize) -> Parsed<Expr> {
        let mut name = if rooted {
            ".".to_owned()
        } else {
            String::new()
        };
        for _ in 0..2 * length - 1 {
            name.push_str(self.take().text);
        }
        let open = self.open(Tok::CloseBrace);
        let id = self.nodes.id(open.at);
        let mut fields = Vec::new();
        let mut height = 0;
        self.first_of(OBJECT_ITEMS)?;
        while !matches!(self.peek(), Tok::CloseBrace | Tok::Comma) {
            let optional = self.question();
            let token = self.current();
            if !matches!(token.kind, Tok::Ident | Tok::EscapedIdent) {
                self.syntax(
                    token.at,
                    &format!("no viable alternative at input '{}'", token.text),
                );
                return Err(Stop);
            }
            self.take();
            let colon = self.expect(Tok::Colon)?;
            let field = self.nodes.id(colon);
            let value = self.item()?;
            height = height.max(self.height);
            let name = token.text.trim_matches('`').to_owned();
            fields.push(Field {
                id: field,
                name,
                value,
                optional,
            });
            if !self.another(Tok::CloseBrace)? {
                break;
            }
        }
        self.close(Tok::CloseBrace)?;
        self.height = height;
        Ok(Expr {
            id,
            kind: Kind::Object { name, fields },
        })
    }

    pub(super) fn list(&mut self) -> Parsed<Expr> {
        let open = self.open(Tok::CloseBracket);
        let id = self.nodes.id(open.at);
        let mut elements = Vec::new();
        let mut height = 0;
        self.first_of(LIST_ITEMS)?;
        while !matches!(self.peek(), Tok::CloseBracket | Tok::Comma) {
            let optional = self.question();
            let value = self.item()?;
            height = height.max(self.height);
            elements.push(Element { value, optional });
            if !self.another(Tok::CloseBracket)? {
                break;
            }
        }
        self.close(Tok::CloseBracket)?;
        self.height = height;
        Ok(Expr {
            id,
            kind: Kind::List(elements),
        })
    }

    pub(super) fn map(&mut self) -> Parsed<Expr> {
        let open = self.open(Tok::CloseBrace);
        let id = self.nodes.id(open.at);
        let mut entries = Vec::new();
        let mut height = 0;
        self.first_of(MAP_ITEMS)?;
        while !matches!(self.peek(), Tok::CloseBrace | Tok::Comma) {
            let optional = self.question();
            self.behind.push(Tok::Colon);
            let key = self.item()?;
            self.behind.pop();
            height = height.max(self.height);
            self.expect(Tok::Colon)?;
            let value = self.item()?;
            height = height.max(self.height);
            entries.push(Entry {
                key,
                value,
                optional,
            });
            if !self.another(Tok::CloseBrace)? {
                break;
            }
        }
        self.close(Tok::CloseBrace)?;
        self.height = height;
        Ok(Expr {
            id,
            kind: Kind::Map(entries),
        })
    }

    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut arguments = Vec::new();
        let mut height = 0;
        self.first_of(ARGUMENTS)?;
        if self.peek() != Tok::CloseParen {
            loop {
                arguments.push(self.item()?);
                height = height.max(self.height);
                if self.peek() != Tok::Comma {
                    break;
                }
                self.take();
            }
        }
        self.expect(Tok::CloseParen)?;
        self.height = height;
        Ok(arguments)
    }

    /// An expression that a comma may follow.
    fn item(&mut self) -> Parsed<Expr> {
        self.behind.push(Tok::Comma);
        let item = self.expression()?;
        self.behind.pop();
        Ok(item)
    }

    fn question(&mut self) -> bool {
        let found = self.peek() == Tok::Question;
        if found {
            self.take();
        }
        found
    }

    /// Behind an item of a list in brackets or braces: whether another one follows.
    fn another(&mut self, close: Tok) -> Parsed<bool> {
        if self.peek() != Tok::Comma && self.peek() != close {
            self.leave_out_or_stop(&[close, Tok::Comma])?;
        }
        if self.peek() != Tok::Comma || self.peek_at(1) == close {
            return Ok(false);
        }
        self.take();
        Ok(true)
    }

    /// The end of a list, behind a comma that may hang over.
    fn close(&mut self, close: Tok) -> Parsed<()> {
        if self.peek() == Tok::Comma {
            self.take();
        }
        self.expect(close).map(|_| ())
    }

    fn first_of(&mut self, expected: &[Tok]) -> Parsed<()> {
        if expected.contains(&self.peek()) {
            Ok(())
        } else {
            self.leave_out_or_stop(expected)
        }
    }
}

const ARGUMENTS: &[Tok] = &with(&[Tok::CloseParen]);
const LIST_ITEMS: &[Tok] = &with(&[Tok::CloseBracket, Tok::Comma, Tok::Question]);
const MAP_ITEMS: &[Tok] = &with(&[Tok::CloseBrace, Tok::Comma, Tok::Question]);
const OBJECT_ITEMS: &[Tok] = &[
    Tok::CloseBrace,
    Tok::Comma,
    Tok::Question,
    Tok::Ident,
    Tok::EscapedIdent,
];

/// The starts of an expression and `more`, which fills the rest with its first token.
const fn with(more: &[Tok]) -> [Tok; 18] {
    let mut all = [more[0]; 18];
    let mut index = 0;
    while index < STARTS.len() {
        all[index] = STARTS[index];
        index += 1;
    }
    let mut added = 0;
    while added < more.len() {
        all[index + added] = more[added];
        added += 1;
    }
    all
}
