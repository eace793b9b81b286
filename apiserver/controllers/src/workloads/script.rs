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

/// A script with more commands than that is not understood: any client may write one.
const MOST_COMMANDS: usize = 100_000;
/// Nor is one whose conditions and loops are nested deeper.
const DEEPEST: usize = 100;

/// Runs a program with its arguments; `None` if it is not understood.
pub(super) fn program(words: &[String], surroundings: &mut dyn Surroundings) -> Option<Run> {
    let mut shell = Shell {
        surroundings,
        time: Duration::ZERO,
        left: MOST_COMMANDS,
    };
    shell.finish(|shell| match base(words.first()?) {
        "exit" => None,
        _ => shell.command(words),
    })
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
}

impl Shell<'_> {
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
                Some(Flow::Forever)
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
            ("true" | ":" | "echo", _) => status(true),
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
            ("cat", [path]) => status(self.surroundings.exists(path)),
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
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[derive(Default)]
    struct Files {
        files: BTreeSet<String>,
    }

    impl Surroundings for Files {
        fn variable(&self, name: &str) -> Option<String> {
            Some(if name == "INDEX" { "3" } else { "" }.to_owned())
        }

        fn exists(&self, path: &str) -> bool {
            self.files.contains(path)
        }

        fn touch(&mut self, path: &str) {
            self.files.insert(path.to_owned());
        }
    }

    fn shell(script: &str, files: &mut Files) -> Option<Run> {
        program(
            &["sh".to_owned(), "-c".to_owned(), script.to_owned()],
            files,
        )
    }

    fn ends(seconds: u64, code: u8) -> Run {
        let after = Duration::from_secs(seconds);
        Run::Ends { after, code }
    }

    #[test]
    fn plain_scripts_end_as_a_shell_ends_them() {
        for (script, expected) in [
            ("exit 0", ends(0, 0)),
            ("exit 256", ends(0, 0)),
            ("sleep 5; exit 3", ends(5, 3)),
            ("sleep 1m && false", ends(60, 1)),
            ("false || true", ends(0, 0)),
            ("echo \"a; b\"\nfalse", ends(0, 1)),
            (
                "if [ $(expr ${INDEX} % 2) -ne 0 ]; then exit 1; else exit 0; fi",
                ends(0, 1),
            ),
            ("if [[ -z $NONE ]]\nthen\n  exit 7\nfi", ends(0, 7)),
            ("while true; do sleep 5; done", Run::Forever),
            ("sleep infinity", Run::Forever),
        ] {
            assert_eq!(
                shell(script, &mut Files::default()),
                Some(expected),
                "{script}"
            );
        }
    }

    #[test]
    fn a_script_with_anything_else_is_not_understood() {
        for script in [
            "curl example.com",
            "exit $((1 + 1))",
            "echo a > b",
            "true & wait",
            "trap 'exit 1' TERM; sleep 5",
            "if true; then exit 1",
            "for i in 1 2; do true; done",
            "echo \"open",
        ] {
            assert_eq!(shell(script, &mut Files::default()), None, "{script}");
        }
    }

    #[test]
    fn a_script_that_is_too_long_or_too_deep_is_not_understood() {
        let many = |text: &str, count: usize| text.repeat(count);
        for script in [
            many("if ", 500_000),
            many("while true; do ", 500_000),
            many("true\n", MOST_COMMANDS),
            many("while [ -z x ]; do true; done; ", MOST_COMMANDS),
        ] {
            let start = &script[..20];
            assert_eq!(shell(&script, &mut Files::default()), None, "{start}");
        }
        let chain = many("true && ", MOST_COMMANDS / 2) + "false";
        assert_eq!(shell(&chain, &mut Files::default()), Some(ends(0, 1)));
        let not = format!("[ {}-n x ]", many("! ", 500_001));
        assert_eq!(shell(&not, &mut Files::default()), Some(ends(0, 1)));
    }

    #[test]
    fn a_file_that_one_run_touched_is_there_in_the_next() {
        let script = "if [[ -r /data/foo ]]\nthen\n exit 0\nelse\n touch /data/foo\n exit 42\nfi\n";
        let mut surroundings = Files::default();
        assert_eq!(shell(script, &mut surroundings), Some(ends(0, 42)));
        assert_eq!(shell(script, &mut surroundings), Some(ends(0, 0)));
    }

    #[test]
    fn programs_are_understood_without_a_shell() {
        for (words, expected) in [
            (&["/bin/true"][..], Some(ends(0, 0))),
            (&["/bin/false"], Some(ends(0, 1))),
            (&["sleep", "300"], Some(ends(300, 0))),
            (&["/bin/sh", "-c", "exit 2"], Some(ends(0, 2))),
            (&["nginx"], None),
            (&["exit", "1"], None),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(
                program(&words, &mut Files::default()),
                expected,
                "{words:?}"
            );
        }
    }
}
