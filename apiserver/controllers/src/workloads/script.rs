//! The shell scripts that the simulated kubelet understands: lists of plain commands, conditions and loops.
//!
//! A script with any other construct is not understood at all: half of a script would be a guess.

use tokio::time::Duration;

/// What a run of a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// It runs until it is stopped.
    Forever,
    Ends {
        after: Duration,
        code: u8,
    },
}

/// Where a command runs: its environment and its files.
pub(super) trait Surroundings {
    /// The value of an environment variable; empty if it is not set, `None` if it cannot be known.
    fn variable(&self, name: &str) -> Option<String>;

    fn exists(&self, path: &str) -> bool;

    fn touch(&mut self, path: &str);
}

/// Something that a command prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Printed {
    /// When, from the start.
    pub(super) after: Duration,
    /// Whether it is an error.
    pub(super) error: bool,
    pub(super) text: String,
}

/// A script with more commands than that is not understood: any client may write one.
const MOST_COMMANDS: usize = 100_000;
/// Nor is one whose conditions and loops are nested deeper.
const DEEPEST: usize = 100;

/// Runs a program with its arguments; `None` if it is not understood.
pub(super) fn program(words: &[String], surroundings: &mut dyn Surroundings) -> Option<Run> {
    Shell::new(surroundings, None).program(words)
}

/// Runs a program as [`program`] does, and returns what it prints, too; `None` also if that is not understood.
pub(super) fn printing(
    words: &[String],
    surroundings: &mut dyn Surroundings,
) -> Option<(Run, Vec<Printed>)> {
    let mut shell = Shell::new(surroundings, Some(Output::default()));
    let run = shell.program(words)?;
    Some((run, shell.output?.printed))
}

/// The last segment of a path.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(Vec<Part>),
    /// `;`, a line break, `&&` or `||`
    Sign(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String),
    Command(String),
}

#[derive(Debug)]
enum Node {
    Command(Vec<Vec<Part>>),
    /// A command and those behind it, each after `&&` (true) or `||`.
    Chain(Box<Self>, Vec<(bool, Self)>),
    If {
        arms: Vec<(Vec<Self>, Vec<Self>)>,
        otherwise: Vec<Self>,
    },
    While(Vec<Self>, Vec<Self>),
}

/// How a command went on.
enum Flow {
    Next(u8),
    Exit(u8),
    Forever,
}

/// Splits a script into tokens; `None` if it has a character with a meaning that is not understood.
fn tokens(script: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut word: Option<Vec<Part>> = None;
    let mut rest = script;
    let mut quoted = false;
    while let Some(next) = rest.chars().next() {
        let after = &rest[next.len_utf8()..];
        match next {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
                rest = after;
            }
            '\'' if !quoted => {
                let (text, after) = after.split_once('\'')?;
                push(word.get_or_insert_default(), text);
                rest = after;
            }
            '$' => {
                let (part, after) = dollar(after)?;
                word.get_or_insert_default().push(part);
                rest = after;
            }
            _ if quoted && !matches!(next, '\\' | '`') => {
                push(word.get_or_insert_default(), &rest[..next.len_utf8()]);
                rest = after;
            }
            ';' | '\n' => {
                tokens.extend(word.take().map(Token::Word));
                tokens.push(Token::Sign(";"));
                rest = after;
            }
            '&' | '|' => {
                let sign = if next == '&' { "&&" } else { "||" };
                rest = rest.strip_prefix(sign)?;
                tokens.extend(word.take().map(Token::Word));
                tokens.push(Token::Sign(sign));
            }
            _ if next.is_whitespace() => {
                tokens.extend(word.take().map(Token::Word));
                rest = after;
            }
            '\\' | '`' | '<' | '>' | '(' | ')' | '{' | '}' | '*' | '?' | '#' | '~' => return None,
            _ => {
                push(word.get_or_insert_default(), &rest[..next.len_utf8()]);
                rest = after;
            }
        }
    }
    if quoted {
        return None;
    }
    tokens.extend(word.map(Token::Word));
    Some(tokens)
}

