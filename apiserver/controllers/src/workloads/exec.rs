//! Commands that clients run in simulated containers.

use std::sync::Arc;

use kubewright_kubelet::{Script, Simulator, Written};
use parking_lot::Mutex;
use serde_json::Value;

use super::super::object::{list, text};
use super::commands::{Files, Inside};
use super::script::{self, Printed, Run, Surroundings};

/// Runs commands beside those of the containers, on the same files.
#[derive(Debug)]
pub(super) struct Commands(pub(super) Arc<Mutex<Files>>);

impl Simulator for Commands {
    fn exec(&self, pod: &Value, container: &str, command: &[String]) -> Option<Script> {
        let lists = [
            "/spec/containers",
            "/spec/initContainers",
            "/spec/ephemeralContainers",
        ];
        let mut containers = lists.iter().flat_map(|specs| list(pod, specs));
        let container = containers.find(|known| known["name"] == container)?;
        let mut files = self.0.lock();
        let mut inside = Exact(Inside {
            pod,
            container,
            files: &mut files,
        });
        let (run, printed) = script::printing(command, &mut inside)?;
        let written = |Printed { after, error, text }| Written { after, error, text };
        Some(Script {
            output: printed.into_iter().map(written).collect(),
            end: match run {
                Run::Ends { after, code } => Some((after, code)),
                Run::Forever => None,
            },
        })
    }
}

/// The inside of a container to a client that reads what is printed: a variable of the image cannot be known.
struct Exact<'a>(Inside<'a>);

impl Surroundings for Exact<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        let variables = list(self.0.container, "/env");
        if variables.iter().any(|variable| variable["name"] == name) {
            return self.0.variable(name);
        }
        let pod = self.0.pod;
        match (name, text(pod, "/spec/hostname")) {
            ("HOSTNAME", "") => Some(text(pod, "/metadata/name").to_owned()),
            ("HOSTNAME", hostname) => Some(hostname.to_owned()),
            _ => None,
        }
    }

    fn exists(&self, path: &str) -> bool {
        self.0.exists(path)
    }

    fn touch(&mut self, path: &str) {
        self.0.touch(path);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_has_the_environment_and_the_files_of_its_container() {
        let pod = json!({
            "metadata": {"uid": "u", "name": "web-0"},
            "spec": {"containers": [
                {"name": "web", "env": [{"name": "PORT", "value": "80"}]},
                {"name": "other"},
            ]},
        });
        let commands = Commands(Arc::default());
        let run = |container: &str, script: &str| {
            let command = ["sh", "-c", script].map(str::to_owned);
            let script = commands.exec(&pod, container, &command)?;
            let printed: String = script
                .output
                .iter()
                .map(|line| line.text.as_str())
                .collect();
            Some((printed, script.end?.1))
        };
        let known = |printed: &str, code| Some((printed.to_owned(), code));
        assert_eq!(
            run("web", "echo $PORT on $HOSTNAME"),
            known("80 on web-0\n", 0)
        );
        assert_eq!(run("web", "touch /ready"), known("", 0));
        assert_eq!(run("web", "test -e /ready"), known("", 0));
        assert_eq!(run("other", "test -e /ready"), known("", 1));
        assert_eq!(run("other", "echo $PORT"), None);
        assert_eq!(run("web", "psql"), None);
    }
}
