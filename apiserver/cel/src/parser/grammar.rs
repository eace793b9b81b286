//! The grammar, by recursive descent.

use super::lexer::{Tok, Token};
use super::nodes::Nodes;
use super::{literals, macros};
use crate::ast::{Expr, Kind, Literal, Name, operators};
use crate::introduced::Macros;
use crate::source::Problem;

/// How often one rule of the grammar may be open at once, and how high the tree may grow.
const MAX_DEPTH: u16 = 250;

/// A place where reading cannot go on; the problem is recorded.
pub(super) struct Stop;

pub(super) type Parsed<T> = Result<T, Stop>;

pub(super) struct Parser<'s> {
    tokens: Vec<Token<'s>>,
    next: usize,
    pub(super) nodes: Nodes,
    open: Open,
    /// What closes the brackets that are open.
    closers: Vec<Tok>,
    /// What else may stand behind the expressions that are open, besides operators.
    pub(super) behind: Vec<Tok>,
    /// Whether no token was read since the last problem, so that another one would only follow from it.
    recovering: bool,
    /// The height of the tree that was read last, counted as the reference implementation counts it.
    pub(super) height: u16,
}

/// How often each recursive rule is open.
#[derive(Default)]
struct Open {
    expressions: u16,
    relations: u16,
    sums: u16,
    members: u16,
}

impl<'s> Parser<'s> {
    pub(super) fn new(tokens: Vec<Token<'s>>, problems: Vec<Problem>, macros: Macros) -> Self {
        Self {
            tokens,
            next: 0,
            nodes: Nodes::new(problems, macros),
            open: Open::default(),
            closers: Vec::new(),
            behind: Vec::new(),
            recovering: false,
            height: 0,
        }
    }

    pub(super) fn into_parts(self) -> (Vec<u32>, Vec<Problem>) {
        (self.nodes.positions, self.nodes.problems)
    }

