package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// startTimeout is how long a program of a control plane may take until it answers.
const startTimeout = 60 * time.Second

// Cluster is a control plane that runs, with clients that use it.
type Cluster struct {
	// Folder is where everything is that the control plane and its clients write; it is removed with the run.
	Folder string
	// Kubeconfig is the file with the credentials of an admin.
	Kubeconfig string
	// Keys are set if the control plane was started with keys.
	Keys      Keys
	processes []*Process
}

// Plane starts a control plane in an empty directory.
type Plane func(folder string) (*Cluster, error)

// Embedded is the embedded API server, with arguments of `kubewright apiserver`. A server that keeps its objects in a directory
// has its keys there.
func Embedded(command string, arguments ...string) Plane {
	return func(folder string) (*Cluster, error) {
		kubeconfig := filepath.Join(folder, "kubeconfig")
		process, err := startEmbedded(command, kubeconfig, arguments)
		if err != nil {
			return nil, err
		}
		return &Cluster{Folder: folder, Kubeconfig: kubeconfig, processes: []*Process{process}}, nil
	}
}

// EmbeddedWithKeys is like Embedded, with the keys that a kube-controller-manager needs.
func EmbeddedWithKeys(command string, arguments ...string) Plane {
	return func(folder string) (*Cluster, error) {
		data := filepath.Join(folder, "data")
		cluster, err := Embedded(command, append(arguments, "--data", data)...)(folder)
		if err == nil {
			cluster.Keys = Keys{filepath.Join(data, "ca.crt"), filepath.Join(data, "ca.key"), filepath.Join(data, "sa.key")}
		}
		return cluster, err
	}
}

// Also starts a program beside the control plane, which ends before it.
func (c *Cluster) Also(program string, arguments ...string) (*Process, error) {
	process, err := Start(c.Folder, program, arguments...)
	if err == nil {
		c.processes = append(c.processes, process)
	}
	return process, err
}

// Stop ends all programs of the control plane, the last one first.
func (c *Cluster) Stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].Stop()
	}
	c.processes = nil
}

// Run runs a program as the admin of the cluster and returns what it prints.
func (c *Cluster) Run(program string, arguments ...string) (string, error) {
	return c.RunWith("", program, arguments...)
}

// RunWith is Run with a text as standard input.
func (c *Cluster) RunWith(input, program string, arguments ...string) (string, error) {
	command := exec.Command(program, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "HOME="+c.Folder)
	command.Stdin = strings.NewReader(input)
	var output, problem strings.Builder
	command.Stdout, command.Stderr = &output, &problem
	if err := command.Run(); err != nil {
		called := strings.Join(append([]string{filepath.Base(program)}, arguments...), " ")
		return output.String(), fmt.Errorf("%s: %w: %s%s", called, err, problem.String(), output.String())
	}
	return strings.TrimSpace(output.String()), nil
}

// Kubectl runs kubectl.
func (c *Cluster) Kubectl(arguments ...string) (string, error) {
	return c.Run("kubectl", arguments...)
}

// Apply applies manifests, with flags of kubectl.
func (c *Cluster) Apply(manifests string, flags ...string) error {
	// Without the separator, kubectl takes for JSON what begins with a brace.
	_, err := c.RunWith("---\n"+manifests, "kubectl", append([]string{"apply", "--filename", "-"}, flags...)...)
	return err
}

// Expect waits until a field of an object has a value: the arguments name the object for `kubectl get`, the field is a JSONPath.
func (c *Cluster) Expect(value, field string, object ...string) error {
	arguments := append([]string{"get", "--output", "jsonpath=" + field}, object...)
	return Eventually(func() error {
		got, err := c.Kubectl(arguments...)
		if err == nil && got != value {
			err = fmt.Errorf("%s of %s is %q instead of %q", field, strings.Join(object, " "), got, value)
		}
		return err
	})
}

// ExpectGone waits until an object is gone.
func (c *Cluster) ExpectGone(object ...string) error {
	return Eventually(func() error {
		got, err := c.Kubectl(append([]string{"get", "--ignore-not-found", "--output", "name"}, object...)...)
		if err == nil && got != "" {
			err = fmt.Errorf("%s is still there", got)
		}
		return err
	})
}

// Eventually repeats a check until it holds, for a minute.
func Eventually(holds func() error) error {
	deadline := time.Now().Add(time.Minute)
	for {
		err := holds()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Refused is an error unless the error that a client got contains a text.
func Refused(err error, why string) error {
	switch {
	case err == nil:
		return fmt.Errorf("nothing was refused, although it should be: %s", why)
	case !strings.Contains(err.Error(), why):
		return fmt.Errorf("the refusal does not say %q: %w", why, err)
	default:
		return nil
	}
}

// All returns the first error of calls, which run one after another until one fails.
func All(calls ...func() error) error {
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}
