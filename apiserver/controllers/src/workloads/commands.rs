//! What the containers of a pod do: as an annotation of the pod says or, without one, as far as their commands are
//! understood.

use std::collections::HashSet;

use serde_json::Value;
use tokio::time::Duration;

use super::super::object::{list, text};
use super::script::{self, Run, Surroundings};

/// The annotation of a pod that says what its containers do.
pub(super) const SIMULATE: &str = "kubewright.dev/simulate";

/// What one run of a container does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// It is ready until it is stopped.
    Serves,
    /// It runs and never becomes ready.
    Unready,
    Ends {
        after: Duration,
        code: u8,
    },
    /// It cannot start, for this reason.
    Invalid(String),
}

/// The files that containers touched, by volume and path; the contents of volumes of a node outlive its pods.
#[derive(Debug, Default)]
pub(super) struct Files(HashSet<(String, String)>);

impl Files {
    /// Removes the files of a pod that is gone.
    pub(super) fn forget(&mut self, uid: &str) {
        self.0.retain(|(volume, _)| !volume.starts_with(uid));
    }
}

/// What a container is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It ends before the others start.
    Init,
    /// It runs beside the others.
    Sidecar,
    Main,
}

/// Chooses what a run of a container does. `least` is the time that a main container takes that ends by itself.
pub(super) fn plan(
    pod: &Value,
    container: &Value,
    role: Role,
    least: Duration,
    files: &mut Files,
) -> Plan {
    // A client that takes the annotation back may leave it empty.
    let annotation = pod["metadata"]["annotations"][SIMULATE]
        .as_str()
        .filter(|said| role == Role::Main && !said.is_empty());
    let least = if role == Role::Main {
        least
    } else {
        Duration::ZERO
    };
    let of_job = is_of_job(pod);
    let has_an_end = of_job || is_hook(pod);
    // Elsewhere than in a Job a failure is not worth waiting for.
    let after = if of_job { least } else { Duration::ZERO };
    match annotation {
        Some("wait") => return Plan::Serves,
        Some("unready") => return Plan::Unready,
        Some("success") => return Plan::Ends { after, code: 0 },
        Some("failure" | "crash-loop") => return Plan::Ends { after, code: 1 },
        Some(other) => {
            let code = other.strip_prefix("exit ").map(str::parse::<u8>);
            return match code {
                Some(Ok(code)) => Plan::Ends { after, code },
                _ => Plan::Invalid(format!(
                    "the annotation {SIMULATE} is {other:?}; it can be success, failure, exit CODE, crash-loop, wait or \
                     unready"
                )),
            };
        }
        None => {}
    }
    let mut surroundings = Inside {
        pod,
        container,
        files,
    };
    match understood(container, &mut surroundings) {
        Some(Run::Ends { after, code }) => Plan::Ends {
            after: after.max(least),
            code,
        },
        None if role == Role::Init || (has_an_end && role == Role::Main) => Plan::Ends {
            after: least,
            code: 0,
        },
        Some(Run::Forever) | None => Plan::Serves,
    }
}

/// Whether a pod is one of a Job, which ends when its work is done.
fn is_of_job(pod: &Value) -> bool {
    let owners = list(pod, "/metadata/ownerReferences");
    owners
        .iter()
        .any(|owner| owner["controller"] == true && owner["kind"] == "Job")
}

/// Whether a pod is a hook of a Helm release, such as a test, for whose end Helm waits.
fn is_hook(pod: &Value) -> bool {
    let annotations = &pod["metadata"]["annotations"];
    annotations["helm.sh/hook"].is_string()
}

/// What the command of a container does, if it is understood.
fn understood(container: &Value, surroundings: &mut Inside<'_>) -> Option<Run> {
    let words = |name: &str| -> Option<Vec<String>> {
        list(container, name)
            .iter()
            .map(|word| surroundings.expanded(word.as_str().unwrap_or_default()))
            .collect()
    };
    let (mut command, arguments) = (words("/command")?, words("/args")?);
    let image = image(text(container, "/image"));
    if command.is_empty() {
        match image {
            "pause" => return Some(Run::Forever),
            // Its programs other than these serve until they are stopped.
            "agnhost" => {
                let ends = ["help", "fake-gitserver", "crd-conversion-webhook"];
                let program = arguments.first().map_or("pause", String::as_str);
                return (!ends.contains(&program)).then_some(Run::Forever);
            }
            // Images without an entrypoint; their shell ends at once without a terminal.
            "busybox" | "alpine" if arguments.is_empty() => return None,
            "busybox" | "alpine" => {}
            _ => return None,
        }
    }
    command.extend(arguments);
    script::program(&command, surroundings)
}

