//! Chains of calls such as `App::new("guard").version("1").webhooks(…)`: appended to, and taken from.

use std::ops::Range;

use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, FnArg, ItemFn, Pat, Type};

use super::{Source, end, is_same, range};

/// Appends a call such as `.webhooks(all())` to the one chain that begins with a call of `root`, if it is not there yet.
pub(crate) fn append(text: &str, root: &str, call: &str) -> Result<String, String> {
    let source = Source::read(text)?;
    let chain = Chain::only(&source, root)?;
    if chain.position(call).is_some() {
        return Ok(text.to_owned());
    }
    let setter = call.split(['(', ':']).next().unwrap_or_default();
    if SETTERS.contains(&setter) && chain.calls.iter().any(|call| call.method == setter[1..]) {
        return Err(format!("`{root}` has another `{setter}` already"));
    }
    let break_before = format!("\n{}    ", source.indent(chain.range.start));
    let mut new = source.insert(chain.range.end, &format!("{break_before}{call}"));
    // What stood in one line is broken before every call, as rustfmt would.
    for call in chain.calls.iter().rev() {
        let dot = range(&call.dot_token).start;
        if dot == range(&*call.receiver).end {
            new.insert_str(dot, &break_before);
        }
    }
    Ok(new)
}

/// Puts a call in front of the others of the chain, if it is not there yet: for those that end in something that is no builder.
pub(crate) fn prepend(text: &str, root: &str, call: &str) -> Result<String, String> {
    let source = Source::read(text)?;
    let chain = Chain::only(&source, root)?;
    if chain.position(call).is_some() {
        return Ok(text.to_owned());
    }
    let first = chain.calls.first();
    let at = first.map_or(chain.range.end, |first| range(&*first.receiver).end);
    Ok(source.insert(at, call))
}

/// Takes a call from the chain, if it is there.
pub(crate) fn remove(text: &str, root: &str, call: &str) -> Result<String, String> {
    let source = Source::read(text)?;
    let chain = Chain::only(&source, root)?;
    let Some(position) = chain.position(call) else {
        return Ok(text.to_owned());
    };
    let call = chain.calls[position];
    let dot = range(&call.dot_token).start;
    let start = text[..dot].trim_end().len();
    Ok(source.replace(start..end(call.paren_token.span.close()), ""))
}

/// Has the function around the chain name its parameter of type `&mut Needs`. Returns the text and the name.
pub(crate) fn parameter(text: &str, root: &str) -> Result<(String, String), String> {
    let source = Source::read(text)?;
    let function = Chain::only(&source, root)?.function;
    let needs = function.sig.inputs.iter().find_map(|input| match input {
        FnArg::Typed(typed) if is_needs(&typed.ty) => Some(&*typed.pat),
        _ => None,
    });
    match needs {
        None => Err(format!(
            "the function `{}` has no parameter of the type `&mut Needs`",
            function.sig.ident
        )),
        Some(Pat::Ident(known)) if known.ident != "_needs" => {
            Ok((text.to_owned(), known.ident.to_string()))
        }
        Some(unnamed @ (Pat::Ident(_) | Pat::Wild(_))) => {
            Ok((source.replace(range(unnamed), "needs"), "needs".to_owned()))
        }
        Some(_) => Err("the parameter of the type `&mut Needs` has no name".to_owned()),
    }
}

/// Marks the parameter of type `&mut Needs` as one that is not used, if nothing uses it any more.
pub(crate) fn unname(text: &str, root: &str) -> Result<String, String> {
    let (named, name) = parameter(text, root)?;
    let source = Source::read(text)?;
    let function = Chain::only(&source, root)?.function;
    let uses = quote::ToTokens::to_token_stream(&function.block);
    if named != text || is_used(uses, &name) {
        return Ok(text.to_owned());
    }
    let pattern = function.sig.inputs.iter().find_map(|input| match input {
        FnArg::Typed(typed) if is_needs(&typed.ty) => Some(range(&*typed.pat)),
        _ => None,
    });
    Ok(pattern.map_or_else(|| text.to_owned(), |range| source.replace(range, "_needs")))
}

