//! The text that a finding underlines is the value that the error names, however the manifest is written.

use kubewright_check::{Checker, Role};
use proptest::prelude::*;

use crate::source;

/// How a Service is written.
#[derive(Clone, Debug)]
struct Written {
    style: Style,
    /// The quotes of the protocol of its last port.
    quotes: &'static str,
    ports: usize,
    /// The protocol of its last port, unless it is a sound one.
    wrong: Option<&'static str>,
    comment: bool,
}

#[derive(Clone, Copy, Debug)]
enum Style {
    Block,
    Flow,
    Json,
    /// The first port has an anchor, which the others are merged with.
    Merged,
    /// In a List, after another object.
    Listed,
}

/// No protocol. Without quotes, the second is no string either: the API server names its field without the index of the port.
const WRONG: [&str; 2] = ["HTTP", "7"];

impl Written {
    fn protocol(&self, port: usize) -> String {
        let wrong = self.wrong.filter(|_| port + 1 == self.ports);
        let (protocol, quotes) = (wrong.unwrap_or("TCP"), self.quotes());
        format!("{quotes}{protocol}{quotes}")
    }

    fn quotes(&self) -> &'static str {
        match self.style {
            Style::Json => "\"",
            _ => self.quotes,
        }
    }

    /// How often it is reported: of values of a wrong type, the API server reports the first.
    fn times(&self) -> usize {
        let is_number = self.wrong == Some("7") && self.quotes().is_empty();
        match self.style {
            Style::Merged if !is_number => self.ports,
            _ => 1,
        }
    }

    /// The text, and what is underlined in it.
    fn text(&self, name: usize) -> (String, Option<String>) {
        let comment = if self.comment { "  # HTTP: é" } else { "" };
        let ports = |separator: &str, port: &dyn Fn(usize) -> String| {
            (0..self.ports)
                .map(port)
                .collect::<Vec<_>>()
                .join(separator)
        };
        let last = self.protocol(self.ports - 1);
        let text = match self.style {
            Style::Block | Style::Merged => {
                let port = |port: usize| match (self.style, port) {
                    (Style::Merged, 0) => {
                        format!(
                            "  - &p{comment}\n    name: p0\n    port: 80\n    protocol: {last}\n"
                        )
                    }
                    (Style::Merged, port) => {
                        format!("  - <<: *p\n    name: p{port}\n    port: {}\n", 80 + port)
                    }
                    (_, port) => format!(
                        "  - name: p{port}\n    protocol: {}{comment}\n\n    port: {}\n",
                        self.protocol(port),
                        80 + port
                    ),
                };
                let ports = ports("", &port);
                format!(
                    "apiVersion: v1\nkind: Service{comment}\nmetadata:\n  name: s{name}\nspec:\n  ports:\n{ports}"
                )
            }
            Style::Flow | Style::Listed => {
                let port = |port: usize| {
                    format!(
                        "{{name: p{port}, protocol: {}, port: {}}}",
                        self.protocol(port),
                        80 + port
                    )
                };
                let ports = ports(", ", &port);
                let service = format!(
                    "apiVersion: v1, kind: Service, metadata: {{name: s{name}}}, spec: {{ports: [{ports}]}}"
                );
                match self.style {
                    Style::Flow => format!(
                        "metadata: {{name: s{name}}}\napiVersion: v1\nkind: Service\nspec: {{ports: [{ports}]}}{comment}\n"
                    ),
                    _ => format!(
                        "apiVersion: v1\nkind: List{comment}\nitems:\n- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{name}}}}}\n- {{{service}}}\n"
                    ),
                }
            }
            Style::Json => {
                let port = |port: usize| {
                    format!(
                        "{{\"name\": \"p{port}\",\n\t\"protocol\": {}, \"port\": {}}}",
                        self.protocol(port),
                        80 + port
                    )
                };
                let ports = ports(",\n", &port);
                format!(
                    "{{\"apiVersion\": \"v1\", \"kind\": \"Service\",\n\"metadata\": {{\"name\": \"s{name}\"}}, \"spec\": {{\"ports\": [{ports}]}}}}\n"
                )
            }
        };
        (text, self.wrong.map(|_| last))
    }
}

fn written() -> impl Strategy<Value = Written> {
    let style = prop_oneof![
        Just(Style::Block),
        Just(Style::Flow),
        Just(Style::Json),
        Just(Style::Merged),
        Just(Style::Listed),
    ];
    let quotes = prop_oneof![Just(""), Just("'"), Just("\"")];
    let wrong = prop::option::of(prop::sample::select(&WRONG[..]));
    (style, quotes, 1_usize..4, wrong, any::<bool>()).prop_map(
        |(style, quotes, ports, wrong, comment)| Written {
            style,
            quotes,
            ports,
            wrong,
            comment,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn what_is_underlined_is_the_value_that_the_error_names(
        services in prop::collection::vec(written(), 1..5),
        crlf in any::<bool>(),
    ) {
        let (mut text, mut expected) = (String::new(), Vec::new());
        for (name, service) in services.iter().enumerate() {
            let (document, underlined) = service.text(name);
            text.push_str("---\n");
            text.push_str(&document);
            let times = service.times();
            expected.extend(underlined.into_iter().flat_map(|underlined| vec![underlined; times]));
        }
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let checker = Checker::new().source(Ok(source("all.yaml", &text)), Role::Manifests);
        let report = runtime.block_on(checker.run()).unwrap();
        let mut found = Vec::new();
        for finding in &report.findings {
            let rules = ["FieldValueNotSupported", "FieldValueTypeInvalid"];
            prop_assert!(rules.contains(&&*finding.rule), "{:?}\n{}", finding, text);
            let bytes = finding.location.as_ref().unwrap().bytes.clone();
            found.push(text[bytes].to_owned());
        }
        prop_assert_eq!(found, expected, "{}", text);
    }
}