/// The name of an image, without its registry, its tag and its digest.
fn image(reference: &str) -> &str {
    let name = reference.split('@').next().unwrap_or(reference);
    let name = script::base(name);
    name.split(':').next().unwrap_or(name)
}

/// The inside of a container.
pub(super) struct Inside<'a> {
    pub(super) pod: &'a Value,
    pub(super) container: &'a Value,
    pub(super) files: &'a mut Files,
}

impl Inside<'_> {
    /// Replaces `$(NAME)` by the variable of that name, as a kubelet does; other parentheses stay.
    fn expanded(&self, word: &str) -> Option<String> {
        let mut text = String::new();
        let mut rest = word;
        while let Some((before, after)) = rest.split_once("$(") {
            text.push_str(before);
            let named = after.split_once(')').filter(|(name, _)| {
                let variables = list(self.container, "/env");
                variables.iter().any(|variable| variable["name"] == *name)
            });
            if let Some((name, after)) = named {
                text.push_str(&self.variable(name)?);
                rest = after;
            } else {
                text.push_str("$(");
                rest = after;
            }
        }
        text.push_str(rest);
        Some(text)
    }

    /// The volume and the path in it of a file.
    fn place(&self, path: &str) -> (String, String) {
        let uid = text(self.pod, "/metadata/uid");
        let mounts = list(self.container, "/volumeMounts");
        let below = |mount: &&Value| {
            let at = text(mount, "/mountPath").trim_end_matches('/');
            path.strip_prefix(at)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let mount = mounts
            .iter()
            .filter(below)
            .max_by_key(|mount| text(mount, "/mountPath").len());
        let Some(mount) = mount else {
            let container = text(self.container, "/name");
            return (format!("{uid}/{container}"), path.to_owned());
        };
        let inner = &path[text(mount, "/mountPath").trim_end_matches('/').len()..];
        let name = text(mount, "/name");
        let volumes = list(self.pod, "/spec/volumes");
        let volume = volumes.iter().find(|volume| volume["name"] == name);
        let host = volume.map_or("", |volume| text(volume, "/hostPath/path"));
        if host.is_empty() {
            return (format!("{uid}/volumes/{name}"), inner.to_owned());
        }
        let node = text(self.pod, "/spec/nodeName");
        (format!("node/{node}"), format!("{host}{inner}"))
    }
}