fn push(word: &mut Vec<Part>, text: &str) {
    if let Some(Part::Text(last)) = word.last_mut() {
        last.push_str(text);
    } else {
        word.push(Part::Text(text.to_owned()));
    }
}

/// Reads what follows a `$`.
fn dollar(rest: &str) -> Option<(Part, &str)> {
    if let Some(inner) = rest.strip_prefix('{') {
        let (name, rest) = inner.split_once('}')?;
        return is_name(name).then(|| (Part::Variable(name.to_owned()), rest));
    }
    if let Some(inner) = rest.strip_prefix('(') {
        let (command, rest) = inner.split_once(')')?;
        let plain = !command.contains(['(', '"', '\'']);
        return plain.then(|| (Part::Command(command.to_owned()), rest));
    }
    let length = rest
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    let (name, rest) = rest.split_at(length);
    is_name(name).then(|| (Part::Variable(name.to_owned()), rest))
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[derive(Debug)]
struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// The word that comes next, if it is one without quotes and variables.
    fn keyword(&self) -> Option<&str> {
        match self.peek()? {
            Token::Word(parts) => match parts.as_slice() {
                [Part::Text(text)] => Some(text),
                _ => None,
            },
            Token::Sign(_) => None,
        }
    }

    fn skip(&mut self, word: &str) -> Option<()> {
        self.skip_ends();
        (self.keyword() == Some(word)).then(|| self.at += 1)
    }

    fn skip_ends(&mut self) {
        while self.peek() == Some(&Token::Sign(";")) {
            self.at += 1;
        }
    }

    /// Reads commands until one of these words.
    fn list(&mut self, until: &[&str]) -> Option<Vec<Node>> {
        let mut list = Vec::new();
        loop {
            self.skip_ends();
            let ends = self.keyword().is_some_and(|word| until.contains(&word));
            if self.peek().is_none() || ends {
                return Some(list);
            }
            let first = self.node()?;
            let mut behind = Vec::new();
            while let Some(Token::Sign(sign @ ("&&" | "||"))) = self.peek() {
                let both = *sign == "&&";
                self.at += 1;
                self.skip_ends();
                behind.push((both, self.node()?));
            }
            list.push(if behind.is_empty() {
                first
            } else {
                Node::Chain(Box::new(first), behind)
            });
        }
    }

    fn node(&mut self) -> Option<Node> {
        self.depth += 1;
        let node = (self.depth <= DEEPEST).then(|| self.construct()).flatten();
        self.depth -= 1;
        node
    }

    fn construct(&mut self) -> Option<Node> {
        match self.keyword() {
            Some("if") => self.condition(),
            Some("while") => {
                self.at += 1;
                let condition = self.list(&["do"])?;
                self.skip("do")?;
                let body = self.list(&["done"])?;
                self.skip("done")?;
                Some(Node::While(condition, body))
            }
            Some(
                "for" | "until" | "case" | "function" | "then" | "else" | "elif" | "fi" | "do"
                | "done" | "!",
            ) => None,
            _ => {
                let mut words = Vec::new();
                while let Some(Token::Word(word)) = self.peek() {
                    words.push(word.clone());
                    self.at += 1;
                }
                (!words.is_empty()).then_some(Node::Command(words))
            }
        }
    }

    fn condition(&mut self) -> Option<Node> {
        let (mut arms, mut otherwise) = (Vec::new(), Vec::new());
        loop {
            // `if` or `elif`
            self.at += 1;
            let condition = self.list(&["then"])?;
            self.skip("then")?;
            let body = self.list(&["elif", "else", "fi"])?;
            arms.push((condition, body));
            match self.keyword()? {
                "elif" => {}
                "else" => {
                    self.at += 1;
                    otherwise = self.list(&["fi"])?;
                    self.skip("fi")?;
                    return Some(Node::If { arms, otherwise });
                }
                _ => {
                    self.at += 1;
                    return Some(Node::If { arms, otherwise });
                }
            }
        }
    }
}