fn is_used(tokens: proc_macro2::TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Group(group) => is_used(group.stream(), name),
        token => token.to_string() == name,
    })
}

fn is_needs(parameter: &Type) -> bool {
    let Type::Reference(reference) = parameter else {
        return false;
    };
    let Type::Path(path) = &*reference.elem else {
        return false;
    };
    path.path
        .segments
        .last()
        .is_some_and(|last| last.ident == "Needs")
}

/// A chain of calls, and the function that contains it.
struct Chain<'a> {
    function: &'a ItemFn,
    range: Range<usize>,
    /// In the order of the text.
    calls: Vec<&'a ExprMethodCall>,
}

impl<'a> Chain<'a> {
    /// The only chain of a file that starts with `root`. Fails if there are several, since only the user knows which one to change.
    fn only(source: &'a Source<'_>, root: &str) -> Result<Self, String> {
        let mut search = Search {
            root,
            function: None,
            found: Vec::new(),
        };
        search.visit_file(&source.file);
        let number = search.found.len();
        match (search.found.pop(), number) {
            (Some(chain), 1) => Ok(chain),
            (_, 0) => Err(format!("no function of the file calls `{root}`")),
            _ => Err(format!("the file calls `{root}` in {number} places")),
        }
    }

    fn position(&self, wanted: &str) -> Option<usize> {
        let wanted = format!("x{wanted}");
        let call = syn::parse_str::<ExprMethodCall>(&wanted).ok()?;
        let exact = self.calls.iter().position(|known| {
            let turbofish = match (&known.turbofish, &call.turbofish) {
                (Some(known), Some(call)) => {
                    is_same(known, &quote::ToTokens::to_token_stream(call).to_string())
                }
                (None, None) => true,
                _ => false,
            };
            let arguments = quote::ToTokens::to_token_stream(&call.args).to_string();
            turbofish && known.method == call.method && is_same(&known.args, &arguments)
        });
        // `.webhooks(webhooks::all(needs))` is the same as `.webhooks(webhooks::all())`, with a handle for the webhooks.
        exact.or_else(|| {
            self.calls.iter().position(|known| {
                known.method == call.method
                    && function(known).is_some_and(|known| function(&call) == Some(known))
            })
        })
    }
}

struct Search<'a, 'r> {
    root: &'r str,
    function: Option<&'a ItemFn>,
    found: Vec<Chain<'a>>,
}

impl<'a> Visit<'a> for Search<'a, '_> {
    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        let outer = self.function.replace(function);
        visit::visit_item_fn(self, function);
        self.function = outer;
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        let mut calls = Vec::new();
        let mut inner = expression;
        while let Expr::MethodCall(call) = inner {
            calls.push(call);
            inner = &call.receiver;
        }
        let is_root = matches!(inner, Expr::Call(call) if path(&call.func) == self.root);
        match self.function {
            Some(function) if is_root => {
                calls.reverse();
                self.found.push(Chain {
                    function,
                    range: range(expression),
                    calls,
                });
            }
            _ => visit::visit_expr(self, expression),
        }
    }
}

/// The path of the function whose result is the only argument of a call.
fn function(call: &ExprMethodCall) -> Option<String> {
    match call.args.iter().collect::<Vec<_>>()[..] {
        [Expr::Call(argument)] => Some(path(&argument.func)).filter(|path| path.contains("::")),
        _ => None,
    }
}

/// The path of a function that is called, without types: `converting` for `converting::<v1::Widget>`.
fn path(function: &Expr) -> String {
    let Expr::Path(path) = function else {
        return String::new();
    };
    let segments = path.path.segments.iter();
    let names: Vec<String> = segments.map(|segment| segment.ident.to_string()).collect();
    names.join("::")
}

/// Calls that set something, of which the last one counts.
const SETTERS: [&str; 3] = [".webhooks", ".certificates", ".leader_election"];

#[cfg(test)]
mod tests {
    use super::*;

    const APP: &str = r#"//! Mine.

/// What it is made of.
pub fn app(_: &mut Needs) -> App {
    // The name is that of the team, too.
    App::new("guard").version(env!("CARGO_PKG_VERSION")) // and so on
}
"#;