    pub(super) fn start(&mut self) -> Option<Expr> {
        let root = self.expression().ok()?;
        self.expect(Tok::End).ok()?;
        Some(root)
    }

    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.open.expressions += 1;
        self.limit(self.open.expressions)?;
        self.behind.push(Tok::Question);
        let condition = self.disjunction()?;
        self.behind.pop();
        let result = if self.peek() == Tok::Question {
            self.conditional(condition)
        } else {
            Ok(condition)
        };
        self.open.expressions -= 1;
        result
    }

    fn conditional(&mut self, condition: Expr) -> Parsed<Expr> {
        let height = self.height;
        let at = self.take().at;
        let id = self.nodes.id(at);
        self.behind.push(Tok::Colon);
        let truthy = self.disjunction()?;
        self.behind.pop();
        let height = height.max(self.height);
        self.expect(Tok::Colon)?;
        let falsy = self.expression()?;
        self.grow(height.max(self.height))?;
        Ok(call(
            id,
            operators::CONDITIONAL,
            vec![condition, truthy, falsy],
        ))
    }

    fn disjunction(&mut self) -> Parsed<Expr> {
        let mut height = 0;
        let mut terms = Vec::new();
        let mut operators = Vec::new();
        loop {
            let mut factors = Vec::new();
            let mut ands = Vec::new();
            loop {
                factors.push(self.relation()?);
                height = height.max(self.height);
                if self.peek() != Tok::And {
                    break;
                }
                let at = self.take().at;
                ands.push(self.nodes.id(at));
            }
            terms.push(balanced(operators::AND, factors, &ands));
            if self.peek() != Tok::Or {
                break;
            }
            let at = self.take().at;
            operators.push(self.nodes.id(at));
        }
        self.height = height;
        Ok(balanced(operators::OR, terms, &operators))
    }

    fn relation(&mut self) -> Parsed<Expr> {
        let open = self.open.relations;
        self.open.relations += 1;
        self.limit(self.open.relations)?;
        let mut left = self.sum(0)?;
        while let Some(operator) = relation_operator(self.peek()) {
            let height = self.height;
            let at = self.take().at;
            let id = self.nodes.id(at);
            self.open.relations += 1;
            self.limit(self.open.relations + 1)?;
            let right = self.sum(0)?;
            self.grow(height.max(self.height))?;
            left = call(id, operator, vec![left, right]);
        }
        self.open.relations = open;
        Ok(left)
    }

    fn sum(&mut self, precedence: u8) -> Parsed<Expr> {
        let open = self.open.sums;
        self.open.sums += 1;
        self.limit(self.open.sums)?;
        let mut left = self.unary()?;
        while let Some((operator, level)) = sum_operator(self.peek()) {
            if level < precedence {
                break;
            }
            let height = self.height;
            let at = self.take().at;
            let id = self.nodes.id(at);
            self.open.sums += 1;
            let right = self.sum(level + 1)?;
            self.grow(height.max(self.height))?;
            left = call(id, operator, vec![left, right]);
        }
        self.open.sums = open;
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let operator = match self.peek() {
            Tok::Not => operators::NOT,
            Tok::Minus if !matches!(self.peek_at(1), Tok::Int | Tok::Float) => operators::NEGATE,
            token if starts_expression(token) || starts_expression(self.peek_at(1)) => {
                return self.member();
            }
            _ => {
                self.unexpected("mismatched");
                return Ok(self.recovered());
            }
        };
        let sign = self.peek();
        let at = self.current().at;
        let mut count = 0_usize;
        while self.peek() == sign {
            self.take();
            count += 1;
        }
        if !starts_expression(self.peek()) {
            if sign == Tok::Minus {
                self.no_alternative("-");
                // The reference implementation looked ahead and goes on with the sign as an operator.
                self.next -= 1;
            } else {
                self.unexpected("extraneous");
            }
            return Ok(self.recovered());
        }
        if count.is_multiple_of(2) {
            return self.member();
        }
        let id = self.nodes.id(at);
        let operand = self.member()?;
        Ok(call(id, operator, vec![operand]))
    }

    fn no_alternative(&mut self, behind: &str) {
        let token = self.current();
        let text = match token.kind {
            Tok::End => "",
            _ => token.text,
        };
        let message = format!("no viable alternative at input '{behind}{text}'");
        self.syntax(token.at, &message);
    }

    fn unexpected(&mut self, how: &str) {
        let token = self.current();
        let expected = list_of(STARTS);
        self.syntax(
            token.at,
            &format!("{how} input '{}' expecting {expected}", token.text),
        );
    }

    /// Goes on at what may stand behind an expression that is missing, with a placeholder for it.
    fn recovered(&mut self) -> Expr {
        while self.peek() != Tok::End && !self.may_be_behind(self.peek()) {
            self.next += 1;
        }
        self.height = 0;
        let at = self.current().at;
        self.nodes.node(at, Kind::Literal(Literal::Null))
    }

    fn may_be_behind(&self, token: Tok) -> bool {
        relation_operator(token).is_some()
            || sum_operator(token).is_some()
            || matches!(token, Tok::And | Tok::Or)
            || self.closers.contains(&token)
            || self.behind.contains(&token)
    }

    fn member(&mut self) -> Parsed<Expr> {
        let open = self.open.members;
        self.open.members += 1;
        self.limit(self.open.members)?;
        let mut target = self.primary()?;
        loop {
            target = match self.peek() {
                Tok::Dot => self.selection(target)?,
                Tok::OpenBracket => self.index(target)?,
                _ => break,
            };
            self.open.members += 1;
            self.limit(self.open.members)?;
        }
        self.open.members = open;
        Ok(target)
    }

    fn selection(&mut self, target: Expr) -> Parsed<Expr> {
        let height = self.height;
        let dot = self.take();
        let optional = self.peek() == Tok::Question;
        if optional {
            self.take();
        }
        let name = self.current();
        if !matches!(name.kind, Tok::Ident | Tok::EscapedIdent) {
            let text = if name.kind == Tok::End { "" } else { name.text };
            let message = match name.kind {
                Tok::True | Tok::False | Tok::Null => {
                    format!("mismatched input '{}' expecting IDENTIFIER", name.text)
                }
                _ if optional => format!("no viable alternative at input '{text}'"),
                _ => format!("no viable alternative at input '.{text}'"),
            };
            self.syntax(name.at, &message);
            return Err(Stop);
        }
        self.take();
        if name.kind == Tok::Ident && !optional && self.peek() == Tok::OpenParen {
            let open = self.open(Tok::CloseParen);
            let id = self.nodes.id(open.at);
            let arguments = self.arguments()?;
            self.grow(height.max(self.height))?;
            return Ok(macros::receiver(
                &mut self.nodes,
                id,
                name.text,
                target,
                arguments,
            ));
        }
        self.grow(height)?;
        let field = name.text.trim_matches('`').to_owned();
        if optional {
            let id = self.nodes.id(dot.at);
            let field = self
                .nodes
                .node(name.at, Kind::Literal(Literal::String(field)));
            return Ok(call(id, operators::OPTIONAL_SELECT, vec![target, field]));
        }
        let kind = Kind::Select {
            operand: Box::new(target),
            field,
            test_only: false,
        };
        Ok(self.nodes.node(dot.at, kind))
    }

    fn index(&mut self, target: Expr) -> Parsed<Expr> {
        let height = self.height;
        let open = self.open(Tok::CloseBracket);
        let id = self.nodes.id(open.at);
        let operator = if self.peek() == Tok::Question {
            self.take();
            operators::OPTIONAL_INDEX
        } else {
            operators::INDEX
        };
        let index = self.expression()?;
        self.expect(Tok::CloseBracket)?;
        self.grow(height.max(self.height))?;
        Ok(call(id, operator, vec![target, index]))
    }

    fn primary(&mut self) -> Parsed<Expr> {
        self.height = 0;
        if !starts_expression(self.peek()) {
            self.leave_out_or_stop(STARTS)?;
        }
        let token = self.current();
        match token.kind {
            Tok::OpenParen => {
                self.open(Tok::CloseParen);
                let inner = self.expression()?;
                self.expect(Tok::CloseParen)?;
                Ok(inner)
            }
            Tok::OpenBracket => self.list(),
            Tok::OpenBrace => self.map(),
            Tok::Dot | Tok::Ident => self.name(),
            _ => self.literal(),
        }
    }

    fn name(&mut self) -> Parsed<Expr> {
        let rooted = self.peek() == Tok::Dot;
        if rooted {
            self.take();
        }
        let token = self.current();
        if token.kind != Tok::Ident {
            self.no_alternative(".");
            return Err(Stop);
        }
        if let Some(length) = self.object_name_length() {
            return self.object(rooted, length);
        }
        self.take();
        let prefix = if rooted { "." } else { "" };
        let name = format!("{prefix}{}", token.text);
        if self.peek() == Tok::OpenParen {
            let open = self.open(Tok::CloseParen);
            let id = self.nodes.id(open.at);
            let arguments = self.arguments()?;
            if RESERVED.contains(&token.text) {
                return Ok(self
                    .nodes
                    .broken(token.at, format!("reserved identifier: {}", token.text)));
            }
            return Ok(macros::global(&mut self.nodes, id, name, arguments));
        }
        if RESERVED.contains(&token.text) {
            return Ok(self
                .nodes
                .broken(token.at, format!("reserved identifier: {}", token.text)));
        }
        Ok(self.nodes.node(token.at, Kind::Ident(Name::Owned(name))))
    }

    /// How many identifiers stand before a brace, where the name of an object type does.
    fn object_name_length(&self) -> Option<usize> {
        let mut length = 1;
        while self.peek_at(2 * length - 1) == Tok::Dot && self.peek_at(2 * length) == Tok::Ident {
            length += 1;
        }
        (self.peek_at(2 * length - 1) == Tok::OpenBrace).then_some(length)
    }

    fn literal(&mut self) -> Parsed<Expr> {
        let start = self.take();
        let negative = start.kind == Tok::Minus;
        let token = if negative { self.take() } else { start };
        let value = match token.kind {
            Tok::Int => literals::int(token.text, negative),
            Tok::Float => literals::double(token.text, negative),
            Tok::Uint => literals::uint(token.text),
            Tok::String => literals::string(token.text).map(Literal::String),
            Tok::Bytes => literals::bytes(&token.text[1..]).map(Literal::Bytes),
            Tok::True => Ok(Literal::Bool(true)),
            Tok::False => Ok(Literal::Bool(false)),
            Tok::Null => Ok(Literal::Null),
            _ => {
                self.syntax(
                    token.at,
                    &format!("no viable alternative at input '{}'", token.text),
                );
                return Err(Stop);
            }
        };
        Ok(match value {
            Ok(value) => self.nodes.node(start.at, Kind::Literal(value)),
            Err(message) => self.nodes.broken(start.at, message),
        })
    }

    /// Leaves out the current token if the one behind it is expected.
    pub(super) fn leave_out_or_stop(&mut self, expected: &[Tok]) -> Parsed<()> {
        let token = self.current();
        let fits = token.kind != Tok::End && expected.contains(&self.peek_at(1));
        let how = if fits { "extraneous" } else { "mismatched" };
        self.syntax(
            token.at,
            &format!(
                "{how} input '{}' expecting {}",
                token.text,
                list_of(expected)
            ),
        );
        if !fits {
            return Err(Stop);
        }
        self.take();
        Ok(())
    }

    /// Reads an opening bracket.
    pub(super) fn open(&mut self, closer: Tok) -> Token<'s> {
        self.closers.push(closer);
        self.take()
    }

    /// Reads one token, leaving out one before it or filling it in where that is all that is wrong.
    pub(super) fn expect(&mut self, kind: Tok) -> Parsed<u32> {
        if self.closers.last() == Some(&kind) {
            self.closers.pop();
        }
        let token = self.current();
        if token.kind == kind {
            self.take();
            return Ok(token.at);
        }
        let name = kind.name();
        if token.kind != Tok::End && self.peek_at(1) == kind {
            self.syntax(
                token.at,
                &format!("extraneous input '{}' expecting {name}", token.text),
            );
            self.take();
            return Ok(self.take().at);
        }
        if self.may_follow(kind, token.kind) {
            self.syntax(token.at, &format!("missing {name} at '{}'", token.text));
            return Ok(token.at);
        }
        self.syntax(
            token.at,
            &format!("mismatched input '{}' expecting {name}", token.text),
        );
        Err(Stop)
    }

    /// Whether `token` may stand behind `filled`, so that filling it in mends the expression.
    fn may_follow(&self, filled: Tok, token: Tok) -> bool {
        match (filled, token) {
            (Tok::Colon, _) => starts_expression(token),
            (Tok::End, _) => false,
            (_, Tok::End) => self.closers.is_empty(),
            (_, Tok::CloseParen | Tok::CloseBracket | Tok::CloseBrace) => {
                self.closers.last() == Some(&token)
            }
            (_, Tok::Dot | Tok::OpenBracket | Tok::Minus) => true,
            _ => !starts_expression(token),
        }
    }

    pub(super) fn syntax(&mut self, at: u32, message: &str) {
        if std::mem::replace(&mut self.recovering, true) {
            return;
        }
        self.nodes
            .problems
            .push(Problem::at(at, format!("Syntax error: {message}")));
    }

    fn limit(&mut self, open: u16) -> Parsed<()> {
        if open <= MAX_DEPTH {
            return Ok(());
        }
        self.nodes.problems.push(Problem::anywhere(format!(
            "expression recursion limit exceeded: {MAX_DEPTH}"
        )));
        Err(Stop)
    }

    fn grow(&mut self, height: u16) -> Parsed<()> {
        self.height = height + 1;
        if self.height <= MAX_DEPTH {
            return Ok(());
        }
        self.nodes
            .problems
            .push(Problem::anywhere("max recursion depth exceeded"));
        Err(Stop)
    }

    pub(super) fn current(&self) -> Token<'s> {
        self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    pub(super) fn peek(&self) -> Tok {
        self.current().kind
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Tok {
        self.tokens
            .get(self.next + ahead)
            .map_or(Tok::End, |token| token.kind)
    }

    pub(super) fn take(&mut self) -> Token<'s> {
        let token = self.current();
        self.next += 1;
        self.recovering = false;
        token
    }
}

