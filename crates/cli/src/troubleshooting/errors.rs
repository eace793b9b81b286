//! The errors of the command and their hints, as its source has them.

use std::collections::BTreeMap;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Expr, ExprLit, ExprMethodCall, Lit, Local, Pat};

/// An error with its hints; `…` is a part that only a run of the command knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Described {
    pub(super) message: String,
    pub(super) hints: Vec<String>,
}

/// The errors that have a hint, by the path of their file below `src`.
pub(super) fn described() -> BTreeMap<String, Vec<Described>> {
    let mut files = BTreeMap::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    collect(&src, &src, &mut files);
    files
}

fn collect(src: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<Described>>) {
    for entry in folder.read_dir().expect("the sources are there") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            collect(src, &path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            let errors = in_source(&text);
            if !errors.is_empty() {
                let name = path.strip_prefix(src).expect("it is below src");
                files.insert(name.to_string_lossy().replace('\\', "/"), errors);
            }
        }
    }
}

fn in_source(text: &str) -> Vec<Described> {
    let mut errors = Errors::default();
    errors.visit_file(&syn::parse_file(text).expect("Rust"));
    errors.found
}

#[derive(Default)]
struct Errors {
    /// The strings and error messages that local variables hold.
    strings: BTreeMap<String, String>,
    found: Vec<Described>,
}

impl Errors {
    /// The string that an expression makes.
    fn text(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some(text.value()),
            Expr::Macro(made) if made.mac.path.is_ident("format") => {
                let format = made.mac.tokens.clone().into_iter().next()?;
                let format: syn::LitStr = syn::parse2(format.into()).ok()?;
                Some(filled(&format.value()))
            }
            Expr::Path(path) => self
                .strings
                .get(&path.path.get_ident()?.to_string())
                .cloned(),
            Expr::Reference(inner) => self.text(&inner.expr),
            _ => None,
        }
    }

    /// The message of an expression that makes an error.
    fn message(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Call(call) => {
                let Expr::Path(function) = &*call.func else {
                    return None;
                };
                let mut names = function.path.segments.iter().rev();
                let (last, owner) = (names.next()?, names.next()?);
                let argument = call.args.first()?;
                match (&*owner.ident.to_string(), &*last.ident.to_string()) {
                    ("Failure" | "Refused", "new") => self.text(argument),
                    ("Failure", "from" | "internal") => self.message(argument),
                    _ => None,
                }
            }
            Expr::MethodCall(call) => match &*call.method.to_string() {
                "context" => self.text(call.args.first()?),
                _ => self.message(&call.receiver),
            },
            Expr::Path(_) => self.text(expr),
            _ => None,
        }
    }
}

impl<'ast> Visit<'ast> for Errors {
    fn visit_local(&mut self, local: &'ast Local) {
        visit::visit_local(self, local);
        if let (Pat::Ident(name), Some(init)) = (&local.pat, &local.init)
            && let Some(text) = self.text(&init.expr).or_else(|| self.message(&init.expr))
        {
            self.strings.insert(name.ident.to_string(), text);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let mut hints = Vec::new();
        let mut receiver = call;
        while receiver.method == "hint" {
            hints.extend(receiver.args.first().and_then(|hint| self.text(hint)));
            match &*receiver.receiver {
                Expr::MethodCall(inner) if inner.method == "hint" => receiver = inner,
                _ => break,
            }
        }
        if call.method == "hint" {
            hints.reverse();
            if let Some(message) = self.message(&receiver.receiver)
                && !hints.is_empty()
            {
                self.found.push(Described { message, hints });
            }
            // Its own hints are read; what is inside of it may be another error.
            self.visit_expr(&receiver.receiver);
        } else {
            visit::visit_expr_method_call(self, call);
        }
    }
}

/// A format string with `…` for each of its arguments.
fn filled(format: &str) -> String {
    let mut filled = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        if let Some(after) = after.strip_prefix('{') {
            filled.push('{');
            rest = after;
        } else {
            filled.push('…');
            rest = after.split_once('}').map_or("", |(_, after)| after);
        }
    }
    filled.push_str(&rest.replace("}}", "}"));
    // A message may shorten an argument itself.
    filled.replace("……", "…")
}

#[test]
fn errors_are_found_with_their_hints() {
    let found = in_source(
        r#"
        fn f(path: &str, broken: bool) -> Outcome {
            g().map_err(|error| Failure::from(error.context("cannot read it")).hint("look"))?;
            let failure = Refused::new(format!("{path} is {:?}", 1)).hint(format!("pass --{{{path}}}"));
            if broken {
                let message = "broken";
                return Err(Failure::new(message).hint("mend it").hint("or leave it").into());
            }
            Err(Failure::new("no hint"))
        }
        "#,
    );
    let described = |message: &str, hints: &[&str]| Described {
        message: message.to_owned(),
        hints: hints.iter().map(|hint| (*hint).to_owned()).collect(),
    };
    assert_eq!(
        found,
        [
            described("cannot read it", &["look"]),
            described("… is …", &["pass --{…}"]),
            described("broken", &["mend it", "or leave it"]),
        ]
    );
}