impl Surroundings for Inside<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        let variables = list(self.container, "/env");
        let Some(variable) = variables.iter().find(|variable| variable["name"] == name) else {
            return Some(String::new());
        };
        let from = &variable["valueFrom"];
        if from.is_null() {
            return Some(text(variable, "/value").to_owned());
        }
        let path = text(from, "/fieldRef/fieldPath");
        for map in ["labels", "annotations"] {
            let key = path
                .strip_prefix(&format!("metadata.{map}['"))
                .and_then(|rest| rest.strip_suffix("']"));
            if let Some(key) = key {
                let value = self.pod["metadata"][map][key].as_str();
                return Some(value.unwrap_or_default().to_owned());
            }
        }
        let pointer = match path {
            "metadata.name" => "/metadata/name",
            "metadata.namespace" => "/metadata/namespace",
            "metadata.uid" => "/metadata/uid",
            "spec.nodeName" => "/spec/nodeName",
            "spec.serviceAccountName" => "/spec/serviceAccountName",
            _ => return None,
        };
        Some(text(self.pod, pointer).to_owned())
    }

    fn exists(&self, path: &str) -> bool {
        self.files.0.contains(&self.place(path))
    }

    fn touch(&mut self, path: &str) {
        let place = self.place(path);
        self.files.0.insert(place);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn planned(pod: &Value) -> Plan {
        let container = &pod["spec"]["containers"][0];
        plan(
            pod,
            container,
            Role::Main,
            Duration::ZERO,
            &mut Files::default(),
        )
    }

    fn pod(mut container: Value) -> Value {
        container["name"] = "main".into();
        json!({"metadata": {"uid": "u"}, "spec": {"containers": [container]}})
    }

    fn ends(code: u8) -> Plan {
        let after = Duration::ZERO;
        Plan::Ends { after, code }
    }

    #[test]
    fn a_container_does_what_its_plain_command_says() {
        for (container, expected) in [
            (json!({"image": "nginx"}), Plan::Serves),
            (json!({"image": "busybox", "command": ["false"]}), ends(1)),
            (
                json!({"image": "registry:5000/a/busybox:1", "args": ["true"]}),
                ends(0),
            ),
            (json!({"image": "web", "args": ["true"]}), Plan::Serves),
            (
                json!({"image": "web", "command": ["serve", "$(PORT)"]}),
                Plan::Serves,
            ),
            (
                json!({"image": "registry.k8s.io/pause:3.10", "args": []}),
                Plan::Serves,
            ),
            (
                json!({"image": "x", "command": ["sh", "-c", "exit $(CODE)"], "env": [{"name": "CODE", "value": "4"}]}),
                ends(4),
            ),
        ] {
            assert_eq!(planned(&pod(container.clone())), expected, "{container}");
        }
    }

    #[test]
    fn the_annotation_decides_over_the_command() {
        for (annotation, expected) in [
            ("success", ends(0)),
            ("failure", ends(1)),
            ("exit 42", ends(42)),
            ("wait", Plan::Serves),
            ("unready", Plan::Unready),
        ] {
            let mut pod = pod(json!({"image": "busybox", "command": ["sh", "-c", "exit 9"]}));
            pod["metadata"]["annotations"] = json!({SIMULATE: annotation});
            assert_eq!(planned(&pod), expected, "{annotation}");
        }
        let mut typo = pod(json!({"image": "busybox"}));
        typo["metadata"]["annotations"] = json!({SIMULATE: "sucess"});
        assert!(matches!(planned(&typo), Plan::Invalid(_)));
    }

    #[test]
    fn an_init_container_ends_and_the_annotation_is_about_the_others() {
        let mut pod = pod(json!({"image": "migrate"}));
        pod["metadata"]["annotations"] = json!({SIMULATE: "unready"});
        let container = &pod["spec"]["containers"][0];
        for (role, expected) in [
            (Role::Init, ends(0)),
            (Role::Sidecar, Plan::Serves),
            (Role::Main, Plan::Unready),
        ] {
            let mut files = Files::default();
            let plan = plan(&pod, container, role, Duration::from_secs(9), &mut files);
            assert_eq!(plan, expected, "{role:?}");
        }
    }

    #[test]
    fn a_hook_of_helm_succeeds_unless_its_command_says_otherwise() {
        let mut test = pod(json!({"image": "busybox", "command": ["wget"], "args": ["web:80"]}));
        assert_eq!(planned(&test), Plan::Serves);
        test["metadata"]["annotations"] = json!({"helm.sh/hook": "test"});
        assert_eq!(planned(&test), ends(0));
        test["spec"]["containers"][0]["command"] = json!(["false"]);
        assert_eq!(planned(&test), ends(1));
    }

    #[test]
    fn a_container_of_a_job_succeeds_unless_its_command_says_otherwise() {
        let mut work = pod(json!({"image": "worker", "command": ["./work"]}));
        work["metadata"]["ownerReferences"] = json!([{"kind": "Job", "controller": true}]);
        assert_eq!(planned(&work), ends(0));
        work["spec"]["containers"][0]["command"] = json!(["sleep", "infinity"]);
        assert_eq!(planned(&work), Plan::Serves);
    }

    #[test]
    fn a_volume_of_the_node_keeps_its_files_for_the_next_pod() {
        let once = json!({
            "image": "busybox",
            "command": ["sh", "-c", "if [ -r /data/foo ]; then exit 0; else touch /data/foo; exit 1; fi"],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        });
        let mut files = Files::default();
        for (volume, uids, codes) in [
            (json!({"hostPath": {"path": "/tmp/x"}}), ["a", "b"], [1, 0]),
            (json!({"emptyDir": {}}), ["a", "b"], [1, 1]),
            (json!({"emptyDir": {}}), ["c", "c"], [1, 0]),
        ] {
            for (uid, code) in uids.into_iter().zip(codes) {
                let mut pod = pod(once.clone());
                pod["metadata"]["uid"] = uid.into();
                pod["spec"]["nodeName"] = "n".into();
                pod["spec"]["volumes"] = json!([volume.clone()]);
                pod["spec"]["volumes"][0]["name"] = "data".into();
                let container = &pod["spec"]["containers"][0];
                let plan = plan(&pod, container, Role::Main, Duration::ZERO, &mut files);
                assert_eq!(plan, ends(code), "{volume} {uid}");
            }
        }
    }
}