fn call(id: u32, function: &'static str, arguments: Vec<Expr>) -> Expr {
    Expr {
        id,
        kind: Kind::Call {
            function: Name::Borrowed(function),
            target: None,
            arguments,
        },
    }
}

/// A balanced tree of `&&` or `||`, so that long conditions do not grow deep.
fn balanced(function: &'static str, mut terms: Vec<Expr>, ids: &[u32]) -> Expr {
    if ids.is_empty() {
        return terms.remove(0);
    }
    let middle = ids.len() / 2;
    let right = terms.split_off(middle + 1);
    let left = balanced(function, terms, &ids[..middle]);
    let right = balanced(function, right, &ids[middle + 1..]);
    call(ids[middle], function, vec![left, right])
}

fn relation_operator(token: Tok) -> Option<&'static str> {
    Some(match token {
        Tok::Less => operators::LESS,
        Tok::LessEquals => operators::LESS_EQUALS,
        Tok::Greater => operators::GREATER,
        Tok::GreaterEquals => operators::GREATER_EQUALS,
        Tok::Equals => operators::EQUALS,
        Tok::NotEquals => operators::NOT_EQUALS,
        Tok::In => operators::IN,
        _ => return None,
    })
}

fn sum_operator(token: Tok) -> Option<(&'static str, u8)> {
    Some(match token {
        Tok::Plus => (operators::ADD, 0),
        Tok::Minus => (operators::SUBTRACT, 0),
        Tok::Star => (operators::MULTIPLY, 1),
        Tok::Slash => (operators::DIVIDE, 1),
        Tok::Percent => (operators::MODULO, 1),
        _ => return None,
    })
}

