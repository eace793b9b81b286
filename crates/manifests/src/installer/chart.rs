//! A Helm chart of the same objects, with values for what differs from place to place.

use serde_json::{Value, json};

use super::{Installer, Settled};
use crate::install::Mounted;
use crate::{Install, ManifestError, Manifests, Parts, Tree};

impl Installer {
    /// Returns the files of a Helm chart: the same objects, in the namespace of the release, and with values for the image, the
    /// number of replicas, their resources and where they run. Helm creates the namespace (`--create-namespace`).
    ///
    /// Definitions stay when a release is uninstalled: otherwise every object of theirs would be deleted. Names are those of the
    /// program, so that a cluster has one release of it.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let chart = Installer::chart(&Parts::new("policy"), &Install::default().replicas(3))?;
    /// assert!(chart.text("values.yaml").unwrap().contains("replicas: 3\n"));
    /// assert!(chart.text("templates/program.yaml").unwrap().contains("replicas: {{ toJson .Values.replicas }}\n"));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn chart(parts: &Parts, install: &Install) -> Result<Tree, ManifestError> {
        let mut install = install.clone().namespace(NAMESPACE);
        install.finds_namespace = true;
        let settled = Settled::new(parts, &install)?;
        let mut installer = Self::new(parts, &install)?;
        let mut values = Values::default();
        values.add("image", "The image that runs.", &json!(settled.image));
        if !settled.is_alone() {
            let replicas = json!(settled.replicas);
            values.add("replicas", "How many replicas there are.", &replicas);
        }
        for object in &mut installer.program {
            if object["kind"] == "Deployment" {
                settled.open(object, &mut values);
            }
        }
        if let Some(Mounted::Secret(_)) = install.certificates {
            let what =
                "The CA certificates (PEM, in base64) by which API servers know the program.";
            values.add("caBundle", what, &json!(""));
            let configurations = installer.webhooks.iter_mut();
            for webhook in configurations
                .filter_map(|object| object["webhooks"].as_array_mut())
                .flatten()
            {
                webhook["clientConfig"]["caBundle"] = place("caBundle");
            }
        }
        for crd in &mut installer.crds {
            crd["metadata"]["annotations"]["helm.sh/resource-policy"] = json!("keep");
        }
        let version = parts.version.as_deref().unwrap_or("0.0.0");
        let about = json!({
            "apiVersion": "v2",
            "name": parts.name,
            "description": format!("Installs {}.", parts.name),
            "type": "application",
            "version": version,
            "appVersion": version,
        });
        let mut tree = Tree::made_by(&parts.name)
            .written_with("--helm")
            .with("Chart.yaml", Manifests::new(vec![about]).to_yaml())
            .with("values.yaml", &values.text);
        for (path, manifests) in [
            ("templates/crds.yaml", installer.crds()),
            ("templates/program.yaml", installer.program()),
            ("templates/webhooks.yaml", installer.webhooks()),
            ("templates/policies.yaml", installer.policies()),
        ] {
            if !manifests.objects().is_empty() {
                tree = tree.with(path, template(&manifests.to_yaml()));
            }
        }
        Ok(tree)
    }
}

impl Settled<'_> {
    /// Puts places for values into the Deployment.
    fn open(&self, deployment: &mut Value, values: &mut Values) {
        let spec = &mut deployment["spec"];
        if !self.is_alone() {
            spec["replicas"] = place("replicas");
        }
        let pod = &mut spec["template"]["spec"];
        let container = &mut pod["containers"][0];
        container["image"] = place("image");
        let resources = container["resources"].take();
        let what = "What a replica asks for, and what it may not exceed.";
        values.add("resources", what, &resources);
        container["resources"] = place("resources");
        for (key, what, unless_said) in [
            (
                "nodeSelector",
                "The labels of nodes that replicas may run on.",
                json!({}),
            ),
            (
                "tolerations",
                "The taints of nodes that keep no replica away.",
                json!([]),
            ),
            (
                "affinity",
                "The nodes and pods that replicas are to be near to.",
                json!({}),
            ),
            (
                "imagePullSecrets",
                "The Secrets with which the image is pulled.",
                json!([]),
            ),
        ] {
            values.add(key, what, &unless_said);
            pod[key] = place(key);
        }
    }
}

/// The values of a chart, each with a comment.
#[derive(Default)]
struct Values {
    text: String,
}

impl Values {
    fn add(&mut self, key: &str, what: &str, unless_said: &Value) {
        let entry = Manifests::new(vec![json!({key: unless_said})]).to_yaml();
        for part in ["# ", what, "\n", &entry] {
            self.text.push_str(part);
        }
    }
}

/// Where a value comes to stand.
fn place(key: &str) -> Value {
    json!(format!("{PLACE}{key}{END}"))
}

/// The template of objects with places. JSON is YAML, so that a value of any shape stands on the line of its key.
fn template(yaml: &str) -> String {
    // What looks like a template in a description is none.
    let text = yaml.replace("{{", "{{ \"{{\" }}");
    let mut lines = Vec::new();
    for line in text.lines() {
        let whole = [": ", "- "].iter().find_map(|before| {
            let start = line.strip_suffix(NAMESPACE)?;
            start.ends_with(before).then_some(start)
        });
        let line = match whole {
            // One that is a number is a text all the same.
            Some(start) => format!("{start}{{{{ .Release.Namespace | quote }}}}"),
            None => line.replace(NAMESPACE, "{{ .Release.Namespace }}"),
        };
        lines.push(
            line.replace(PLACE, "{{ toJson .Values.")
                .replace(END, " }}"),
        );
    }
    lines.join("\n") + "\n"
}

/// What stands for the namespace of the release, for as long as it has to be a name.
const NAMESPACE: &str = "kubewright-release-namespace";
const PLACE: &str = "kubewright-value-";
const END: &str = "-kubewright-end";
