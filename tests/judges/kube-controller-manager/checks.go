// What the controllers of kube-controller-manager do, and that they do it without errors.
package main

import (
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"kubewright.dev/tests/judges/harness"
)

// room is a check's namespace, of the same name.
type room struct {
	*harness.Cluster
	name string
}

func checks() []harness.Check {
	list := []struct {
		name, namespace string
		run             func(room) error
	}{
		{"the account, its root CA and its token Secret", "accounts", room.accounts},
		{"a Deployment, its ReplicaSets and its pods", "deployments", room.deployments},
		{"Endpoints and EndpointSlices of a Service", "endpoints", room.endpoints},
		{"a StatefulSet, in order, with claims", "statefulsets", room.statefulSets},
		{"a DaemonSet on the node", "daemonsets", room.daemonSets},
		{"Jobs that succeed, fail and expire", "jobs", room.jobs},
		{"a CronJob that has missed its time", "cronjobs", room.cronJobs},
		{"deletion in background, in foreground and of orphans", "garbage", room.garbage},
		{"the end of a namespace", "ending", room.ending},
		{"a quota counts and refuses", "quotas", room.quotas},
		{"aggregated ClusterRoles", "roles", room.roles},
		{"a budget is counted and holds evictions", "budgets", room.budgets},
		{"a CertificateSigningRequest is signed", "certificates", room.certificates},
		{"an autoscaler without metrics", "autoscalers", room.autoscalers},
		{"volumes are bound, protected and released", "volumes", room.volumes},
		{"a policy's expressions are checked", "policies", room.policies},
		{"a taint evicts pods", "taints", room.taints},
		{"the controllers have no errors to tell", "log", room.log},
	}
	var checks []harness.Check
	for _, one := range list {
		checks = append(checks, harness.Check{Name: one.name, Run: func(cluster *harness.Cluster) error {
			if _, err := cluster.Kubectl("create", "namespace", one.namespace); err != nil {
				return err
			}
			return one.run(room{cluster, one.namespace})
		}})
	}
	return checks
}

// kubectl is a call that has to succeed, in the namespace.
func (r room) kubectl(arguments ...string) func() error {
	return func() error {
		_, err := r.Kubectl(append(arguments, "--namespace", r.name)...)
		return err
	}
}

func (r room) apply(manifests string) func() error {
	return func() error { return r.Apply(manifests, "--namespace", r.name) }
}

// has waits until a field of an object in the namespace has a value.
func (r room) has(value, field string, object ...string) func() error {
	return func() error { return r.Expect(value, field, append(object, "--namespace", r.name)...) }
}

func (r room) lacks(object ...string) func() error {
	return func() error { return r.ExpectGone(append(object, "--namespace", r.name)...) }
}

// fails is a call that has to fail with a text in its error.
func (r room) fails(why string, arguments ...string) func() error {
	return func() error {
		_, err := r.Kubectl(append(arguments, "--namespace", r.name)...)
		return harness.Refused(err, why)
	}
}

// workload is a manifest of apps/v1 with pods that run until they are stopped.
func workload(kind, spec string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: %s
metadata: {name: web}
spec:
  %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 10m}}}]
`, kind, spec)
}

func (r room) accounts() error {
	return harness.All(
		r.has("default", "{.metadata.name}", "serviceaccount", "default"),
		func() error {
			authority, err := os.ReadFile(r.Keys.CA)
			if err != nil {
				return err
			}
			return r.has(strings.TrimSpace(string(authority)), "{.data.ca\\.crt}", "configmap", "kube-root-ca.crt")()
		},
		r.apply(`
apiVersion: v1
kind: Secret
metadata: {name: token, annotations: {kubernetes.io/service-account.name: default}}
type: kubernetes.io/service-account-token
`),
		r.has(base64.StdEncoding.EncodeToString([]byte(r.name)), "{.data.namespace}", "secret", "token"),
		func() error {
			encoded, err := r.Kubectl("get", "secret", "token", "--namespace", r.name, "--output", "jsonpath={.data.token}")
			if err != nil {
				return err
			}
			token, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return err
			}
			user, err := r.RunWith(fmt.Sprintf(`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": %q}}`, token),
				"kubectl", "create", "--filename", "-", "--output", "jsonpath={.status.user.username}")
			if err == nil && user != "system:serviceaccount:"+r.name+":default" {
				err = fmt.Errorf("the token is of the user %q", user)
			}
			return err
		},
	)
}