fn starts_expression(token: Tok) -> bool {
    STARTS.contains(&token)
}

fn list_of(expected: &[Tok]) -> String {
    let mut sorted = expected.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let names: Vec<&str> = sorted.into_iter().map(Tok::name).collect();
    match names.as_slice() {
        [one] => (*one).to_owned(),
        _ => format!("{{{}}}", names.join(", ")),
    }
}

pub(super) const STARTS: &[Tok] = &[
    Tok::OpenBracket,
    Tok::OpenBrace,
    Tok::OpenParen,
    Tok::Dot,
    Tok::Minus,
    Tok::Not,
    Tok::True,
    Tok::False,
    Tok::Null,
    Tok::Float,
    Tok::Int,
    Tok::Uint,
    Tok::String,
    Tok::Bytes,
    Tok::Ident,
];

/// The words of the language, and those it keeps for later.
pub(crate) const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Whether an expression can use a name as it is: `variables.<name>`.
///
/// ```
/// use kubewright_cel::is_identifier;
///
/// assert!(is_identifier("_replicas2"));
/// assert!(!is_identifier("2nd") && !is_identifier("namespace"));
/// ```
pub fn is_identifier(name: &str) -> bool {
    let is_letter = |byte: u8| byte == b'_' || byte.is_ascii_alphabetic();
    let mut bytes = name.bytes();
    bytes.next().is_some_and(is_letter)
        && bytes.all(|byte| is_letter(byte) || byte.is_ascii_digit())
        && !RESERVED.contains(&name)
}
