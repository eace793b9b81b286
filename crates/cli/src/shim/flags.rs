//! Command lines as the programs of a control plane read them: Go's two libraries for flags differ from clap's.

use std::collections::BTreeMap;

/// Which library reads the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `pflag`, as in Kubernetes: `--name value`, `--name=value`; a boolean takes a value only behind `=`.
    Pflag,
    /// `flag`, as in etcd: one hyphen is as good as two.
    Flag,
}

/// The flags that a program knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) dialect: Dialect,
    /// A flag a line: its name, a tab, and its type.
    pub(super) table: &'static str,
}

/// What a command line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommandLine {
    Help,
    Version,
    Flags(Given),
}

/// The flags of a command line, with their values in the order in which they were given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given(BTreeMap<&'static str, Vec<String>>);

impl Known {
    /// Every flag with its type, in alphabetical order.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lines = self.table.lines();
        lines.filter_map(|line| line.split_once('\t'))
    }

    /// Reads a command line.
    ///
    /// # Errors
    /// The message of the library whose dialect this is.
    pub(super) fn parse(
        self,
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<CommandLine, String> {
        let mut arguments = arguments.into_iter();
        let mut given = Given::default();
        let mut words = Vec::new();
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                words.extend(arguments.by_ref());
                continue;
            }
            let Some(flag) = self.flag_of(&argument) else {
                words.push(argument);
                continue;
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (flag, None),
            };
            let name = match self.dialect {
                Dialect::Pflag => name.replace('_', "-"),
                Dialect::Flag => name.to_owned(),
            };
            match name.as_str() {
                "help" | "h" => return Ok(CommandLine::Help),
                "version" => return Ok(CommandLine::Version),
                _ => {}
            }
            let Some((name, kind)) = self.iter().find(|(known, _)| *known == name) else {
                return Err(self.unknown(&name));
            };
            let value = match (value, kind) {
                (Some(value), "bool") => boolean(&value)
                    .map(|on| on.to_string())
                    .ok_or_else(|| self.no_boolean(name, &value))?,
                (Some(value), _) => value,
                (None, "bool") => "true".to_owned(),
                (None, _) => arguments.next().ok_or_else(|| self.no_value(name))?,
            };
            given.0.entry(name).or_default().push(value);
        }
        if words.is_empty() {
            Ok(CommandLine::Flags(given))
        } else {
            Err(self.no_arguments(&words))
        }
    }

    /// The argument without its hyphens, if it is a flag.
    fn flag_of(self, argument: &str) -> Option<&str> {
        if let Some(long) = argument.strip_prefix("--") {
            return Some(long);
        }
        let short = argument.strip_prefix('-').filter(|name| !name.is_empty())?;
        match self.dialect {
            Dialect::Flag => Some(short),
            // The only flags with a short form.
            Dialect::Pflag => {
                (short == "h" || short == "v" || short.starts_with("v=")).then_some(short)
            }
        }
    }

    fn unknown(self, name: &str) -> String {
        match self.dialect {
            Dialect::Pflag => format!("Error: unknown flag: --{name}"),
            Dialect::Flag => format!("flag provided but not defined: -{name}"),
        }
    }

    fn no_value(self, name: &str) -> String {
        match self.dialect {
            Dialect::Pflag => format!("Error: flag needs an argument: --{name}"),
            Dialect::Flag => format!("flag needs an argument: -{name}"),
        }
    }

    fn no_boolean(self, name: &str, value: &str) -> String {
        let why = format!("strconv.ParseBool: parsing {value:?}: invalid syntax");
        match self.dialect {
            Dialect::Pflag => {
                format!("Error: invalid argument {value:?} for \"--{name}\" flag: {why}")
            }
            Dialect::Flag => format!("invalid boolean value {value:?} for -{name}: parse error"),
        }
    }

    fn no_arguments(self, words: &[String]) -> String {
        match self.dialect {
            Dialect::Pflag => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                let words = words.join(" ");
                format!("Error: \"kube-apiserver\" does not take any arguments, got [{words}]")
            }
            Dialect::Flag => {
                let word = words.first().map_or("", String::as_str);
                format!("error verifying flags, '{word}' is not a valid flag. See 'etcd --help'.")
            }
        }
    }
}

impl Given {
    /// The value of a flag that counts once: the last one.
    pub(super) fn last(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name)?.last()?;
        (!value.is_empty()).then_some(value)
    }

    /// Every value of a flag that may be repeated.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.get(name).into_iter().flatten();
        values.map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every element of a flag whose values are lists.
    pub(super) fn elements(&self, name: &str) -> impl Iterator<Item = &str> {
        let elements = self.all(name).flat_map(|list| list.split(','));
        elements
            .map(str::trim)
            .filter(|element| !element.is_empty())
    }

    /// The names of the flags that were given, in alphabetical order.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

/// A boolean as `strconv.ParseBool` reads it.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(dialect: Dialect, arguments: &[&str]) -> Result<CommandLine, String> {
        let known = Known {
            dialect,
            table: "allow-privileged\tbool\nbind-address\tip\nmodes\tstrings\nv\tLevel\n",
        };
        known.parse(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    fn given(dialect: Dialect, arguments: &[&str]) -> Given {
        match parse(dialect, arguments) {
            Ok(CommandLine::Flags(given)) => given,
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn values_stand_behind_an_equals_sign_or_in_the_next_argument() {
        let flags = given(
            Dialect::Pflag,
            &[
                "--bind_address",
                "127.0.0.1",
                "--modes=Node,RBAC",
                "--allow-privileged",
                "--modes",
                "x",
            ],
        );
        assert_eq!(flags.last("bind-address"), Some("127.0.0.1"));
        assert_eq!(flags.last("allow-privileged"), Some("true"));
        assert_eq!(flags.last("modes"), Some("x"));
        assert_eq!(
            flags.elements("modes").collect::<Vec<_>>(),
            ["Node", "RBAC", "x"]
        );
        assert_eq!(flags.last("v"), None);
        let flags = given(Dialect::Flag, &["-bind-address=a", "--allow-privileged=0"]);
        assert_eq!(flags.last("bind-address"), Some("a"));
        assert_eq!(flags.last("allow-privileged"), Some("false"));
    }

    #[test]
    fn mistakes_are_refused_in_the_words_of_the_library() {
        let pflag = |arguments: &[&str]| parse(Dialect::Pflag, arguments).unwrap_err();
        assert_eq!(pflag(&["--x=1"]), "Error: unknown flag: --x");
        assert_eq!(
            pflag(&["--bind-address"]),
            "Error: flag needs an argument: --bind-address"
        );
        assert_eq!(
            pflag(&["--allow-privileged=maybe"]),
            "Error: invalid argument \"maybe\" for \"--allow-privileged\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax"
        );
        assert_eq!(
            pflag(&["foo"]),
            "Error: \"kube-apiserver\" does not take any arguments, got [\"foo\"]"
        );
        let flag = |arguments: &[&str]| parse(Dialect::Flag, arguments).unwrap_err();
        assert_eq!(flag(&["-x"]), "flag provided but not defined: -x");
        assert_eq!(flag(&["--modes"]), "flag needs an argument: -modes");
    }

    #[test]
    fn help_and_version_win() {
        assert_eq!(
            parse(Dialect::Pflag, &["--modes=a", "-h"]),
            Ok(CommandLine::Help)
        );
        assert_eq!(parse(Dialect::Flag, &["--help"]), Ok(CommandLine::Help));
        assert_eq!(
            parse(Dialect::Pflag, &["--version"]),
            Ok(CommandLine::Version)
        );
    }
}