struct Shell<'a> {
    surroundings: &'a mut dyn Surroundings,
    /// How long the commands so far have slept.
    time: Duration,
    /// How many commands it may still run.
    left: usize,
    /// What it prints, if that counts.
    output: Option<Output>,
}

#[derive(Default)]
struct Output {
    printed: Vec<Printed>,
    bytes: usize,
}

impl<'a> Shell<'a> {
    fn new(surroundings: &'a mut dyn Surroundings, output: Option<Output>) -> Self {
        Self {
            surroundings,
            time: Duration::ZERO,
            left: MOST_COMMANDS,
            output,
        }
    }

    fn program(&mut self, words: &[String]) -> Option<Run> {
        self.finish(|shell| match base(words.first()?) {
            "exit" => None,
            _ => shell.command(words),
        })
    }

    /// Prints a text; `None` if it is too long.
    fn print(&mut self, text: String, error: bool) -> Option<()> {
        const MOST: usize = 1 << 20;
        let after = self.time;
        let Some(output) = &mut self.output else {
            return Some(());
        };
        output.bytes += text.len();
        (output.bytes <= MOST).then(|| output.printed.push(Printed { after, error, text }))
    }

    /// Prints the words of `echo`; `None` if shells do not agree about them.
    fn echo(&mut self, words: &[&str]) -> Option<()> {
        let (words, end) = match words {
            ["-n", words @ ..] => (words, ""),
            words => (words, "\n"),
        };
        let line = words.join(" ");
        let is_plain = !line.contains('\\') && !line.starts_with("-e") && !line.starts_with("-E");
        if self.output.is_some() && !is_plain {
            return None;
        }
        self.print(line + end, false)
    }

    fn finish(&mut self, run: impl FnOnce(&mut Self) -> Option<Flow>) -> Option<Run> {
        Some(match run(self)? {
            Flow::Next(code) | Flow::Exit(code) => Run::Ends {
                after: self.time,
                code,
            },
            Flow::Forever => Run::Forever,
        })
    }

    fn script(&mut self, script: &str) -> Option<Flow> {
        let mut parser = Parser {
            tokens: tokens(script)?,
            at: 0,
            depth: 0,
        };
        let list = parser.list(&[])?;
        if parser.at < parser.tokens.len() {
            return None;
        }
        self.list(&list)
    }

    fn list(&mut self, list: &[Node]) -> Option<Flow> {
        let mut last = 0;
        for node in list {
            match self.node(node)? {
                Flow::Next(code) => last = code,
                ends => return Some(ends),
            }
        }
        Some(Flow::Next(last))
    }

    fn node(&mut self, node: &Node) -> Option<Flow> {
        /// A loop that has not ended after so many rounds never does: nothing outside changes its files.
        const ROUNDS: usize = 1000;
        match node {
            Node::Command(words) => {
                let words: Option<Vec<String>> =
                    words.iter().map(|word| self.expanded(word)).collect();
                self.command(&words?)
            }
            Node::Chain(first, behind) => {
                let mut flow = self.node(first)?;
                for (both, next) in behind {
                    match flow {
                        Flow::Next(code) if (code == 0) == *both => flow = self.node(next)?,
                        Flow::Next(_) => {}
                        ends => return Some(ends),
                    }
                }
                Some(flow)
            }
            Node::If { arms, otherwise } => {
                for (condition, body) in arms {
                    match self.list(condition)? {
                        Flow::Next(0) => return self.list(body),
                        Flow::Next(_) => {}
                        ends => return Some(ends),
                    }
                }
                self.list(otherwise)
            }
            Node::While(condition, body) => {
                let mut last = 0;
                for _ in 0..ROUNDS {
                    match self.list(condition)? {
                        Flow::Next(0) => {}
                        Flow::Next(_) => return Some(Flow::Next(last)),
                        ends => return Some(ends),
                    }
                    match self.list(body)? {
                        Flow::Next(code) => last = code,
                        ends => return Some(ends),
                    }
                }
                // What it prints would have no end.
                let prints = self.output.as_ref().is_some_and(|output| output.bytes > 0);
                (!prints).then_some(Flow::Forever)
            }
        }
    }