func (r room) deployments() error {
	return harness.All(
		r.apply(workload("Deployment", "replicas: 3")),
		r.kubectl("rollout", "status", "deployment/web", "--timeout", "60s"),
		r.has("3", "{.status.readyReplicas}", "deployment", "web"),
		r.kubectl("set", "image", "deployment/web", "main=registry.k8s.io/pause:3.11"),
		r.kubectl("rollout", "status", "deployment/web", "--timeout", "60s"),
		r.has("3 0", "{.items[?(@.metadata.annotations.deployment\\.kubernetes\\.io/revision==\"2\")].status.readyReplicas} {.items[?(@.metadata.annotations.deployment\\.kubernetes\\.io/revision==\"1\")].status.replicas}", "replicasets"),
		r.kubectl("rollout", "undo", "deployment/web"),
		r.kubectl("rollout", "status", "deployment/web", "--timeout", "60s"),
		r.kubectl("scale", "deployment/web", "--replicas", "1"),
		r.has("1", "{.status.replicas}", "deployment", "web"),
	)
}

func (r room) endpoints() error {
	return harness.All(
		r.apply(workload("Deployment", "replicas: 2")),
		r.apply("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}}"),
		r.kubectl("rollout", "status", "deployment/web", "--timeout", "60s"),
		r.has("true true", "{.items[0].endpoints[*].conditions.ready}", "endpointslices", "--selector", "kubernetes.io/service-name=web"),
		r.has("8080", "{.subsets[0].ports[0].port}", "endpoints", "web"),
		r.kubectl("scale", "deployment/web", "--replicas", "0"),
		r.has("", "{.subsets}", "endpoints", "web"),
		r.kubectl("delete", "service", "web"),
		r.lacks("endpoints,endpointslices", "--selector", "kubernetes.io/service-name=web"),
	)
}

func (r room) statefulSets() error {
	return harness.All(
		r.apply(volume("set-0")+volume("set-1")),
		r.apply(workload("StatefulSet", `replicas: 2
  serviceName: web
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {storageClassName: judge, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`)),
		r.kubectl("rollout", "status", "statefulset/web", "--timeout", "60s"),
		r.has("web-0 web-1", "{.items[*].metadata.name}", "pods", "--sort-by", ".metadata.creationTimestamp"),
		r.has("Bound Bound", "{.items[*].status.phase}", "pvc"),
		r.kubectl("scale", "statefulset/web", "--replicas", "1"),
		r.lacks("pod/web-1"),
		r.lacks("pvc/data-web-1"),
		r.kubectl("delete", "statefulset", "web"),
		r.lacks("pods,pvc"),
	)
}

func (r room) daemonSets() error {
	return harness.All(
		r.apply(workload("DaemonSet", "minReadySeconds: 0")),
		r.kubectl("rollout", "status", "daemonset/web", "--timeout", "60s"),
		r.has("1", "{.status.numberReady}", "daemonset", "web"),
		r.has("node-1", "{.items[0].spec.nodeName}", "pods"),
		r.kubectl("set", "image", "daemonset/web", "main=registry.k8s.io/pause:3.11"),
		r.kubectl("rollout", "status", "daemonset/web", "--timeout", "60s"),
		r.has("registry.k8s.io/pause:3.11", "{.items[*].spec.containers[0].image}", "pods"),
	)
}

func job(name, command, spec string) string {
	return fmt.Sprintf(`
---
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  %s
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, command: [sh, -c, %s]}]
`, name, spec, command)
}

func (r room) jobs() error {
	return harness.All(
		r.apply(job("good", "exit 0", "completions: 3\n  parallelism: 2")+job("bad", "exit 1", "backoffLimit: 0")+
			job("short", "exit 0", "ttlSecondsAfterFinished: 1")),
		r.kubectl("wait", "--for", "condition=Complete", "job/good", "--timeout", "60s"),
		r.has("3", "{.status.succeeded}", "job", "good"),
		r.kubectl("wait", "--for", "condition=Failed", "job/bad", "--timeout", "60s"),
		r.has("BackoffLimitExceeded", `{.status.conditions[?(@.type=="Failed")].reason}`, "job", "bad"),
		r.lacks("job/short"),
		r.lacks("pods", "--selector", "job-name=short"),
	)
}

