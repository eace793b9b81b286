// Command control-plane starts a real control plane with controllers, for judges that are no Go programs: it writes the kubeconfig of
// an admin, prints a line when it is ready, and runs until SIGTERM.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"kubewright.dev/tests/judges/harness"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "write the kubeconfig to this `file`")
	flag.Parse()
	if err := run(*kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "control-plane:", err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	start, err := harness.RealWithControllers()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "kubewright-control-plane-")
	if err != nil {
		return fmt.Errorf("making a directory for the control plane: %w", err)
	}
	defer os.RemoveAll(folder)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	cluster, err := start(folder)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	credentials, err := os.ReadFile(cluster.Kubeconfig)
	if err == nil {
		err = os.WriteFile(kubeconfig, credentials, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	fmt.Println("ready: a real control plane")
	<-ended
	return nil
}
