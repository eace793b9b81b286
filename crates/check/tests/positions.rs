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
    broken: bool,
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

const WRONG: &str = "HTTP";

impl Written {
    fn protocol(&self, port: usize) -> String {
        let is_last = port + 1 == self.ports;
        let protocol = if self.broken && is_last { WRONG } else { "TCP" };
        let quotes = match self.style {
            Style::Json => "\"",
            _ => self.quotes,
        };
        format!("{quotes}{protocol}{quotes}")
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
        (text, self.broken.then_some(last))
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
    (style, quotes, 1_usize..4, any::<bool>(), any::<bool>()).prop_map(
        |(style, quotes, ports, broken, comment)| Written {
            style,
            quotes,
            ports,
            broken,
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
            let times = match service.style {
                Style::Merged => service.ports,
                _ => 1,
            };
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
            prop_assert_eq!(&finding.rule, "FieldValueNotSupported", "{:?}\n{}", finding, text);
            let bytes = finding.location.as_ref().unwrap().bytes.clone();
            found.push(text[bytes].to_owned());
        }
        prop_assert_eq!(found, expected, "{}", text);
    }
}