func (r room) cronJobs() error {
	return harness.All(
		r.apply(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: hourly}
spec:
  schedule: "0 * * * *"
  suspend: true
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: busybox, command: [sh, -c, exit 0]}]
`),
		// Nothing has to wait for the hour.
		r.kubectl("patch", "cronjob", "hourly", "--subresource", "status", "--type", "merge", "--patch", `{"status": {"lastScheduleTime": "2020-01-01T00:00:00Z"}}`),
		r.kubectl("patch", "cronjob", "hourly", "--type", "merge", "--patch", `{"spec": {"suspend": false, "startingDeadlineSeconds": 7200}}`),
		r.has("1", "{.items[0].status.succeeded}", "jobs"),
		r.has("hourly", "{.items[0].metadata.ownerReferences[0].name}", "jobs"),
	)
}

func (r room) garbage() error {
	made := func() error {
		return harness.All(
			r.apply(workload("Deployment", "replicas: 2")),
			r.kubectl("rollout", "status", "deployment/web", "--timeout", "60s"),
		)
	}
	return harness.All(
		made,
		r.kubectl("delete", "deployment", "web", "--cascade=background"),
		r.lacks("replicasets,pods"),
		made,
		r.kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout", "60s"),
		r.lacks("deployments,replicasets,pods"),
		made,
		r.kubectl("delete", "deployment", "web", "--cascade=orphan", "--timeout", "60s"),
		r.lacks("deployments"),
		r.has("2", "{.items[0].status.readyReplicas}", "replicasets"),
		r.has("", "{.items[*].metadata.ownerReferences}", "replicasets"),
	)
}

func (r room) ending() error {
	return harness.All(
		r.apply(workload("Deployment", "replicas: 2")),
		r.kubectl("rollout", "status", "deployment/web", "--timeout", "60s"),
		r.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [judges.kubewright.dev/hold]}}"),
		r.kubectl("delete", "namespace", r.name, "--wait=false"),
		func() error {
			return r.Expect("True", `{.status.conditions[?(@.type=="NamespaceFinalizersRemaining")].status}`, "namespace", r.name)
		},
		r.lacks("pods,deployments"),
		r.kubectl("patch", "configmap", "held", "--type", "merge", "--patch", `{"metadata": {"finalizers": null}}`),
		func() error { return r.ExpectGone("namespace", r.name) },
	)
}

func (r room) quotas() error {
	return harness.All(
		r.apply(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: {pods: "2", requests.cpu: 20m, count/configmaps: "3"}}}`),
		r.has("0", "{.status.used.pods}", "resourcequota", "few"),
		r.apply(workload("Deployment", "replicas: 3")),
		r.has("2", "{.status.readyReplicas}", "deployment", "web"),
		r.has("2 20m", "{.status.used.pods} {.status.used.requests\\.cpu}", "resourcequota", "few"),
		r.has("FailedCreate", `{.status.conditions[?(@.type=="ReplicaFailure")].reason}`, "deployment", "web"),
		r.kubectl("scale", "deployment/web", "--replicas", "1"),
		r.has("1", "{.status.used.pods}", "resourcequota", "few"),
		r.kubectl("create", "configmap", "one"),
		r.kubectl("create", "configmap", "two"),
		r.fails("exceeded quota", "create", "configmap", "three"),
	)
}

func (r room) roles() error {
	return harness.All(
		r.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: judges-sum}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {judges.kubewright.dev/sum: "true"}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: judges-part, labels: {judges.kubewright.dev/sum: "true", rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{apiGroups: [judges.kubewright.dev], resources: [lamps], verbs: [get]}]
`),
		r.has("lamps", "{.rules[0].resources[0]}", "clusterrole", "judges-sum"),
		r.has("lamps", `{.rules[?(@.apiGroups[0]=="judges.kubewright.dev")].resources[0]}`, "clusterrole", "view"),
		r.has("lamps", `{.rules[?(@.apiGroups[0]=="judges.kubewright.dev")].resources[0]}`, "clusterrole", "admin"),
	)
}

func (r room) budgets() error {
	evict := func() error {
		pod, err := r.Kubectl("get", "pods", "--namespace", r.name, "--output", "jsonpath={.items[0].metadata.name}")
		if err != nil {
			return err
		}
		_, err = r.RunWith(fmt.Sprintf(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q, "namespace": %q}}`, pod, r.name),
			"kubectl", "create", "--raw", "/api/v1/namespaces/"+r.name+"/pods/"+pod+"/eviction", "--filename", "-")
		return err
	}
	return harness.All(
		r.apply(workload("Deployment", "replicas: 2")),
		r.apply("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}"),
		r.kubectl("rollout", "status", "deployment/web", "--timeout", "60s"),
		r.has("2 2 1 1", "{.status.expectedPods} {.status.currentHealthy} {.status.desiredHealthy} {.status.disruptionsAllowed}", "pdb", "web"),
		evict,
		r.has("2 1", "{.status.currentHealthy} {.status.disruptionsAllowed}", "pdb", "web"),
		r.kubectl("patch", "pdb", "web", "--type", "merge", "--patch", `{"spec": {"minAvailable": 2}}`),
		r.has("0", "{.status.disruptionsAllowed}", "pdb", "web"),
		func() error { return harness.Refused(evict(), "disruption budget") },
	)
}

