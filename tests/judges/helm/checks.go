// What Helm does on every control plane, with each version.
package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"kubewright.dev/tests/judges/harness"
)

// client is one version of Helm.
type client struct {
	program string
	major   int
	charts  charts
}

// step is a check of one version, in a namespace and with a release of its own.
type step struct {
	client
	*harness.Cluster
	namespace string
}

func (h client) checks(part bool) []harness.Check {
	list := []struct {
		name string
		run  func(step) error
	}{
		{"a chart as `helm create` makes it", step.created},
		{"hooks, Jobs, a definition and a lookup", step.hooks},
		{"`helm test` tells success and failure apart", step.tests},
		{"a failed hook is rolled back", step.rollsBack},
		{"a dry run on the server changes nothing", step.dryRun},
		{"claims of a StatefulSet and of a Deployment", step.storage},
		{"admission policies and their bindings", step.policies},
		{"an owner of a field that has changed", step.ownership},
		{"Helm's own examples", step.examples},
		{"cert-manager's chart", step.certManagers},
	}
	if part {
		list = list[:1]
	}
	var checks []harness.Check
	for i, one := range list {
		checks = append(checks, harness.Check{
			Name: fmt.Sprintf("Helm %d: %s", h.major, one.name),
			Run: func(cluster *harness.Cluster) error {
				return one.run(step{h, cluster, fmt.Sprintf("helm-%d-%d", h.major, i)})
			},
		})
	}
	return checks
}

// helm runs Helm in the namespace of the step.
func (s step) helm(arguments ...string) (string, error) {
	return s.Run(s.program, append(arguments, "--namespace", s.namespace)...)
}

// does is a call of Helm that has to succeed.
func (s step) does(arguments ...string) func() error {
	return func() error {
		_, err := s.helm(arguments...)
		return err
	}
}

// waits is like does, with the flags to wait for everything.
func (s step) waits(arguments ...string) func() error {
	return s.does(append(arguments, "--wait", "--timeout", "60s")...)
}

// installs is like waits, for a release that is new.
func (s step) installs(release, chart string, arguments ...string) func() error {
	return s.waits(append([]string{"install", release, chart, "--create-namespace"}, arguments...)...)
}

// says is a call of Helm whose output has to contain texts.
func (s step) says(texts []string, arguments ...string) func() error {
	return func() error {
		output, err := s.helm(arguments...)
		for _, text := range texts {
			if err == nil && !strings.Contains(output, text) {
				err = fmt.Errorf("helm %s does not say %q: %s", strings.Join(arguments, " "), text, output)
			}
		}
		return err
	}
}

// fails is a call of Helm that has to fail, with a text in its error.
func (s step) fails(why string, arguments ...string) func() error {
	return func() error {
		_, err := s.helm(arguments...)
		return harness.Refused(err, why)
	}
}

// has waits until a field of an object in the namespace has a value.
func (s step) has(value, field string, object ...string) func() error {
	return func() error { return s.Expect(value, field, append(object, "--namespace", s.namespace)...) }
}

// lacks waits until objects of the namespace are gone.
func (s step) lacks(object ...string) func() error {
	return func() error { return s.ExpectGone(append(object, "--namespace", s.namespace)...) }
}

func (s step) own(name string) string {
	return filepath.Join(s.charts.ours, name)
}

// rollbackFlag is what Helm 4 calls --atomic.
func (s step) rollbackFlag() string {
	if s.major == 3 {
		return "--atomic"
	}
	return "--rollback-on-failure"
}

func (s step) created() error {
	chart := filepath.Join(s.Folder, s.namespace)
	return harness.All(
		s.does("create", chart),
		s.installs("web", chart),
		s.has("1", "{.status.readyReplicas}", "deployment", "web-"+s.namespace),
		s.waits("upgrade", "web", chart, "--set", "replicaCount=3", "--set", "ingress.enabled=true"),
		s.has("3", "{.status.readyReplicas}", "deployment", "web-"+s.namespace),
		s.has("chart-example.local", "{.spec.rules[0].host}", "ingress", "web-"+s.namespace),
		s.waits("upgrade", "web", chart, "--reuse-values", "--set", "autoscaling.enabled=true,autoscaling.minReplicas=2"),
		s.has("2", "{.spec.minReplicas}", "hpa", "web-"+s.namespace),
		s.says([]string{"STATUS: deployed", "REVISION: 3"}, "status", "web"),
		s.says([]string{"superseded", "Upgrade complete"}, "history", "web"),
		s.says([]string{"replicaCount: 3"}, "get", "values", "web"),
		s.says([]string{"kind: HorizontalPodAutoscaler"}, "get", "manifest", "web"),
		s.waits("rollback", "web", "1"),
		s.has("1", "{.spec.replicas}", "deployment", "web-"+s.namespace),
		s.lacks("ingress,hpa", "--selector", "app.kubernetes.io/instance=web"),
		s.says([]string{"Rollback to 1"}, "history", "web"),
		s.says([]string{"web"}, "list", "--short"),
		s.says([]string{"Succeeded"}, "test", "web", "--timeout", "60s"),
		s.waits("uninstall", "web"),
		s.lacks("deployment,service,serviceaccount,secret", "--selector", "app.kubernetes.io/instance=web"),
		s.fails("release: not found", "status", "web"),
	)
}

