package harness

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// stages says to kwok what becomes of pods whose containers end by themselves.
//
//go:embed stages.yaml
var stages []byte

// Real is a real kube-apiserver with etcd, without controllers.
func Real(assets string) Plane {
	return func(folder string) (*Cluster, error) {
		ports, err := FreePorts(3)
		if err != nil {
			return nil, err
		}
		cluster := &Cluster{Folder: folder, Kubeconfig: filepath.Join(folder, "kubeconfig")}
		url := fmt.Sprintf("https://127.0.0.1:%d", ports[0])
		keys, kubeconfig, err := writeKeys(folder, url)
		if err != nil {
			return nil, err
		}
		cluster.Keys = keys
		if err := os.WriteFile(cluster.Kubeconfig, []byte(kubeconfig), 0o600); err != nil {
			return nil, fmt.Errorf("writing a kubeconfig: %w", err)
		}
		clients, peers := fmt.Sprintf("http://127.0.0.1:%d", ports[1]), fmt.Sprintf("http://127.0.0.1:%d", ports[2])
		// As in tests of Kubernetes: what a crash would lose is of no use to a test.
		if _, err := cluster.Also(filepath.Join(assets, "etcd"), "--data-dir="+filepath.Join(folder, "etcd"), "--unsafe-no-fsync",
			"--listen-client-urls="+clients, "--advertise-client-urls="+clients, "--listen-peer-urls="+peers, "--log-level=error"); err != nil {
			return nil, err
		}
		file := func(name string) string { return filepath.Join(folder, name) }
		server, err := cluster.Also(filepath.Join(assets, "kube-apiserver"),
			"--etcd-servers="+clients, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
			"--cert-dir="+folder, "--tls-cert-file="+file("tls.crt"), "--tls-private-key-file="+file("tls.key"),
			"--client-ca-file="+keys.CA, "--authorization-mode=Node,RBAC", "--allow-privileged=true",
			"--service-account-key-file="+keys.ServiceAccountKey, "--service-account-signing-key-file="+keys.ServiceAccountKey,
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local", "--service-cluster-ip-range=10.0.0.0/24")
		if err == nil {
			err = server.Until("kube-apiserver is ready", startTimeout, func() error {
				_, err := cluster.Kubectl("get", "--raw", "/readyz")
				return err
			})
		}
		if err != nil {
			cluster.Stop()
			return nil, err
		}
		return cluster, nil
	}
}

// RealWithControllers adds real controllers to a real kube-apiserver: the nearest to what the embedded server simulates.
func RealWithControllers() (Plane, error) {
	assets, err := RealAssets()
	if err != nil {
		return nil, err
	}
	return WithControllers(Real(assets))
}

// WithControllers adds a real kube-controller-manager, a real kube-scheduler, and kwok, whose node runs no containers but says of
// each pod that it does.
func WithControllers(plane Plane) (Plane, error) {
	programs, err := BuildKubernetes("kube-controller-manager", "kube-scheduler")
	if err != nil {
		return nil, err
	}
	kwok, err := buildKwok()
	if err != nil {
		return nil, err
	}
	return func(folder string) (*Cluster, error) {
		cluster, err := plane(folder)
		if err != nil {
			return nil, err
		}
		err = All(
			func() error { return cluster.ControllerManager(programs[0]) },
			func() error { return cluster.Scheduler(programs[1]) },
			func() error { return kwok.start(cluster) },
			// As a controller manager makes it: with it, namespaces are ready for pods.
			func() error { return cluster.Expect("default", "{.metadata.name}", "serviceaccount", "default") },
		)
		if err != nil {
			cluster.Stop()
			return nil, err
		}
		return cluster, nil
	}, nil
}

// BuildKubernetes builds programs of the Kubernetes version that the judge `kubernetes` pins.
func BuildKubernetes(names ...string) ([]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	into, err := Kept("kubernetes")
	if err != nil {
		return nil, err
	}
	var programs []string
	for _, name := range names {
		program, err := Build(filepath.Join(root, "tests", "judges", "kubernetes"), into, "k8s.io/kubernetes/cmd/"+name)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	return programs, nil
}

// ControllerManager starts a real kube-controller-manager with all its default controllers, each with its own account.
func (c *Cluster) ControllerManager(program string) error {
	_, err := c.Also(program,
		"--kubeconfig="+c.Kubeconfig, "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials",
		"--service-account-private-key-file="+c.Keys.ServiceAccountKey, "--root-ca-file="+c.Keys.CA,
		"--cluster-signing-cert-file="+c.Keys.CA, "--cluster-signing-key-file="+c.Keys.CAKey,
		// Every second what takes fifteen otherwise: no time of a test is waiting for a clock.
		"--pvclaimbinder-sync-period=1s", "--horizontal-pod-autoscaler-sync-period=1s")
	return err
}

// Scheduler starts a real kube-scheduler.
func (c *Cluster) Scheduler(program string) error {
	_, err := c.Also(program, "--kubeconfig="+c.Kubeconfig, "--leader-elect=false", "--secure-port=0")
	return err
}

// node is what a kubelet says of itself that pods ask for.
const node = `
apiVersion: v1
kind: Node
metadata:
  name: node-1
  labels: {kubernetes.io/os: linux, kubernetes.io/arch: amd64, kubernetes.io/hostname: node-1}
`

// kwok simulates nodes and pods on any API server.
type kwok struct{ program, stages string }

func buildKwok() (kwok, error) {
	root, err := Root()
	if err != nil {
		return kwok{}, err
	}
	into, err := Kept("kubernetes")
	if err != nil {
		return kwok{}, err
	}
	module := filepath.Join(root, "tests", "judges", "kubernetes")
	program, err := Build(module, into, "sigs.k8s.io/kwok/cmd/kwok")
	if err != nil {
		return kwok{}, err
	}
	sources, err := ModuleFolder(module, "sigs.k8s.io/kwok")
	return kwok{program, filepath.Join(sources, "kustomize", "stage")}, err
}

func (k kwok) start(c *Cluster) error {
	own := filepath.Join(c.Folder, "stages.yaml")
	if err := os.WriteFile(own, stages, 0o600); err != nil {
		return fmt.Errorf("writing the stages of pods: %w", err)
	}
	arguments := []string{"--kubeconfig=" + c.Kubeconfig, "--manage-all-nodes=true", "--config=" + own}
	for _, stage := range []string{"pod/fast/pod-ready", "pod/fast/pod-delete", "node/fast/node-initialize", "node/heartbeat-with-lease/node-heartbeat-with-lease"} {
		arguments = append(arguments, "--config="+filepath.Join(k.stages, filepath.FromSlash(stage)+".yaml"))
	}
	if _, err := c.Also(k.program, arguments...); err != nil {
		return err
	}
	return All(
		func() error { return c.Apply(node) },
		func() error {
			return c.Expect("True", `{.status.conditions[?(@.type=="Ready")].status}`, "node", "node-1")
		},
	)
}

// FreePorts returns ports that are free at the same time.
func FreePorts(count int) ([]int, error) {
	var ports []int
	var problems error
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer func() { problems = errors.Join(problems, listener.Close()) }()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, problems
}