    #[test]
    fn a_call_is_appended_and_everything_else_stays() {
        let once = append(APP, "App::new", ".webhooks(webhooks::all())").unwrap();
        assert_eq!(
            once,
            r#"//! Mine.

/// What it is made of.
pub fn app(_: &mut Needs) -> App {
    // The name is that of the team, too.
    App::new("guard")
        .version(env!("CARGO_PKG_VERSION"))
        .webhooks(webhooks::all()) // and so on
}
"#
        );
        let twice = append(&once, "App::new", ".webhooks( webhooks::all( ) )").unwrap();
        assert_eq!(twice, once);
    }

    #[test]
    fn a_call_whose_function_takes_a_handle_is_known() {
        let call = ".webhooks(webhooks::all())";
        let text = append(APP, "App::new", ".webhooks(webhooks::all(needs))").unwrap();
        assert_eq!(append(&text, "App::new", call).unwrap(), text);
        let without = remove(&text, "App::new", call).unwrap();
        assert!(!without.contains("webhooks"), "{without}");
    }

    #[test]
    fn a_call_is_put_before_the_others_and_taken_away_again() {
        let text = "async fn c() -> C {\n    C::new().app(app).start().await\n}\n";
        let new = prepend(text, "C::new", ".definitions(\"crds\")").unwrap();
        let expected = text.replace(".app", ".definitions(\"crds\").app");
        assert_eq!(new, expected);
        assert_eq!(
            prepend(&new, "C::new", ".definitions(\"crds\")").unwrap(),
            new
        );
        assert_eq!(
            remove(&new, "C::new", ".definitions(\"crds\")").unwrap(),
            text
        );
    }

    #[test]
    fn a_call_is_taken_away_and_nothing_more() {
        let with = append(APP, "App::new", ".crd::<api::v1::WhiteList>()").unwrap();
        let with = append(&with, "App::new", ".controller(police(needs))").unwrap();
        let without = remove(&with, "App::new", ".crd::<api::v1::WhiteList>()").unwrap();
        assert!(!without.contains("WhiteList"), "{without}");
        assert!(without.contains(
            ".version(env!(\"CARGO_PKG_VERSION\"))\n        .controller(police(needs)) // and"
        ));
        assert_eq!(
            remove(&without, "App::new", ".crd::<api::v2::WhiteList>()").unwrap(),
            without
        );
    }

    #[test]
    fn an_app_in_a_variable_is_found_too() {
        let text = "fn app(n: &mut Needs) -> App {\n    let app = App::new(\"a\");\n    app\n}\n";
        let (same, name) = parameter(text, "App::new").unwrap();
        assert_eq!((same.as_str(), name.as_str()), (text, "n"));
        let new = append(text, "App::new", ".controller(c(n))").unwrap();
        assert!(
            new.contains("let app = App::new(\"a\")\n        .controller(c(n));"),
            "{new}"
        );
    }

    #[test]
    fn a_parameter_without_a_name_gets_one() {
        for unnamed in ["_", "_needs"] {
            let text = APP.replace("_:", &format!("{unnamed}:"));
            let (new, name) = parameter(&text, "App::new").unwrap();
            assert_eq!(name, "needs");
            assert_eq!(new, APP.replace("_:", "needs:"));
        }
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        for (text, why) in [
            ("fn app() {}", "no function of the file calls `App::new`"),
            (
                "fn a() { App::new(1); App::new(2); }",
                "the file calls `App::new` in 2 places",
            ),
            ("fn a( {", "line 1 is not Rust"),
        ] {
            let refused = append(text, "App::new", ".x()").unwrap_err();
            assert!(refused.starts_with(why), "{refused}");
        }
        let other = "fn a() -> App { App::new(1).webhooks(mine()) }";
        let refused = append(other, "App::new", ".webhooks(webhooks::all())").unwrap_err();
        assert_eq!(refused, "`App::new` has another `.webhooks` already");
        let refused = parameter("fn a() -> App { App::new(1) }", "App::new").unwrap_err();
        assert_eq!(
            refused,
            "the function `a` has no parameter of the type `&mut Needs`"
        );
    }
}