func (s step) hooks() error {
	chart := s.own("hooks")
	return harness.All(
		s.installs("lamp", chart, "--wait-for-jobs"),
		s.has("1", "{.status.succeeded}", "job", "lamp-1"),
		s.has("1", "{.status.succeeded}", "job", "lamp-after"),
		s.lacks("job", "lamp-before"),
		s.has("none", "{.spec.shade}", "lamp", "lamp"),
		s.has("kube-system", "{.data.seen}", "configmap", "lamp-seen"),
		s.says([]string{"helm.sh/hook"}, "get", "hooks", "lamp"),
		s.waits("upgrade", "lamp", chart, "--set", "watts=60", "--wait-for-jobs"),
		s.has("60", "{.spec.watts}", "lamp", "lamp"),
		s.has("1", "{.status.succeeded}", "job", "lamp-2"),
		s.lacks("job", "lamp-1"),
		s.fails("spec.watts", "upgrade", "lamp", chart, "--set", "watts=0"),
		s.has("60", "{.spec.watts}", "lamp", "lamp"),
		s.waits("uninstall", "lamp"),
		s.lacks("lamp"),
		s.lacks("configmap", "lamp-seen"),
		// Helm never removes definitions.
		func() error {
			_, err := s.Kubectl("get", "crd", "lamps.judges.kubewright.dev")
			return err
		},
	)
}

func (s step) tests() error {
	return harness.All(
		s.installs("lamp", s.own("hooks")),
		s.says([]string{"lamp-good", "Succeeded"}, "test", "lamp", "--filter", "name=lamp-good", "--timeout", "60s"),
		s.fails("lamp-bad", "test", "lamp", "--filter", "name=lamp-bad", "--timeout", "60s"),
		s.has("Succeeded", "{.status.phase}", "pod", "lamp-good"),
		s.has("Failed", "{.status.phase}", "pod", "lamp-bad"),
		s.says([]string{"lamp-bad", "Failed"}, "status", "lamp"),
		s.waits("uninstall", "lamp"),
	)
}

func (s step) rollsBack() error {
	chart := s.own("hooks")
	return harness.All(
		s.fails("lamp-after", "install", "lamp", chart, "--create-namespace", "--set", "work=false,broken=after", s.rollbackFlag(), "--timeout", "60s"),
		s.fails("release: not found", "status", "lamp"),
		s.lacks("lamp"),
		s.lacks("configmap", "lamp-seen"),
		s.installs("lamp", chart, "--set", "work=false"),
		s.fails("lamp-before", "upgrade", "lamp", chart, "--set", "work=false,broken=before,watts=60", s.rollbackFlag(), "--timeout", "60s"),
		s.has("40", "{.spec.watts}", "lamp", "lamp"),
		s.says([]string{"Rollback to 1", "failed"}, "history", "lamp"),
		s.waits("uninstall", "lamp"),
	)
}

func (s step) dryRun() error {
	return harness.All(
		func() error {
			return s.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + s.namespace + "}}")
		},
		s.says([]string{"seen: kube-system"}, "install", "lamp", s.own("hooks"), "--dry-run=server"),
		s.says([]string{"seen: nothing"}, "install", "lamp", s.own("hooks"), "--dry-run=client"),
		s.fails("release: not found", "status", "lamp"),
		s.lacks("lamp,job,pod"),
	)
}

func (s step) storage() error {
	chart := s.own("storage")
	return harness.All(
		s.installs("store", chart),
		s.has("2", "{.status.readyReplicas}", "statefulset", "store"),
		s.has("Bound", "{.status.phase}", "pvc", "data-store-0"),
		s.has("Bound", "{.status.phase}", "pvc", "data-store-1"),
		s.has("Bound", "{.status.phase}", "pvc", "store-shared"),
		s.waits("upgrade", "store", chart, "--set", "replicas=1"),
		s.has("1", "{.status.replicas}", "statefulset", "store"),
		// Scaling down retains the claim.
		s.has("Bound", "{.status.phase}", "pvc", "data-store-1"),
		s.waits("rollback", "store", "1"),
		s.has("2", "{.status.readyReplicas}", "statefulset", "store"),
		s.fails(`StatefulSet.apps "store" is invalid: spec`, "upgrade", "store", chart, "--set", "service=other"),
		s.waits("uninstall", "store"),
		s.lacks("statefulset,pod"),
		s.lacks("pvc", "store-shared"),
		// Helm leaves the claims that a StatefulSet has made.
		s.has("Bound", "{.status.phase}", "pvc", "data-store-0"),
		func() error {
			_, err := s.Kubectl("delete", "pvc", "--all", "--namespace", s.namespace)
			return err
		},
	)
}