    fn expanded(&mut self, word: &[Part]) -> Option<String> {
        let mut text = String::new();
        for part in word {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(name) => text.push_str(&self.surroundings.variable(name)?),
                Part::Command(command) => text.push_str(&self.output(command)?),
            }
        }
        Some(text)
    }

    /// What a command in `$(…)` prints: `expr` with one operator, or `echo`.
    fn output(&mut self, command: &str) -> Option<String> {
        let mut words = Vec::new();
        for token in tokens(command)? {
            match token {
                Token::Word(word) => words.push(self.expanded(&word)?),
                Token::Sign(_) => return None,
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["echo", words @ ..] => Some(words.join(" ")),
            ["expr", left, sign, right] => {
                let (left, right) = (left.parse::<i64>().ok()?, right.parse::<i64>().ok()?);
                let value = match *sign {
                    "+" => left.checked_add(right),
                    "-" => left.checked_sub(right),
                    "/" => left.checked_div(right),
                    "%" => left.checked_rem(right),
                    _ => None,
                };
                value.map(|value| value.to_string())
            }
            _ => None,
        }
    }

    fn command(&mut self, words: &[String]) -> Option<Flow> {
        self.left = self.left.checked_sub(1)?;
        let (name, arguments) = words.split_first()?;
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let status = |holds: bool| Some(Flow::Next(u8::from(!holds)));
        match (base(name), arguments.as_slice()) {
            ("true" | ":", _) => status(true),
            ("echo", words) => {
                self.echo(words)?;
                status(true)
            }
            ("false", _) => status(false),
            ("exit", []) => Some(Flow::Exit(0)),
            // The kernel keeps the lowest byte.
            ("exit", [code]) => Some(Flow::Exit(code.parse::<i64>().ok()?.to_le_bytes()[0])),
            ("sleep", [time]) => {
                if matches!(*time, "infinity" | "inf") {
                    return Some(Flow::Forever);
                }
                self.time = self.time.checked_add(span(time)?)?;
                status(true)
            }
            ("pause", []) | ("tail", ["-f", "/dev/null"]) => Some(Flow::Forever),
            ("touch", [path]) => {
                self.surroundings.touch(path);
                status(true)
            }
            // A file that was touched is empty.
            ("cat", [path]) => {
                let exists = self.surroundings.exists(path);
                if !exists {
                    let why = format!("cat: {path}: No such file or directory\n");
                    self.print(why, true)?;
                }
                status(exists)
            }
            ("test", words) | ("[", [words @ .., "]"]) | ("[[", [words @ .., "]]"]) => {
                status(self.holds(words)?)
            }
            ("sh" | "bash" | "ash", ["-c", script, ..]) => {
                // The words after the script are its parameters, which no understood script can name.
                match self.script(script)? {
                    Flow::Forever => Some(Flow::Forever),
                    Flow::Next(code) | Flow::Exit(code) => Some(Flow::Next(code)),
                }
            }
            _ => None,
        }
    }

    fn holds(&self, mut words: &[&str]) -> Option<bool> {
        let mut wanted = true;
        while let ["!", rest @ ..] = words {
            (words, wanted) = (rest, !wanted);
        }
        let holds = match words {
            ["-r" | "-e" | "-f", path] => self.surroundings.exists(path),
            ["-n", text] => !text.is_empty(),
            ["-z", text] => text.is_empty(),
            [left, "=" | "==", right] => left == right,
            [left, "!=", right] => left != right,
            [left, sign, right] => {
                let (left, right) = (left.parse::<i64>().ok()?, right.parse::<i64>().ok()?);
                match *sign {
                    "-eq" => left == right,
                    "-ne" => left != right,
                    "-lt" => left < right,
                    "-le" => left <= right,
                    "-gt" => left > right,
                    "-ge" => left >= right,
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(holds == wanted)
    }
}

/// The time of `sleep`: seconds, or a number with a unit.
fn span(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let seconds: f64 = number.parse().ok()?;
    let factor = match unit {
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => 1.0,
    };
    Duration::try_from_secs_f64(seconds * factor).ok()
}

#[cfg(test)]
mod tests;