func (r room) certificates() error {
	request, err := harness.Request("judge")
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(r.Keys.CA)
	if err != nil {
		return err
	}
	return harness.All(
		r.apply(fmt.Sprintf(`
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: judge}
spec:
  request: %s
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
`, request)),
		r.kubectl("certificate", "approve", "judge"),
		func() error {
			return harness.Eventually(func() error {
				encoded, err := r.Kubectl("get", "csr", "judge", "--output", "jsonpath={.status.certificate}")
				if err != nil {
					return err
				}
				return harness.Verify(encoded, authority, x509.ExtKeyUsageClientAuth, "")
			})
		},
	)
}

func (r room) autoscalers() error {
	return harness.All(
		r.apply(workload("Deployment", "replicas: 1")),
		r.apply(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 4
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`),
		r.has("2", "{.status.readyReplicas}", "deployment", "web"),
		r.has("True", `{.status.conditions[?(@.type=="AbleToScale")].status}`, "hpa", "web"),
		r.has("FailedGetResourceMetric", `{.status.conditions[?(@.type=="ScalingActive")].reason}`, "hpa", "web"),
	)
}

func volume(name string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: judge, persistentVolumeReclaimPolicy: Retain, hostPath: {path: /tmp}}
`, name)
}

func (r room) volumes() error {
	return harness.All(
		r.apply(volume("single")+`
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: judge, accessModes: [ReadWriteOnce], volumeName: single, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  containers: [{name: main, image: "registry.k8s.io/pause:3.10", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`),
		r.has("Bound", "{.status.phase}", "pvc", "data"),
		r.has("Running", "{.status.phase}", "pod", "user"),
		r.kubectl("delete", "pvc", "data", "--wait=false"),
		r.has("[\"kubernetes.io/pvc-protection\"]", "{.metadata.finalizers}", "pvc", "data"),
		r.kubectl("delete", "pod", "user"),
		r.lacks("pvc/data"),
		r.has("Released", "{.status.phase}", "pv", "single"),
	)
}

func (r room) policies() error {
	return harness.All(
		r.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: judges}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations: [{expression: object.spec.replicas > "three"}]
`),
		r.has("spec.validations[0].expression", "{.status.typeChecking.expressionWarnings[0].fieldRef}", "validatingadmissionpolicy", "judges"),
		r.kubectl("delete", "validatingadmissionpolicy", "judges"),
	)
}

func (r room) taints() error {
	return harness.All(
		r.apply(workload("Deployment", "replicas: 1")),
		r.kubectl("rollout", "status", "deployment/web", "--timeout", "60s"),
		r.kubectl("taint", "node", "node-1", "judge=off:NoExecute"),
		r.has("Pending", "{.items[*].status.phase}", "pods"),
		r.kubectl("taint", "node", "node-1", "judge-"),
		r.kubectl("rollout", "status", "deployment/web", "--timeout", "60s"),
	)
}

// klogError is a line of an error in the log of a program of Kubernetes.
var klogError = regexp.MustCompile(`(?m)^E\d{4} .*$`)

// known are the errors that the controllers have beside a real API server, too.
//
//go:embed errors.txt
var known string

func (r room) log() error {
	var expected []string
	for line := range strings.Lines(known) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			expected = append(expected, line)
		}
	}
	isKnown, err := regexp.Compile(strings.Join(expected, "|"))
	if err != nil {
		return fmt.Errorf("reading errors.txt: %w", err)
	}
	var unknown []string
	for _, program := range []string{"kube-controller-manager", "kube-scheduler"} {
		text, err := os.ReadFile(filepath.Join(r.Folder, program+".log"))
		if err != nil {
			return err
		}
		for _, line := range klogError.FindAllString(string(text), -1) {
			if !isKnown.MatchString(line) {
				unknown = append(unknown, program+": "+line)
			}
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%d errors that errors.txt does not list:\n%s", len(unknown), strings.Join(unknown, "\n"))
	}
	return nil
}