func (s step) policies() error {
	chart := s.own("policies")
	create := func(name, key string) (string, error) {
		return s.Kubectl("create", "configmap", name, "--from-literal", key+"=x", "--namespace", s.namespace)
	}
	refuses := func(message string) error {
		return harness.Eventually(func() error {
			_, err := create("refused", "forbidden")
			_, _ = s.Kubectl("delete", "configmap", "refused", "--ignore-not-found", "--namespace", s.namespace)
			return harness.Refused(err, message)
		})
	}
	return harness.All(
		s.installs("rules-"+s.namespace, chart),
		func() error { return refuses("the key is forbidden") },
		func() error {
			return harness.Eventually(func() error {
				_, _ = s.Kubectl("delete", "configmap", "labelled", "--ignore-not-found", "--namespace", s.namespace)
				if _, err := create("labelled", "allowed"); err != nil {
					return err
				}
				label, err := s.Kubectl("get", "configmap", "labelled", "--output", "jsonpath={.metadata.labels.policy}", "--namespace", s.namespace)
				if err == nil && label != "rules-"+s.namespace {
					err = fmt.Errorf("the label that the policy sets is %q", label)
				}
				return err
			})
		},
		s.waits("upgrade", "rules-"+s.namespace, chart, "--set", "message=still forbidden"),
		func() error { return refuses("still forbidden") },
		s.waits("uninstall", "rules-"+s.namespace),
		func() error {
			return harness.Eventually(func() error {
				_, err := create("accepted", "forbidden")
				return err
			})
		},
	)
}

// ownership is about a field that another client has taken: Helm 3 overwrites it, Helm 4 applies on the server and says that there
// is a conflict.
func (s step) ownership() error {
	chart := s.own("hooks")
	change := func() error {
		return s.Apply("{apiVersion: judges.kubewright.dev/v1, kind: Lamp, metadata: {name: lamp}, spec: {watts: 5}}",
			"--namespace", s.namespace, "--server-side", "--force-conflicts", "--field-manager", "other")
	}
	upgrade := []string{"upgrade", "lamp", chart, "--set", "watts=60"}
	conflict := s.fails("conflict", upgrade...)
	if s.major == 3 {
		conflict = func() error { return nil }
	} else {
		upgrade = append(upgrade, "--force-conflicts")
	}
	return harness.All(
		s.installs("lamp", chart),
		change,
		conflict,
		s.waits(upgrade...),
		s.has("60", "{.spec.watts}", "lamp", "lamp"),
		s.waits("uninstall", "lamp"),
	)
}

func (s step) examples() error {
	example := func(name string) string { return filepath.Join(s.charts.examples, name) }
	return harness.All(
		// Its definition has the version v1beta1, which is served no more.
		s.installs("sub", example("subchart"), "--skip-crds"),
		s.has("ClusterIP", "{.spec.type}", "service", "subchart"),
		s.does("test", "sub", "--timeout", "60s"),
		s.waits("uninstall", "sub"),
		s.installs("secret", example("chart-with-secret")),
		s.has("YmFy", "{.data.foo}", "secret", "test-secret"),
		s.waits("uninstall", "secret"),
	)
}

func (s step) certManagers() error {
	flags := []string{"--set", "crds.enabled=true", "--set", "prometheus.enabled=true", "--wait-for-jobs"}
	return harness.All(
		s.installs("cert-manager", s.charts.certManager, flags...),
		s.has("1", "{.status.readyReplicas}", "deployment", "cert-manager-webhook"),
		s.has("True", `{.status.conditions[?(@.type=="Established")].status}`, "crd", "certificates.cert-manager.io"),
		s.waits(append([]string{"upgrade", "cert-manager", s.charts.certManager, "--set",
			"replicaCount=2,podDisruptionBudget.enabled=true,crds.keep=false"}, flags...)...),
		s.has("2", "{.status.readyReplicas}", "deployment", "cert-manager"),
		s.has("1", "{.status.disruptionsAllowed}", "pdb", "cert-manager"),
		s.waits("rollback", "cert-manager", "1"),
		s.has("1", "{.status.readyReplicas}", "deployment", "cert-manager"),
		s.waits("uninstall", "cert-manager"),
		s.lacks("deployment,service,pdb"),
		// The chart keeps its definitions, unless told otherwise.
		func() error {
			_, err := s.Kubectl("delete", "crd", "--selector", "app.kubernetes.io/name=cert-manager")
			return err
		},
	)
}
